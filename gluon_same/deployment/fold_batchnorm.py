"""Rules that fold per-channel scales and shifts into the weights of an adjacent layer."""

from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ..crops import FIRST, sink_normalized, windows_of
from ..graph import Entry, Graph, Node, scalar
from .activations import factor_of
from .clean import RESHAPES

#: Maps operators with a weight to the weight's output axis.
LAYERS = {"Convolution": 0, "Deconvolution": 1, "FullyConnected": 0}

#: Kernel, stride, dilation and padding of each axis.
Windows = Sequence[Tuple[int, ...]]


class Affine(NamedTuple):
    """Affine map ``data * scale + shift`` with scalars, or with arrays of one element per channel."""

    data: Entry
    axis: Optional[int]  #: channel axis; None for scalars
    scale: Union[np.ndarray, np.float64]
    shift: Union[np.ndarray, np.float64]


def affine(graph: Graph, node: Node) -> Optional[Affine]:
    """Return an operator as a scale and a shift; None if it is not affine."""
    if node.op == "BatchNorm":
        return _normalization(graph, node)
    factor = factor_of(node)
    if factor is not None:
        return Affine(node.inputs[0], None, np.float64(factor), np.float64(0))
    if node.op in ("_plus_scalar", "_minus_scalar"):
        shift = scalar(node) if node.op == "_plus_scalar" else -scalar(node)
        return Affine(node.inputs[0], None, np.float64(1), np.float64(shift))
    return _by_channel(graph, node)


def fold_after(graph: Graph, node: Node) -> Optional[Entry]:
    """Fold a scale and a shift into the layers before, or those whose results other operators move."""
    found = affine(graph, node)
    return _folded(graph, found) if found else None


def _folded(graph, found):
    """Return the scaled and shifted data; None if other operators than layers compute them."""
    node, shape = found.data.node, graph.shape(found.data)
    if graph.uses(found.data) > 1 or not shape or found.data.output:
        return None
    if node.op in LAYERS:
        return _in_layer(graph, found)
    if node.op in ("BatchNorm", "LayerNorm"):
        return _in_scale(graph, found)
    moved = [_folded(graph, each) for each in _sources(graph, found)]
    if not moved or None in moved:
        return None
    if node.op in RESHAPES:
        return graph.new("Reshape", node, moved, shape=shape)
    return graph.like(node, moved)


def _sources(graph, found):
    """Return the same map of what an operator moves or joins; nothing for all other operators."""
    node, axis, shape = found.data.node, found.axis, graph.shape(found.data)
    inputs = [(entry, graph.shape(entry)) for entry in node.inputs]
    if node.op not in (*RESHAPES, "transpose", "Concat") or not all(before for _, before in inputs):
        return []
    if node.op == "Concat" and axis == node.get("dim", 1) % len(shape):
        ends = np.cumsum([before[axis] for _, before in inputs])[:-1]
        parts = zip(np.split(found.scale, ends), np.split(found.shift, ends))
        return [Affine(entry, axis, *part) for (entry, _), part in zip(inputs, parts)]
    if axis is not None and node.op == "transpose":
        axis = (node.get("axes") or range(len(shape))[::-1])[axis]
    elif axis is not None and node.op in RESHAPES:
        while inputs[0][0].node.op in RESHAPES and graph.uses(inputs[0][0]) == 1:
            inputs = [(entry, graph.shape(entry)) for entry in inputs[0][0].node.inputs]
        before, place = inputs[0][1], (np.prod(shape[:axis]), shape[axis])
        same = (i for i, n in enumerate(before) if (np.prod(before[:i]), n) == place)
        axis = next(same, None)
        if axis is None:
            return []
    return [found._replace(data=entry, axis=axis) for entry, _ in inputs]


