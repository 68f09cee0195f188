"""Arrays that are not made yet, because the next node may do without."""

from typing import Any, Callable, List, Optional, Sequence

import numpy as np

from .values import Data, Known, Sizes, Unsupported


class Pending:
    """Array that is made if a node takes it that does not take such arrays.

    Parameters
    ----------
    x : Data, optional
        The array from which it is made.
    make : callable
        Returns the array; called once.
    """

    def __init__(self, x: Any, make: Callable[[], Data]):
        self.x, self._make = x, make
        self._made: Optional[Data] = None

    def made(self) -> Data:
        """Return the array."""
        self._made = self._made or self._make()
        return self._made


class Padded(Pending):
    """Array with elements around it that are not added yet, because a window can do it.

    Parameters
    ----------
    x, make
        As for :class:`Pending`.
    pairs : list of tuple of (int, int)
        Amounts for each axis, at each trial of the open sizes.
    value : float
        The added elements.
    """

    def __init__(self, x: Data, pairs: List[Any], value: float, make: Callable[[], Data]):
        super().__init__(x, make)
        self.pairs, self.value = pairs, value


class Filled(Pending):
    """Array of one number whose elements may be more or none at other sizes, by which Concat may pad.

    Parameters
    ----------
    sizes : Known
        Its shape.
    fill : numpy.ndarray
        The number.
    make
        As for :class:`Pending`.
    """

    def __init__(self, sizes: Known, fill: np.ndarray, make: Callable[[], Data]):
        super().__init__(None, make)
        self.sizes, self.fill, self.ndim = sizes, fill, len(sizes.first)


class Unfolded(Pending):
    """Array in a shape with more axes than MXNet supports, which a Transpose or Reshape takes.

    Parameters
    ----------
    x : Data
        The array in another shape.
    trials : list of tuple of int
        The shape at each trial of the open sizes.
    """

    def __init__(self, x: Data, trials: Sequence[Sizes]):
        super().__init__(x, self._refused)
        self.trials = trials

    def _refused(self) -> Data:
        raise Unsupported(
            f"its input has {len(self.trials[0])} axes, and MXNet supports 6, and more only between a "
            "Reshape, a Transpose and another Reshape"
        )
