"""Rules for slices and concatenations, as in the decoders of detectors and in nets of mixed kernels."""

from math import prod
from typing import Any, List, Optional, Tuple

import numpy as np

from ..crops import FIRST, windows_of
from ..graph import Entry, Graph, Node
from .fold_batchnorm import weights_of, with_weights

#: Depthwise convolutions grow their kernels to those of others if they compute at most this many times
#: as much. They take little more time, because they read and write as much memory.
MOST_GROWN = 2.5


def exchange(graph: Graph, node: Node) -> Optional[Entry]:
    """Concatenate along two axes in the order that requires fewer operators.

    A concatenation of others is one of few parts, each of which consists of many.
    """
    joins: Any = [_join(graph, entry) for entry in node.inputs]
    own = _join(graph, node.out)
    if own is None or None in joins or len({own[0], *(axis for axis, _ in joins)}) != 2:
        return None
    axis = joins[0][0]
    widths = {tuple(_size(graph, part, axis) for part in parts) for _, parts in joins}
    if len(widths) != 1 or len(joins) < len(*widths) or any(graph.uses(e) > 1 for e in node.inputs):
        return None
    parts = [_joined(graph, node, each, own[0]) for each in zip(*(parts for _, parts in joins))]
    return _joined(graph, node, parts, axis)


def part(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a slice of a concatenation by the part that it returns."""
    found = _slice(graph, node.out)
    join = found and _join(graph, found[0])
    if not found or not join or join[0] != found[1]:
        return None
    begin = 0
    for entry in join[1]:
        end = begin + _size(graph, entry, join[0])
        if (begin, end) == found[2:]:
            return entry
        begin = end
    return None


def transpose(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a concatenation of all slices of an array, along another axis, by a transpose."""
    join = _join(graph, node.out)
    slices: Any = [_slice(graph, entry) for entry in join[1]] if join else []
    if not join or len(slices) < 2 or None in slices or len({found[:2] for found in slices}) != 1:
        return None
    data, axis, _, width = slices[0]
    shape, count = graph.shape(data) or (), len(slices)
    whole = [(data, axis, i * width, (i + 1) * width) for i in range(count)]
    if slices != whole or shape[axis] != count * width or join[0] == axis:
        return None
    split = (*shape[:axis], count, width, *shape[axis + 1 :])
    axes = [i for i in range(len(split)) if i != axis]
    axes.insert(join[0], axis)  # before the axis along which the slices are joined
    y = graph.new("Reshape", node, [data], shape=split)
    y = graph.new("transpose", node, [y], axes=tuple(axes))
    return graph.new("Reshape", node, [y], shape=graph.shape(node.out))


def join_convolutions(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace convolutions whose results are concatenated with one.

    All read the same array, or each its own slice of one. The one then has a group for each slice, and
    depthwise kernels are padded with zeros to the largest.
    """
    join = _join(graph, node.out)
    layers = [entry.node for entry in node.inputs] if join and join[0] == 1 else []
    if len(layers) < 2 or any(each.op != "Convolution" for each in layers):
        return None
    if any(graph.uses(entry) > 1 for entry in node.inputs) or layers[0].get("layout") not in FIRST:
        return None
    weights, biases = zip(*(weights_of(graph, each) for each in layers))
    read = _read(graph, layers)
    if read is None or any(weight is None for weight in weights):
        return None
    data, groups = read
    sizes = {(len(w) // n, w.shape[1]) for w, n in zip(weights, groups)}  # of a group
    if len(sizes) > 1:
        return None
    kernel, pad, more = [], [], []
    for axis in zip(*map(windows_of, layers)):
        size, stride, dilation, own = max(axis)
        kernel.append(size)
        pad.append(own)
        more.append([(size - k) // 2 for k, *_ in axis])
        centered = [(size - 2 * n, stride, dilation, own - n * dilation) for n in more[-1]]
        if centered != list(axis):
            return None
    grown = sum(map(len, weights)) * prod(kernel) / sum(len(w) * prod(w.shape[2:]) for w in weights)
    if grown > (MOST_GROWN if sizes == {(1, 1)} else 1):
        return None
    wide = [np.pad(w, [(0, 0), (0, 0), *((n, n) for n in m)]) for w, m in zip(weights, zip(*more))]
    weight, bias = np.concatenate(wide), np.concatenate(biases)
    attrs = dict(num_filter=len(weight), num_group=sum(groups))
    return with_weights(
        graph, layers[0], data, weight, bias, kernel=tuple(kernel), pad=tuple(pad), **attrs
    )


def _read(graph, layers):
    """Return the array that layers read, and the groups of each; None if they leave out a channel."""
    groups = [int(each.get("num_group", 1)) for each in layers]
    data = layers[0].inputs[0]
    if all(each.inputs[0] == data for each in layers):
        return (data, [1]) if sum(groups) == len(groups) else None
    slices: Any = [_slice(graph, each.inputs[0]) for each in layers]
    if None in slices or len({found[:2] for found in slices}) != 1 or slices[0][1] != 1:
        return None
    data, end = slices[0][0], 0
    for *_, begin, next_end in slices:
        if begin != end:
            return None
        end = next_end
    return (data, groups) if end == _size(graph, data, 1) else None


def _size(graph: Graph, entry: Entry, axis: int) -> int:
    return (graph.shape(entry) or ())[axis]


def _joined(graph, node, parts, axis):
    return graph.new("Concat", node, parts, dim=axis, num_args=len(parts))


def _join(graph: Graph, entry: Entry) -> Optional[Tuple[int, List[Entry]]]:
    """Return the axis and the parts of a concatenation; None for others."""
    shape = graph.shape(entry)
    if entry.node.op != "Concat" or shape is None or None in map(graph.shape, entry.node.inputs):
        return None
    return entry.node.get("dim", 1) % len(shape), entry.node.inputs


def _slice(graph: Graph, entry: Entry) -> Optional[Tuple[Entry, int, int, int]]:
    """Return data, axis, begin and end of a slice along one axis; None for others."""
    node, result = entry.node, graph.shape(entry)
    shape = graph.shape(node.inputs[0]) if node.op in ("slice_axis", "SliceChannel") else None
    if shape is None or result is None or len(result) != len(shape):
        return None
    axis = node.get("axis", 1) % len(shape)
    begin, *_ = slice(node.get("begin", entry.output * result[axis]), None).indices(shape[axis])
    return node.inputs[0], axis, begin, begin + result[axis]


#: The rules in the order in which they are tried.
RULES = (transpose, exchange, part)
