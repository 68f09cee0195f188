"""Rules for windows that pad one end more than the other."""

from typing import Optional

import numpy as np

from ..graph import Entry, Graph, Node
from .fold_batchnorm import weights_of, with_weights


def grow_kernel(graph: Graph, node: Node) -> Optional[Entry]:
    """Enlarge the kernel of a convolution whose result is sliced or whose input is padded.

    Zeros are added to the kernel at the end that has less padding. The operator then pads both ends
    equally, and no result is computed and then sliced away, or copied.
    """
    found = _cut(graph, node) if node.op == "slice" else _padded(graph, node)
    if found is None or min(map(min, found[2])) < 0:
        return None
    layer, data, paddings = found
    weight, bias = weights_of(graph, layer)
    if weight is None or any(d > 1 for d in layer.get("dilate", ())):
        return None
    pad = tuple(map(max, paddings))
    weight = np.pad(weight, [(0, 0), (0, 0), *((p - b, p - a) for p, (b, a) in zip(pad, paddings))])
    return with_weights(graph, layer, data, weight, bias, kernel=weight.shape[2:], pad=pad)


def grow_depthwise(graph: Graph, node: Node) -> Optional[Entry]:
    """Apply :func:`grow_kernel` to depthwise convolutions, whose kernels cost little."""
    layer = node.inputs[0].node if node.op == "slice" else node
    if layer.op != "Convolution" or layer.get("num_group", 1) != layer.get("num_filter"):
        return None
    return grow_kernel(graph, node)


def _cut(graph, node):
    """Return the convolution whose result is sliced, its data, and the padding of the kept outputs."""
    layer = node.inputs[0].node
    wanted = graph.shape(node.out)
    if not _first_is_channels(layer) or graph.uses(node.inputs[0]) > 1 or any(node.get("step") or ()):
        return None
    size, shape = graph.shape(layer.inputs[0]), graph.shape(node.inputs[0])
    begin = [(n + (b or 0)) % n for n, b in zip(shape or (), node.get("begin"))]
    if None in (size, shape, wanted) or any(begin[:2]) or shape[:2] != wanted[:2]:
        return None
    paddings = []
    for axis, (kernel, stride, own) in enumerate(_windows(layer), 2):
        before = own - begin[axis] * stride
        least = (wanted[axis] - 1) * stride + kernel - size[axis] - before
        # The last windows may leave up to stride - 1 elements unread.
        paddings.append((before, min(max(before, least), least + stride - 1)))
    return layer, layer.inputs[0], paddings


def _padded(graph, node):
    """Return the convolution whose input is zero-padded, the unpadded data, and the total padding."""
    if not _first_is_channels(node) or graph.uses(node.inputs[0]) > 1:
        return None
    pad = node.inputs[0].node
    if pad.op not in ("Pad", "pad") or pad.get("mode") != "constant" or pad.get("constant_value", 0):
        return None
    width = pad.get("pad_width")
    if any(width[:4]):
        return None
    pairs = zip(width[4::2], width[5::2])
    return node, pad.inputs[0], [(b + own, a + own) for (b, a), (*_, own) in zip(pairs, _windows(node))]


def _first_is_channels(node):
    return node.op == "Convolution" and (node.attrs.get("layout") or "None") in (
        *("None", "NCW", "NCHW", "NCDHW"),
    )


def _windows(layer):
    """Return kernel, stride and padding of each axis."""
    kernel = layer.get("kernel")
    stride = layer.get("stride") or (1,) * len(kernel)
    return list(zip(kernel, stride, layer.get("pad") or (0,) * len(kernel)))
