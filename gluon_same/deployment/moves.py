"""Rules for transposes and reshapes, as where images are split into windows or arrays into heads."""

from typing import Optional

import numpy as np

from ..arrays import runs_of
from ..graph import Entry, Graph, Node
from .clean import RESHAPES, drop_identity
from .layouts import in_memory_of_volumes

#: The largest number of axes of a transpose in oneDNN.
MOST = 4


def merge_axes(graph: Graph, node: Node) -> Optional[Entry]:
    """Merge axes that stay neighbors and drop axes of one element, so that oneDNN can transpose."""
    shape = graph.shape(node.data)
    if node.op != "transpose" or len(shape) <= MOST or in_memory_of_volumes(graph, node.data):
        return None
    axes = node.get("axes") or range(len(shape))[::-1]
    long = [axis for axis, n in enumerate(shape) if n > 1]
    groups = runs_of([long.index(axis) for axis in axes if axis in long])
    if len(groups) > MOST:
        return None
    before = sorted(groups)
    sizes = [int(np.prod([shape[long[place]] for place in group])) for group in before]
    y = graph.new("Reshape", node, node.inputs, shape=tuple(sizes) or (1,))
    if len(groups) > 1:
        y = graph.new("transpose", node, [y], axes=tuple(map(before.index, groups)))
    return graph.new("Reshape", node, [y], shape=graph.shape(node.out))


def merge_reshapes(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace two reshapes in a row by one."""
    shape = graph.shape(node.out)
    if node.op not in RESHAPES or not shape or node.data.node.op not in RESHAPES:
        return None
    return graph.new("Reshape", node, node.inputs[0].node.inputs[:1], shape=shape)


def image_of(graph: Graph, entry: Entry) -> Optional[Entry]:
    """Return the image whose channels an entry splits into groups; None if it does not."""
    image, shape = entry.node.data, graph.shape(entry)
    if entry.node.op not in RESHAPES or len(shape) != 5:
        return None
    batch, groups, count, *size = shape
    return image if graph.shape(image) == (batch, groups * count, *size) else None


RULES = (merge_axes, merge_reshapes, drop_identity)
