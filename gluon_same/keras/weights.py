"""Weights of a net's layers, and the assignment of a file's arrays to them."""

from types import MappingProxyType
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from mxnet.gluon import HybridBlock, Parameter

from ..blocks import blocks_of
from ..importing.net import fits
from .arguments import words
from .files import Opened
from .graph import Model, printable, role_of, snake_case
from .hdf5 import Hdf5
from .layers.weight import Assignments, Weight

Path = Tuple[str, ...]


class LayerWeights(NamedTuple):
    """Layer with its weights, or nested model with its layers."""

    name: str
    class_name: str
    trainable: bool
    weights: Tuple[Weight, ...]
    layers: Optional[List["LayerWeights"]]  # layers of a nested model
    block: HybridBlock


#: Weights that Keras never trains.
_NEVER = ("moving_mean", "moving_variance", "mean", "variance", "count", "vector_u")


def leaves(
    layers: Sequence[LayerWeights], path: Path = (), trains: bool = True
) -> Iterator[Tuple[Path, LayerWeights, bool]]:
    """Yield the layers, those of nested models too, with their paths, and whether Keras trains them."""
    for layer in layers:
        own, trained = (*path, layer.name), trains and layer.trainable
        if layer.layers is None:
            yield own, layer, trained
        else:
            yield from leaves(layer.layers, own, trained)


def all_weights(layer: LayerWeights) -> List[Tuple[Path, Weight, bool]]:
    """Return the weights of a layer or nested model, layer by layer, and whether Keras trains each."""
    found = ((path, w, trains) for path, leaf, trains in leaves([layer]) for w in leaf.weights)
    return [(path, w, trains and w.role not in _NEVER) for path, w, trains in found if not w.copied]


def freeze(layers: Sequence[LayerWeights]) -> None:
    """Drop the gradients of what Keras does not train."""
    for _, leaf, trains in leaves(layers):
        if not trains:
            leaf.block.collect_params().setattr("grad_req", "null")


def keep_to_inference(block: HybridBlock) -> None:
    """Change a block to compute as in inference in every mode."""
    for each in blocks_of(block):
        if hasattr(each, "running_mean"):
            each._kwargs["use_global_stats"] = True
        elif type(each).__name__ == "Dropout":
            each._rate = 0


class Entry(NamedTuple):
    """Array of a file that has not been read yet."""

    where: str
    name: str  # 'conv/kernel:0'; '' in files with groups

    @property
    def role(self) -> str:
        """Return the role in the file, such as 'kernel'."""
        return role_of(self.name)


#: Names of classes in Keras' code, where they differ from those in configurations.
_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}


class Grouped:
    """Weights in ``.keras`` and ``.weights.h5`` files: groups by class, arrays by number.

    Parameters
    ----------
    file : Hdf5
    model : Model
        Model whose layers the groups belong to.
    assets : mapping of str to bytes
        Vocabularies of layers, by the entry of the file.
    """

    def __init__(self, file: Hdf5, model: Model, assets: Mapping[str, bytes] = MappingProxyType({})):
        self.file, self.assets = file, assets
        # Keras 2.13 uses another name for this group.
        self._layers = "layers" if file.has("layers") else "_layer_checkpoint_dependencies"
        self.groups: Dict[Path, str] = {}  # group by layer path
        self._name_groups(model, (), "")

    def _name_groups(self, model: Model, path: Path, group: str) -> None:
        """Find the group of each layer: its class in snake case, numbered from the second one."""
        counts: Dict[str, int] = {}
        for layer in model.layers.values():
            kind = snake_case(_CLASSES.get(layer.class_name, layer.class_name))
            count = counts[kind] = counts.get(kind, -1) + 1
            own = "/".join(filter(None, (group, self._layers, f"{kind}_{count}" if count else kind)))
            self.groups[(*path, layer.name)] = own
            if layer.model is not None:
                inner = f"{own}/layer" if layer.distributed else own
                self._name_groups(layer.model, (*path, layer.name), inner)

    def arrays(self, path: Path) -> List[np.ndarray]:
        """Return all arrays of a layer: vocabulary, its own, then those of sublayers by attribute."""

        def below(group):
            yield from self.file.numbered(f"{group}/vars")
            for name in self.file.names(group):
                if name != "vars":
                    yield from below(f"{group}/{name}")

        text = self.assets.get(f"assets/{self.groups[path]}/vocabulary.txt")
        words = [] if text is None else [np.array(text.decode().split("\n"))]
        return words + [self.file.array(where).copy() for where in below(self.groups[path])]

    def assignments(self, layers: Sequence[LayerWeights]) -> Iterator[Tuple[Parameter, np.ndarray]]:
        """Yield the parameters of all layers with their values."""
        for own, layer, _ in leaves(layers):
            for part in dict.fromkeys(weight.part for weight in layer.weights):
                weights = [weight for weight in layer.weights if weight.part == part]
                group = "/".join(filter(None, (self.groups[own], part, "vars")))
                found = self.file.numbered(group)
                if not found:  # some attention layers have private names for their parts
                    group = "/".join(filter(None, (self.groups[own], f"_{part}", "vars")))
                    found = self.file.numbered(group)
                if len(found) != len(weights):
                    once = ". Keras saves weights that layers share only once: save an .h5 file"
                    raise ValueError(
                        f"{self.file.path}: entry {group!r} contains {len(found)} arrays, but layer "
                        f"{'/'.join(own)} ({layer.class_name}) has {len(weights)}: {_roles(weights)}"
                        f"{'' if found else once}"
                    )
                for weight, where in zip(weights, found):
                    yield from _assigned(own, weight, self.file, where)


