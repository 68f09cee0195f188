"""Loading of Keras weights into existing Gluon nets."""

import math
import os
import warnings
from itertools import zip_longest
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter

from .. import nn
from ..arguments import shape_of, true_or_false
from ..arrays import contexts
from ..importing.parameters import fill
from ..tables import aligned
from ..trace import Trace
from .build import build
from .config import parse
from .differences import IN_PLACE, Difference, Net, blocks_in_order, differences, listed, mend
from .files import Opened, opened
from .graph import Model
from .hdf5 import Hdf5
from .layers.weight import Weight
from .loading import settings_of
from .matching import FileLayer, fits, kinds_of, layers_in, units_of, weights_of
from .weights import source_of

__all__ = ["load_keras_weights"]


Values = List[Tuple[Parameter, np.ndarray]]


def load_keras_weights(
    net: Block,
    path: Union[str, "os.PathLike[str]", Tuple[Any, Any]],
    *,
    input_shape: Optional[Sequence[int]] = None,
    fix: bool = False,
    ctx: Any = None,
) -> None:
    """Load the weights of a Keras model into a net with the same layers in the same order.

    A file of a whole model, or one with its configuration, also contains what the layers compute. The
    function compares it with the net, and raises an error that lists all differences: epsilon, momentum,
    activation, padding, strides, dilation, groups and poolings.

    Parameters
    ----------
    net : Block
        A net of channels-first Gluon or gluon_same blocks: convolutions, transposed, depthwise and
        separable ones, ``Dense``, ``BatchNorm``, ``LayerNorm`` and ``Embedding``, registered in the
        order of Keras' layers.
    path : path, or (path, path)
        As for :func:`load_model`. A file that contains only weights is sufficient.
    input_shape : tuple of int, optional
        Shape of the net's input, batch first. Required if a ``Dense`` follows a ``Flatten`` and the file
        contains no configuration, because the order of the weight's rows depends on the sizes. Paddings
        are compared at this size; that of the file by default.
    fix : bool
        Whether to set epsilon and momentum of the net's layers to those of the file.
    ctx : Context or list of Context, optional
        For parameters that are not yet initialized; the current context by default.

    Raises
    ------
    ImportError
        If h5py is not installed.
    OSError
        If the file cannot be opened.
    TypeError
        If an argument is of the wrong type.
    ValueError
        If the file is damaged, or if its layers do not fit the net's, or compute something else. The
        message lists both sides. The net is unchanged in this case.

    Warns
    -----
    UserWarning
        If the layers of the file and the net cannot be compared.

    Notes
    -----
    The kernel of a 1x1 convolution fits a ``Dense`` layer, and the other way. An activation is compared
    if it follows a layer with weights, also behind a sum, but not with another one of several operators.
    Poolings are compared if both sides have as many.

    Examples
    --------
    >>> import h5py, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), 'model.weights.h5')
    >>> with h5py.File(path, 'w') as file:
    ...     file['layers/dense/vars/0'] = [[1., 2.], [3., 4.], [5., 6.]]
    ...     file['layers/dense/vars/1'] = [0., 1.]
    >>> net = nn.Dense(2)
    >>> load_keras_weights(net, path)
    >>> net(mx.nd.array([[1, 0, 1]])).asnumpy()
    array([[6., 9.]], dtype=float32)
    """
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    fix = true_or_false("fix", fix)
    placed = contexts(ctx)
    with opened(path) as found:
        model = None if found.config is None else parse(found.config, found.weights.path)
        held = list(layers_in(found, model))
        units = list(units_of(net))
        if not units:
            raise ValueError(f"{net.name} has no layers with weights")
        if model is None and any(layer.kind for layer in held):
            held = _in_order_of(units, held)
        if len(held) != len(units):
            raise ValueError(_both_sides(found.weights, units, held, "the numbers of layers differ"))
        positions: Dict[Block, int] = {}
        if not _keeps_order(model):
            shape = input_shape or _saved_shape(model)
            positions = _flattened(net, found.weights, units, held, shape)
        values: Values = []
        for unit, layer in zip(units, held):
            weights = weights_of(unit, layer)
            roles = [entry.role for entry in layer.entries]
            if len(weights) != len(roles) or any(r and r != w.role for w, r in zip(weights, roles)):
                raise ValueError(_both_sides(found.weights, units, held, f"{unit.name} differs"))
            for weight, entry in zip(weights, layer.entries):
                array = found.weights.array(entry.where)
                if unit in positions and weight.role == "kernel":
                    # Keras flattens (rows, columns, channels), and MXNet (channels, rows, columns).
                    rows = array.reshape((positions[unit], -1, array.shape[-1]))
                    array = rows.transpose(1, 0, 2).reshape(array.shape)
                values += _fitting(found.weights.path, unit, layer, weight, array)
        wrong = [] if model is None else _different(net, found, model, (units, held), input_shape)
    fixed = [each for each in wrong if fix and each.argument in IN_PLACE]
    if len(fixed) < len(wrong):
        raise ValueError(f"{found.weights.path} computes something else than the net:\n{listed(wrong)}")
    mend(fixed, net)
    for parameter, value in values:
        if parameter._data is None and not parameter._deferred_init:
            fill([(parameter, value)], placed)
        else:  # it keeps its dtype and context
            parameter.shape = value.shape
            parameter.set_data(mx.nd.array(value, mx.cpu()))


