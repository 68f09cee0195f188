"""The arithmetic of windows on one axis, in plain integers.

This module imports no framework. A *window* of ``kernel`` taps, ``dilation`` apart, moves over an axis
of ``in_size`` elements in steps of ``stride``. *Padding* is a pair ``(before, after)``: the numbers of
elements added at the two ends of the axis.

The rule for ``'same'`` is TensorFlow's, Keras' and ONNX's ``SAME_UPPER``::

    k_eff  = dilation * (kernel - 1) + 1
    out    = ceil(in / stride)
    total  = max((out - 1) * stride + k_eff - in, 0)
    before = total // 2                      # the odd element goes to the end
    after  = total - before

``'same_lower'`` (ONNX's ``SAME_LOWER``) puts the odd element at the start.
"""

import operator
from typing import Any, List, NamedTuple, Optional, Tuple, Union

__all__ = [
    "MODES",
    "Mode",
    "Window",
    "ceil_div",
    "constant_padding",
    "effective_kernel",
    "output_size",
    "padding_of",
    "same_padding",
    "transposed_padding",
]


def __dir__() -> List[str]:
    return __all__


#: A padding word, or ``(before, after)``.
Mode = Union[str, Tuple[int, int]]

MODES = ("same", "same_lower", "valid")

#: Largest int that MXNet's operators accept.
MOST = 2**31 - 1


