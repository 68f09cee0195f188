"""Let symbols do what only arrays can, for nets whose code hybridized nets cannot run."""

from contextlib import contextmanager, suppress
from math import prod
from typing import Any, Callable, Dict, Iterator, Tuple

import mxnet as mx

from . import _mxnet  # noqa: F401
from .arrays import infer

#: MXNet's broadcasting operator for each operator of Python.
_BROADCAST = dict(add="add", sub="sub", mul="mul", truediv="div", mod="mod", pow="power", eq="equal")
_BROADCAST.update(ne="not_equal", lt="lesser", le="lesser_equal", gt="greater", ge="greater_equal")


@contextmanager
def symbols_like_arrays(
    shapes: Dict[str, Tuple[int, ...]], read: Callable[[], None], broadcast: bool
) -> Iterator[None]:
    """Give symbols shapes, as in ``x.reshape((x.shape[0], -1))``, and slices, as in ``x[:, 0, ::2]``.

    Parameters
    ----------
    shapes : dict of str to tuple of int
        Name and shape of each input.
    read : callable
        Called when a shape is read.
    broadcast : bool
        Whether operators such as ``x + y`` broadcast their operands, for which all shapes are inferred.
    """

    def shape(symbol):
        read()
        return infer([symbol], shapes)[0]

    def item(symbol, key):
        if not isinstance(key, tuple) or not all(map(_is_basic, key)):
            return whole(symbol, key)  # an output of several
        if Ellipsis in key:
            at, (found,) = key.index(Ellipsis), infer([symbol], shapes)
            missing = len(found) - sum(k is not None for k in key) + 1
            key = (*key[:at], *[slice(None)] * missing, *key[at + 1 :])
        return _sliced(symbol, key)

    def operator(name, plain):
        def apply(x, y):
            if isinstance(y, Symbol):
                with suppress(mx.MXNetError, ValueError):
                    one, other = infer([x, y], shapes)
                    if one != other:
                        return getattr(mx.sym, f"broadcast_{name}")(x, y)
            return plain(x, y)

        return apply

    Symbol = mx.sym.Symbol
    whole = Symbol.__getitem__
    sizes = dict(shape=shape, size=lambda x: prod(x.shape), ndim=lambda x: len(x.shape))
    new = {"__getitem__": item, **{name: property(value) for name, value in sizes.items()}}
    for method, name in _BROADCAST.items() if broadcast else ():
        new[f"__{method}__"] = operator(name, getattr(Symbol, f"__{method}__"))
    old = {name: vars(Symbol)[name] for name in new if name in vars(Symbol)}
    try:
        for name, value in new.items():
            setattr(Symbol, name, value)
        yield
    finally:
        for name in new:
            delattr(Symbol, name)
        for name, value in old.items():
            setattr(Symbol, name, value)


def _is_basic(key):
    return key is None or key is Ellipsis or type(key) in (int, slice)


def _sliced(x: Any, keys: Tuple) -> Any:
    """Return basic slices of a symbol."""
    for axis, key in enumerate(keys):
        if key is None:
            x = mx.sym.expand_dims(x, axis=axis)
            continue
        part = key if isinstance(key, slice) else slice(key, key + 1 or None)
        if part.step not in (None, 1):
            begin, end, step = ((*[None] * axis, n) for n in (part.start, part.stop, part.step))
            x = mx.sym.slice(x, begin=begin, end=end, step=step)
        elif part != slice(None):
            # Without a step, slice has no gradient of channels in oneDNN's layout.
            x = mx.sym.slice_axis(x, axis=axis, begin=part.start or 0, end=part.stop)
    gone = tuple(axis for axis, key in enumerate(keys) if isinstance(key, int))
    return mx.sym.squeeze(x, axis=gone) if gone else x
