"""Rules for slices and concatenations of each other's results, as in the decoders of detectors."""

from typing import Any, List, Optional, Tuple

from ..graph import Entry, Graph, Node


def exchange(graph: Graph, node: Node) -> Optional[Entry]:
    """Concatenate along two axes in the order that requires fewer operators.

    A concatenation of others is one of few parts, each of which consists of many.
    """
    joins: Any = [join_of(graph, entry) for entry in node.inputs]
    own = join_of(graph, node.out)
    axes = {join[0] for join in joins if join}
    if own is None or None in joins or len(axes) != 1 or own[0] in axes:
        return None
    axis = axes.pop()
    widths = {tuple(size_of(graph, part, axis) for part in parts) for _, parts in joins}
    if len(widths) != 1 or len(joins) < len(*widths) or any(graph.uses(e) > 1 for e in node.inputs):
        return None
    parts = [joined(graph, node, each, own[0]) for each in zip(*(parts for _, parts in joins))]
    return joined(graph, node, parts, axis)


def part(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a slice of a concatenation by the part that it returns."""
    found = slice_of(graph, node.out) if node.op == "slice_axis" else None  # of one result
    join = found and join_of(graph, found[0])
    if not found or not join or join[0] != found[1]:
        return None
    begin = 0
    for entry in join[1]:
        end = begin + size_of(graph, entry, join[0])
        if (begin, end) == found[2:]:
            return entry
        begin = end
    return None


def transpose(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a concatenation of all slices of an array, along another axis, by a transpose."""
    join = join_of(graph, node.out)
    slices: Any = [slice_of(graph, entry) for entry in join[1]] if join else []
    if not join or len(slices) < 2 or None in slices or len({found[:2] for found in slices}) != 1:
        return None
    data, axis, _, width = slices[0]
    shape, count = graph.shape(data), len(slices)
    whole = [(data, axis, i * width, (i + 1) * width) for i in range(count)]
    if slices != whole or shape[axis] != count * width or join[0] == axis:
        return None
    split = (*shape[:axis], count, width, *shape[axis + 1 :])
    axes = [i for i in range(len(split)) if i != axis]
    axes.insert(join[0], axis)  # before the axis along which the slices are joined
    y = graph.new("Reshape", node, [data], shape=split)
    y = graph.new("transpose", node, [y], axes=tuple(axes))
    return graph.new("Reshape", node, [y], shape=graph.shape(node.out))


def size_of(graph: Graph, entry: Entry, axis: int) -> int:
    """Return the size of an axis of an array with a known shape."""
    return graph.shape(entry)[axis]


def joined(graph, node, parts, axis):
    """Return the concatenation of arrays, named after a node."""
    return graph.new("Concat", node, parts, dim=axis, num_args=len(parts))


def join_of(graph: Graph, entry: Entry) -> Optional[Tuple[int, List[Entry]]]:
    """Return the axis and the parts of a concatenation; None for others."""
    shape = graph.shape(entry)
    if entry.node.op != "Concat" or not shape or not all(map(graph.shape, entry.node.inputs)):
        return None
    return entry.node.get("dim", 1) % len(shape), entry.node.inputs


def slice_of(graph: Graph, entry: Entry) -> Optional[Tuple[Entry, int, int, int]]:
    """Return data, axis, begin and end of a slice along one axis; None for others."""
    node, result = entry.node, graph.shape(entry)
    shape = graph.shape(node.data)
    if node.op not in ("slice_axis", "SliceChannel") or not shape or len(result) != len(shape):
        return None
    axis = node.get("axis", 1) % len(shape)
    begin, *_ = slice(node.get("begin", entry.output * result[axis]), None).indices(shape[axis])
    return node.inputs[0], axis, begin, begin + result[axis]


#: The rules in the order in which they are tried.
RULES = (transpose, exchange, part)
