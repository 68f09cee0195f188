"""A graph of its own for each input size that a net is given."""

import copy
from collections import OrderedDict
from typing import Any

import mxnet as mx
from mxnet.gluon import Block, HybridBlock

from .arguments import whole
from .sizes import fixed, flat
from .specialize import _mixed, _release

__all__ = ["adapt"]


def adapt(net: Block, graphs: int = 16) -> Block:
    """Have a hybridized net specialise itself to each input size, when it first sees it, in place.

    Each call then runs the cheapest operators for its size, as after
    :func:`~gluon_same.specialize`, and no size is refused. A size that is new costs a trace of the
    net, milliseconds; with ``static_alloc`` each graph holds memory of its own.

    Parameters
    ----------
    net : Block
        A net that holds blocks of :mod:`gluon_same.nn`; or one such block.
    graphs : int
        How many graphs to keep, those used last; training and prediction have one each.

    Returns
    -------
    Block
        ``net`` itself.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is no block or ``graphs`` no whole number above 0. When called: if the net cannot be
        traced, as :func:`~gluon_same.specialize` says.

    Notes
    -----
    Graphs exported from the net, and those of a larger hybridized net around it, serve every size by
    one form, as before; adapt the larger net instead. What is not hybridized needs none of this: eager
    layers see each size. ``specialize(net)`` undoes it.

    Examples
    --------
    >>> import mxnet as mx
    >>> from gluon_same import adapt, nn
    >>> net = nn.MaxPool2D(2, 1, padding='same')
    >>> net.initialize()
    >>> adapt(net).hybridize()
    >>> [net(mx.nd.ones((1, 8, n, n))).shape for n in (13, 26)]
    [(1, 8, 13, 13), (1, 8, 26, 26)]
    """
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    graphs = whole("graphs", graphs, 1)
    _release(net)
    _adapt(net, graphs)
    return net


def _adapt(block, graphs):
    if isinstance(block, HybridBlock):
        block._graphs = _Latest(graphs)
        block.__class__ = _mixed(_Adaptive, type(block))
        return
    for child in block._children.values():
        _adapt(child, graphs)


class _Latest:
    """What was used last, by keys. (Gluon warns of dicts of blocks.)"""

    def __init__(self, most):
        self._most = most
        self._held = OrderedDict()

    def __len__(self):
        return len(self._held)

    def get(self, key):
        if key in self._held:
            self._held.move_to_end(key)
        return self._held.get(key)

    def put(self, key, value):
        self._held[key] = value
        if len(self._held) > self._most:
            self._held.popitem(last=False)

    def clear(self):
        self._held.clear()


class _Adaptive:
    """Mixin of a block that keeps a copy of itself, with the same parameters, for each input size."""

    def forward(self, *args: Any) -> Any:
        given = flat(args)
        if not self._active or any(isinstance(x, mx.sym.Symbol) for x in given):
            return super().forward(*args)
        # The batch stays free; what is cheapest depends on whether gradients will be asked for.
        key = (mx.autograd.is_recording(), *(x.shape[1:] for x in given))
        twin = self._graphs.get(key)
        if twin is not None:
            return twin.forward(*args)
        if not self._cached_op:
            self._build_cache(*args)  # of the graph to export, which this block itself never runs
        twin = copy.copy(self)
        twin.__class__ = type(self)._plain
        del twin._graphs
        twin._clear_cached_op()
        with fixed(self, [x.shape for x in given]):
            out = twin.forward(*args)
        self._graphs.put(key, twin)
        return out

    def _clear_cached_op(self) -> None:
        super()._clear_cached_op()
        self._graphs.clear()
