"""Normalizations and poolings."""

from typing import Any, Tuple

from .padding import pad


def unit_norm(F: Any, x: Any, axis: Any, least: float = 1e-12) -> Any:
    """Scale vectors along some axes to unit length. Their squares are taken for at least ``least``."""
    total = F.sum(F.square(x), axis=axis, keepdims=True)
    return F.broadcast_div(x, F.sqrt(F.maximum(total, least)))


def per_image_standardization(F: Any, x: Any) -> Any:
    """Return each image with mean 0 and deviation 1, which is taken for at least 1 / sqrt(elements)."""
    axes = (1, 2, 3)
    centered = F.broadcast_sub(x, F.mean(x, axis=axes, keepdims=True))
    variance = F.mean(F.square(centered), axis=axes, keepdims=True)
    count = F.sum(F.ones_like(x), axis=axes, keepdims=True)
    return F.broadcast_div(centered, F.sqrt(F.broadcast_maximum(variance, 1 / count)))


def adjust_contrast(F: Any, x: Any, factor: float, axes: Tuple[int, ...]) -> Any:
    """Multiply the distance from the mean of each channel, along the spatial axes, by a factor."""
    mean = F.mean(x, axis=axes, keepdims=True)
    return F.broadcast_add(F.broadcast_sub(x, mean) * factor, mean)


def clip_by_norm(F: Any, x: Any, axes: Tuple[int, ...], most: float) -> Any:
    """Scale down what has a norm above ``most`` along axes."""
    norm = F.sqrt(F.sum(F.square(x), axis=axes, keepdims=True))
    return F.broadcast_div(x * most, F.maximum(norm, most))


def rms_norm(F: Any, x: Any, gamma: Any, axis: Tuple[int, ...], epsilon: float) -> Any:
    """Divide by the root mean square along some axes, and multiply by factors that broadcast."""
    mean = F.mean(F.square(x), axis=axis, keepdims=True)
    return F.broadcast_mul(F.broadcast_div(x, F.sqrt(mean + epsilon)), gamma)


def group_norm(
    F: Any, x: Any, ones: Any, zeros: Any, *by_channel: Any, epsilon: float, groups: int, **named: Any
) -> Any:
    """Normalize groups of channels, the second axis; then apply ``gamma`` and ``beta`` per channel.

    ``ones`` and ``zeros`` are constants, one for each group, that MXNet's operator requires.
    """
    factors = {**dict(zip(("gamma", "beta"), by_channel)), **named}
    # MXNet's InstanceNorm, which is the same here, adds up in float32, and is slower.
    grouped = F.GroupNorm(F.reshape(x, (0, groups, -1)), ones, zeros, num_groups=groups, eps=epsilon)
    y = F.reshape(F.reshape_like(grouped, x), (0, 0, -1))
    if "gamma" in factors:
        y = F.broadcast_mul(y, F.reshape(factors["gamma"], (1, -1, 1)))
    if "beta" in factors:
        y = F.broadcast_add(y, F.reshape(factors["beta"], (1, -1, 1)))
    return F.reshape_like(y, x)


def global_pool(F: Any, x: Any, kind: str, ndim: int, keepdims: bool) -> Any:
    """Pool channels-first data over all spatial axes, and drop these axes unless ``keepdims``."""
    y = F.Pooling(x, kernel=(1,) * ndim, pool_type=kind, global_pool=True)
    return y if keepdims else F.flatten(y)


def standardize(F: Any, x: Any, axes: Tuple[int, ...], epsilon: float) -> Any:
    """Return data of mean 0 and deviation 1 along axes, the mean, and the inverse of the deviation."""
    mean = F.mean(x, axis=axes, keepdims=True)
    centered = F.broadcast_sub(x, mean)
    inverse = F.rsqrt(F.mean(F.square(centered), axis=axes, keepdims=True) + epsilon)
    return [F.broadcast_mul(centered, inverse), mean, inverse]


def layer_norm(
    F: Any, x: Any, gamma: Any, *beta: Any, axes: Tuple[int, ...], epsilon: float,
    all_outputs: bool = False,
) -> Any:  # fmt: skip
    """Standardize along axes; then multiply and add arrays that broadcast.

    ``all_outputs`` also returns the mean and the inverse deviation.
    """
    y, *statistics = standardize(F, x, axes, epsilon)
    y = F.broadcast_mul(y, gamma)
    y = F.broadcast_add(y, *beta) if beta else y
    return [y, *statistics] if all_outputs else y


def mean_variance(F: Any, x: Any, axes: Tuple[int, ...]) -> Any:
    """Subtract the mean along axes and divide by the deviation, to which ONNX adds 1e-9."""
    centered = F.broadcast_sub(x, F.mean(x, axis=axes, keepdims=True))
    deviation = F.sqrt(F.mean(F.square(centered), axis=axes, keepdims=True))
    return F.broadcast_div(centered, deviation + 1e-9)


def local_response(F: Any, x: Any, size: int, alpha: float, beta: float, bias: float, rank: int) -> Any:
    """Divide by ``(bias + alpha * mean of squares) ** beta`` over neighboring channels, the second axis.

    The mean is over ``size`` channels, the first ``(size - 1) // 2`` of which are before the element.
    Channels beyond the ends count as 0.
    """
    pairs = [(0, 0)] * rank
    pairs[1] = ((size - 1) // 2, size // 2)
    wide = pad(F, F.square(x), pairs)
    parts = [F.slice_axis(wide, axis=1, begin=i, end=i - size + 1 or None) for i in range(size)]
    total = F.add_n(*parts)
    return x / (total * (alpha / size) + bias) ** beta


def lp_norm(F: Any, x: Any, axes: Tuple[int, ...], p: int) -> Any:
    """Return ``sum(|x| ** p) ** (1 / p)`` along axes, which are kept with size 1."""
    if p == 1:
        return F.sum(F.abs(x), axis=axes, keepdims=True)
    if p == 2:
        return F.sqrt(F.sum(F.square(x), axis=axes, keepdims=True))
    return F.sum(F.abs(x) ** p, axis=axes, keepdims=True) ** (1 / p)


def lp_normalize(F: Any, x: Any, axis: int, p: int) -> Any:
    """Scale vectors along an axis to an Lp norm of 1. Zeros stay zeros."""
    norm = lp_norm(F, x, (axis,), p)
    return F.broadcast_div(x, norm + (norm == 0))


def absolute_power(F: Any, x: Any, exponent: int) -> Any:
    """Return ``|x| ** exponent``."""
    return F.square(x) if exponent == 2 else F.abs(x) ** exponent


def root(F: Any, x: Any, factor: float, degree: int) -> Any:
    """Return ``(factor * x) ** (1 / degree)``."""
    return F.sqrt(x * factor) if degree == 2 else (x * factor) ** (1 / degree)
