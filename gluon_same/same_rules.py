"""Rules that decide whether an operator pads as SAME does, and whether its author meant SAME.

The functions take an operator's arguments as a dict, as :func:`.operator_arguments` returns them:
``kernel``, ``stride``, ``pad``, ``dilate``, and ``adj`` for a transposed convolution.
"""

from typing import Any, Dict, Optional, Tuple, Union

from .arguments import Ints, Pairs, normalize_padding
from .geometry import Window, effective_kernel, transposed_padding
from .graph import Node


def padding_of(known: Dict[str, Any], padding: Any = None) -> Tuple[Union[str, Pairs], Ints]:
    """Return the padding, as a SAME word or a pair for each axis, and the spans of the window.

    Parameters
    ----------
    known : dict
    padding : str or tuple, optional
        A padding that MXNet's operator does not have. By default its ``pad`` is used.
    """
    kernel = known["kernel"]
    spans = tuple(map(effective_kernel, kernel, known.get("dilate", (1,) * len(kernel))))
    padding = known["pad"] if padding is None else padding
    return normalize_padding("padding", padding, spans, causal=len(spans) == 1), spans


def pads_as_same(known: Dict[str, Any], padding: Any = None) -> bool:
    """Return whether the windows are those of SAME at every input size."""
    padding, spans = padding_of(known, padding)
    if isinstance(padding, str):
        return padding == "same"
    strides = known["stride"]
    if counts_padding(known, padding):
        return False
    if "adj" in known:
        same = [transposed_padding(k, s) for k, s in zip(spans, strides)]
        own = [(before, extra - after) for (before, after), extra in zip(padding, known["adj"])]
        return own == [(before, extra - after) for (before, after), extra in same]
    if known.get("pooling_convention") == "full":  # rounding up equals more padding at the end
        padding = [(before, after + s - 1) for (before, after), s in zip(padding, strides)]
    return list(padding) == [Window(k, s, "same").at(None) for k, s in zip(spans, strides)]


def meant_as_same(known: Dict[str, Any]) -> bool:
    """Return whether the author of ``pad`` probably meant SAME; see :func:`.to_same` for the rule."""
    _, spans = padding_of(known)
    pads = known["pad"]
    if "adj" in known:
        growth = zip(spans, known["stride"], pads, known["adj"])
        return all(k - s - 2 * p + extra == 0 for k, s, p, extra in growth)
    return any(pads) and all(p in (k // 2, (k - 1) // 2) for p, k in zip(pads, spans))


def counts_padding(known: Dict[str, Any], padding: Union[str, Pairs]) -> bool:
    """Return whether averages also count elements of the padding."""
    return bool(known.get("count_include_pad")) and any(map(any, padding))


def of_node(node: Node) -> Optional[Dict[str, Any]]:
    """Return the arguments of a node of a graph, or None for operators without windows."""
    if node.op not in ("Convolution", "Deconvolution", "Pooling"):
        return None
    given = {name: node.get(name) for name in node.attrs}
    if given.get("global_pool"):
        return None
    zeros, ones = ((n,) * len(given["kernel"]) for n in (0, 1))
    known = {"stride": ones, "dilate": ones, "pad": zeros, **given}
    if node.op == "Deconvolution":
        known.setdefault("adj", zeros)
    if given.get("pool_type") == "avg":
        known.setdefault("count_include_pad", True)
    return known
