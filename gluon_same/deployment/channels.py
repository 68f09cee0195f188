"""Rules that pad the channels of layers to multiples for which oneDNN has fast kernels.

A padded layer is followed by a *selection*: ``take`` of the channels that the net has. Selections move
past the operators that follow, until layers absorb them, which ignore the other channels. A slice or a
shuffle of channels is a selection, too.
"""

from functools import partial
from math import prod
from typing import Any, Dict, List, NamedTuple, Optional, Set

import numpy as np

from ..crops import ELEMENTWISE, FIRST, crop_of, is_convolution, zeros_of
from ..graph import RESULT, Entry, Graph, Node, Rule
from .clean import RESHAPES
from .convolutions import PAIRS
from .fold_batchnorm import LAYERS, weights_of, with_weights
from .layouts import BLOCKED, in_plain_memory
from .moves import image_of

#: Operators that compute each channel alike, and a finite number from 0.
ALIKE = ELEMENTWISE | {"Pooling", "UpSampling"}
ALIKE |= {"_contrib_BilinearResize2D", "_contrib_AdaptiveAvgPooling2D"}

#: Attribute that holds the number of channels that a selection selects from.
WIDTH = "__width__"

#: A layer absorbs a selection from at most this many times its channels, and others compute at most
#: this many times as much because of one.
MOST, MOST_COMPUTED = 2.5, 1.5

#: To what channels are padded: oneDNN's blocks with AVX-512, and with AVX2.
MULTIPLES = 16, 8


class Selection(NamedTuple):
    """Channels of an entry."""

    data: Entry
    channels: np.ndarray
    width: int  #: the number of channels of ``data``


def selection(graph: Graph, entry: Entry) -> Optional[Selection]:
    """Return the channels that an entry selects; None if it is no selection."""
    width = entry.node.get(WIDTH)
    if width is None:
        return None
    data, channels = entry.node.inputs
    return Selection(data, graph.params[channels.node.name].asnumpy().astype(int), width)


def _select(graph, near, data, channels, width):
    indices = graph.constant(near, "channels", channels)
    indices.node.attrs["__dtype__"] = "0"  # float32, which fusion does not infer
    return graph.new("take", near, [data, indices], axis=1, mode="clip", **{WIDTH: width})


