"""Rules for poolings of large planes, and for those that only skip elements."""

from typing import Optional

from ..crops import FIRST, is_pointwise, windows_of
from ..geometry import ceil_div
from ..graph import Entry, Graph, Node
from .convolutions import BLOCK, copied
from .layouts import BLOCKED


def stride_in_layer(graph: Graph, node: Node) -> Optional[Entry]:
    """Let a 1x1 convolution skip the elements that a 1x1 pooling before it skips."""
    pool = node.data.node
    if not is_pointwise(node) or pool.op != "Pooling" or pool.get("global_pool", False):
        return None
    before, after = graph.shape(pool.inputs[0]), graph.shape(pool.out)
    stride = tuple(step for kernel, step, _, pad in windows_of(pool) if (kernel, pad) == (1, 0))
    kind = pool.get("pool_type", "max")
    if not before or len(stride) != len(before) - 2 or kind not in ("max", "avg"):
        return None
    if after[2:] != tuple(ceil_div(size, step) for size, step in zip(before[2:], stride)):
        return None
    return graph.with_data(node, pool.inputs[0], stride=stride)


def pool_in_blocks(graph: Graph, node: Node) -> Optional[Entry]:
    """Copy the input of a pooling to oneDNN's blocked layout by a depthwise convolution with ones.

    Without AVX-512, or if they do not fit a cache, oneDNN pools plain planes in 6 to 29 times the time
    that copy and pooling take together. Elsewhere, the copy is a loss.
    """
    if node.op != "Pooling" or node.get("global_pool", False) or node.get("layout") not in FIRST:
        return None
    data, shape = node.inputs[0], graph.shape(node.inputs[0])
    if len(shape) != 4 or shape[1] % BLOCK or set(node.get("kernel")) == {1}:
        return None
    if data.node.op in BLOCKED | {"clip"}:  # which fuses
        return None
    return graph.with_data(node, copied(graph, node, data, shape[1]))