def whole(name: str, value: Any, least: int) -> int:
    """Return a value as an int of at least ``least``. NumPy's integers are accepted.

    Parameters
    ----------
    name : str
        Name of the argument, for messages.
    value : int
    least : int

    Returns
    -------
    int

    Raises
    ------
    TypeError
        If the value is not a whole number.
    ValueError
        If it is less than ``least``, or more than MXNet's operators accept.

    Examples
    --------
    >>> whole('size', 13, 1)
    13
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name}={value!r} is not a whole number: give an int of {least} or more"
        ) from None
    if not least <= number <= MOST:
        raise ValueError(
            f"{name}={value!r} is out of range: it must be {least} or more, and at most {MOST}"
        )
    return number


def effective_kernel(kernel: int, dilation: int = 1) -> int:
    """Return the number of elements that one window spans, ``dilation * (kernel - 1) + 1``.

    Parameters
    ----------
    kernel, dilation : int
        Taps of the window and the distance between them; at least 1.

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        If an argument is not a whole number, or is below 1.

    Examples
    --------
    >>> effective_kernel(3, dilation=2)
    5
    """
    _check(kernel=kernel, dilation=dilation)
    return dilation * (kernel - 1) + 1


def output_size(
    in_size: int, kernel: int, stride: int = 1, dilation: int = 1, padding: Mode = "same"
) -> int:
    """Return the number of windows along an axis.

    Parameters
    ----------
    in_size : int
        Elements along the axis; at least 1.
    kernel, stride, dilation : int
        The window; at least 1.
    padding : {'same', 'same_lower', 'valid'} or (int, int)
        A padding word, or the padding ``(before, after)`` itself.

    Returns
    -------
    int
        ``ceil(in_size / stride)`` for the SAME words, otherwise
        ``floor((in_size + before + after - k_eff) / stride) + 1``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a whole number or out of range, if the word is unknown, or if the
        window is larger than the padded axis.

    Examples
    --------
    >>> output_size(416, 3, stride=2), output_size(13, 2), output_size(13, 2, padding='valid')
    (208, 13, 12)
    """
    before, after = padding_of(padding, in_size, kernel, stride, dilation)
    slack = in_size + before + after - effective_kernel(kernel, dilation)
    if slack < 0:
        raise ValueError(
            f"kernel={kernel} with dilation={dilation} spans more than the {in_size} elements of the "
            f"axis padded by {(before, after)}: use a smaller kernel, more padding or a larger input"
        )
    return slack // stride + 1


def same_padding(
    in_size: int, kernel: int, stride: int = 1, dilation: int = 1, padding: str = "same"
) -> Tuple[int, int]:
    """Return the padding for ``ceil(in_size / stride)`` windows, placed as TensorFlow places them.

    Parameters
    ----------
    in_size, kernel, stride, dilation : int
        Elements along the axis, and the window; at least 1.
    padding : {'same', 'same_lower'}
        Which end takes the odd element: the end of the axis, or its start.

    Returns
    -------
    (before, after) : tuple of int

    Raises
    ------
    TypeError, ValueError
        If a size is not a whole number or is below 1, or if the word is unknown.

    Examples
    --------
    >>> same_padding(13, 2), same_padding(13, 2, padding='same_lower'), same_padding(416, 3, stride=2)
    ((0, 1), (1, 0), (0, 1))
    """
    padding = _lower(padding)
    _check(in_size=in_size, stride=stride)
    span = effective_kernel(kernel, dilation)
    if padding not in ("same", "same_lower"):
        raise ValueError(f"padding={padding!r} is not a SAME padding: use 'same' or 'same_lower'")
    total = max((ceil_div(in_size, stride) - 1) * stride + span - in_size, 0)
    before = total // 2 if padding == "same" else ceil_div(total, 2)
    return before, total - before


def padding_of(
    padding: Mode, in_size: int, kernel: int, stride: int = 1, dilation: int = 1
) -> Tuple[int, int]:
    """Return the padding ``(before, after)`` for a word or a pair at one input size.

    Parameters
    ----------
    padding : {'same', 'same_lower', 'valid'} or (int, int)
    in_size, kernel, stride, dilation : int

    Returns
    -------
    (before, after) : tuple of int

    Raises
    ------
    TypeError, ValueError
        As :func:`same_padding`.

    Examples
    --------
    >>> padding_of('valid', 13, 2), padding_of((2, 0), 13, 3)
    ((0, 0), (2, 0))
    """
    padding = _lower(padding)
    if padding in ("same", "same_lower"):
        return same_padding(in_size, kernel, stride, dilation, padding)
    _check(in_size=in_size, kernel=kernel, stride=stride, dilation=dilation)
    if padding == "valid":
        return 0, 0
    if not isinstance(padding, (tuple, list)) or len(padding) != 2:
        raise ValueError(f"padding={padding!r} is unknown: use one of {MODES} or a pair (before, after)")
    before, after = padding
    return whole("padding", before, 0), whole("padding", after, 0)


def constant_padding(
    kernel: int, stride: int = 1, dilation: int = 1, padding: str = "same"
) -> Optional[Tuple[int, int]]:
    """Return the padding that is SAME at *every* input size, if there is one.

    ``before`` depends on the input size only through ``in_size % stride``. If it is the same for
    every residue, padding by ``before`` and ``k_eff - 1 - before`` gives
    ``floor((in - 1) / stride) + 1 = ceil(in / stride)`` windows in the right places at every size.

    Parameters
    ----------
    kernel, stride, dilation : int
        The window; at least 1.
    padding : {'same', 'same_lower'}

    Returns
    -------
    (before, after) : tuple of int, or None
        None if the padding depends on the input size.

    Raises
    ------
    TypeError, ValueError
        As :func:`same_padding`.

    Examples
    --------
    >>> constant_padding(2), constant_padding(4, stride=2), constant_padding(3, stride=2)
    ((0, 1), (1, 2), None)
    """
    # An axis of r elements, r in 1..stride, has one window and represents its residue class. The
    # padding before it decreases as r grows, so comparing the two ends of the range suffices.
    before, last = (same_padding(r, kernel, stride, dilation, padding)[0] for r in (1, stride))
    if before != last:
        return None
    return before, effective_kernel(kernel, dilation) - 1 - before


def transposed_padding(
    kernel: int, stride: int = 1, dilation: int = 1, padding: str = "same"
) -> Tuple[Tuple[int, int], int]:
    """Return what a transposed convolution cuts off and adds to give ``in_size * stride`` elements.

    The full transposed convolution gives ``(in - 1) * stride + k_eff`` elements. SAME cuts off
    ``total = max(k_eff - stride, 0)`` of them, split as the forward convolution splits its padding, and
    adds ``max(stride - k_eff, 0)`` zeros at the end. Neither depends on the input size.

    Parameters
    ----------
    kernel, stride, dilation : int
        The window; at least 1.
    padding : {'same', 'same_lower'}

    Returns
    -------
    (before, after), extra : (tuple of int, int)
        Elements cut off at the two ends, and elements added at the end.

    Raises
    ------
    TypeError, ValueError
        As :func:`same_padding`.

    Examples
    --------
    >>> transposed_padding(3, stride=2), transposed_padding(1, stride=2)
    (((0, 1), 0), ((0, 0), 1))
    """
    # A forward convolution over `stride` elements has one window, padded by what is cut off here.
    cut = same_padding(stride, kernel, stride, dilation, padding)
    return cut, max(stride - effective_kernel(kernel, dilation), 0)


class Window(NamedTuple):
    """A window on one axis: its span in elements, its stride and its padding.

    ``padding`` is a SAME word or a pair ``(before, after)``.
    """

    span: int
    stride: int
    padding: Any

    def at(self, size: Optional[int]) -> Optional[Tuple[int, int]]:
        """Return the padding at an input size, or at every size for None.

        Return None if no size is given and the padding depends on it.
        """
        if isinstance(self.padding, tuple):
            return self.padding
        if size is None:
            return constant_padding(self.span, self.stride, padding=self.padding)
        return same_padding(size, self.span, self.stride, padding=self.padding)

    def outputs(self, size: int, padding: Optional[Tuple[int, int]] = None) -> int:
        """Return the number of outputs on an axis, padded as the window is or by ``padding``."""
        return (size + sum(padding or self.at(size) or ()) - self.span) // self.stride + 1

    def cut(self, extra: int) -> Tuple[Tuple[int, int], int]:
        """Return what a transposed convolution cuts off, and adds: ``extra``, unless a word sets it."""
        if isinstance(self.padding, tuple):
            return self.padding, extra
        return transposed_padding(self.span, self.stride, padding=self.padding)

    def mirrored(self) -> "Window":
        """Return the same window on the reversed axis."""
        swapped = {"same": "same_lower", "same_lower": "same"}
        padding = self.padding
        return self._replace(padding=padding[::-1] if isinstance(padding, tuple) else swapped[padding])


def ceil_div(a: int, b: int) -> int:
    """Return ``ceil(a / b)`` in whole numbers.

    Parameters
    ----------
    a, b : int
        ``b`` must be positive.

    Returns
    -------
    int

    Examples
    --------
    >>> ceil_div(7, 2)
    4
    """
    return -(-a // b)


def _lower(padding):
    return padding.lower() if isinstance(padding, str) else padding


def _check(**sizes):
    for name, value in sizes.items():
        whole(name, value, 1)
