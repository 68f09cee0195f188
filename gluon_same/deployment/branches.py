"""Rules for convolutions before and after a concatenation, which copies their results."""

from math import prod
from typing import Any, List, Optional

import numpy as np

from ..crops import FIRST, is_convolution, windows_of
from ..graph import Entry, Graph, Node
from .convolutions import LEAST
from .fold_batchnorm import weights_of, widened, with_weights
from .joins import join_of, joined, size_of, slice_of
from .layouts import BLOCKED, in_plain_memory

#: Largest factor by which the products of depthwise convolutions grow if their kernels are padded to the
#: largest one. The time grows less, because the memory that is read and written stays the same.
MOST_GROWN = 2.5

#: Most channels that a layer reads if it computes each filter twice instead of copying its results.
MOST_DOUBLED = 128


def join_convolutions(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace convolutions whose results are concatenated with one.

    All read the same array, or each its own slice of one. The one then has a group for each slice, and
    depthwise kernels are padded with zeros to the largest.
    """
    layers = [entry.node for entry in _parts(graph, node.out)]
    if len(layers) < 2 or not all(map(is_convolution, layers)):
        return None
    if any(graph.uses(entry) > 1 for entry in node.inputs):
        return None
    weights, biases = zip(*(weights_of(graph, each) for each in layers))
    read = _read(graph, layers)
    if read is None or any(weight is None for weight in weights):
        return None
    data, groups = read
    sizes = {(len(w) // n, w.shape[1]) for w, n in zip(weights, groups)}  # filters, channels
    if len(sizes) > 1:
        return None
    largest = list(map(max, zip(*map(windows_of, layers))))
    wide: List[Any] = [widened(layer, weight, largest) for layer, weight in zip(layers, weights)]
    if any(weight is None for weight in wide):
        return None
    weight, bias = np.concatenate(wide), np.concatenate(biases)
    if weight.size > (MOST_GROWN if sizes == {(1, 1)} else 1) * sum(each.size for each in weights):
        return None
    kernel, *_, pad = zip(*largest)
    how = dict(kernel=kernel, pad=pad, num_group=sum(groups))
    return with_weights(graph, layers[0], data, weight, bias, **how)


def split_convolution(graph: Graph, node: Node) -> Optional[Entry]:
    """Add convolutions of the parts of a concatenation, so that nothing copies the parts.

    oneDNN adds to a result while it convolves. This moves less memory if the results are smaller than
    what would be concatenated.
    """
    parts = _parts(graph, node.inputs[0]) if node.op == "Convolution" else []
    takers = graph.takers(node.data)
    if not parts or not all(map(_is_dense, takers)):
        return None
    whole, *results = (np.prod(graph.shape(each)) for each in (node.inputs[0], *(t.out for t in takers)))
    weight, bias = weights_of(graph, node)
    if weight is None or (len(parts) - 1) * sum(results) > whole:
        return None
    ends = np.cumsum([size_of(graph, part, 1) for part in parts])[:-1]
    (first, own), *others = zip(parts, np.split(weight, ends, axis=1))
    result = with_weights(graph, node, first, own, bias)
    for part, own in others:
        term = graph.like(node, [part, own], no_bias=True)
        result = graph.new("elemwise_add", node, [result, term])
    return result


def pool_parts(graph: Graph, node: Node) -> Optional[Entry]:
    """Pool the parts of a concatenation, whose results are smaller, before they are concatenated."""
    parts = _parts(graph, node.inputs[0]) if node.op == "Pooling" else []
    if not parts or graph.uses(node.inputs[0]) > 1 or node.get("layout") not in FIRST:
        return None
    before, after = (np.prod(graph.shape(entry)) for entry in (node.inputs[0], node.out))
    if after >= before:
        return None
    pooled = [graph.with_data(node, part) for part in parts]
    return joined(graph, node, pooled, 1)


def add_to_sum(graph: Graph, node: Node) -> Optional[Entry]:
    """Add what is no convolution first, so that both convolutions add to a sum as they are computed."""
    for one, other in node.operands("elemwise_add"):
        terms = one.node.inputs if one.node.op == node.op and graph.uses(one) == 1 else []
        if {term.node.op for term in terms} == {"Convolution"} and other.node.op != "Convolution":
            first = graph.new(node.op, node, [other, terms[0]])
            return graph.new(node.op, node, [first, terms[1]])
    return None


def join_by_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Concatenate an array with a depthwise convolution of it, as in GhostNet, without a copy.

    The layer before computes each filter twice. In the depthwise convolution of both, the kernels of the
    first have a one at the center.
    """
    parts = _parts(graph, node.out)
    if [graph.uses(part) for part in parts] != [2, 1]:
        return None
    (layer, before), (cheap, after) = (_layer(graph, part) for part in parts)
    if not _is_dense(layer) or not is_convolution(cheap) or cheap.inputs[0] != parts[0]:
        return None
    (weight, bias), (kernels, shift) = weights_of(graph, layer), weights_of(graph, cheap)
    if weight is None or kernels is None or kernels.shape[:2] != (len(weight), 1) or weight.ndim != 4:
        return None
    centered = all(k % 2 and (d * (k - 1), s) == (2 * p, 1) for k, s, d, p in windows_of(cheap))
    if cheap.get("num_group", 1) != len(weight) or not centered or (after and not before):
        return None
    if weight.shape[1] > MOST_DOUBLED:
        return None
    same = np.zeros_like(kernels)
    same[(..., *(k // 2 for k in kernels.shape[2:]))] = 1
    twice, count = (np.concatenate([each] * 2) for each in (weight, bias)), 2 * len(weight)
    y = with_weights(graph, layer, layer.inputs[0], *twice)
    y = graph.new("Activation", layer, [y], act_type="relu") if before else y
    weight, bias = np.concatenate([same, kernels]), np.concatenate([0 * shift, shift])
    y = with_weights(graph, cheap, y, weight, bias, num_group=count)
    return graph.new("Activation", cheap, [y], act_type="relu") if after else y


def join_by_copies(graph: Graph, node: Node) -> Optional[Entry]:
    """Bring the smallest part of a concatenation to plain memory, so that oneDNN copies the parts whole.

    If all parts have the same layout, it copies the channels of one sample number by number, with a
    function call for each.
    """
    parts, shape = _parts(graph, node.out), graph.shape(node.out)
    if len(parts) < 2 or len(shape) != 4 or shape[0] != 1 or prod(shape) < LEAST:
        return None
    if any(part.node.op not in BLOCKED for part in parts):
        return None
    least = min(range(len(parts)), key=lambda i: size_of(graph, parts[i], 1))
    plain = in_plain_memory(graph, node, parts[least])
    return joined(graph, node, [*parts[:least], plain, *parts[least + 1 :]], 1)


def _parts(graph, entry):
    """Return the arrays whose channels an entry concatenates; nothing for others."""
    join = join_of(graph, entry)
    return join[1] if join and join[0] == 1 else []


def _is_dense(node):
    return is_convolution(node) and node.get("num_group", 1) == 1


def _layer(graph, entry):
    """Return the node of an entry, or the one in front of its ReLU, and whether it has one."""
    node = entry.node
    relu = node.get("act_type") == "relu" and graph.uses(node.inputs[0]) == 1
    return (node.inputs[0].node if relu else node), relu


def _read(graph, layers):
    """Return the array that layers read, and the groups of each; None if they leave out a channel."""
    groups = [int(each.get("num_group", 1)) for each in layers]
    data = layers[0].inputs[0]
    if all(each.inputs[0] == data for each in layers):
        return (data, [1]) if sum(groups) == len(groups) else None
    slices: Any = [slice_of(graph, each.inputs[0]) for each in layers]
    if None in slices or len({found[:2] for found in slices}) != 1 or slices[0][1] != 1:
        return None
    data, end = slices[0][0], 0
    for *_, begin, next_end in slices:
        if begin != end:
            return None
        end = next_end
    return (data, groups) if end == size_of(graph, data, 1) else None


#: Rules that move concatenations behind what follows, where they copy less.
MOVES = (pool_parts, split_convolution, add_to_sum)
