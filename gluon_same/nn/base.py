"""Base class of all blocks with windows: the ``padding`` argument, checks and ``repr``."""

from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np
from mxnet.gluon import Block
from mxnet.ndarray import NDArray

from .. import arguments
from ..arguments import Ints
from .gluon import HybridBlock

#: One int for all axes, or one for each.
IntOrInts = Union[int, Sequence[int]]
#: A word, elements at both ends of each axis, or a pair ``(before, after)`` for each axis.
PaddingLike = Union[str, int, Sequence[int], Sequence[Tuple[int, int]]]

#: Arguments of MXNet's operators that the functions of :mod:`gluon_same.functional` share.
_CALL = {"kernel", "num_filter", "stride", "dilate", "num_group", "layout", "adj", "pool_type"}
_CALL |= {"count_include_pad"}


def operator_arguments(block: Block) -> Dict[str, Any]:
    """Return the arguments that a stock layer passes to its operator, to read or to change.

    Gluon has no public name for them. A block without such arguments returns an empty dict.
    """
    known = getattr(block, "_kwargs", None)
    return known if isinstance(known, dict) else {}


class Windowed(HybridBlock):
    """Mixin that extends ``padding`` of a stock Gluon block; place it before the stock class.

    Subclasses check their arguments, split ``padding`` with :meth:`_split`, and build the stock block
    with this constructor.
    """

    _ndim = 2  # spatial axes
    _causal = False  # whether ``'causal'`` is a padding

    _padding: Optional[arguments.Padding]  # None if stock Gluon supports the padding
    _layout: str
    _call: Dict[str, Any]  # arguments of the function in `gluon_same.functional`
    _in_shape: Optional[Ints]  # input shape of a specialized layer
    _way: Optional[str]  # name of a plan, of `gluon_same.lowering.ways`, of a tuned layer

    def __init__(self, padding: Optional[arguments.Padding], /, **given: Any) -> None:
        """Build the stock block.

        Parameters
        ----------
        padding : str or tuple of (int, int), optional
            Padding that the stock block does not support; None if it computes the layer itself.
        **given
            Arguments of the stock block.
        """
        try:
            super().__init__(**given)
        except AssertionError as error:  # raised by stock blocks for an invalid argument
            raise ValueError(str(error)) from None
        self._pad_by(padding)

    def _pad_by(self, padding: Optional[arguments.Padding]) -> None:
        """Set what this class adds to a stock block, from the arguments of its operator."""
        known = operator_arguments(self)
        call = {name: value for name, value in known.items() if name in _CALL}
        if padding is not None:
            call["pad"] = padding
            known["pad"] = _Shown(padding)
        # Gluon's __setattr__, which searches for blocks and parameters, is slow.
        self.__dict__.update(
            _padding=padding, _layout=known["layout"], _call=call, _in_shape=None, _way=None
        )

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

    def _ways(self) -> Dict[str, Any]:
        """Return the plans by name for the input shape; none if there is only one."""
        sizes, channels = self._in_size, self._seen_channels
        if self._padding is None or sizes is None or channels is None or self._layout.endswith("C"):
            return {}
        return self._ways_at(sizes, channels)

    def _ways_at(self, sizes: Ints, channels: int) -> Dict[str, Any]:
        return {}

    def _way_for(self, x: Any) -> Optional[str]:
        """Return the way that tuning chose if it applies to this input, else None."""
        fits = not isinstance(x, NDArray) or (x.shape, x.dtype) == (self._in_shape, np.float32)
        return self._way if fits else None

    def _split(self, padding: Any, spans: Ints) -> Tuple[Optional[arguments.Padding], Any]:
        """Return the padding that this package computes, or None, and that of the stock block."""
        normal = arguments.normalize_padding("padding", padding, spans, self._causal)
        if isinstance(padding, str):
            return padding.lower(), 0
        if arguments.is_plain(padding):
            return None, tuple(pair[0] for pair in normal)
        return normal, 0

    def _check_data(self, x: Any) -> None:
        """Raise an error for an array that the layer does not support."""
        raise NotImplementedError


def windowed(block: Block) -> Optional[Windowed]:
    """Return the layer with windows that computes a block, or None if the block has no windows.

    That is the block itself, or the layer that :func:`gluon_same.to_same` made for a stock block.
    """
    layer = getattr(vars(block).get("hybrid_forward"), "layer", block)
    return layer if isinstance(layer, Windowed) else None


class _Shown:
    """A padding that the stock ``__repr__`` prints as the user gave it."""

    def __init__(self, padding: Any) -> None:
        self.padding = padding

    def __str__(self) -> str:
        return repr(self.padding)

    __repr__ = __str__
