"""Give a net a separate graph for each input size."""

import copy
from collections import OrderedDict
from typing import Any

import mxnet as mx
from mxnet.gluon import Block, HybridBlock, SymbolBlock

from ..arguments import whole
from ..arrays import flat
from ..nn.base import Windowed
from .specialize import Mixin, mixed, release
from .trace import Trace, blocks_of

__all__ = ["adapt"]


def adapt(net: Block, graphs: int = 16) -> Block:
    """Specialize a hybridized net for each input shape, at the first call with that shape, in place.

    Each call then runs the operators for its size, as after :func:`~gluon_same.specialize`. The net
    still accepts every size.

    Parameters
    ----------
    net : Block
        A net that contains blocks of :mod:`gluon_same.nn`, or one such block.
    graphs : int
        Number of graphs to keep, the most recently used ones. Each input shape has one.

    Returns
    -------
    Block
        ``net`` itself.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is not a block, or ``graphs`` is not a whole number above 0.

    Notes
    -----
    A new shape requires a trace of the net, which takes about a millisecond per layer. With
    ``static_alloc`` each graph has its own memory. A net whose sizes cannot be inferred from its inputs,
    for example with a recurrent layer, runs the graph for every size. ``export`` still writes that
    graph. A larger hybridized net also uses it for this net: adapt the larger net instead.
    ``specialize(net)`` undoes ``adapt``.

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
    # Adapt every block, because a net's own code may call any of them with arrays.
    for block in release(net):
        windowed = any(isinstance(part, Windowed) for part in blocks_of(block))
        if windowed and isinstance(block, HybridBlock) and not isinstance(block, SymbolBlock):
            block.__class__ = mixed(_Adaptive, type(block))
            block._gluon_same_twins = _Latest(graphs)
    return net


class _Adaptive(Mixin):
    """Mixin of a block that keeps a twin with the same parameters for each shape of its inputs."""

    _gluon_same_state = ("_gluon_same_twins",)
    _gluon_same_twins: Any = None

    # A hybridized block runs its graph here. The arguments are those of the graph, whatever the net's
    # code did to the inputs before.
    def _call_cached_op(self, *args: Any) -> Any:
        if self._gluon_same_twins is None:
            return super()._call_cached_op(*args)
        key = _shapes(args)
        twin = self._gluon_same_twins.get(key)
        if twin is None:
            twin = self.__specialized(args)
            out = twin._call_cached_op(*args)
            self._gluon_same_twins.put(key, twin)
            if not self._cached_op:
                self._build_cache(*args)  # builds the graph for ``export``, which is not run
            return out
        return twin._call_cached_op(*args)

    def __specialized(self, args):
        arrays = flat(args)
        names = (
            [f"data{i}" for i in range(len(arrays))] if len(arrays) > 1 else ["data"]
        )  # Gluon's names
        parts = [block for block in blocks_of(self) if block is not self]
        known = {name: x.shape for name, x in zip(names, arrays)}
        twin = self.__twin()
        try:
            if isinstance(twin, Windowed):
                twin._in_shape = arrays[0].shape
            with Trace(parts, known):
                twin._get_graph(*args)
        except (mx.MXNetError, AttributeError, TypeError, ValueError, AssertionError):
            return self.__twin()  # which runs the graph for every size, or raises the user's error
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
    """Mapping of the most recently used values. Not a dict, because Gluon warns about dicts."""

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
