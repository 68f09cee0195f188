"""What graphs contain because MXNet has no gradient otherwise, and rules that take it out again."""

from typing import Any, Optional, Sequence

from .arrays import operators_before
from .graph import LOOPS, RESULT, Entry, Graph, Node

#: Channels of the second part of a transposed convolution in parts: no multiple of 8.
_REST = 4


def needs_parts(channels: Optional[int], filters: int) -> bool:
    """Return whether MXNet has no gradient of the data of a transposed convolution on a CPU."""
    return filters == 1 and not (channels or 1) % 8


def channels_of(x: Any) -> int:
    """Return the channels of a convolution's result, also after activations or such; 0 if unknown."""
    for attrs in operators_before(x):
        if "num_filter" in attrs:
            return int(attrs["num_filter"])
        begin, end, axis = (attrs.get(name, "") for name in ("begin", "end", "axis"))
        crops = begin[:11] == end[:11] == "(None, None" or (begin == axis == "0" and end == "None")
        if not (crops or {"act_type", "eps"} & attrs.keys()):
            break
    return 0


def deconvolve_parts(
    F: Any, x: Any, weight: Any, *bias: Any, no_bias: bool, name: Optional[str] = None, **call: Any
) -> Any:
    """Compute a transposed convolution as the sum of those of two parts of the channels."""
    axes = call["layout"].index("C"), 0

    def part(begin, end):
        return [F.slice_axis(a, axis=n, begin=begin, end=end) for a, n in zip((x, weight), axes)]

    y = F.Deconvolution(*part(0, -_REST), *bias, no_bias=no_bias, name=name, **call)
    return F.elemwise_add(y, F.Deconvolution(*part(-_REST, None), no_bias=True, **call))


def join_parts(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace :func:`deconvolve_parts` with one transposed convolution."""
    first, rest = [entry.node for entry in node.inputs[:2]] if node.op == "elemwise_add" else 2 * [node]
    if {first.op, rest.op} != {"Deconvolution"}:
        return None
    pairs = [[entry.node for entry in each] for each in zip(first.inputs[:2], rest.inputs)]
    for pair in pairs:
        bounds = [(each.get("begin"), each.get("end")) for each in pair if each.op == "slice_axis"]
        if bounds != [(0, -_REST), (-_REST, None)] or pair[0].inputs != pair[1].inputs:
            return None
    return graph.like(first, [*(pair[0].inputs[0] for pair in pairs), *first.inputs[2:]])


def cuts_blocks(axis: int, shapes: Sequence[Sequence[Optional[int]]]) -> bool:
    """Return whether MXNet cannot split the gradient of arrays that are joined along an axis.

    The gradients of images of a multiple of 8 channels may be in oneDNN's memory, in blocks of 8 or 16
    channels. If the parts are no whole blocks, the backward pass fails, or ends the process.
    """
    channels = [shape[1] or 0 for shape in shapes if axis == 1 and len(shape) == 4]
    return any(n % 16 for n in channels) and sum(channels) % 8 == 0


def copy_joined(graph: Graph, node: Node) -> Optional[Entry]:
    """Copy the joined channels of images out of oneDNN's blocks if these cannot be split."""
    if node.op != "Concat" or not cuts_blocks(
        int(node.get("dim", 1)), list(map(graph.shape, node.inputs))
    ):
        return None
    if all(taker is not RESULT and _is_copy(taker) for taker in graph.takers(node.out)):
        return None
    return _copied(graph, node, graph.like(node, node.inputs))


def copy_normalized(graph: Graph, node: Node) -> Optional[Entry]:
    """Normalize a copy of data over one or three axes, and copy the result: see nn.BatchNorm."""
    if (
        node.op != "BatchNorm"
        or len(graph.shape(node.inputs[0])) not in (3, 5)
        or _is_copy(node.data.node)
    ):
        return None
    data, *parameters = node.inputs
    return _copied(graph, node, graph.like(node, [_copied(graph, node, data), *parameters]))


def divide_deconvolution(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a transposed convolution of one filter as :func:`deconvolve_parts` does."""
    shape = graph.shape(node.inputs[0]) if node.op == "Deconvolution" else ()
    if not shape or node.get("num_group", 1) != 1 or not needs_parts(shape[1], node.get("num_filter")):
        return None

    def part(begin, end):
        pairs = zip(node.inputs, (1, 0))
        return [graph.new("slice_axis", node, [x], axis=n, begin=begin, end=end) for x, n in pairs]

    first = graph.like(node, [*part(0, -_REST), *node.inputs[2:]])
    return graph.new("elemwise_add", node, [first, graph.like(node, part(-_REST, None), no_bias=True)])


def _is_copy(node):
    return node.op == "slice_axis" and not node.get("begin") and node.get("end") is None


def _copied(graph, near, entry):
    return graph.new("slice_axis", near, [entry], axis=0, begin=0, end=None)


def drop_copy(graph: Graph, node: Node) -> Optional[Entry]:
    """Drop the copy that :func:`~gluon_same.arrays.apart` makes, except in front of a loop."""
    if not _is_copy(node):
        return None
    source, takers = node.inputs[0], graph.takers(node.out)
    needed = RESULT in takers and source.node.op == "null"
    return None if needed or any(taker.op in LOOPS for taker in takers) else source


#: For graphs without gradients, and for those with gradients.
INFERENCE = (join_parts, drop_copy)
TRAINING = (copy_joined, copy_normalized, divide_deconvolution)
