"""What all blocks with windows share: the ``padding`` argument, checks, and ``repr``."""

from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np
from mxnet.ndarray import NDArray

from .. import arguments
from ..arguments import Ints
from .gluon import HybridBlock

#: One int for all axes, or one for each.
IntOrInts = Union[int, Sequence[int]]
#: A word, elements at both ends of each axis, or a pair ``(before, after)`` for each axis.
PaddingLike = Union[str, int, Sequence[int], Sequence[Tuple[int, int]]]


class Windowed(HybridBlock):
    """Mixin for a stock Gluon block, to be placed before it, that gives ``padding`` more meanings.

    Subclasses check their arguments, take ``padding`` apart by :meth:`_split`, and build the stock block
    by this constructor.
    """

    _ndim = 2  # spatial axes
    _causal = False  # whether ``'causal'`` is a padding

    _padding: Optional[arguments.Padding]  # served by this package; None where stock Gluon serves it
    _layout: str
    _call: Dict[str, Any]  # arguments of the function in `gluon_same.functional`
    _in_shape: Optional[Ints]  # of the input, where the layer is specialized
    _way: Optional[str]  # of `gluon_same.lowering`, where the layer is tuned

    def __init__(
        self, padding: Optional[arguments.Padding], call: Dict[str, Any], /, **given: Any
    ) -> None:
        """Build the stock block.

        Parameters
        ----------
        padding : str or tuple of (int, int), optional
            The padding that the stock block does not have; None where it serves the layer itself.
        call : dict
            Arguments of the function in :mod:`gluon_same.functional` that serves it otherwise.
        **given
            Arguments of the stock block.
        """
        try:
            super().__init__(**given)
        except AssertionError as error:  # how stock blocks refuse an argument
            raise ValueError(str(error)) from None
        # Gluon's __setattr__, which looks for blocks and parameters, would take longer than the rest.
        self.__dict__.update(
            _padding=padding, _layout=given["layout"], _call=call, _in_shape=None, _way=None
        )
        if padding is not None:
            call["pad"] = padding
            self._kwargs["pad"] = _Shown(padding)

    def forward(self, x: Any, *args: Any) -> Any:
        if self._padding is not None and isinstance(x, NDArray):
            arguments.check_rank(x.shape, self._layout, f"data for {self.name}")
            self._check_data(x)
        return super().forward(x, *args)

    @property
    def _in_size(self) -> Optional[Ints]:
        if self._in_shape is None:
            return None
        arguments.check_rank(self._in_shape, self._layout, f"data for {self.name}")
        return arguments.spatial(self._in_shape, self._layout)

    @property
    def _seen_channels(self) -> Optional[int]:
        shape = self._in_shape
        return None if shape is None else shape[self._layout.index("C")]

    def _way_for(self, x: Any) -> Optional[str]:
        """The way chosen by tuning, where it is for this input: a symbol's graph, or an array."""
        fits = not isinstance(x, NDArray) or (x.shape, x.dtype) == (self._in_shape, np.float32)
        return self._way if fits else None

    def _split(self, padding: Any, spans: Ints) -> Tuple[Optional[arguments.Padding], Any]:
        """The padding that this package serves, or None, and the padding of the stock block."""
        normal = arguments.normalize_padding("padding", padding, spans, self._causal)
        if isinstance(padding, str):
            return padding.lower(), 0
        if arguments.is_plain(padding):
            return None, tuple(pair[0] for pair in normal)
        return normal, 0

    def _check_data(self, x: Any) -> None:
        """Refuse an array that the layer cannot serve."""
        raise NotImplementedError


class _Shown:
    """A padding as the stock ``__repr__`` prints it."""

    def __init__(self, padding: Any) -> None:
        self.padding = padding

    def __str__(self) -> str:
        return repr(self.padding)

    __repr__ = __str__
