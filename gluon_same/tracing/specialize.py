"""Fix the input sizes of a net, for fewer operators."""

import threading
from contextlib import contextmanager
from typing import Any, List, Optional, Sequence, Tuple

import mxnet as mx
from mxnet.gluon import Block, HybridBlock

from ..arguments import shape_of, spatial
from ..arrays import as_classic, fix_shape, flat
from ..nn.base import Windowed
from .shapes import shapes_seen
from .trace import blocks_of

__all__ = ["specialize"]


def specialize(net: Block, *input_shapes: Sequence[int]) -> Block:
    """Fix the input sizes of a net's blocks, in place.

    Hybridized and exported graphs then use the fewest operators for those sizes, instead of operators
    that serve every size. They depend only on the sizes and are the same on every machine. Shape
    inference finds the sizes of all layers; parameters, gradients and running averages do not change.

    Parameters
    ----------
    net : Block
        A net that contains blocks of :mod:`gluon_same.nn`, or one such block.
    *input_shapes : tuple of int or NDArray
        Shape of each input, the batch first, or an array of that shape. The batch size stays free.
        Without any shape, the net serves every size again.

    Returns
    -------
    Block
        ``net`` itself.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is not a block, if a shape does not consist of positive whole numbers, or if the
        shapes do not match the net.

    Notes
    -----
    A specialized block raises a ValueError for another size. Graphs that are exported from it or traced
    as a part of a larger net contain a check, which makes MXNet raise an error at a node named
    ``..._specialized_to_...``.

    A block that the net calls at several sizes, or whose size depends on the batch size, still serves
    every size. If the net cannot be traced with another batch size, the batch size is fixed too. If the
    net's code branches on the training mode or on the type of its input, all branches must have the same
    sizes. If a larger hybridized net that contains this one was already called, call its ``hybridize``
    again.

    Examples
    --------
    >>> import mxnet as mx
    >>> from gluon_same import nn, specialize
    >>> net = nn.Conv2D(8, 3, strides=2, padding='same')
    >>> net.initialize()
    >>> specialize(net, (1, 3, 224, 224))(mx.nd.ones((5, 3, 224, 224))).shape
    (5, 8, 112, 112)
    """
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    blocks = release(net)
    if not input_shapes:
        return net
    shapes = [shape_of("input shape", shape) for shape in input_shapes]
    seen, free = shapes_seen(net, blocks, shapes)
    token = object()
    for block in blocks:
        if isinstance(block, Windowed) and len(seen.get(block, ())) == 1:
            ((block._in_shape,),) = seen[block]
    for block in blocks:
        if isinstance(block, HybridBlock) and len(seen.get(block, ())) == 1 and _holds_fixed(block):
            (signature,) = seen[block]
            block._expected = tuple(_expectation(block, shape, free) for shape in signature)
            block._specialization = token
            block.__class__ = mixed(_Guard, type(block))
    return net


def release(net: Block) -> List[Block]:
    """Return all blocks of a net, after removing their fixed sizes and cached graphs."""
    blocks = blocks_of(net)
    for block in blocks:
        if isinstance(block, Windowed):
            block._in_shape = None
        if isinstance(block, HybridBlock):
            block._clear_cached_op()
        if plain_class(type(block)) is not type(block):
            for name in type(block)._gluon_same_state:
                vars(block).pop(name, None)
            block.__class__ = plain_class(type(block))
    return blocks


def _holds_fixed(block):
    if isinstance(block, Windowed) and block._padding is not None and block._in_shape is not None:
        return True
    return any(_holds_fixed(child) for child in block._children.values())


def _expectation(block, shape, free):
    """Return a shape with None for free sizes: the batch, and the channels of a single layer."""
    if isinstance(block, Windowed):
        layout = block._layout
        sizes = iter(spatial(shape, layout))
        return tuple(None if axis in "NC" else next(sizes) for axis in layout)
    return (None if free else shape[0], *shape[1:])


