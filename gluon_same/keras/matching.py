"""Matching of a Gluon net's blocks with Keras' layers and their arrays."""

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence

from mxnet.gluon import Block
from mxnet.gluon import nn as stock
from mxnet.gluon.nn.conv_layers import _Conv

from .. import nn
from .files import Opened
from .graph import Model, snake_case
from .hdf5 import Hdf5
from .layers.weight import (
    Weight,
    bias_of,
    depthwise_kernel_of,
    kernel_of,
    separable_kernels_of,
    weight_of,
)
from .weights import Entry, Grouped, Legacy, legacy_root


class FileLayer(NamedTuple):
    """Layer with weights in a file."""

    name: str
    kind: str  # Keras' class in snake case, '' if unknown
    entries: Sequence[Entry]


def layers_in(found: Opened, model: Optional[Model]) -> Iterator[FileLayer]:
    """Yield the layers with weights in the model's order, or by class and number without a model."""
    file = found.weights
    root = legacy_root(file)
    if root is not None:
        yield from _legacy(file, root)
    elif model is not None:
        for path, group in Grouped(file, model).groups.items():
            yield from _of_group(file, "/".join(path), group)
    else:
        top = "layers" if file.has("layers") else "_layer_checkpoint_dependencies"
        names = sorted(file.names(top), key=lambda name: (name.rstrip("0123456789_"), len(name), name))
        for name in names:
            if file.has(f"{top}/{name}/layers"):
                raise ValueError(
                    f"{file.path}: {name!r} is a nested model, and the file does not contain the order "
                    "of its layers: give (config.json, weights.h5), or a .keras file"
                )
            yield from _of_group(file, name, f"{top}/{name}")


def _of_group(file: Hdf5, name: str, group: str) -> Iterator[FileLayer]:
    entries = file.numbered(f"{group}/vars")
    if entries:
        kind = re.sub(r"_\d+$", "", group.rpartition("/")[2])
        yield FileLayer(name, kind, [Entry(where, "") for where in entries])


def _legacy(file: Hdf5, root: str) -> Iterator[FileLayer]:
    """Yield the layers of a legacy file. Name scopes separate the layers of a nested model."""
    for layer, entries in Legacy(file, root).entries.items():
        scopes: Dict[str, List[Entry]] = {}
        for entry in entries:
            scopes.setdefault(entry.name.rpartition("/")[0], []).append(entry)
        for scope, inside in scopes.items():
            yield FileLayer(layer if len(scopes) == 1 else scope, "", inside)


def units_of(block: Block) -> Iterator[Block]:
    """Yield blocks that correspond to one Keras layer each, in registration order."""
    if isinstance(block, (nn.SeparableConv1D, nn.SeparableConv2D)) or block._reg_params:
        yield block
        return
    for child in block._children.values():
        yield from units_of(child)


def kinds_of(unit: Block) -> List[str]:
    """Return the Keras classes, in snake case, that may correspond to a block."""
    kinds = [snake_case(cls.__name__) for cls in type(unit).__mro__]
    kinds = [re.sub("_norm$", "_normalization", kind) for kind in kinds]
    return [f"depthwise_{kind}" for kind in kinds if _is_depthwise(unit)] + kinds


def _is_depthwise(unit: Block) -> bool:
    """Return whether a convolution may be depthwise."""
    known = (nn.DepthwiseConv1D, nn.DepthwiseConv2D)
    return isinstance(unit, known) or getattr(unit, "_kwargs", {}).get("num_group", 1) > 1


def weights_of(unit: Block, layer: FileLayer) -> List[Weight]:
    """Return a block's parameters with their arrays from a layer of the file."""
    roles = [entry.role for entry in layer.entries]
    if isinstance(unit, (nn.SeparableConv1D, nn.SeparableConv2D)):
        return [*separable_kernels_of(unit), *bias_of(unit.pointwise)]
    if isinstance(unit, (_Conv, stock.Dense)):
        return [_convolution(unit, roles) if isinstance(unit, _Conv) else _dense(unit), *bias_of(unit)]
    if isinstance(unit, (stock.BatchNorm, stock.LayerNorm)):
        return _normalization(unit, roles)
    if isinstance(unit, stock.Embedding):
        return [weight_of("embeddings", unit.weight)]
    raise ValueError(
        f"{unit.name} ({type(unit).__name__}) has parameters, but no Keras layer corresponds to it"
    )


def _convolution(unit: Block, roles: Sequence[str]) -> Weight:
    role = "depthwise_kernel" if "depthwise_kernel" in roles else "kernel"
    plain = kernel_of(unit)

    def assign(array):
        if array.ndim == 2:  # the kernel of a Dense layer
            array = array.reshape((*(1,) * len(unit._kwargs["kernel"]), *array.shape))
        ((_, value),) = pairs = plain.assign(array)
        if _is_depthwise(unit) and not fits(unit.weight.shape, value.shape):
            pairs = depthwise_kernel_of(unit).assign(array)
        return pairs

    return plain._replace(role=role, assign=assign)


def _dense(unit: Block) -> Weight:
    plain = weight_of("kernel", unit.weight, 1, 0)

    def assign(array):
        ones = array.ndim > 2 and set(array.shape[:-2]) == {1}  # the kernel of a 1x1 convolution
        return plain.assign(array.reshape(array.shape[-2:]) if ones else array)

    return plain._replace(assign=assign)


def _normalization(unit: Block, roles: List[str]) -> List[Weight]:
    parameters = {"gamma": unit.gamma, "beta": unit.beta}
    if isinstance(unit, stock.BatchNorm):
        parameters.update(moving_mean=unit.running_mean, moving_variance=unit.running_var)
    if "" in roles:  # arrays by number: untrained ones may be absent
        lacking = len(parameters) - len(roles)
        fixed = [name for name in ("gamma", "beta") if parameters[name].grad_req == "null"]
        roles = [name for name in parameters if name not in fixed[:lacking]]
    return [weight_of(name, parameters[name]) for name in parameters if name in roles]


def fits(has: Optional[Sequence[int]], given: Sequence[int]) -> bool:
    """Return whether a shape fits a parameter, whose unknown sizes are 0 or -1."""
    return not has or (len(has) == len(given) and all(n in (0, -1, m) for n, m in zip(has, given)))
