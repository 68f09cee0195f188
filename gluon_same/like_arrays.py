"""Let symbols do what only arrays can, for nets whose code hybridized nets cannot run."""

import operator as python
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, wraps
from math import prod
from types import FunctionType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Set, Tuple

import mxnet as mx

from . import _mxnet  # noqa: F401
from .arrays import as_classic, in_mode, infer, output_of
from .replacing import replaced

#: MXNet's broadcasting operator for each operator of Python.
_BROADCAST = dict(add="add", sub="sub", mul="mul", truediv="div", mod="mod", pow="power", eq="equal")
_BROADCAST.update(ne="not_equal", lt="lesser", le="lesser_equal", gt="greater", ge="greater_equal")

#: Functions for arrays that symbols lack, by what they do: operators of Python.
_OPERATORS = dict(add="add", subtract="sub", multiply="mul", divide="truediv", true_divide="truediv")
_OPERATORS.update(modulo="mod", equal="eq", not_equal="ne", lesser="lt", lesser_equal="le")
_OPERATORS.update(greater="gt", greater_equal="ge")

#: Held during a trace, which replaces functions of MXNet. A trace may contain another one.
_ONE = threading.RLock()


@contextmanager
def symbols_like_arrays(
    shapes: Dict[str, Tuple[int, ...]], used: Callable[[str], Any], broadcast: bool
) -> Iterator[None]:
    """Give symbols shapes, as in ``x.reshape((x.shape[0], -1))``, slices, as in ``x[:, 0, ::2]``, and
    operators of arrays, as in ``mx.nd.relu(x)`` or ``mx.np.concatenate([x, y])``.

    Parameters
    ----------
    shapes : dict of str to tuple of int
        Name and shape of each input.
    used : callable
        Called with what the code uses of arrays: 'shapes', 'slices', 'operators' or 'broadcasting'.
    broadcast : bool
        Whether operators such as ``x + y`` broadcast their operands, for which all shapes are inferred.
    """
    own = threading.get_ident()  # other threads may hybridize nets meanwhile

    def foreign(symbol):
        """Return whether another thread or a library's code asks, or an operator has several outputs."""
        module = sys._getframe(2).f_globals.get("__name__", "")
        library = module.startswith(("mxnet.", f"{__package__}."))
        return library or threading.get_ident() != own or _of_several(symbol)

    def shape(symbol):
        used("shapes")
        return infer([symbol], shapes)[0]

    def items(plain):
        def item(symbol, key):
            keys = key if isinstance(key, tuple) else (key,)
            if not all(map(_is_basic, keys)) or (keys is not key and foreign(symbol)):
                return plain(symbol, key)
            used("slices")
            if Ellipsis in keys:
                at, (found,) = keys.index(Ellipsis), infer([symbol], shapes)
                missing = len(found) - sum(k is not None for k in keys) + 1
                keys = (*keys[:at], *[slice(None)] * missing, *keys[at + 1 :])
            return _sliced(symbol, within(symbol, keys))

        return item

    def within(symbol, keys):
        """Return keys without the bounds that lie beyond the ends, which arrays ignore."""
        sizes: Iterable[int] = ()
        with suppress(mx.MXNetError, ValueError):
            (sizes,) = infer([symbol], shapes)
        axes = [at for at, key in enumerate(keys) if key is not None]
        fitted = list(keys)
        for at, n in zip(axes, sizes):
            if isinstance(keys[at], slice):
                fitted[at] = _fitted(keys[at], n)
        if fitted != list(keys):
            used("shapes")
        return tuple(fitted)

    def rows(symbol):
        if foreign(symbol):
            return (output_of(symbol, i) for i in range(len(symbol.list_outputs())))
        used("slices")
        return (_sliced(symbol, (i,)) for i in range(symbol.shape[0]))

    def length(symbol):
        return len(symbol.list_outputs()) if foreign(symbol) else symbol.shape[0]

    def either(of_arrays, of_symbols):
        @wraps(of_arrays)
        def call(*args, **kwargs):
            if not _have_symbols([*args, *kwargs.values()]):
                return of_arrays(*args, **kwargs)
            if kwargs.get("out") is not None:
                raise TypeError(f"{of_arrays.__name__}(out=) is not supported for a Symbol")
            used("operators")
            return of_symbols(*args, **kwargs)

        return call

    def operator(name, plain):
        def apply(x, y):
            if isinstance(y, Symbol) and threading.get_ident() == own:
                with suppress(mx.MXNetError, ValueError):
                    one, other = infer([x, y], shapes)
                    if one != other:
                        used("broadcasting")
                        return getattr(mx.sym, f"broadcast_{name}")(x, y)
            return plain(x, y)

        return apply

    Symbol, NumPySymbol = mx.sym.Symbol, mx.sym.np._Symbol
    sizes = dict(shape=shape, size=lambda x: prod(x.shape), ndim=lambda x: len(x.shape))
    new: Dict[str, Any] = {name: property(value) for name, value in sizes.items()}
    new.update(__getitem__=items(output_of), __iter__=rows, __len__=length)
    new.update(T=property(lambda x: x.transpose()), reshape=_reshape(Symbol.reshape))
    with _ONE, ExitStack() as stack:
        for method, name in _BROADCAST.items() if broadcast else ():
            new[f"__{method}__"] = operator(name, getattr(Symbol, f"__{method}__"))
        stack.enter_context(replaced(Symbol, new))
        stack.enter_context(replaced(NumPySymbol, {"__getitem__": items(NumPySymbol.__getitem__)}))
        for arrays, symbols, names in _functions():
            pairs = {name: either(vars(arrays)[name], vars(symbols)[name]) for name in names}
            stack.enter_context(replaced(vars(arrays), pairs))
        pairs = {name: either(vars(mx.nd)[name], _of_two(to)) for name, to in _OPERATORS.items()}
        pairs["concatenate"] = either(mx.nd.concatenate, _concatenate)
        stack.enter_context(replaced(vars(mx.nd), pairs))
        yield


