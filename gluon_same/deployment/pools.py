"""A rule for poolings of large planes."""

from typing import Optional

from ..crops import FIRST
from ..graph import Entry, Graph, Node
from .convolutions import copied

#: Operators that hand on the blocked layout of a convolution before them.
BLOCKED = {"Convolution", "Activation", "BatchNorm", "LeakyReLU", "Pooling", "elemwise_add", "clip"}


def pool_in_blocks(graph: Graph, node: Node) -> Optional[Entry]:
    """Copy the input of a pooling to oneDNN's blocked layout by a depthwise convolution with ones.

    Without AVX-512, or if they do not fit a cache, oneDNN pools plain planes in 6 to 29 times the time
    that copy and pooling take together. Elsewhere, the copy is a loss, so tuning must choose it.
    """
    if node.op != "Pooling" or node.get("global_pool", False) or node.get("layout") not in FIRST:
        return None
    data, shape = node.inputs[0], graph.shape(node.inputs[0])
    if shape is None or len(shape) != 4 or shape[1] % 8 or set(node.get("kernel")) == {1}:
        return None
    if data.node.op in BLOCKED:
        return None
    return graph.new("Pooling", node, [copied(graph, node, data, shape[1])], **node.attrs)
