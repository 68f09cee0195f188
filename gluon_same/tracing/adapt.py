"""A graph of its own for each size of the input that a net is given."""

import copy
from collections import OrderedDict
from typing import Any

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, HybridBlock, SymbolBlock

from ..arguments import whole
from ..nn.base import Windowed
from ..symbols import flat
from ..tuning import choose_ways
from .specialize import Mixin, mixed, release
from .trace import Trace, blocks_of

__all__ = ["adapt"]


def adapt(net: Block, graphs: int = 16, tune: bool = False) -> Block:
    """Have a hybridized net specialize itself to each input shape, when it first sees it, in place.

    Each call then runs the operators for its size, as after :func:`~gluon_same.specialize`, and no
    size is refused.

    Parameters
    ----------
    net : Block
        A net that holds blocks of :mod:`gluon_same.nn`; or one such block.
    graphs : int
        How many graphs to keep, those used last: one for each input shape, and with ``tune`` another
        one where gradients are recorded at that shape.
    tune : bool
        Whether to measure, at each new shape, which operators are fastest there; see
        :func:`~gluon_same.specialize`.

    Returns
    -------
    Block
        ``net`` itself.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is no block or ``graphs`` no whole number above 0.

    Notes
    -----
    A shape that is new costs a trace of the net, about a millisecond for each layer. With
    ``static_alloc`` each graph holds memory of its own. A net whose sizes do not follow from its
    inputs' (with a recurrent layer, say) runs the graph for every size. That graph is also what the net
    exports, and what it is in a larger hybridized net: adapt the larger one instead.
    ``specialize(net)`` undoes it.

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
    # All of them, for a net's own code may call any with arrays, and that runs its graph.
    for block in release(net):
        windowed = any(isinstance(part, Windowed) for part in blocks_of(block))
        if windowed and isinstance(block, HybridBlock) and not isinstance(block, SymbolBlock):
            block.__class__ = mixed(_Adaptive, type(block))
            block._gluon_same_twins = _Latest(graphs)
            block._gluon_same_tune = bool(tune)
    return net


class _Adaptive(Mixin):
    """Mixin of a block that keeps a twin, with the same parameters, for each shape of its inputs."""

    _gluon_same_state = ("_gluon_same_twins", "_gluon_same_tune")
    _gluon_same_twins: Any = None
    _gluon_same_tune = False

    # This is where a hybridized block turns to its graph. What the graph is given, shape by shape, is
    # then known, whatever the net's code did to the inputs.
    def _call_cached_op(self, *args: Any) -> Any:
        if self._gluon_same_twins is None:
            return super()._call_cached_op(*args)
        # What is fastest depends on whether gradients will be computed.
        tuned_for = [mx.autograd.is_recording(), *(x.dtype for x in flat(args))]
        key = self._gluon_same_tune and tuple(tuned_for), _shapes(args)
        twin = self._gluon_same_twins.get(key)
        if twin is None:
            twin = self.__specialized(args)
            out = twin._call_cached_op(*args)
            self._gluon_same_twins.put(key, twin)
            if not self._cached_op:
                self._build_cache(*args)  # of the graph to export, which this block does not run
            return out
        return twin._call_cached_op(*args)

    def __specialized(self, args):
        arrays = flat(args)
        names = [f"data{i}" for i in range(len(arrays))] if len(arrays) > 1 else ["data"]  # as Gluon's
        parts = [block for block in blocks_of(self) if block is not self]
        known = {name: x.shape for name, x in zip(names, arrays)}
        twin, ways = self.__twin(), {}
        try:
            if self._gluon_same_tune and all(x.dtype == np.float32 for x in arrays):
                # By this block's own class, which traces as any other where it is given symbols.
                ways = choose_ways(self, blocks_of(self), known, mx.autograd.is_recording())
            if isinstance(twin, Windowed):
                twin._in_shape = arrays[0].shape
                twin._way = ways.get((self, twin._in_shape))
            with Trace(parts, known, ways=ways):
                twin._get_graph(*args)
        except (mx.MXNetError, AttributeError, TypeError, ValueError, AssertionError):
            return self.__twin()  # which says what is wrong, if anything is
        return twin

    def __twin(self):
        twin = copy.copy(self)
        twin.__class__ = type(self)._gluon_same_plain
        del twin._gluon_same_twins
        twin._clear_cached_op()
        return twin

    def _clear_cached_op(self) -> None:
        super()._clear_cached_op()
        self.__forget()

    def hybridize(self, *args: Any, **kwargs: Any) -> None:
        self.__forget()
        super().hybridize(*args, **kwargs)

    def register_op_hook(self, *args: Any, **kwargs: Any) -> None:
        self.__forget()
        super().register_op_hook(*args, **kwargs)

    def __forget(self):
        if self._gluon_same_twins is not None:
            self._gluon_same_twins.clear()


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


def _shapes(args):
    if isinstance(args, (list, tuple)):
        return tuple(map(_shapes, args))
    return args.shape if isinstance(args, mx.nd.NDArray) else None
