"""Check a user's arguments and convert them to one form.

Each error names the argument, the value and what is allowed.
"""

import math
from numbers import Real
from typing import Any, Dict, Optional, Tuple, Union

import numpy as np

from .geometry import Window, effective_kernel, whole

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
WORDS = ("same", "same_lower", "valid", "causal")

Ints = Tuple[int, ...]
Pairs = Tuple[Tuple[int, int], ...]
#: Padding as the lowering accepts it: a SAME word, or one (before, after) for each axis.
Padding = Union[str, Pairs]


def number(name: str, value: Any, most: float = math.inf) -> float:
    """Return ``value`` as a finite float from 0 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is not a number: give one from 0 to {most}")
    found = float(value)
    if not (0 <= found <= most and found < math.inf):
        raise ValueError(f"{name}={value!r} is out of range: give a finite number from 0 to {most}")
    return found


def true_or_false(name: str, value: Any) -> bool:
    """Return ``value`` as a bool; 0, 1 and NumPy's bool are accepted."""
    if not isinstance(value, (bool, int, np.bool_)) or value not in (0, 1):
        raise TypeError(f"{name}={value!r} is neither True nor False")
    return bool(value)


def per_axis(name: str, value: Any, ndim: int, least: int = 1) -> Ints:
    """Return one int for each of ``ndim`` axes, from an int or a sequence of ``ndim`` ints."""
    if not isinstance(value, (tuple, list)):
        return (whole(name, value, least),) * ndim
    if len(value) != ndim:
        raise ValueError(
            f"{name}={value!r} has {len(value)} entries: give an int or {ndim}, one for each axis"
        )
    return tuple(whole(name, v, least) for v in value)


def groups(channels: Any, count: Any, names: Tuple[str, str] = ("num_filter", "num_group")) -> Ints:
    """Return channels and groups as ints; raise ValueError if the groups do not divide the channels."""
    channels, count = whole(names[0], channels, 1), whole(names[1], count, 1)
    if channels % count:
        raise ValueError(f"{names[0]}={channels} is not a multiple of {names[1]}={count}")
    return channels, count


def is_plain(padding: Any) -> bool:
    """Return whether ``padding`` is a form of stock Gluon: an int, or a sequence of ints."""
    if isinstance(padding, (tuple, list)):
        return not any(isinstance(p, (tuple, list)) for p in padding)
    return not isinstance(padding, str)


def normalize_padding(name: str, padding: Any, spans: Ints, causal: bool = False) -> Padding:
    """Convert a padding argument to a SAME word or to pairs, one for each axis.

    Parameters
    ----------
    name : str
        The argument's name, for errors.
    padding : int, str, tuple of int or tuple of (int, int)
    spans : tuple of int
        Elements that a window spans along each axis.
    causal : bool
        Whether ``'causal'`` is allowed: only in a convolution over one axis.
    """
    ndim = len(spans)
    if isinstance(padding, str):
        word = padding.lower()
        if word not in WORDS:
            known = WORDS if causal else WORDS[:-1]
            raise ValueError(
                f"{name}={padding!r} is unknown: use one of {known}, an int, {ndim} ints, or {ndim} "
                "pairs (before, after)"
            )
        if word == "causal":
            if not causal:
                raise ValueError(
                    f"{name}={padding!r} is for 1-D convolution only: use 'same' or pairs (before, "
                    "after)"
                )
            return ((spans[0] - 1, 0),)
        return ((0, 0),) * ndim if word == "valid" else word
    if is_plain(padding):
        return tuple((p, p) for p in per_axis(name, padding, ndim, least=0))
    if len(padding) != ndim or any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in padding):
        raise ValueError(
            f"{name}={padding!r} does not fit: give {ndim} pairs (before, after), one for each axis"
        )
    return tuple((whole(name, b, 0), whole(name, a, 0)) for b, a in padding)


def windows_of(
    name: str, padding: Any, call: Dict[str, Any], causal: bool = False
) -> Tuple[Window, ...]:
    """Return a window for each axis, from a padding and the arguments of an operator.

    Parameters
    ----------
    name, padding, causal
        As for :func:`normalize_padding`.
    call : dict
        Contains ``kernel``, ``stride`` and perhaps ``dilate``, with an int for each axis.
    """
    kernel = call["kernel"]
    spans = tuple(map(effective_kernel, kernel, call.get("dilate", (1,) * len(kernel))))
    pairs = normalize_padding(name, padding, spans, causal)
    paddings = (pairs,) * len(spans) if isinstance(pairs, str) else pairs
    return tuple(map(Window, spans, call["stride"], paddings))


def is_same(padding: Any) -> bool:
    """Return whether a padding argument is a SAME word, which sets the output size."""
    return isinstance(padding, str) and padding.lower() in ("same", "same_lower")


