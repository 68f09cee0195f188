"""Blocks for arithmetic with numbers and constants, and for reductions."""

from typing import Any, Optional, Sequence

from mxnet.gluon import HybridBlock

from . import functions


class Scalar(HybridBlock):
    """Elementwise function of an array and a number.

    Parameters
    ----------
    kind : str
        One of the pairwise functions.
    number : float
    first : bool
        Whether the number is the left operand.
    """

    def __init__(self, kind: str, number: float, first: bool, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._kind = kind
        self._number = number
        self._first = first

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        number = self._number
        if self._kind in ("maximum", "minimum"):
            return getattr(F, self._kind)(x, number)
        kind = functions.ARITHMETIC[self._kind]
        return kind(number, x) if self._first else kind(x, number)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._kind}, {self._number})"


class Constant(HybridBlock):
    """Elementwise function of an array and a constant array.

    Parameters
    ----------
    kind : str
        One of the pairwise functions.
    shape : tuple of int
        Shape of the constant.
    first : bool
        Whether the constant is the left operand.
    """

    def __init__(self, kind: str, shape: Sequence[int], first: bool, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._kind = kind
        self._first = first
        with self.name_scope():
            self.constant = self.params.get("constant", shape=tuple(shape), grad_req="null")

    def hybrid_forward(self, F: Any, x: Any, constant: Any) -> Any:
        pair = (constant, x) if self._first else (x, constant)
        return functions.pairwise(F, self._kind, *pair)


class Reduce(HybridBlock):
    """Mean, sum, maximum or minimum along axes.

    Parameters
    ----------
    kind : {'mean', 'sum', 'max', 'min'}
    axes : tuple of int
    keepdims : bool
    """

    def __init__(self, kind: str, axes: Sequence[int], keepdims: bool, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._kind = kind
        self._how = {"axis": tuple(axes), "keepdims": keepdims}

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return getattr(F, self._kind)(x, **self._how)