def select_channels(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a slice of channels, or ``take`` of distinct ones, by a selection."""
    shape = graph.shape(node.data) if node.op in ("slice_axis", "take") else ()
    if len(shape) != 4 or shape[0] != 1 or node.get("axis", 0) != 1 or selection(graph, node.out):
        return None
    kept = np.arange(shape[1])
    if node.op == "slice_axis":
        kept = kept[slice(node.get("begin"), node.get("end"))]
    else:
        indices = graph.param(node.inputs[1])
        if indices is None or indices.ndim != 1 or node.get("mode", "clip") != "clip":
            return None
        kept = kept[indices.clip(0, shape[1] - 1).astype(int)]
        if len(set(kept)) < len(kept):  # because weights are written to distinct channels
            return None
    return _select(graph, node, node.inputs[0], kept, shape[1])


def select_shuffle(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a channel shuffle, which swaps two axes of the channels, by a selection."""
    swap = node.inputs[0].node if node.op in RESHAPES else node
    axes = {swap.get("dim1", 0), swap.get("dim2", 0)} if swap.op == "SwapAxis" else swap.get("axes")
    image, shape = image_of(graph, swap.data), graph.shape(node.out)
    if swap.op not in ("SwapAxis", "transpose") or axes not in ({1, 2}, (0, 2, 1, 3, 4)):
        return None
    if image is None or shape != graph.shape(image) or shape[0] != 1:
        return None
    order = np.arange(shape[1]).reshape(graph.shape(swap.data)[1:3]).T.reshape(-1)
    return _select(graph, node, image, order, shape[1])


def merge_selections(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace a selection from a selection by one."""
    outer = selection(graph, node.out)
    inner = outer and selection(graph, outer.data)
    if not outer or not inner or _is_padding(outer):  # by pad_selection
        return None
    return _select(graph, node, inner.data, inner.channels[outer.channels], inner.width)


def sink_concatenated(graph: Graph, node: Node) -> Optional[Entry]:
    """Move selections of the first channels past a concatenation."""
    if not _joins(node):
        return None
    found = [selection(graph, entry) for entry in node.inputs]
    found = [each if each and _is_padding(each) else None for each in found]
    shapes = list(map(graph.shape, node.inputs))
    if not any(found) or not all(shapes):
        return None
    kept, width = [], 0
    for each, (_, count, *_) in zip(found, shapes):
        kept.append(width + np.arange(count))
        width += each.width if each else count
    inputs = [each.data if each else entry for each, entry in zip(found, node.inputs)]
    joined = graph.like(node, inputs)
    return _select(graph, node, joined, np.concatenate(kept), width)


def pad_filters(graph: Graph, node: Node, multiple: int) -> Optional[Entry]:
    """Pad the filters of a layer with zeros if layers absorb the selection of its channels."""
    count = int(node.get("num_filter") or node.get("num_hidden") or 0)
    if count % multiple == 0 or not _is_source(graph, node):
        return None
    if not (_is_worth_a_slice(graph, node, count, multiple) or _can_pad(graph, node.out, multiple)):
        return None
    weight, bias = weights_of(graph, node)
    more = -count % multiple
    weight = np.pad(weight, [(0, more), *[(0, 0)] * (weight.ndim - 1)])
    padded = with_weights(graph, node, node.inputs[0], weight, np.pad(bias, (0, more)))
    return _select(graph, node, padded, np.arange(count), count + more)


def pad_selection(graph: Graph, node: Node, multiple: int) -> Optional[Entry]:
    """Let a selection select more channels, if layers absorb them."""
    found = selection(graph, node.out)
    if found is None or _is_padding(found):
        return None
    data, channels, width = found
    more = -len(channels) % multiple
    after = (channels[-1] + 1 + np.arange(width)) % width
    others = after[~np.isin(after, channels)][:more]  # because weights are written to distinct channels
    if not more or len(others) < more or not _can_pad(graph, node.out, multiple):
        return None
    wide = _select(graph, node, data, np.concatenate([channels, others]), width)
    return _select(graph, node, wide, np.arange(len(channels)), len(channels) + more)


def sink_selection(graph: Graph, node: Node) -> Optional[Entry]:
    """Move a selection past an operator that treats channels alike."""
    found = selection(graph, node.data)
    if found is None or not _connects(graph, node):
        return None
    data, channels, width = found
    if not _is_padding(found) and width > MOST_COMPUTED * len(channels):
        return None
    inputs: List[Entry] = [data, *node.inputs[1:]]
    changed: Dict[str, Any] = {}
    if node.op in PAIRS:
        other = selection(graph, node.inputs[1])
        if other is None or width != other.width or not np.array_equal(channels, other.channels):
            return None
        inputs[1] = other.data
    elif node.op in RESHAPES:
        (batch, _, *rest), node = graph.shape(node.out), Node("Reshape", node.name)
        changed["shape"] = (batch, width, *rest)
    elif node.op == "slice":
        changed.update((key, (None, None, *node.get(key)[2:])) for key in ("begin", "end"))
    elif len(inputs) > 1:  # parameters of each channel
        fills = (1, 0, 0, 1) if node.op == "BatchNorm" else (0, 0)
        for i, fill in enumerate(fills[: len(inputs) - 1], 1):
            values = graph.params[inputs[i].node.name].asnumpy()
            wide = np.full((width, *values.shape[1:]), float(fill))
            wide[channels] = values
            inputs[i] = graph.constant(node, "wide", wide)
        if node.op == "Convolution":
            changed.update(num_filter=width, num_group=width)
    return _select(graph, node, graph.like(node, inputs, **changed), channels, width)


def absorb_selection(graph: Graph, node: Node) -> Optional[Entry]:
    """Let a layer read all channels, with weights of zero for those that are not selected."""
    found = selection(graph, node.data)
    if found is None or not _absorbs(graph, node) or found.width > MOST * len(found.channels):
        return None
    weight, bias = weights_of(graph, node)
    axis = 0 if node.op == "Deconvolution" else 1
    weight = np.moveaxis(weight, axis, 0)
    # A dense layer has a weight for each element of a channel.
    each = weight.reshape(len(found.channels), -1, *weight.shape[1:])
    wide = np.zeros((found.width, *each.shape[1:]))
    wide[found.channels] = each
    wide = np.moveaxis(wide.reshape(-1, *weight.shape[1:]), 0, axis)
    return with_weights(graph, node, found.data, wide, bias)


def slice_selection(graph: Graph, node: Node) -> Optional[Entry]:
    """Slice neighboring channels, and take others of one sample as rows, which takes less time."""
    found = selection(graph, node.out)
    if found is None:
        return None
    data, (first, *_), shape = found.data, found.channels, graph.shape(node.out)
    if np.array_equal(found.channels, first + np.arange(len(found.channels))):
        end = first + len(found.channels)
        return graph.new("slice_axis", node, [data], axis=1, begin=first, end=end)
    if shape[:1] != (1,):
        return None
    if data.node.op in BLOCKED:  # a reshape would reorder it in place and copy it
        data = in_plain_memory(graph, node, data)
    rows = graph.new("Reshape", node, [data], shape=(found.width, -1))
    taken = graph.new("take", node, [rows, node.inputs[1]], axis=0, mode="clip")
    return graph.new("Reshape", node, [taken], shape=shape)


def _is_padding(found):
    """Return whether a selection leaves out only the channels of a padding."""
    count = len(found.channels)
    padded = found.width - count in [-count % multiple for multiple in MULTIPLES]
    return padded and np.array_equal(found.channels, np.arange(count))


def _can_pad(graph, entry, multiple):
    """Return whether all operators connected with an entry by their channels can be padded."""
    seen: Set[Entry] = set()
    waiting: List[Entry] = [entry]
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        node, shape = entry.node, graph.shape(entry)
        if not shape or entry.output:
            return False
        if not (_is_source(graph, node) or selection(graph, entry) or _joins(node)):
            if not _connects(graph, node):
                return False
            waiting += node.inputs[: 2 if node.op in PAIRS else 1]
        large = any(n > 1 for n in shape[2:])  # a slice of small results costs little
        for taker in graph.takers(entry):
            if taker is not RESULT and entry not in taker.inputs:
                continue  # in this walk, a rule has replaced what it reads
            if selection(graph, taker.out):
                continue  # which becomes a selection from the padded channels
            if _connects(graph, taker) or _joins(taker):
                waiting.append(taker.out)
                if _joins(taker) and any(n % multiple == 0 for n in graph.shape(taker.out)[1:2]):
                    waiting += taker.inputs  # which are padded all or none
            elif large and not (_absorbs(graph, taker) and taker.inputs[0] == entry):
                return False
    return True


def _is_worth_a_slice(graph, node, count, multiple):
    """Return whether a layer has few filters, for which oneDNN computes a product of matrices."""
    kernel = node.get("kernel", ())
    joins = any(map(_joins, graph.takers(node.out)))
    return prod(kernel) > 1 and count < multiple == min(MULTIPLES) and not joins


def _is_source(graph, node):
    """Return whether a node is a layer with weights for each channel of its result."""
    if node.op == "FullyConnected":
        fits = len(graph.shape(node.out)) == 2 and RESULT not in graph.takers(node.out)
    else:
        fits = is_convolution(node) and node.get("num_group", 1) == 1
    return fits and graph.holds(*node.inputs[1:])


def _absorbs(graph, node):
    if node.op not in LAYERS or not graph.holds(*node.inputs[1:]) or node.get("num_group", 1) != 1:
        return False
    if node.op == "FullyConnected":
        return node.get("flatten", True) or len(graph.shape(node.inputs[0])) == 2
    return node.get("layout") in FIRST


def _connects(graph, node):
    """Return whether a node's result has the channels of its input, and may be padded like it."""
    shapes = [graph.shape(entry) for entry in node.inputs]
    if node.op == "Convolution":
        count = node.get("num_filter")
        depthwise = 1 < count == node.get("num_group") and shapes[0][1:2] == (count,)
        return depthwise and graph.holds(*node.inputs[1:]) and node.get("layout") in FIRST
    if node.op == "BatchNorm":
        return node.get("axis", 1) == 1 and graph.holds(*node.inputs[1:])
    if node.op in PAIRS:
        return len(shapes[0]) == len(shapes[1]) > 1 and shapes[0][:2] == shapes[1][:2]
    if node.op in RESHAPES:
        shape, result = shapes[0], graph.shape(node.out)
        pixel = not any(n > 1 for n in shape[2:] + result[2:])
        return len(shape) > 1 and shape[:2] == result[:2] and pixel
    if crop_of(graph, node) is not None or zeros_of(node) is not None:
        return True
    return node.op in ALIKE and len(shapes) == 1 and node.get("layout") in FIRST


def _joins(node):
    return node.op == "Concat" and int(node.get("dim", 1)) == 1


def padding_to(multiple: int) -> List[Rule]:
    """Return the rules that pad channels to a multiple."""
    pads = [partial(pad, multiple=multiple) for pad in (pad_filters, pad_selection)]
    return [*SELECT, *pads, sink_concatenated, sink_selection, absorb_selection]


#: Rules that replace operators by selections.
SELECT = (select_shuffle, select_channels, merge_selections)
