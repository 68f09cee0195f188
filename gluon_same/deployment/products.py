"""A rule that resizes images by products with matrices."""

from typing import Any, Dict, Optional

import mxnet as mx
import numpy as np

from ..arrays import in_thread
from ..graph import Entry, Graph, Node

#: A product multiplies each number of the result by this many numbers at most. With more, it is slower.
MOST = 128


def resize_by_products(graph: Graph, node: Node) -> Optional[Entry]:
    """Resize images, or average windows that divide them, by a product with a matrix for each axis.

    MXNet computes these element by element.
    """
    if node.op not in ("_contrib_BilinearResize2D", "_contrib_AdaptiveAvgPooling2D"):
        return None
    before, after = graph.shape(node.inputs[0]), graph.shape(node.out)
    if before is None or after is None or len(node.inputs) > 1 or max(before[2:]) > MOST:
        return None
    # The rows first, while the image is small: they are the last axis between two transposes.
    swap: Dict[str, Any] = {"axes": (0, 1, 3, 2)}
    y = graph.new("transpose", node, node.inputs, **swap)
    y = _times(graph, node, y, _matrix(node, before[2], after[2]))
    y = graph.new("transpose", node, [y], **swap)
    return _times(graph, node, y, _matrix(node, before[3], after[3]))


def _times(graph, node, data, matrix):
    how = dict(num_hidden=len(matrix), no_bias=True, flatten=False)
    return graph.new("FullyConnected", node, [data, matrix], **how)


def _matrix(node, size, count):
    """Return the weights with which an operator adds the elements of an axis to each of its results."""
    each = mx.nd.array(np.eye(size).reshape(1, size, 1, size))
    if node.op == "_contrib_AdaptiveAvgPooling2D":
        found = mx.nd.contrib.AdaptiveAvgPooling2D(each, output_size=(1, count))
    else:
        aligned = node.get("align_corners", True)
        found = mx.nd.contrib.BilinearResize2D(each, height=1, width=count, align_corners=aligned)
    return in_thread(found.asnumpy).reshape(size, count).T
