"""Rules that move a crop past the operators that follow it.

A convolution with an even kernel is padded at both ends, and a ``slice`` drops what is left over. oneDNN
keeps the channels of a position together in memory, and a slice returns plain memory, on which poolings
are slow. After elementwise operators and a pooling, the slice copies less, and they run in oneDNN's
memory layout.
"""

from functools import partial
from math import prod
from typing import List, Optional, Tuple

from .geometry import Window, ceil_div
from .graph import Entry, Graph, Node
from .lowering.plan import crop_axis

#: Elementwise operators of one input, which commute with a slice.
ELEMENTWISE = {"Activation", "LeakyReLU", "clip", "relu", "sigmoid", "tanh", "hard_sigmoid", "softsign"}
ELEMENTWISE |= {"_mul_scalar", "_div_scalar", "_plus_scalar", "_minus_scalar"}

#: Values of ``layout`` with the channels first.
FIRST = (None, "NCW", "NCHW", "NCDHW")

#: A crop that keeps less than this fraction of its input stays first.
KEPT = 0.7

#: Number of elements dropped at the start and at the end of each spatial axis.
Crop = List[Tuple[int, int]]


def crop_of(graph: Graph, node: Node) -> Optional[Crop]:
    """Return what a ``slice`` drops from the spatial axes, or None for all other operators."""
    if node.op != "slice" or any(step not in (None, 1) for step in node.get("step") or ()):
        return None
    before, after = graph.shape(node.inputs[0]), graph.shape(node.out)
    if len(before) < 3 or before[:2] != after[:2]:
        return None
    begins = [(n + (b or 0)) % n for n, b in zip(before, node.get("begin"))]
    begins += [0] * (len(before) - len(begins))
    return [(b, n - b - m) for n, m, b in zip(before, after, begins)][2:]


def zeros_of(node: Node) -> Optional[Crop]:
    """Return what a ``Pad`` adds to the spatial axes if it adds zeros there only, otherwise None."""
    if node.op != "Pad" or node.get("mode") != "constant" or node.get("constant_value", 0):
        return None
    width = node.get("pad_width")
    return None if any(width[:4]) else list(zip(width[4::2], width[5::2]))


def windows_of(node: Node) -> List[Tuple[int, ...]]:
    """Return kernel, stride, dilation and padding of each axis of an operator with windows."""
    kernel = node.get("kernel")
    defaults = {"stride": 1, "dilate": 1, "pad": 0}
    given = (node.get(name) or (default,) * len(kernel) for name, default in defaults.items())
    return list(zip(kernel, *given))


def is_convolution(node: Node) -> bool:
    """Return whether an operator is a convolution with the channels first."""
    return node.op == "Convolution" and node.get("layout") in FIRST


def is_pointwise(node: Node) -> bool:
    """Return whether an operator is a 1x1 convolution that reads each pixel once."""
    return is_convolution(node) and set(windows_of(node)) == {(1, 1, 1, 0)}


def sink(graph: Graph, node: Node, normalized: bool = False) -> Optional[Entry]:
    """Move a crop past an elementwise operator.

    Parameters
    ----------
    normalized : bool
        Whether it may also move past a BatchNorm. In training, the dropped elements would then count
        in the batch's statistics.
    """
    if not _is_elementwise(node, normalized):
        return None
    cut = node.inputs[0].node
    if crop_of(graph, cut) is None or graph.uses(node.inputs[0]) > 1 or not _keeps_most(graph, cut):
        return None
    return graph.with_data(cut, graph.with_data(node, cut.inputs[0]))


#: Move a crop past an elementwise operator or a BatchNorm in inference.
sink_normalized = partial(sink, normalized=True)


