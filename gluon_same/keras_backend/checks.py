"""Check Keras' arguments and convert them to those of :mod:`gluon_same.functional`."""

from typing import Any, Dict, Optional, Sequence, Tuple

from ..arguments import LAYOUTS, Ints, per_axis, whole

DATA_FORMATS = ("channels_last", "channels_first")
PADDINGS = ("valid", "same")


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return ``value`` in lower case, or raise a ValueError if it is not allowed."""
    word = value.lower() if isinstance(value, str) else value
    if word not in allowed:
        raise ValueError(
            f"The `{name}` argument must be one of {tuple(allowed)}. Received: {name}={value!r}"
        )
    return word


def data_format(value: Optional[str]) -> str:
    """Return the data format, or Keras' default for None."""
    return one_of("data_format", DATA_FORMATS[0] if value is None else value, DATA_FORMATS)


def rank(shape: Optional[Tuple], ndim: Optional[int] = None, name: str = "inputs") -> int:
    """Return the number of spatial axes of an operand, or raise a ValueError if it is not ``ndim``."""
    if shape is not None:
        if len(shape) - 2 not in LAYOUTS or ndim not in (None, len(shape) - 2):
            wanted = "3, 4 or 5" if ndim is None else ndim + 2
            raise ValueError(f"`{name}` must have {wanted} axes. Received: {name}.shape={shape}")
        return len(shape) - 2
    if ndim is None:
        raise ValueError(
            "The number of axes of `inputs` is not known. Give the variable a shape, with 0 for unknown "
            "sizes, as in mx.sym.var('inputs', shape=(0, 0, 0, 3)), or one size for each axis"
        )
    return ndim


def window(
    kernel: Ints, strides: Any, padding: Any, dilation_rate: Any = None, causal: bool = False
) -> Dict[str, Any]:
    """Return the arguments of a window under MXNet's names; a pooling has no dilation."""
    how = {
        "stride": per_axis("strides", strides, len(kernel)),
        "pad": one_of("padding", padding, (*PADDINGS, "causal") if causal else PADDINGS),
    }
    if dilation_rate is not None:
        how["dilate"] = per_axis("dilation_rate", dilation_rate, len(kernel))
    return how


def transposed_window(
    kernel: Ints, strides: Any, padding: Any, dilation_rate: Any, output_padding: Any
) -> Dict[str, Any]:
    """Return the arguments of a transposed window, whose padding is the amount to cut off."""
    ndim = len(kernel)
    how = window(kernel, strides, padding, dilation_rate)
    if ndim == 3 and max(how["dilate"]) > 1:
        raise ValueError(
            "`dilation_rate > 1` is not supported by transposed convolutions over 3 axes, because MXNet "
            f"has no such operator. Received: dilation_rate={dilation_rate}"
        )
    extras: Tuple[Optional[int], ...] = (None,) * ndim
    if output_padding is not None:
        extras = per_axis("output_padding", output_padding, ndim, least=0)
    axes = zip(kernel, how["stride"], extras, how["dilate"])
    cuts = (conv_transpose_padding(k, s, how["pad"], extra, d) for k, s, extra, d in axes)
    how["pad"], how["adj"] = zip(*cuts)
    return how


def conv_transpose_padding(
    kernel: int,
    stride: int = 1,
    padding: str = "valid",
    output_padding: Optional[int] = None,
    dilation_rate: int = 1,
) -> Tuple[Tuple[int, int], int]:
    """Return what a transposed convolution cuts off and adds on one axis for Keras' output size.

    The full transposed convolution of ``n`` elements has ``(n - 1) * stride + k_eff`` elements. Keras
    keeps ``(n - 1) * stride + tail`` of them, where the tail depends on the output padding:

    ============  ==============================  ====================
    padding       output_padding given            None
    ============  ==============================  ====================
    ``'valid'``   ``k_eff + output_padding``      ``max(k_eff, stride)``
    ``'same'``    ``k_eff % 2 + output_padding``  ``stride``
    ============  ==============================  ====================

    Parameters
    ----------
    kernel, stride, dilation_rate : int
        At least 1.
    padding : {'valid', 'same'}
    output_padding : int, optional
        Less than the stride.

    Returns
    -------
    (before, after), extra : (tuple of int, int)
        Elements cut off at the two ends, and elements added at the end.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.

    Examples
    --------
    >>> conv_transpose_padding(3, 2, 'same'), conv_transpose_padding(3, 2, 'same', output_padding=0)
    (((0, 1), 0), ((1, 1), 0))
    """
    padding = one_of("padding", padding, PADDINGS)
    given = {"kernel": kernel, "stride": stride, "dilation_rate": dilation_rate}
    kernel, stride, dilation_rate = (whole(name, value, 1) for name, value in given.items())
    if output_padding is not None and whole("output_padding", output_padding, 0) >= stride:
        raise ValueError(
            "The `output_padding` argument must be less than `strides`. Received: "
            f"output_padding={output_padding}, strides={stride}"
        )
    span = dilation_rate * (kernel - 1) + 1
    if padding == "valid":
        tail = max(span, stride) if output_padding is None else span + output_padding
    else:
        tail = stride if output_padding is None else span % 2 + output_padding
    return cut_to(tail, span)


def cut_to(tail: int, span: int) -> Tuple[Tuple[int, int], int]:
    """Return what to cut off ``span`` elements, the odd one at the end, or to add, to get ``tail``."""
    surplus = max(span - tail, 0)
    return (surplus // 2, surplus - surplus // 2), max(tail - span, 0)
