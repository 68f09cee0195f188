"""Rules that normalize groups of channels by rows or by products."""

from functools import partial
from typing import Any, Optional

import numpy as np

from ..graph import Entry, Graph, Node
from .clean import RESHAPES
from .convolutions import dense
from .layouts import to_reshape

#: The largest number of elements that a product with ones adds up. Files contain the ones.
MOST = 4096

#: The largest number of elements in a row that MXNet normalizes. Files contain two numbers for each.
MOST_IN_ROW = 2**15


def normalize_groups(graph: Graph, node: Node, by_rows: bool = False) -> Optional[Entry]:
    """Find the statistics of groups of channels by products, and apply them by a BatchNorm.

    MXNet's own operators add up element by element. With ``by_rows``, MXNet normalizes the groups as
    rows of a matrix, which it adds up in float32. Products serve longer rows, and are more accurate.
    """
    shape = graph.shape(node.data)
    if node.op not in ("GroupNorm", "InstanceNorm") or not shape:
        return None
    if node.get("output_mean_var", False) or not graph.holds(*node.inputs[1:]):
        return None
    batch, channels = shape[:2]
    groups = node.get("num_groups", 1) if node.op == "GroupNorm" else channels
    source = node.inputs[0].node
    before = (graph.shape(source.inputs[0]) if source.op in RESHAPES else ()) or shape
    if before[0] == batch and len(before) > 1 and before[1] % groups == 0:
        channels = before[1]  # of the image, which files split into groups
    else:
        before = shape
    values: Any = map(graph.param, node.inputs[1:])
    gamma, beta = (np.repeat(np.tile(each, batch), channels // groups) for each in values)
    rows, count = batch * groups, int(np.prod(shape[1:])) // groups
    epsilon = float(node.get("eps", 1e-5 if node.op == "GroupNorm" else 1e-3))
    if by_rows and count > MOST_IN_ROW:
        return None
    data = [to_reshape(graph, node, node.inputs[0])]
    if by_rows:
        factors: Any = gamma
        row = graph.new("Reshape", node, data, shape=(rows, count))
        y = graph.new("LayerNorm", node, [row, np.ones(count), np.zeros(count)], eps=epsilon)
    else:
        y, inverse = _by_products(graph, node, data, rows, count, epsilon)
        factors = graph.new("repeat", node, [inverse], repeats=channels // groups, axis=0)
        factors = graph.new("Reshape", node, [factors], shape=(len(gamma),))
        factors = graph.new("elemwise_mul", node, [factors, gamma])
    image = (1, len(gamma), *(before[2:] if len(before) > 3 else (1, -1)))
    y = graph.new("Reshape", node, [y], shape=image)
    given = [y, factors, beta, np.zeros(len(gamma)), np.ones(len(gamma))]
    y = graph.new("BatchNorm", node, given, fix_gamma=False, use_global_stats=True, eps=1e-12)
    return graph.new("Reshape", node, [y], shape=shape)


def _by_products(graph, node, data, rows, count, epsilon):
    """Return rows without their means, and the inverses of their standard deviations."""
    size = next(n for n in range(min(count, MOST), 0, -1) if count % n == 0)
    parts = graph.new("Reshape", node, data, shape=(rows, count // size, size))
    means = dense(graph, node, parts, np.full((1, size), 1 / size))
    mean = graph.new("mean", node, [means], axis=(1,), keepdims=True)
    centered = graph.new("broadcast_sub", node, [parts, mean])
    row = graph.new("Reshape", node, [centered], shape=(rows, 1, count))
    squares = graph.new("batch_dot", node, [row, row], transpose_b=True)
    variance = graph.new("_mul_scalar", node, [squares], scalar=1 / count)
    shifted = graph.new("_plus_scalar", node, [variance], scalar=epsilon)
    return centered, graph.new("rsqrt", node, [shifted])


#: The rules in the order in which they are tried.
RULES = (partial(normalize_groups, by_rows=True), normalize_groups)