def _different(net: Block, found: Opened, model: Model, both: Any, shape: Any) -> List[Difference]:
    """Return the differences of the net's layers from the file's; warn if they cannot be compared."""
    units, held = both
    try:
        built, layers, _ = build(model, settings_of(found, model, source_of(found, model)), "NCHW")
        sizes = [tuple(n or (224 if len(s) == 4 else 64) for n in s[1:]) for s in built.plan.saved]
        shapes = [shape_of("input_shape", shape)] if shape else [(1, *size) for size in sizes]
        blocks = blocks_in_order(layers, [layer.name for layer in held])
        pairs = [(unit, block) for unit, block in zip(units, blocks) if block is not None]
        return list(differences(Net(net, shapes), Net(built, shapes), pairs))
    except (ValueError, TypeError, mx.MXNetError) as error:
        reason = str(error).strip().splitlines()[0]
        warnings.warn(
            f"{found.weights.path}: weights fit, but what the layers compute is not compared: {reason}",
            stacklevel=3,
        )
        return []


def _fitting(path: str, unit: Block, layer: FileLayer, weight: Weight, array: np.ndarray) -> Values:
    """Return a weight's parameters with their values; raise if their shapes differ."""
    try:
        pairs = list(weight.assign(array))
    except ValueError:  # for another number of axes
        pairs = []
    if pairs and all(fits(parameter.shape, value.shape) for parameter, value in pairs):
        return pairs
    takes = " and ".join(f"{p.name} has {tuple(p.shape)}, not {v.shape}" for p, v in pairs)
    raise ValueError(
        f"{path}: the {weight.role} of {layer.name} has shape {array.shape} and "
        f"does not fit {unit.name} ({type(unit).__name__}){': ' + takes if takes else ''}"
    )