def _in_layer(graph, found):
    """Return the result of a layer with other weights; None if its weights or axis do not fit."""
    layer = found.data.node
    weight, bias = weights_of(graph, layer)
    if weight is None or found.axis not in (None, channels_of(graph, layer)):
        return None
    if layer.op == "Deconvolution" and layer.get("layout") not in FIRST:
        return None
    groups, shape = layer.get("num_group", 1), (1, -1, 1) if LAYERS[layer.op] else (-1, 1, 1)
    rows = weight.reshape(groups, len(weight) // groups, weight.shape[1], -1)
    scale = np.broadcast_to(found.scale, bias.shape).reshape(groups, *shape)
    weight = (rows * scale).reshape(weight.shape)
    return with_weights(graph, layer, layer.inputs[0], weight, bias * found.scale + found.shift)


def _in_scale(graph, found):
    """Return the result of a normalization with another scale; None if its scale is fixed."""
    node = found.data.node
    data, gamma, beta, *statistics = node.inputs
    by_rows = node.op == "LayerNorm"
    shift = graph.param(beta)
    axis = node.get("axis", -1 if by_rows else 1) % len(graph.shape(found.data))
    fixed = node.get("output_mean_var", False) or (not by_rows and node.get("fix_gamma", True))
    if fixed or shift is None or found.axis not in (None, axis):
        return None
    scale, known = np.broadcast_to(found.scale, shift.shape), graph.param(gamma)
    scaled = graph.new("elemwise_mul", node, [gamma, scale]) if known is None else known * scale
    return graph.like(node, [data, scaled, shift * scale + found.shift, *statistics])


def fold_before(graph: Graph, node: Node) -> Optional[Entry]:
    """Fold a scale and a shift into the following layer if no padding is in between."""
    if node.op not in ("Convolution", "FullyConnected"):
        return None
    found = affine(graph, node.inputs[0].node)
    weight, bias = weights_of(graph, node)
    if found is None or weight is None or graph.uses(node.inputs[0]) > 1 or node.inputs[0].output:
        return None
    shape = graph.shape(found.data)
    first = node.op == "Convolution" or node.get("flatten", True)
    channels = 1 if first else len(shape) - 1
    if not shape or found.axis not in (None, channels) or node.get("layout") not in FIRST:
        return None
    if np.any(found.shift) and any(node.get("pad", ())):
        return None
    scale, shift = np.broadcast_to(found.scale, shape[channels]), np.zeros(shape[channels]) + found.shift
    groups = node.get("num_group", 1)
    # Axes: group, output, input, all others. A flattened layer reads the elements channel by channel.
    rows = weight.reshape(groups, len(weight) // groups, shape[channels] // groups, -1)
    scale, shift = (x.reshape(groups, 1, -1, 1) for x in (scale, shift))
    bias = bias + (rows * shift).sum(axis=(2, 3)).reshape(-1)
    return with_weights(graph, node, found.data, (rows * scale).reshape(weight.shape), bias)


def fold_sign(graph: Graph, node: Node) -> Optional[Entry]:
    """Fold the sign of what is subtracted into the layer before."""
    if node.op != "elemwise_sub":
        return None
    minus = _folded(graph, Affine(node.inputs[1], None, np.float64(-1), np.float64(0)))
    return graph.new("elemwise_add", node, [node.inputs[0], minus]) if minus else None


def _normalization(graph, node):
    parameters = [graph.param(entry) for entry in node.inputs[1:5]]
    shape = graph.shape(node.inputs[0])
    if not shape or any(p is None for p in parameters) or node.get("output_mean_var", False):
        return None
    gamma, beta, mean, var = (p.astype("float64") for p in parameters)
    if node.get("fix_gamma", True):
        gamma = np.ones_like(gamma)
    scale = gamma / np.sqrt(var + float(node.get("eps", 1e-3)))
    return Affine(node.inputs[0], node.get("axis", 1) % len(shape), scale, beta - mean * scale)


def _by_channel(graph, node):
    for data, other in node.operands("broadcast_mul", "broadcast_add", "broadcast_sub"):
        values, shape = graph.param(other), graph.shape(data)
        if values is None or not shape:
            continue
        wide = (1,) * (len(shape) - values.ndim) + values.shape
        axes = [axis for axis, n in enumerate(wide) if n > 1]
        if len(wide) > len(shape) or len(axes) > 1 or any(wide[a] != shape[a] for a in axes):
            continue
        axis, values = axes[0] if axes else None, values.astype("float64").reshape(-1)
        values = values if axes else values[0]
        if node.op == "broadcast_mul":
            return Affine(data, axis, values, np.zeros_like(values))
        sign = -1 if node.op == "broadcast_sub" else 1
        return Affine(data, axis, np.ones_like(values), sign * values)
    return None


def weights_of(graph, layer):
    """Return weight and bias in float64, with zeros for a missing bias; None if weights are computed."""
    values = [graph.param(entry) for entry in layer.inputs[1:]]
    if not values or any(value is None for value in values):
        return None, None
    zeros = np.zeros(int(layer.get("num_filter") or layer.get("num_hidden")))
    return tuple(value.astype("float64") for value in [*values, zeros][:2])


def widened(layer: Node, weight: np.ndarray, wanted: Windows) -> Optional[np.ndarray]:
    """Return a kernel with zeros around it, for windows at the same places; None if they do not fit."""
    more = []
    for (kernel, stride, dilation, pad), window in zip(windows_of(layer), wanted):
        n = (window[0] - kernel) // 2
        if n < 0 or (kernel + 2 * n, stride, dilation, pad + n * dilation) != window:
            return None
        more.append((n, n))
    return np.pad(weight, [(0, 0), (0, 0), *more])


def channels_of(graph, layer):
    """Return the channel axis of a layer's result."""
    if layer.op == "FullyConnected":
        return 1 if layer.get("flatten", True) else len(graph.shape(layer.out)) - 1
    return (layer.get("layout") or "NC").index("C")


def with_weights(
    graph: Graph, layer: Node, data: Entry, weight: np.ndarray, bias: np.ndarray, **changed: Any
) -> Entry:
    """Return the result of a copy of a layer with other data, weights and arguments."""
    count = "num_hidden" if layer.op == "FullyConnected" else "num_filter"
    return graph.like(layer, [data, weight, bias], **{"no_bias": False, count: len(bias), **changed})


#: The rules in the order in which they are tried.
RULES = (sink_normalized, fold_after, fold_before, fold_sign)
