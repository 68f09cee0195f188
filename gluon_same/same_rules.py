"""Rules that decide whether an operator pads as SAME does, and whether its author meant SAME.

The functions take an operator's arguments as a dict, as :func:`.operator_arguments` returns them:
``kernel``, ``stride``, ``pad``, ``dilate``, and ``adj`` for a transposed convolution.
"""

from typing import Any, Dict, Optional

from .arguments import windows_of
from .geometry import Window, transposed_padding
from .graph import Node
from .lowering import Windows


def windows_in(known: Dict[str, Any]) -> Windows:
    """Return the window of each axis, padded as MXNet's operator pads it."""
    return windows_of("padding", known["pad"], known)


def pads_as_same(known: Dict[str, Any], windows: Optional[Windows] = None) -> bool:
    """Return whether the windows are those of SAME at every input size.

    Parameters
    ----------
    known : dict
    windows : tuple of Window, optional
        Windows with a padding that MXNet's operator does not have.
    """
    windows = windows or windows_in(known)
    if isinstance(windows[0].padding, str):
        return windows[0].padding == "same"
    if counts_padding(known, windows):
        return False
    pairs = [window.padding for window in windows]
    if "adj" in known:
        same = [transposed_padding(window.span, window.stride) for window in windows]
        own = [(before, extra - after) for (before, after), extra in zip(pairs, known["adj"])]
        return own == [(before, extra - after) for (before, after), extra in same]
    if known.get("pooling_convention") == "full":  # rounding up equals more padding at the end
        pairs = [(before, after + w.stride - 1) for (before, after), w in zip(pairs, windows)]
    return pairs == [Window(w.span, w.stride, "same").at(None) for w in windows]


def meant_as_same(known: Dict[str, Any]) -> bool:
    """Return whether the author of ``pad`` probably meant SAME; see :func:`.to_same` for the rule."""
    windows, pads = windows_in(known), known["pad"]
    if "adj" in known:
        growth = zip(windows, pads, known["adj"])
        return all(w.span - w.stride - 2 * p + extra == 0 for w, p, extra in growth)
    return any(pads) and all(p in (w.span // 2, (w.span - 1) // 2) for p, w in zip(pads, windows))


def counts_padding(known: Dict[str, Any], windows: Windows) -> bool:
    """Return whether averages also count elements of the padding."""
    return bool(known.get("count_include_pad")) and any(any(window.padding) for window in windows)


def of_node(node: Node) -> Optional[Dict[str, Any]]:
    """Return the arguments of a node of a graph, or None for operators without windows."""
    if node.op not in ("Convolution", "Deconvolution", "Pooling"):
        return None
    given = {name: node.get(name) for name in node.attrs}
    if given.get("global_pool"):
        return None
    zeros, ones = ((n,) * len(given["kernel"]) for n in (0, 1))
    known = {"stride": ones, "dilate": ones, "pad": zeros, "pool_type": "max", **given}
    if node.op == "Deconvolution":
        known.setdefault("adj", zeros)
    if given.get("pool_type") == "avg":
        known.setdefault("count_include_pad", True)
    return known
