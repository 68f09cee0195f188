"""What all blocks with windows share: the ``padding`` argument, checks, and ``repr``."""

import inspect
from functools import lru_cache
from typing import Any

import numpy as np
from mxnet.ndarray import NDArray

from .. import arguments
from ..arguments import per_axis, whole
from ..geometry import effective_kernel


class Windowed:
    """Mixin for a stock Gluon block, to be placed before it, that gives ``padding`` more meanings.

    The signature is the stock block's. ``padding`` may be

    - an int or a tuple of ints: the stock block itself, bit for bit;
    - ``'same'``: TensorFlow's and Keras' padding, ``out = ceil(in / stride)``, the odd element at
      the end; ``'same_lower'``: the odd element at the start; ``'valid'``: none; any letter case;
    - ``'causal'`` (Conv1D alone): ``dilation * (kernel - 1)`` elements, all before the axis;
    - a tuple of pairs ``(before, after)``, one for each axis.

    Raises
    ------
    TypeError, ValueError
        At construction, for an argument that does not fit; the message names it, its value, and what
        is allowed. When called, for data of the wrong rank or with an axis of no elements.
    """

    #: The argument that holds the window, and those with one int (or one for each axis) and the
    #: least they may be.
    _window = "kernel_size"
    _ints = {"strides": 1}
    _optional = ()
    _counts = {}
    _causal = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            _, *own = inspect.signature(cls.__init__).parameters.values()
            cls.__signature__ = inspect.Signature(own)
        elif _stock(cls) is not None and not hasattr(cls, "__signature__"):
            cls.__signature__ = _signature(cls)

    def __init__(self, *args: Any, **kwargs: Any):
        given = _bind(type(self), args, kwargs)
        padding = self._check(given)
        try:
            super().__init__(**given)
        except AssertionError as error:  # stock's way to refuse an argument
            raise ValueError(str(error)) from None
        self._padding = padding
        self._in_shape = None  # of the input, where the layer is specialized
        self._way = None  # of `gluon_same.lowering`, where the layer is tuned
        if padding is not None:
            self._kwargs["pad"] = _Shown(padding)

    def forward(self, x: Any, *args: Any) -> Any:
        if self._padding is not None and isinstance(x, NDArray):
            arguments.check_rank(x.shape, self._kwargs["layout"], f"data for {self.name}")
            self._check_data(x)
        return super().forward(x, *args)

    @property
    def _in_size(self):
        shape, layout = self._in_shape, self._kwargs["layout"]
        if shape is None:
            return None
        arguments.check_rank(shape, layout, f"data for {self.name}")
        return arguments.spatial(shape, layout)

    @property
    def _seen_channels(self):
        shape = self._in_shape
        return shape if shape is None else shape[self._kwargs["layout"].index("C")]

    def _way_for(self, x):
        """The way chosen by tuning, where it is for this input: a symbol's graph, or an array."""
        fits = not isinstance(x, NDArray) or (x.shape, x.dtype) == (self._in_shape, np.float32)
        return self._way if fits else None

    def _check(self, given):
        """Check the arguments in place; the padding that is ours to serve, None for stock's."""
        ndim = _ndim(type(self))
        given["layout"] = arguments.check_layout(given["layout"], ndim)
        for name, least in {self._window: 1, **self._ints}.items():
            if given[name] is not None or name not in self._optional:
                given[name] = per_axis(name, given[name], ndim, least)
        for name, least in self._counts.items():
            given[name] = whole(name, given[name], least)
        kernel = given[self._window]
        spans = tuple(map(effective_kernel, kernel, given.get("dilation", (1,) * ndim)))
        padding = arguments.normalize_padding("padding", given["padding"], spans, self._causal)
        if arguments.is_plain(given["padding"]):
            given["padding"] = tuple(before for before, _ in padding)
            return None
        word, given["padding"] = given["padding"], 0
        return word.lower() if isinstance(word, str) else padding


#: What MXNet's operators and other frameworks call an argument, and what Gluon's blocks do.
_MEANT = {
    "kernel": ("kernel_size", "pool_size"),
    "kernel_size": ("pool_size",),
    "pool_size": ("kernel_size",),
    "stride": ("strides",),
    "pad": ("padding",),
    "dilate": ("dilation",),
    "num_group": ("groups",),
    "num_filter": ("channels",),
    "filters": ("channels",),
}


class _Shown:
    """A padding as stock's ``__repr__`` is to print it."""

    def __init__(self, padding):
        self.padding = padding

    def __str__(self):
        return repr(self.padding)

    __repr__ = __str__


def _stock(cls):
    return next((base for base in cls.__mro__ if base.__module__.startswith("mxnet.gluon")), None)


def _signature(cls):
    return _signature_of(_stock(cls))


@lru_cache(maxsize=None)  # of the stock blocks, which are few and stay
def _signature_of(stock):
    signature = inspect.signature(stock.__init__)
    parameters = [
        p.replace(default=None) if p.name == "count_include_pad" else p
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    return signature.replace(parameters=parameters)


def _bind(cls, args, kwargs):
    """All arguments of a call by name: what ``Signature.bind`` does, which takes as long as the rest."""
    names, defaults = _arguments_of(_stock(cls))
    for name in kwargs.keys() & _MEANT.keys() - set(names):
        for meant in set(_MEANT[name]) & set(names):
            raise TypeError(f"{cls.__name__} has no argument {name!r}: it is {meant!r}")
    given = {**defaults, **dict(zip(names, args)), **kwargs}
    twice = not kwargs.keys().isdisjoint(names[: len(args)])
    if twice or len(args) > len(names) or any(name not in given for name in names):
        _signature(cls).bind(*args, **kwargs)  # raises the TypeError that tells
    return given


@lru_cache(maxsize=None)
def _arguments_of(stock):
    named = [p for p in _signature_of(stock).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    return tuple(p.name for p in named), {p.name: p.default for p in named if p.default is not p.empty}


def _ndim(cls):
    return len(_signature(cls).parameters["layout"].default) - 2
