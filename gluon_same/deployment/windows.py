"""Rules for windows that pad one end more than the other, or that see little but padding."""

from math import prod
from typing import Optional

import numpy as np

from ..crops import crop_of, is_convolution, windows_of, zeros_of
from ..graph import Entry, Graph, Node
from .convolutions import BLOCK, depthwise
from .fold_batchnorm import weights_of, with_weights
from .layouts import BLOCKED

#: The largest number of elements of a kernel that crops.
MOST_TAPS = 4


def grow_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Enlarge the kernel of a depthwise convolution whose result is sliced or whose input is padded.

    Zeros are added to the kernel at the end that has less padding. The operator then pads both ends
    equally, and no result is computed and then sliced away, or copied.
    """
    crop = crop_of(graph, node)
    layer = node if crop is None else node.inputs[0].node
    if not is_convolution(layer) or layer.get("num_group", 1) != layer.get("num_filter"):
        return None
    if graph.uses(node.inputs[0]) > 1:
        return None
    data = layer.inputs[0]
    if crop is None:
        pairs = zeros_of(data.node)
        if pairs is None:
            return None
        data = data.node.inputs[0]
        paddings = [(b + own, a + own) for (b, a), (*_, own) in zip(pairs, windows_of(layer))]
    else:
        paddings = _kept(graph, node, layer, crop)
    weight, bias = weights_of(graph, layer)
    if weight is None or min(map(min, paddings)) < 0 or any(d > 1 for d in layer.get("dilate", ())):
        return None
    pad = tuple(map(max, paddings))
    weight = np.pad(weight, [(0, 0), (0, 0), *((p - b, p - a) for p, (b, a) in zip(pad, paddings))])
    return with_weights(graph, layer, data, weight, bias, kernel=weight.shape[2:], pad=pad)


def drop_taps(graph: Graph, node: Node) -> Optional[Entry]:
    """Shorten the kernel of a convolution whose first and last elements only meet padding.

    A kernel with a dilation as large as the feature map is one of 1x1, as is one of 3x3 on a map of 1x1.
    """
    if not is_convolution(node):
        return None
    kept, pad = [], []
    sizes, outputs = (graph.shape(each)[2:] for each in (node.inputs[0], node.out))
    for (kernel, stride, dilation, own), size, count in zip(windows_of(node), sizes, outputs):
        starts = np.arange(count) * stride - own
        met = [tap for tap in range(kernel) if ((starts + tap * dilation) // size == 0).any()]
        # The operator pads both ends equally, so the kernel loses as many elements at each end.
        dropped = min(met[0], kernel - 1 - met[-1], own // dilation) if met else 0
        kept.append(slice(dropped, kernel - dropped))
        pad.append(own - dropped * dilation)
    weight, bias = weights_of(graph, node)
    if weight is None or not any(each.start for each in kept):
        return None
    weight = weight[(..., *kept)]
    dilate = tuple(d if k > 1 else 1 for (_, _, d, _), k in zip(windows_of(node), weight.shape[2:]))
    changed = dict(kernel=weight.shape[2:], pad=tuple(pad), dilate=dilate)
    return with_weights(graph, node, node.inputs[0], weight, bias, **changed)


def crop_in_blocks(graph: Graph, node: Node) -> Optional[Entry]:
    """Crop by a depthwise convolution, which stays in oneDNN's blocked layout, where a slice does not.

    The kernel spans what is dropped, and has a one at the element that is kept.
    """
    crop, shape = crop_of(graph, node), graph.shape(node.out)
    if crop is None or node.inputs[0].node.op not in BLOCKED:
        return None
    channels, kernel = shape[1], tuple(before + after + 1 for before, after in crop)
    if len(kernel) != 2 or channels % BLOCK or prod(kernel) > MOST_TAPS:
        return None
    one = np.zeros((channels, 1, *kernel))
    one[(..., *(before for before, _ in crop))] = 1
    return depthwise(graph, node, node.inputs[0], one)


def _kept(graph, node, layer, crop):
    """Return the padding of the outputs of a convolution that a slice keeps."""
    paddings = []
    axes = zip(windows_of(layer), crop, graph.shape(layer.inputs[0])[2:], graph.shape(node.out)[2:])
    for (kernel, stride, _, own), (begin, _), size, wanted in axes:
        before = own - begin * stride
        least = (wanted - 1) * stride + kernel - size - before
        # The last windows may leave up to stride - 1 elements unread.
        paddings.append((before, min(max(before, least), least + stride - 1)))
    return paddings
