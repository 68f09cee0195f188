"""Helpers for arrays and symbols: modes, layouts, sizes and shape inference."""

import ctypes
import itertools
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from operator import methodcaller
from typing import Any, Callable, Container, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import mxnet as mx

from . import arguments

#: The version in the JSON of graphs. MXNet logs a warning for each graph of a later version.
VERSION = json.loads(mx.sym.var("data").tojson())["attrs"]

Size = Optional[Sequence[Optional[int]]]
Shape = Optional[Tuple[Optional[int], ...]]  #: None where a size is not known


class _KeepDtype:
    """MXNet's operators, with those that only move elements kept as they were at import.

    ``amp.init('bfloat16')`` replaces all operators by functions that cast to float32. Slices, reshapes
    and transposes do not require the cast; ``Pad`` does.
    """

    def __init__(self, F: Any) -> None:
        self._F = F
        moves = ("slice", "slice_axis", "slice_like", "reshape", "transpose", "expand_dims", "squeeze")
        for name in moves:
            setattr(self, name, getattr(F, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._F, name)


_KEEPING = {F: _KeepDtype(F) for F in (mx.nd, mx.sym)}


def keep_dtype(F: Any) -> Any:
    """Return ``F`` with slices, reshapes and transposes that keep the dtype of the data."""
    return _KEEPING[F]


def check_kinds(data: Any, *others: Any, names: Sequence[str] = ("data", "weight", "bias")) -> None:
    """Raise TypeError unless data, weight and bias are all arrays or all symbols."""
    for name, x in zip(names, (data, *others)):
        if name == "bias" and x is None:
            continue
        if not isinstance(x, (mx.nd.NDArray, mx.sym.Symbol)):
            raise TypeError(f"{name} is a {type(x).__name__}: give an NDArray or a Symbol")
        if isinstance(x, mx.nd.NDArray) != isinstance(data, mx.nd.NDArray):
            kinds = type(x).__name__, type(data).__name__
            raise TypeError(
                f"{name} is a {kinds[0]}, and {names[0]} is a {kinds[1]}: give the same kind"
            )


def classic(data: Any, *others: Any) -> Tuple:
    """Return data, weight and bias in classic mode, and a function that restores the mode of data."""
    check_kinds(data, *others)
    # The module name identifies both arrays and symbols of NumPy mode, from MXNet 1.6 on.
    numpy = type(data).__module__.startswith(("mxnet.numpy", "mxnet.symbol.numpy"))
    restore = methodcaller("as_np_ndarray" if numpy else "as_nd_ndarray")
    return (*(x if x is None else x.as_nd_ndarray() for x in (data, *others)), restore)


def data_shape(
    F: Any, data: Any, kernel: Any, layout: Optional[str], in_size: Size, in_channels: Any = None
) -> Tuple[str, Tuple]:
    """Return the layout and the shape of data, with None for sizes that are not known.

    Raises
    ------
    TypeError, ValueError
        If the arguments disagree on the number of axes.
    """
    if F is not (mx.nd if isinstance(data, mx.nd.NDArray) else mx.sym):
        raise TypeError(
            f"F={F!r} does not match data of {type(data)}: use mx.nd for arrays, mx.sym for symbols"
        )
    layouts = [each for known in arguments.LAYOUTS.values() for each in known]
    if layout is None:
        # One int applies to all axes of an array. A symbol is treated as an image, with two axes.
        axes = data.ndim - 2 if F is mx.nd else 2
        ndim = len(kernel) if isinstance(kernel, (tuple, list)) else axes
        if ndim not in arguments.LAYOUTS:
            raise ValueError(f"{ndim} spatial axes are not supported: use 1, 2 or 3")
        layout = arguments.LAYOUTS[ndim][0]
    elif layout not in layouts:
        raise ValueError(f"layout={layout!r} is unknown: use one of {', '.join(layouts)}")
    ndim = len(layout) - 2
    if F is mx.nd:
        arguments.check_rank(data.shape, layout)
        return layout, data.shape
    if in_channels is not None:
        in_channels = arguments.whole("in_channels", in_channels, 1)
    in_size = (None,) * ndim if in_size is None else in_size
    if not isinstance(in_size, (tuple, list)):
        raise TypeError(f"in_size={in_size!r} is not a tuple: give {ndim} sizes, one for each axis")
    if len(in_size) != ndim:
        raise ValueError(f"in_size={in_size!r} does not fit {ndim} axes: give {ndim} entries")
    sizes = [None if n is None else arguments.whole("in_size", n, 1) for n in in_size]
    known = {"N": None, "C": in_channels, **dict(zip(layout.replace("N", "").replace("C", ""), sizes))}
    return layout, tuple(known[axis] for axis in layout)


def flat(args: Any) -> List[Any]:
    """Return the arrays and symbols in nested lists."""
    if isinstance(args, (list, tuple)):
        return [x for arg in args for x in flat(arg)]
    return [args] if isinstance(args, (mx.sym.Symbol, mx.nd.NDArray)) else []


def contexts(ctx: Any) -> List[mx.Context]:
    """Return the contexts of a ``ctx`` argument; None stands for the current one.

    Raises
    ------
    TypeError
        If it is neither a context nor a list of them.
    """
    ctx = mx.current_context() if ctx is None else ctx
    found = list(ctx) if isinstance(ctx, (list, tuple)) else [ctx]
    if not found or not all(isinstance(each, mx.Context) for each in found):
        raise TypeError(f"ctx={ctx!r} is not a context: give mx.cpu(), mx.gpu(0), or a list of them")
    return found


def as_classic(symbol: mx.sym.Symbol) -> mx.sym.Symbol:
    """Return a symbol in classic mode."""
    return symbol.as_nd_ndarray()


def in_mode(x: Any) -> Any:
    """Return an array or a symbol in the mode that is set, classic or NumPy."""
    return x.as_np_ndarray() if mx.util.is_np_array() else x.as_nd_ndarray()


#: Returns an output of a symbol, by number, also where ``x[0]`` is a slice: see ``like_arrays``.
output_of = mx.sym.Symbol.__getitem__


def operators_before(x: mx.sym.Symbol) -> Iterator[Dict[str, str]]:
    """Yield the arguments of the operator that returns ``x``, of that of its first input, and so on."""
    while True:
        yield x.list_attr()
        inputs = x.get_children()
        if inputs is None:  # symbols have no truth value
            return
        x = output_of(inputs, 0)


def read_by(symbol: mx.sym.Symbol, known: Dict[str, Any]) -> Dict[str, Any]:
    """Return the entries for the variables of a symbol. MXNet raises errors for others."""
    return {name: known[name] for name in symbol.list_inputs() if name in known}


def operator_of(symbol: mx.sym.Symbol, inputs: Container[str], flags: Iterable[Tuple]) -> Callable:
    """Return the operator that runs a graph as a block does, from arrays for ``list_inputs``.

    MXNet runs operators one by one that read an array of neither list.
    """
    indices: Dict[str, List[int]] = {"data_indices": [], "param_indices": []}
    for index, name in enumerate(symbol.list_inputs()):
        indices["data_indices" if name in inputs else "param_indices"].append(index)
    return mx.nd.CachedOp(symbol, [*indices.items(), *flags])


def infer(symbols: Sequence[Any], shapes: Dict[str, Tuple[int, ...]]) -> List[Tuple[int, ...]]:
    """Infer the shapes of symbols from those of variables; raise ValueError if one stays unknown."""
    group = mx.sym.Group([as_classic(x) for x in symbols])
    _, found, _ = group.infer_shape_partial(**read_by(group, shapes))
    if any(not shape or min(shape) < 1 for shape in found):
        raise ValueError("a result has no elements, or a shape that cannot be inferred")
    return found


def fix_shape(x: Any, expected: Sequence[Optional[int]], name: str) -> Any:
    """Return a symbol equal to ``x`` that MXNet cannot bind to any other shape.

    Parameters
    ----------
    x : Symbol
        In classic mode.
    expected : sequence of int or None
        The size of each axis; None allows any size.
    name : str
        Start of the names of the added nodes, which MXNet's error shows.
    """
    # Only an axis of size n can be reshaped to (n, 1). One such reshape per axis checks the shape, and
    # the error names the node of the axis that differs. Each reshape merges what the last one split,
    # because oneDNN limits the number of axes.
    merged: List[int] = []
    for axis, n in enumerate(expected):
        if n is not None:
            rest = [0] * (len(expected) - axis - 1)
            x = mx.sym.reshape(x, shape=[*merged, -4, n, 1, *rest], name=f"{name}_axis{axis}")
            merged = [0] * axis + [-3]
        else:
            merged = [*merged, 0]
    return mx.sym.reshape(x, shape=merged)


def runs_of(axes: Sequence[int]) -> List[List[int]]:
    """Return the axes of a transpose in runs that stay together.

    Examples
    --------
    >>> runs_of([0, 1, 4, 2, 3])
    [[0, 1], [4], [2, 3]]
    """
    runs = itertools.groupby(enumerate(axes), lambda place: place[1] - place[0])
    return [[axis for _, axis in run] for _, run in runs]


def foreach(F: Any, body: Callable, data: Any, states: Any) -> Tuple[Any, Any]:
    """Run a body for each element of the first axis, as ``F.contrib.foreach`` does, correctly."""
    if F is mx.sym:
        give_each_array_memory()
        data, states = (apart(F, x) for x in (data, states))
    return F.contrib.foreach(body, data, states)


def apart(F: Any, x: Any) -> Any:
    """Return a copy of an array, or of those in a list, in memory of its own and in MXNet's layout.

    MXNet looks at what a loop reads before the operators in front of it have run. If the memory then
    holds a convolution's result in oneDNN's layout, the loop computes wrong numbers or ends the process.
    The gradient is in MXNet's layout, too, which some operators require. oneDNN's own operators for
    reshapes are no way out: they fail for an array in its layout that was reshaped before.
    """
    if isinstance(x, (list, tuple)):
        return [apart(F, each) for each in x]
    # MXNet never slices in place, and oneDNN lacks this operator.
    return in_mode(F.slice_axis(as_classic(x), axis=0, begin=0, end=None))


def give_each_array_memory() -> None:
    """Make graphs that MXNet plans from now on use memory for one array only: see :func:`apart`."""
    os.environ.setdefault("NNVM_EXEC_MATCH_RANGE", "0")


def settle() -> None:
    """Wait until no operator runs, before parameters are read.

    oneDNN's operators change the layout of their parameters after they return. MXNet may read an array
    while this happens, and return wrong values.
    """
    with suppress(mx.MXNetError):  # of an operator whose result nobody has read
        mx.nd.waitall()


def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Return a function's result, called by a thread that ends.

    MXNet starts OpenMP's threads for each thread that copies a large array, or reads oneDNN's blocked
    memory. If more threads exist than processors, idle ones sleep, and each later operator takes about
    50 us longer.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *args).result()


def return_freed_memory() -> None:
    """Return freed memory to the system. glibc keeps the pieces that each thread has freed for it."""
    with suppress(AttributeError, TypeError):  # other C libraries return it
        ctypes.CDLL(None).malloc_trim(0)
