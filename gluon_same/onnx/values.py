"""Values in an ONNX graph while it is imported: numbers that are known, and arrays at run time."""

from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Literal, NamedTuple, Optional, Sequence, Tuple

import numpy as np

Shape = Tuple[Optional[int], ...]
Sizes = Tuple[int, ...]
Ints = Optional[List[int]]  #: an attribute of some integers
Flag = Literal[0, 1]  #: an attribute that is true or false

#: Numbers from here on stand for no limit, such as 10**9 for the end of an axis: none is so long.
UNLIMITED = 2**29

#: What to do if the numbers of a file depend on sizes that it leaves open.
FIX = "depends on sizes that the file leaves open: fix them with input_shapes="

#: Why numbers are refused that follow from data.
AT_RUN_TIME = "must be known while importing, and is computed at run time"

#: Why results are refused that MXNet has no arrays for.
EMPTY = "its result has no elements, which MXNet does not support"


class Unsupported(ValueError):
    """Node without an equivalent in MXNet."""


class Limited(Unsupported):
    """Node whose numbers may follow another rule at sizes that are not tried. Others may show it."""


class Missing(Unsupported):
    """Node of an operator that is not supported at any size."""


class NeedsValue(Exception):
    """An input of the model is read as numbers, such as the axes of a reduction."""

    def __init__(self, index: int):
        super().__init__(index)
        self.index = index


class NeedsTrials(Exception):
    """A size follows from data, so that a model of fixed sizes has several trials, too."""


class Refused(Exception):
    """The model refuses some trials of the open sizes. ``why`` are the reasons, by trial."""

    def __init__(self, why: Dict[int, str]):
        super().__init__(why)
        self.why = why


class NoSizes(Exception):
    """The model supports none of the sizes that were tried for its open axes."""


class Line(NamedTuple):
    """Number that is a sum of multiples of others, and of a remainder within bounds."""

    slopes: Dict[Tuple[float, ...], float]  #: factors of numbers, which their values at the trials name
    low: float  #: the least remainder
    high: float  #: the largest
    whole: bool = False  #: whether it is rounded


class Known:
    """Numbers that are known while importing.

    Parameters
    ----------
    trials : sequence of numpy.ndarray
        One array; or one for each trial of the open sizes.
    name : str
        Name in the file.
    trainable : bool
        Whether the numbers are weights.
    """

    def __init__(self, trials: Sequence[np.ndarray], name: str = "", trainable: bool = False):
        self.trials = list(trials)
        self.name = name
        self.trainable = trainable
        self.bounded = False  # whether they may be a size up to a bound, and the bound from there on
        self.resized = False  # whether their shape may be another one at sizes that are not tried
        #: Below these, each follows the rule that the trials show: at all sizes if it is infinite.
        self.limits = np.broadcast_to(np.inf, self.shape)
        self.low: Optional[np.ndarray] = None  # a lower bound of open numbers at all sizes
        self.sizes: Optional[Known] = None  # the numbers that are its shape, if it is made of them
        self.fill: Optional[np.ndarray] = None  # the number that all its elements are, then
        self.line: Optional[Line] = None  # how one open number follows from others, but for rounding
        #: Computes them at run time if they are open; returns None if that is not supported.
        self.make: Optional[Callable[[], Optional[Data]]] = None
        self._made: Optional[Data] = None

    @property
    def first(self) -> np.ndarray:
        """The array of the first trial."""
        return self.trials[0]

    @property
    def limit(self) -> float:
        """The least limit of all numbers."""
        different = self.limits if any(self.limits.strides) else self.limits.flat[:1]
        return float(different.min(initial=np.inf))

    @property
    def open(self) -> bool:
        """Whether the numbers, or how many there are, depend on open sizes."""
        different = (not np.array_equal(x, self.first) for x in self.trials[1:])
        return self.resized or self.limit < np.inf or any(different)

    @property
    def least(self) -> Optional[np.ndarray]:
        """A lower bound of the numbers at all sizes; None if it is not known."""
        return self.low if self.open else self.first

    @property
    def array(self) -> np.ndarray:
        """The numbers. Raise if they depend on open sizes."""
        if len(self.trials) > 1 and self.open:
            raise Unsupported(f"{self.name or 'an input'} {FIX}")
        return self.first

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.first.shape

    @property
    def ndim(self) -> int:
        return self.first.ndim

    @property
    def dtype(self) -> np.dtype:
        return self.first.dtype

    def at(self, trial: int) -> Any:
        """Return the numbers at one trial."""
        return self.trials[trial if len(self.trials) > 1 else 0]

    def changed(self, function: Callable[[np.ndarray], np.ndarray]) -> "Known":
        """Return the results of a function, under the same name."""
        new = [np.asarray(function(x)) for x in self.trials]
        known = Known(new, self.name, self.trainable)
        known.bounded, known.limits = self.bounded, np.broadcast_to(self.limit, known.shape)
        return known

    def elements(self) -> List["Known"]:
        """Return the numbers of an array with one axis, each as an array of its own."""
        parts = [self.changed(partial(np.take, indices=[i])) for i in range(len(self.first))]
        for i, part in enumerate(parts):
            part.limits = self.limits[i : i + 1]
            part.make = partial(self._made_element, i)
        return parts

    def at_run_time(self) -> Optional["Data"]:
        """Return open numbers as an array that the net computes; None if that is not supported."""
        self._made = self._made or (self.make and self.make())
        return self._made

    def _made_element(self, i: int) -> Optional["Data"]:
        x = self.at_run_time()
        return x and x.net.call("slice_axis", x, axis=0, begin=i, end=i + 1)