class Mixin(HybridBlock):
    """Base class of mixins that are placed before the class of a specialized or adapted block.

    A subclass lists its attributes in ``_gluon_same_state``. Calling the mixed class creates a plain
    block, as slices of a HybridSequential require. Pickling and copying keep the mixed class.
    """

    _gluon_same_plain: type

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._gluon_same_plain(*args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        kind = next(cls for cls in type(self).__mro__ if cls.__base__ is Mixin)
        plain = plain_class(type(self))
        # A class that a function creates cannot be pickled, but the function and its argument can.
        return _revive, (kind, getattr(plain, "_gluon_same_made", plain)), self.__dict__


def mixed(mixin: type, cls: type) -> type:
    """Return ``cls`` with a :class:`Mixin` before it; the class is stored in ``cls``."""
    name = f"_gluon_same_{mixin.__name__}"
    if name not in vars(cls):
        named = {"__module__": cls.__module__, "__doc__": cls.__doc__, "_gluon_same_plain": cls}
        setattr(cls, name, type(cls.__name__, (mixin, cls), named))
    return vars(cls)[name]


def _revive(mixin, cls):
    if isinstance(cls, tuple):
        make, argument = cls
        cls = make(argument)
    return object.__new__(mixed(mixin, cls))


_tracing = threading.local()


@contextmanager
def _inside(token):
    # The outermost block of one call of `specialize` has been checked, so its parts need no check.
    before = getattr(_tracing, "token", None)
    _tracing.token = token
    try:
        yield
    finally:
        _tracing.token = before


class _Guard(Mixin):
    """Mixin of a specialized block, which raises an error for inputs of another size."""

    _gluon_same_state = ("_expected", "_specialization")
    _expected: Tuple[Tuple[Optional[int], ...], ...]
    _specialization: object
    _cached_graph: Any

    def forward(self, *args: Any) -> Any:
        given = flat(args)
        if len(given) != len(self._expected):
            raise TypeError(  # as Python does for a wrong number of arguments
                f"{self.name} is specialized to {len(self._expected)} inputs and received "
                f"{len(given)}: call gluon_same.specialize with the shapes of all inputs"
            )
        if any(isinstance(x, mx.sym.Symbol) for x in given):
            if getattr(_tracing, "token", None) is self._specialization:
                return super().forward(*args)
            checked = iter([_check_in_graph(self, *pair) for pair in zip(given, self._expected)])
            with _inside(self._specialization):
                return super().forward(*_replace(args, checked))
        for x, expected in zip(given, self._expected):
            if len(x.shape) != len(expected) or any(
                want not in (None, has) for want, has in zip(expected, x.shape)
            ):
                wanted = ", ".join("any" if n is None else str(n) for n in expected)
                raise ValueError(
                    f"{self.name} is specialized to inputs of shape ({wanted}) and received "
                    f"{x.shape}: call gluon_same.specialize(net, new shape), or "
                    "gluon_same.specialize(net) for a net that serves every size"
                )
        return super().forward(*args)

    def _get_graph(self, *args: Any) -> Any:
        # Calls of this graph pass the check in `forward`, so the graph itself needs none.
        with _inside(self._specialization):
            return super()._get_graph(*args)

    def save(self, prefix: str) -> None:
        raise ValueError(
            f"{self.name} is specialized, and Block.save does not support that: use export or "
            "save_parameters, or call gluon_same.specialize(net) first"
        )

    def export(self, *args: Any, **kwargs: Any) -> Any:
        graph = self._cached_graph
        if graph:
            inputs, out = graph
            checked = {
                x.name: _check_in_graph(self, x, expected) for x, expected in zip(inputs, self._expected)
            }
            self._cached_graph = inputs, out(**checked)
        try:
            return super().export(*args, **kwargs)
        finally:
            self._cached_graph = graph


def _check_in_graph(block, x, expected):
    sizes = "x".join("any" if n is None else str(n) for n in expected)
    y = fix_shape(as_classic(x), expected, f"{block.name}_specialized_to_{sizes}")
    return y if x is as_classic(x) else y.as_np_ndarray()


def _replace(args, symbols):
    if isinstance(args, (list, tuple)):
        return type(args)(_replace(arg, symbols) for arg in args)
    return next(symbols) if isinstance(args, mx.sym.Symbol) else args


def plain_class(cls: type) -> type:
    """Return the class without the mixin of :func:`mixed`."""
    return getattr(cls, "_gluon_same_plain", cls)