def _flattened(
    net: Block, file: Hdf5, units: Sequence[Block], held: Sequence[FileLayer], shape: Any
) -> Dict[Block, int]:
    """Return the number of flattened positions for each Dense after a Flatten."""
    suspects = []
    for before, unit, layer in zip([None, *held], units, held):
        if isinstance(unit, nn.Dense) and before is not None:
            kernel, last = file.shape(layer.entries[0].where), file.shape(before.entries[-1].where)
            if kernel[-2:-1] != last[-1:]:  # else each row is one channel of the layer before
                suspects.append(unit)
    if not suspects:
        return {}
    if shape is None:
        raise ValueError(
            f"{suspects[0].name} may follow a Flatten, whose order depends on sizes that "
            f"{file.path} does not contain: give input_shape"
        )
    known = shape_of("input_shape", shape)
    try:
        return _positions(Trace(net, [known], sized=False), suspects)
    except (mx.MXNetError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{net.name} cannot be traced with {known}: {error}") from error


def _positions(trace: Trace, suspects: Sequence[Block]) -> Dict[Block, int]:
    """Return the number of flattened positions in each Dense's input, if it exceeds 1."""
    flattened: Dict[str, int] = {}  # positions in each matrix, by symbol name
    found, before = {}, ()
    for block, args, outs in trace.layers():
        (shape,), (out,) = trace.shapes_of(args[:1]), trace.shapes_of(outs[:1])
        if None in shape[1:] or None in out[1:]:
            raise ValueError(f"the sizes at {block.name} cannot be inferred from those of the input")
        if len(shape) > 2:
            positions = math.prod(shape[2:])
        elif math.prod(before[1:]) == math.prod(shape[1:]) and args[0].name not in flattened:
            positions = math.prod(before[2:])  # the net flattened it outside of any block
        else:
            positions = flattened.get(args[0].name, 1)
        if block in suspects and positions > 1 and (len(shape) == 2 or block._flatten):
            found[block] = positions
        elif len(shape) == 2 and positions > 1 and block._reg_params:
            raise ValueError(f"{block.name} has weights for flattened positions, which is not supported")
        kept = len(out) == 2 and math.prod(out[1:]) == math.prod(shape[1:]) and block not in suspects
        flattened[outs[0].name] = positions if kept else 1
        before = out
    return found


def _saved_shape(model: Optional[Model]) -> Optional[Tuple[int, ...]]:
    """Return the channels-first shape of the single input, with 64 for unknown sizes."""
    if model is None or len(model.inputs) != 1:
        return None
    given = model.layers[model.inputs[0].layer].input_shape
    if not isinstance(given, list) or len(given) < 2:
        return None
    sizes = [n or 64 for n in given[1:]]
    return (1, *sizes) if "channels_first" in _formats(model, False) else (1, sizes[-1], *sizes[:-1])


def _formats(model: Model, flattens: bool) -> Set[Any]:
    """Return the data formats of the layers that flatten, or of all others."""
    pairs = ((each.class_name.rpartition(">")[2], each.config) for each in model.layers.values())
    return {config.get("data_format") for name, config in pairs if (name == "Flatten") == flattens}


def _keeps_order(model: Optional[Model]) -> bool:
    """Return whether a model flattens images as Gluon does: those with channels first, as they are."""
    first = "channels_first"
    return model is not None and first in _formats(model, False) - _formats(model, True)


def _in_order_of(units: Sequence[Block], held: Sequence[FileLayer]) -> List[FileLayer]:
    """Return a file's layers, known by class and number, in the order of the net's."""
    left, ordered = list(held), []
    for unit in units:
        layer = next((layer for kind in kinds_of(unit) for layer in left if layer.kind == kind), None)
        if layer is not None:
            left.remove(layer)
            ordered.append(layer)
    return ordered + left


def _both_sides(file: Hdf5, units: Sequence[Block], held: Sequence[FileLayer], why: str) -> str:
    """Return a message that lists the net's layers beside the file's, with their shapes."""
    left = [f"{unit.name} ({type(unit).__name__}: {_shapes_of(unit)})" for unit in units]
    right = [f"{layer.name} ({_arrays_of(layer, file)})" for layer in held]
    lines = [f"  {line}" for line in aligned(list(zip_longest(left, right, fillvalue="-")))]
    return "\n".join([f"{file.path} does not fit the net: {why}. Net, and file:", *lines])


def _arrays_of(layer: FileLayer, file: Hdf5) -> str:
    return ", ".join(f"{e.role} {_text(file.shape(e.where))}".strip() for e in layer.entries)


def _shapes_of(unit: Block) -> str:
    parameters = unit.collect_params().values()
    return ", ".join(_text(p.shape) if p.shape else "?" for p in parameters)


def _text(shape: Sequence[int]) -> str:
    """Return a shape as text, with '?' for unknown sizes."""
    return "x".join(str(n) if n > 0 else "?" for n in shape)