class Data:
    """Array at run time.

    Parameters
    ----------
    slot : int
        Number of the array in the net's plan.
    symbol : Symbol
    net : Builder
    dtype : numpy.dtype
        By ONNX's types. MXNet computes booleans as 0 and 1 in float32.
    scalar : bool
        Whether ONNX's array has no axes. MXNet's has one of size 1.
    """

    def __init__(self, slot: int, symbol: Any, net: Any, dtype: Any, scalar: bool = False):
        self.slot, self.symbol, self.net, self.scalar = slot, symbol, net, scalar
        self.dtype = np.dtype(dtype)
        self.index: Optional[int] = None  # number of the model's input that it is
        #: Number of the one input that it is computed from, if that consists of whole or a few numbers.
        self.source: Optional[int] = None
        self.node = ""  # the node that computes it, for messages
        self.key = ""  # the net's name of the block that computes it
        self.blocked = False  # whether oneDNN may hold it in blocks of channels, as after convolutions
        self.transposed = self.joined = False  # whether MXNet's ``transpose`` or ``concat`` computes it
        self.weight: Optional[Known] = None  # of the product that it is, which may take a bias
        self.base: Optional[Data] = None  # an array that it repeats along axes, new ones at the end
        self.filled = False  # whether all its elements are one number that is not 0
        self.stored: List[Sizes] = []  # shape in MXNet at each trial
        #: Axes whose sizes may follow another rule at sizes that are not tried, and calls that make sure
        #: they do not. There are none if nothing can make sure.
        self.doubts: Dict[int, List[Callable[[], None]]] = {}

    @property
    def trials(self) -> List[Sizes]:
        """The shape at each trial of the open sizes."""
        if not self.stored:
            self.net.infer()
        return [()] * len(self.stored) if self.scalar else self.stored

    def each(self, function: Callable[[int, Sizes], Any]) -> List[Any]:
        """Return a function's result for each trial and shape. A trial is refused if it raises."""
        results: List[Any] = []
        why = {}
        for trial, shape in enumerate(self.trials):
            try:
                results.append(function(trial, shape))
            except (ValueError, ZeroDivisionError) as error:
                why[trial] = str(error)
        self.net.refuse(why)
        return results

    @property
    def shape(self) -> Shape:
        """The shape, with None for open sizes."""
        return () if self.scalar else self.stored_shape

    @property
    def stored_shape(self) -> Shape:
        """The same, as MXNet has it."""
        if len({len(shape) for shape in self.trials}) > 1:
            raise Unsupported(f"the number of axes {FIX}")
        return tuple(
            sizes[0] if len(set(sizes)) == 1 and axis not in self.doubts else None
            for axis, sizes in enumerate(zip(*self.stored))
        )

    @property
    def ndim(self) -> int:
        return 0 if self.scalar else len(self.shape)


def nothing(shapes: Iterable[Sizes], dtype: Any, resized: bool = False) -> Known:
    """Return an array without elements, which MXNet does not support, but Concat here.

    Its shape at each trial may be another one at other sizes if it is ``resized``.
    """
    known = Known([np.zeros(shape, dtype) for shape in shapes])
    known.resized = resized
    return known


class Items(NamedTuple):
    """Sequence of arrays."""

    arrays: Tuple[Any, ...]


def compute_dtype(dtype: Any) -> np.dtype:
    """Return the dtype in which the net computes, by ONNX's types."""
    return np.dtype(np.float32) if dtype == np.float16 else np.dtype(dtype)


def stored_dtype(dtype: Any) -> np.dtype:
    """Return the dtype in which the net stores arrays: booleans are 0 and 1 in float32."""
    return np.dtype(np.float32) if np.dtype(dtype) == bool else compute_dtype(dtype)


def axis_of(axis: int, ndim: int) -> int:
    """Return an axis counted from the first; raise if there is none."""
    if not -ndim <= axis < max(ndim, 1):
        raise Unsupported(f"its axis {axis} does not fit data with {ndim} axes")
    return int(axis) % max(ndim, 1)


def distinct(axes: Iterable[int], ndim: int) -> List[int]:
    """Return axes counted from the first; raise if one is named twice."""
    found = [axis_of(axis, ndim) for axis in axes]
    if len(set(found)) < len(found):
        raise Unsupported(f"its axes {found} are not distinct")
    return found


def known(x: Any, role: str) -> np.ndarray:
    """Return the array of a known input; raise if it depends on open sizes, too."""
    return numbers(x, role).array


def numbers(x: Any, role: str, most: float = np.inf) -> Known:
    """Return a known input; raise if it is computed at run time, or limited to less than ``most``."""
    if isinstance(x, Known):
        if x.limit < most:
            raise Limited(f"whether a limit applies to its {role} {FIX}")
        return x
    if isinstance(x, Data):
        source = x.source if x.index is None else x.index
        if source is not None:
            raise NeedsValue(source)
    raise Unsupported(f"its {role} {AT_RUN_TIME}")


class Input(NamedTuple):
    """Input of a model."""

    name: str
    dtype: np.dtype
    trials: Tuple[Sizes, ...]  # shape at each trial of the open sizes
    place: Optional[int]  # among all inputs of the model; None in a subgraph
    doubts: Dict[int, List[Callable[[], None]]] = {}  # as of Data