def check_convolved(data: Any, layout: str, groups: int, dtype: Any, name: str = "num_group") -> None:
    """Raise an error for an array that MXNet cannot convolve, or convolves incorrectly.

    Raises
    ------
    TypeError, ValueError
        If the channels do not divide into the groups, if the dtype is not floating or differs from
        that of the weight, or if the dtype is float16 or the channels come last on a CPU.
    """
    channels = data.shape[layout.index("C")]
    if channels % groups:
        raise ValueError(f"data have {channels} channels, which is not a multiple of {name}={groups}")
    given, wanted = np.dtype(data.dtype), np.dtype(dtype)
    # Automatic mixed precision casts between float32, float16 and bfloat16, which is a structured dtype.
    cast = all(each.kind == "V" or each in (np.float16, np.float32) for each in (given, wanted))
    if given != wanted and not cast:
        raise TypeError(f"data of {given} do not match a weight of {wanted}: cast one of the two")
    check_floating(given, "convolved")
    on_cpu = data.context.device_type == "cpu"
    if on_cpu and given == wanted == np.float16:
        raise TypeError("data of float16 cannot be convolved on a CPU: use float32")
    if on_cpu and layout.endswith("C"):
        raise ValueError(
            f"layout={layout!r} is not supported on a CPU: MXNet convolves channels last on GPUs only. "
            f"Use {LAYOUTS[len(layout) - 2][0]!r}"
        )


def check_float64(dtype: Any, call: Dict[str, Any]) -> None:
    """Raise ValueError for a transposed convolution that MXNet cannot compute in float64.

    ``call`` contains ``kernel``, ``stride`` and ``dilate``, with an int for each axis.
    """
    if np.dtype(dtype) != np.float64:
        return
    kernel, stride, dilate = (call[name] for name in ("kernel", "stride", "dilate"))
    if len(kernel) == 3:
        raise ValueError(
            "a transposed convolution over 3 axes does not support float64: MXNet has no such operator "
            "on a CPU. Use float32"
        )
    if max(stride) > 1 and any(d > 1 and k > 1 for d, k in zip(dilate, kernel)):
        raise ValueError(
            f"a transposed convolution with dilate={dilate} and stride={stride} does not support "
            "float64: MXNet computes wrong numbers. Use float32, or set one of the two to 1"
        )


def check_transposed(padding: Any, **given: Ints) -> None:
    """Raise ValueError for a transposed convolution that MXNet does not have.

    ``given`` are the strides, the dilation and the output padding, by the names for errors.
    """
    (strides_name, strides), (dilation_name, dilation), (name, extra) = given.items()
    if len(dilation) == 3 and max(dilation) > 1:
        raise ValueError(
            f"MXNet has no dilated transposed convolution over 3 axes: {dilation_name}={dilation} must "
            "be 1"
        )
    if is_same(padding) and any(extra):
        raise ValueError(
            f"{name}={extra} must be 0 with padding {padding!r}, whose output size is in * "
            f"{strides_name}"
        )
    if any(more >= stride for more, stride in zip(extra, strides)):
        raise ValueError(f"{name}={extra} must be less than {strides_name}={strides} on every axis")


def check_pooled(windows: Tuple[Window, ...], name: str, kernel_name: str) -> None:
    """Raise ValueError if a window of a pooling could contain only padding."""
    for window in windows:
        if isinstance(window.padding, tuple) and max(window.padding) >= window.span:
            raise ValueError(
                f"{name}={window.padding} is not less than {kernel_name}={window.span}: a window must "
                "not contain only padding"
            )


def check_layout(layout: Optional[str], ndim: int) -> str:
    """Return ``layout``, or channels first for None; raise ValueError if MXNet does not have it."""
    allowed = LAYOUTS[ndim]
    if layout is None:
        return allowed[0]
    if layout not in allowed:
        raise ValueError(f"layout={layout!r} does not fit {ndim} axes: use one of {allowed}")
    return layout


def check_weights(weight: Any, bias: Any, layout: str, axes: Dict[str, int], kernel: Ints, count: int):
    """Raise ValueError unless weight and bias have the shapes that the other arguments require.

    ``axes`` are the sizes of the weight's axes at the places of N and C in the layout, and ``count`` is
    the number of filters.
    """
    sizes = iter(kernel)
    shape = tuple(axes[axis] if axis in axes else next(sizes) for axis in layout)
    for name, x, wanted in (("weight", weight, shape), ("bias", bias, (count,))):
        if x is not None and x.shape != wanted:
            raise ValueError(
                f"{name} has shape {x.shape}, and the data and the other arguments require {wanted}"
            )


def check_floating(dtype: Any, done: str = "pooled") -> None:
    """Raise TypeError if MXNet does not support the dtype of data that are pooled or padded."""
    if np.dtype(dtype).kind not in "fV":  # MXNet's bfloat16 is a structured dtype, of kind V
        raise TypeError(f"data of {np.dtype(dtype)} cannot be {done}: give a floating dtype")


def shape_of(name: str, value: Any) -> Ints:
    """Return a shape as ints, from a tuple or from an array."""
    value = getattr(value, "shape", value)
    if not isinstance(value, (tuple, list)) or not value:
        raise TypeError(f"{name}={value!r} is not a shape: give a tuple of ints for each input")
    return tuple(whole(name, n, 1) for n in value)


def check_rank(shape: Tuple[int, ...], layout: str, what: str = "data") -> None:
    """Raise ValueError if the rank of data does not match the layout, or if an axis is empty."""
    if len(shape) != len(layout):
        raise ValueError(
            f"{what} of shape {shape} has {len(shape)} axes: give {len(layout)}, in layout {layout}"
        )
    if min(shape) < 1:
        raise ValueError(f"{what} of shape {shape} has an empty axis: give at least one element")


def spatial(values: Tuple, layout: str) -> Tuple:
    """Return the entries of ``values`` that belong to the spatial axes of ``layout``."""
    return tuple(v for v, axis in zip(values, layout) if axis not in "NC")