def sink_past_pooling(graph: Graph, node: Node) -> Optional[Entry]:
    """Move a crop past a pooling whose windows do not reach the dropped elements."""
    cut = node.data.node
    crop, size, out = crop_of(graph, cut), graph.shape(cut.out), graph.shape(node.out)
    if crop is None or not out or graph.uses(node.data) > 1 or not _keeps_most(graph, cut):
        return None
    found = _pooled(node, crop, size[2:], out[2:])
    if found is None:
        return None
    pad, leads = zip(*found)
    pooled = graph.with_data(node, cut.inputs[0], pad=pad, pooling_convention="valid")
    return _slice(graph, cut, pooled, leads, out)


def crop_before_pooling(graph: Graph, node: Node, normalized: bool = False) -> Optional[Entry]:
    """Replace padding before a convolution with a crop after it, if the crop can sink past a pooling.

    Parameters
    ----------
    normalized : bool
        As for :func:`sink`.
    """
    pad = node.data.node
    size, out, pairs = graph.shape(pad.data), graph.shape(node.out), zeros_of(pad)
    if not is_convolution(node) or not size or not out or not pairs:
        return None
    cuts = []
    for (k, s, d, own), n, (before, after) in zip(windows_of(node), size[2:], pairs):
        padding = before + own, after + own
        cuts.append(crop_axis(Window(d * (k - 1) + 1, s, padding), n, padding))
    pads, *crop = zip(*cuts)
    if not _reaches_pooling(graph, node, list(zip(*crop)), normalized):
        return None
    convolved = graph.with_data(node, pad.inputs[0], pad=pads)
    return _slice(graph, node, convolved, crop[0], out)


def _slice(graph, near, entry, begin, shape):
    end = tuple(lead + n for lead, n in zip(begin, shape[2:]))
    return graph.new("slice", near, [entry], begin=(None, None, *begin), end=(None, None, *end))


def _reaches_pooling(graph, node, crop, normalized):
    """Return whether only elementwise operators lie between a node and a pooling that fits a crop."""
    size, entry = graph.shape(node.out), node.out
    while True:
        (taker, *others) = graph.takers(entry)
        if others:
            return False
        if taker.op == "Pooling":
            out = graph.shape(taker.out)
            return bool(out) and _pooled(taker, crop, size[2:], out[2:]) is not None
        if not _is_elementwise(taker, normalized) or taker.inputs[0] != entry:
            return False
        entry = taker.out


def _is_elementwise(node, normalized):
    if node.op == "BatchNorm" and (normalized or node.get("use_global_stats", False)):
        return node.get("axis", 1) == 1 and not node.get("output_mean_var", False)
    return node.op in ELEMENTWISE and len(node.inputs) == 1


def _pooled(node, crop, size, out):
    """Return padding and the number of dropped first outputs for each axis of a pooling before a crop.

    Parameters
    ----------
    node : Node
    crop : list of (int, int)
    size, out : sequence of int
        Spatial sizes of the cropped input, and of the pooling's result.

    Returns
    -------
    list of (int, int) or None
    """
    if node.op != "Pooling" or node.get("global_pool", False) or node.get("layout") not in FIRST:
        return None
    if node.get("pool_type", "max") not in ("max", "avg", "sum"):
        return None
    found = []
    for (k, s, _, pad), (before, after), n, m in zip(windows_of(node), crop, size, out):
        lead = ceil_div(before, s)
        own = lead * s - before if before else pad
        inside = (m - 1) * s + k - pad <= n  # the windows end within the cropped input
        if (before and pad) or own >= k or not inside:
            return None
        if (n + before + after + 2 * own - k) // s + 1 < lead + m:
            return None
        found.append((own, lead))
    return found


def _keeps_most(graph, cut):
    return prod(graph.shape(cut.out)) >= KEPT * prod(graph.shape(cut.inputs[0]))


#: For graphs that are trained, too.
TRAINING = (crop_before_pooling, sink, sink_past_pooling)
#: For inference only.
INFERENCE = (partial(crop_before_pooling, normalized=True), sink_normalized, sink_past_pooling)
