"""The rectified linear unit with Keras' arguments."""

from typing import Any, Optional

from mxnet.gluon import ParameterDict

from ..arguments import check_floating, number
from ..arrays import classic
from .base import Checked

__all__ = ["ReLU"]


def general_relu(F: Any, x: Any, most: Optional[float], slope: float, threshold: float) -> Any:
    """Return ``min(x, most)`` if ``x > threshold``, else ``slope * (x - threshold)``."""
    high = F.where(x > threshold, x, F.zeros_like(x))
    if most is not None:
        high = F.clip(high, -3e38, most)
    return high - slope * F.Activation(threshold - x, act_type="relu") if slope else high


class ReLU(Checked):
    """Rectified linear unit, as Keras' ``ReLU``: ``nn.Activation('relu')`` with a maximum and a slope.

    Parameters
    ----------
    max_value : float, optional
        Largest result, at least 0. For 6, :class:`ReLU6` is the same.
    negative_slope : float
        Factor of elements below the threshold; at least 0.
    threshold : float
        Elements up to it count as negative.
    prefix : str, optional
        Start of the name of the block. None generates one.
    params : ParameterDict, optional
        Accepted for all Gluon blocks; this one has no parameters.

    Inputs:
        - **data**: any shape, of a floating dtype.

    Outputs:
        - **out**: the same shape.

    Examples
    --------
    >>> import mxnet as mx
    >>> ReLU(max_value=2)(mx.nd.array([-1, 1, 3])).asnumpy()
    array([0., 1., 2.], dtype=float32)
    """

    def __init__(
        self,
        max_value: Optional[float] = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        prefix: Optional[str] = None,
        params: Optional[ParameterDict] = None,
    ):
        number("max_value", 0 if max_value is None else max_value)
        number("negative_slope", negative_slope)
        number("threshold", threshold)
        super().__init__(prefix=prefix, params=params)
        self._given = max_value, negative_slope, threshold

    def _check_array(self, x: Any) -> None:
        check_floating(x.dtype, "rectified")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x, restore = classic(x)
        most, slope, threshold = self._given
        if slope or threshold:
            return restore(F.identity(general_relu(F, x, most, slope, threshold), name="fwd"))
        if most is None:
            return restore(F.Activation(x, act_type="relu", name="fwd"))
        return restore(F.clip(F.Activation(x, act_type="relu"), 0, most, name="fwd"))

    def __repr__(self) -> str:
        most, slope, threshold = self._given
        given = {"max_value": most, "negative_slope": slope or None, "threshold": threshold or None}
        return f"ReLU({', '.join(f'{k}={v}' for k, v in given.items() if v is not None)})"
