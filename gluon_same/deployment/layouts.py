"""Rules about plain memory and oneDNN's blocked layout.

MXNet copies blocked data to plain memory for each of its own operators that reads them.
"""

from functools import partial
from math import prod
from typing import Callable, Collection, Iterator, Optional

from ..graph import RESULT, Entry, Graph, Node
from .clean import RESHAPES

#: Operators that oneDNN computes along the last axis.
SOFTMAX = {"softmax", "log_softmax"}

#: Operators whose results are in plain memory.
PLAIN = {"batch_dot", "dot", "linalg_gemm2", "FullyConnected", "Embedding", "take", *SOFTMAX}

#: Operators whose results may be in oneDNN's blocked layout.
ONEDNN = {"Convolution", "Deconvolution", "BatchNorm", "Activation", "LeakyReLU", "Pooling", "Concat"}

#: Those, and sums of their results.
BLOCKED = ONEDNN | {"elemwise_add"}

#: Operators whose results may be in that layout even if their data are not.
MAKE_BLOCKS = {"Convolution", "Deconvolution", "Pooling", "Concat"}

#: Operators that read blocked data.
READ_BLOCKS = {*ONEDNN, *SOFTMAX, "FullyConnected", "LRN", "elemwise_add", "broadcast_add", "add_n"}
READ_BLOCKS |= {"transpose", "SwapAxis", "Reshape", "Flatten", "expand_dims", "squeeze", "slice"}


def copy_to_plain_memory(
    graph: Graph, node: Node, blocks: Collection[str] = READ_BLOCKS
) -> Optional[Entry]:
    """Copy an array to plain memory once for all operators but ``blocks`` that read it."""
    for x in node.inputs:
        takers = [taker for taker in graph.takers(x) if taker is not RESULT and taker.op not in blocks]
        shape = graph.shape(x)
        # The result replaces the first output only, so that operators with several would run twice.
        first = next((taker for taker in takers if taker.get("num_outputs", 1) == 1), None)
        if x.node.op not in BLOCKED or len(takers) < 2 or first is not node or not shape:
            continue
        plain = in_plain_memory(graph, node, x)
        for taker in takers:
            taker.inputs = [plain if entry == x else entry for entry in taker.inputs]
        return graph.like(node, node.inputs)
    return None


#: A rule for int8, in which MXNet cannot quantize an array and its activation in different layouts.
copy_for_activations = partial(copy_to_plain_memory, blocks=READ_BLOCKS - {"Activation", "LeakyReLU"})


def in_plain_memory(graph: Graph, near: Node, entry: Entry) -> Entry:
    """Return a copy of an array in plain memory, by a transpose to the same order."""
    return graph.new("transpose", near, [entry], axes=tuple(range(len(graph.shape(entry)))))


def in_memory_of_volumes(graph: Graph, entry: Entry) -> bool:
    """Return whether an array may be in the memory of a layer's result with five axes.

    Operators that keep the number of elements may write into the memory of what they read. MXNet cannot
    read what a reshape of such an array to fewer axes returns.
    """

    def alike(one, other):
        return prod(graph.shape(one)) == prod(graph.shape(other))

    sources = _sources(entry, {*PLAIN, "transpose", "SwapAxis"}, alike)
    return any(each.node.op in MAKE_BLOCKS and len(graph.shape(each)) == 5 for each in sources)


def _sources(
    entry: Entry, plain: Collection[str], passes: Callable[[Entry, Entry], bool] = lambda *_: True
) -> Iterator[Entry]:
    """Yield an array and those that it may be made of, past all operators but ``plain`` ones.

    ``passes`` returns whether to go on from an operator's result to one of its inputs.
    """
    seen, todo = set(), [entry]
    while todo:
        found = todo.pop()
        if found not in seen:
            seen.add(found)
            yield found
            if found.node.op not in plain:
                todo += [each for each in found.node.inputs if passes(found, each)]


def to_reshape(graph: Graph, near: Node, entry: Entry) -> Entry:
    """Return an array that may be reshaped: with a copy of a layer's result if it has five axes."""
    if not in_memory_of_volumes(graph, entry):
        return entry
    source, shape = entry, graph.shape(entry)
    while source.node.op in RESHAPES and graph.shape(source.node.inputs[0]):
        source = source.node.inputs[0]
    plain = in_plain_memory(graph, near, source)
    return plain if source == entry else graph.new("Reshape", near, [plain], shape=shape)


def softmax_of_rows(graph: Graph, node: Node) -> Optional[Entry]:
    """Apply a softmax over the last axis to rows in plain memory.

    oneDNN ends the process for data in blocks, and for joined columns. Operators between a layer and the
    softmax, which make the data plain, may be dropped or replaced.
    """
    shape = graph.shape(node.out)
    if node.op not in SOFTMAX or len(shape) not in (2, 3, 4) or len(node.inputs) > 1:
        return None
    (data,), columns = node.inputs, len(shape) == 2
    makers, plain = ({"Concat"}, {"transpose", *PLAIN}) if columns else (ONEDNN, PLAIN)
    if node.get("axis", -1) not in (-1, len(shape) - 1):
        return None
    if not any(each.node.op in makers for each in _sources(data, plain)):
        return None
    if columns:
        return graph.with_data(node, in_plain_memory(graph, node, data))
    rows = graph.new("Reshape", node, [data], shape=(-1, shape[-1]))
    rows = graph.with_data(node, rows, axis=-1)
    return graph.new("Reshape", node, [rows], shape=shape)
