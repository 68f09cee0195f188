"""Base class of all blocks with windows: the ``padding`` argument, checks and ``repr``."""

from typing import TYPE_CHECKING, Any, Dict, Literal, Optional, Sequence, Tuple, TypeVar, Union

from mxnet.gluon import Block
from mxnet.ndarray import NDArray

from .. import arguments
from ..arguments import Ints
from ..lowering import Windows
from ..saving import Saved
from .checks import NamedArguments

#: One int for all axes, or one for each.
IntOrInts = Union[int, Sequence[int]]
#: What ``padding`` accepts as a word. Letter case is ignored; Conv1D also accepts ``'causal'``.
Word = Literal["same", "same_lower", "valid", "causal", "SAME", "SAME_LOWER", "VALID", "CAUSAL"]
#: A word, elements at both ends of each axis, or a pair ``(before, after)`` for each axis.
PaddingLike = Union[Word, int, Sequence[int], Sequence[Tuple[int, int]]]

T = TypeVar("T")  # an array or a symbol

#: Arguments of MXNet's operators that a plan does not change.
_CALL = {"kernel", "num_filter", "stride", "dilate", "num_group", "layout", "adj", "pool_type"}
_CALL |= {"count_include_pad"}


def operator_arguments(block: Block) -> Dict[str, Any]:
    """Return the arguments that a stock layer passes to its operator, to read or to change.

    Gluon has no public name for them. A block without such arguments returns an empty dict.
    """
    known = getattr(block, "_kwargs", None)
    return known if isinstance(known, dict) else {}


class Checked(NamedArguments, Saved):
    """Block that checks the arrays that it receives: by default, whether their axes fit its layout."""

    _ndim = 2  # spatial axes
    _layout: str

    if TYPE_CHECKING:

        def __call__(self, x: T, *args: Any) -> T: ...

    def forward(self, x: Any, *args: Any) -> Any:
        if isinstance(x, NDArray):
            self._check_array(x)
        return super().forward(x, *args)

    def _check_array(self, x: Any) -> None:
        """Raise an error for an array that the block does not support."""
        arguments.check_rank(x.shape, self._layout, f"data for {self.name}")


class Windowed(Checked):
    """Mixin that extends ``padding`` of a stock Gluon block; place it before the stock class.

    Public constructors pass ``locals()``, their arguments, to this one, which builds the stock block.
    """

    _causal = False  # whether ``'causal'`` is a padding

    _windows: Any  # Optional[Windows]; None if stock Gluon computes the layer itself
    _padding: Optional[arguments.Padding]  # as the user gave it, or None like the windows
    _call: Dict[str, Any]  # arguments of the operator, except for those that the plan chooses
    _in_shape: Optional[Ints]  # input shape of a specialized layer

    def __init__(self, given: Dict[str, Any]) -> None:
        """Check the arguments of a public constructor, and build the stock block."""
        given = {name: value for name, value in given.items() if name not in ("self", "__class__")}
        given["layout"] = arguments.check_layout(given["layout"], self._ndim)
        self._check_given(given)
        padding = given.pop("padding")
        try:
            super().__init__(padding=0, **given)
        except AssertionError as error:  # raised by stock blocks for an invalid argument
            raise ValueError(str(error)) from None
        self._pad_by(padding)

    def _pad_by(self, padding: PaddingLike) -> None:
        """Set the padding: in the arguments of the stock block if it supports it, else as windows."""
        known = operator_arguments(self)
        windows: Any = arguments.windows_of("padding", padding, known, self._causal)
        self._check_windows(windows)
        own: Any = tuple(window.padding for window in windows)
        if arguments.is_plain(padding):
            known["pad"] = tuple(before for before, _ in own)
            windows = own = None
        else:
            own = padding.lower() if isinstance(padding, str) else own
            known["pad"] = repr(own)  # read by the stock ``__repr__`` only
        call = {name: value for name, value in known.items() if name in _CALL}
        # Gluon's __setattr__, which searches for blocks and parameters, is slow.
        self.__dict__.update(
            _windows=windows, _padding=own, _layout=known["layout"], _in_shape=None,
            _call={**call, "name": "fwd"},
        )  # fmt: skip

    def _check_array(self, x: Any) -> None:
        if self._windows is not None:
            super()._check_array(x)
            self._check_data(x)

    def hybrid_forward(self, F: Any, x: Any, *weights: Any, **named: Any) -> Any:
        if self._windows is None:
            return super().hybrid_forward(F, x, *weights, **named)
        return self._compute(F, x, *weights, **named)

    @property
    def _data_shape(self) -> Optional[Ints]:
        """The shape of a symbol that this layer receives, if it is known."""
        if self._in_shape is not None:
            arguments.check_rank(self._in_shape, self._layout, f"data for {self.name}")
        return self._in_shape

    def _check_given(self, given: Dict[str, Any]) -> None:
        """Check the arguments of the constructor, and convert them in place."""
        raise NotImplementedError

    def _compute(self, F: Any, x: Any, *weights: Any, **named: Any) -> Any:
        """Compute the layer with its own windows."""
        raise NotImplementedError

    def _check_windows(self, windows: Windows) -> None:
        """Raise an error for windows that do not fit the other arguments."""

    def _check_data(self, x: Any) -> None:
        """Raise an error for an array of the right axes that the layer does not support."""
        raise NotImplementedError


def windowed(block: Block) -> Optional[Windowed]:
    """Return the layer with windows that computes a block, or None if the block has no windows.

    That is the block itself, or the layer that :func:`gluon_same.to_same` made for a stock block.
    """
    layer = getattr(vars(block).get("hybrid_forward"), "__self__", block)
    return layer if isinstance(layer, Windowed) else None