class Legacy:
    """Weights in ``.h5`` files of Keras 2: one group per layer, by name.

    Parameters
    ----------
    file : Hdf5
    root : str
        Group that contains the weights.

    Attributes
    ----------
    entries : dict of str to list of Entry
        Arrays that have not been read yet, by the name of the layer.
    """

    def __init__(self, file: Hdf5, root: str):
        self.file = file
        self.entries: Dict[str, List[Entry]] = {}
        self._taken: Dict[Path, List[Entry]] = {}
        for layer in file.texts("layer_names", root) or ():
            group = f"{root}/{layer}" if root else layer
            names = file.texts("weight_names", group) if file.names(group) else None
            if len(names or ()) > len({*(names or ())}):
                raise ValueError(
                    f"{file.path}: layer {layer!r} contains several weights of one name, because Keras "
                    "did not finish the file: save the model as a .keras file"
                )
            entries = [Entry(f"{group}/{name}", printable(name)) for name in names or ()]
            self.entries[printable(layer)] = entries

    def arrays(self, path: Path) -> List[np.ndarray]:
        """Return all arrays of a layer and remove them from the remaining arrays.

        The arrays of a layer in a nested model are those whose names contain the layer's name.
        """
        if path not in self._taken:
            held = self.entries.get(path[0], [])
            taken = [entry for entry in held if len(path) == 1 or f"/{path[-1]}/" in f"/{entry.name}"]
            self.entries[path[0]] = [entry for entry in held if entry not in taken]
            self._taken[path] = taken
        return [self.file.array(entry.where).copy() for entry in self._taken[path]]

    def assignments(self, layers: Sequence[LayerWeights]) -> Iterator[Tuple[Parameter, np.ndarray]]:
        """Yield the parameters of all layers with their values."""
        layers = [layer for layer in layers if all_weights(layer)]
        held = {name: entries for name, entries in self.entries.items() if entries}
        if not {layer.name for layer in layers} <= held.keys():
            held = self._by_order(layers, held)
        for layer in layers:
            entries = held[layer.name]
            weights = _matched(layer, entries)
            if weights is None:
                wanted = _roles(weight for _, weight, _ in all_weights(layer))
                lora = any(entry.role.startswith("lora_") for entry in entries)
                raise ValueError(
                    f"{self.file.path}: layer {layer.name!r} contains {_roles(entries)}, but the "
                    f"model's {layer.name} ({layer.class_name}) has {wanted}"
                    f"{': save the model as a .keras file, whose kernels include LoRA' if lora else ''}"
                )
            for (path, weight), entry in zip(weights, entries):
                yield from _assigned(path, weight, self.file, entry.where)

    def _by_order(self, layers, held):
        """Return the file's layers for the model's by position, as Keras does if the names differ."""
        if len(held) != len(layers):
            missing = [layer.name for layer in layers if layer.name not in held]
            raise ValueError(
                f"{self.file.path} contains weights of {len(held)} layers, but the model has "
                f"{len(layers)} layers with weights: there are none for {', '.join(missing[:5])}"
            )
        return {layer.name: entries for layer, entries in zip(layers, held.values())}


def _assigned(path: Path, weight: Weight, file: Hdf5, where: str) -> Assignments:
    """Return the parameters of a weight with their values; raise if the shape of the array differs."""
    array = file.array(where)
    if not fits(array.shape, weight.shape):
        wanted = ", ".join("any" if n is None else str(n) for n in weight.shape)
        raise ValueError(
            f"{file.path}: entry {where!r} has shape {array.shape}, but the {weight.role} of layer "
            f"{'/'.join(path)} has ({wanted})"
        )
    return weight.assign(array)


def source_of(found: Opened, model: Model) -> Any:
    """Return the reader for a file's format."""
    file, root = found.weights, legacy_root(found.weights)
    return Grouped(file, model, found.assets) if root is None else Legacy(file, root)


def legacy_root(file: Hdf5) -> Optional[str]:
    """Return the group of a legacy file's weights; None for other formats."""
    root = "model_weights" if file.has("model_weights") else ""
    return None if file.texts("layer_names", root) is None else root


def _matched(layer: LayerWeights, entries: Sequence[Entry]) -> Any:
    """Match weights to a legacy file's entries, in the entries' order; return None if none fit.

    Keras stores trainable weights first, across the layers of a nested model. The trainable weights at
    the time of saving may differ from those in the configuration. The function therefore tries other
    orders, and the names in the file decide.
    """
    weights = all_weights(layer)
    trained = [(path, weight) for path, weight, trains in weights if trains]
    kept = [(path, weight) for path, weight, trains in weights if not trains]
    as_made = [(path, weight) for path, weight, _ in weights]
    thawed = sorted(as_made, key=lambda each: each[1].role in ("moving_mean", "moving_variance"))
    for order in (trained + kept, as_made, thawed):
        roles = [weight.role for _, weight in order]
        names = [entry.role for entry in entries]  # some layers use names of their own
        alike = (role.endswith(name) or name not in _KNOWN_ROLES for role, name in zip(roles, names))
        if len(roles) == len(names) and all(alike):
            return order
    return None


#: Names that identify an array's role in a legacy file.
_KNOWN_ROLES = words("""
    alpha beta bias depthwise_kernel embeddings gamma kernel moving_mean moving_variance
    pointwise_kernel recurrent_kernel
""")


def _roles(items: Iterable[Any]) -> str:
    return ", ".join(item.role or "?" for item in items) or "nothing"
