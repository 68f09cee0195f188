"""A layer that reshapes all axes but the batch."""

import math
from typing import Any, Optional, Sequence

from mxnet.gluon import ParameterDict

from .. import arguments
from ..arrays import classic
from .base import Checked

__all__ = ["Reshape"]


def reshape(F: Any, x: Any, shape: Sequence[int], fits: bool = False, kept: int = 1) -> Any:
    """Reshape all axes except the first, one of which may be -1.

    ``fits`` declares that all possible inputs have the right number of elements, and ``kept`` is the
    number of axes that stay, such as the batch.
    """
    first = (0,) * kept
    if not fits:
        # MXNet reads beyond the array if the number of elements differs, but splits an axis exactly.
        known = math.prod(n for n in shape if n != -1)
        split = (-1, known) if -1 in shape else (known, 1)
        x = F.reshape(F.reshape(x, shape=(*first, -1)), shape=(*first, -4, *split))
    return F.reshape(x, shape=(*first, *shape))


class Reshape(Checked):
    """Reshape each sample, as Keras' ``Reshape``. The batch stays the first axis.

    Keras' axes have the channels last, and those of Gluon first: the order of elements differs.

    Parameters
    ----------
    target_shape : tuple of int
        Shape without the batch. One size may be -1, and follows from the others.
    prefix : str, optional
        Start of the name of the block. None generates one.
    params : ParameterDict, optional
        Accepted for all Gluon blocks; this one has no parameters.

    Inputs:
        - **data**: any shape with the batch first.

    Outputs:
        - **out**: (batch, \\*target_shape). An input with another number of elements raises a
          ValueError.

    Examples
    --------
    >>> import mxnet as mx
    >>> Reshape((4, -1))(mx.nd.ones((2, 3, 8))).shape
    (2, 4, 6)
    """

    def __init__(
        self,
        target_shape: Sequence[int],
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        if not isinstance(target_shape, (tuple, list)) or not target_shape:
            raise TypeError(f"target_shape={target_shape!r} is not a shape: give a tuple of ints")
        shape = [n if n == -1 else arguments.whole("target_shape", n, 1) for n in target_shape]
        if shape.count(-1) > 1:
            raise ValueError(f"target_shape={tuple(shape)} has -1 more than once: give the other sizes")
        super().__init__(prefix=prefix, params=params)
        self._shape = tuple(shape)

    def _check_array(self, x: Any) -> None:
        count, known = math.prod(x.shape[1:]), math.prod(n for n in self._shape if n != -1)
        if count % known or count != known and -1 not in self._shape:
            raise ValueError(
                f"data for {self.name} of shape {x.shape} do not fit target_shape={self._shape}: each "
                f"sample has {count} elements"
            )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x, restore = classic(x)
        return restore(F.identity(reshape(F, x, self._shape), name="fwd"))

    def __repr__(self) -> str:
        return f"Reshape({self._shape})"