@lru_cache(maxsize=None)
def _functions() -> List[Tuple[Any, Any, Set[str]]]:
    """Return MXNet's modules for arrays and for symbols, and the names of functions that both have."""
    pairs = [(mx.nd, mx.sym), (mx.np, mx.sym.np), (mx.npx, mx.sym.npx)]
    for name in ("contrib", "image", "linalg"):
        both = [(getattr(a, name, None), getattr(b, name, None)) for a, b in pairs[:3]]
        pairs += [(a, b) for a, b in both if a and b]

    def functions(module):
        return {name for name, value in vars(module).items() if isinstance(value, FunctionType)}

    return [(a, b, functions(a) & functions(b)) for a, b in pairs]


def _have_symbols(values: Iterable[Any]) -> bool:
    """Return whether there is a symbol among values, or in lists of them."""
    return any(
        isinstance(x, mx.sym.Symbol) or (isinstance(x, (list, tuple)) and _have_symbols(x))
        for x in values
    )


def _of_several(symbol):
    """Return whether a symbol has several outputs, or is of an operator that splits into one part."""
    if len(symbol.list_outputs()) > 1:
        return True
    attrs = symbol.list_attr()
    return "1" in (attrs.get("num_outputs"), attrs.get("sections")) and "num_args" not in attrs  # a loop


def _is_basic(key):
    return key is None or key is Ellipsis or type(key) in (int, slice)


def _fitted(key, size):
    """Return a slice without bounds beyond the ends of an axis."""
    if key.step not in (None, 1):  # MXNet ignores such bounds itself
        return key
    start = None if key.start is not None and key.start < -size else key.start
    return slice(start, None if key.stop is not None and key.stop > size else key.stop)


def _of_two(name):
    return lambda lhs, rhs: getattr(python, name)(lhs, rhs)


def _reshape(plain):
    def reshape(symbol, *shape, **kwargs):
        shapes = shape if not shape or isinstance(shape[0], (list, tuple)) else (shape,)
        return plain(symbol, *shapes, **kwargs)

    return reshape


def _concatenate(arrays, axis=0, always_copy=True):
    return mx.sym.concat(*arrays, dim=axis)


def _sliced(symbol: Any, keys: Tuple) -> Any:
    """Return basic slices of a symbol."""
    x = as_classic(symbol)
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
    x = in_mode(x)
    if not gone:
        return x
    return (mx.sym.np if mx.util.is_np_array() else mx.sym).squeeze(x, axis=gone)
