"""Operations that models in files use, as functions of ``F`` and arrays or symbols.

Functions of one array are known by name to the importers, which take MXNet's operator of the same name
if there is none here.
"""

import math
import operator
from typing import Any, Optional, Sequence, Tuple

#: Pairwise functions with an operator in Python.
_ARITHMETIC = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
}

#: Maps pairwise functions to MXNet's operators for equal shapes and for broadcasting.
_PAIRWISE = {
    "add": ("elemwise_add", "broadcast_add"),
    "subtract": ("elemwise_sub", "broadcast_sub"),
    "multiply": ("elemwise_mul", "broadcast_mul"),
    "divide": ("elemwise_div", "broadcast_div"),
    "maximum": ("_maximum", "broadcast_maximum"),
    "minimum": ("_minimum", "broadcast_minimum"),
    "power": ("broadcast_power", "broadcast_power"),
}


def pairwise(F: Any, kind: str, one: Any, other: Any, even: bool = False) -> Any:
    """Combine two arrays elementwise. ``even`` declares that their shapes are equal."""
    name = _PAIRWISE[kind][0 if even else 1]
    return getattr(F._internal if name.startswith("_") else F, name)(one, other)


def relu6(F: Any, x: Any) -> Any:
    """Return ``min(max(x, 0), 6)``, like :class:`gluon_same.nn.ReLU6`."""
    return F.clip(F.Activation(x, act_type="relu"), 0, 6)


def hard_sigmoid(F: Any, x: Any) -> Any:
    """Return ``relu6(x + 3) / 6``, which is Keras 3's definition."""
    return relu6(F, x + 3) * (1 / 6)


def hard_sigmoid_keras2(F: Any, x: Any) -> Any:
    """Return ``0.2 * x + 0.5`` clipped to [0, 1], which is Keras 2's definition."""
    return F.clip(x * 0.2 + 0.5, 0, 1)


def hard_silu(F: Any, x: Any) -> Any:
    """Return ``x * relu6(x + 3) / 6``."""
    return F.elemwise_mul(x, hard_sigmoid(F, x))


def silu(F: Any, x: Any) -> Any:
    """Return ``x * sigmoid(x)``."""
    return F.elemwise_mul(x, F.Activation(x, act_type="sigmoid"))


def mish(F: Any, x: Any) -> Any:
    """Return ``x * tanh(softplus(x))``."""
    return F.elemwise_mul(x, F.tanh(F.Activation(x, act_type="softrelu")))


def gelu(F: Any, x: Any) -> Any:
    """Return the exact GELU, computed with the error function."""
    return F.LeakyReLU(x, act_type="gelu")


def gelu_tanh(F: Any, x: Any) -> Any:
    """Return the tanh approximation of GELU."""
    inner = (x + 0.044715 * x * F.square(x)) * 0.7978845608028654
    return 0.5 * x * (1 + F.tanh(inner))


def selu(F: Any, x: Any) -> Any:
    """Return the SELU as a scaled ELU, because the gradient of MXNet's own operator is wrong."""
    return F.LeakyReLU(x, act_type="elu", slope=1.6732632423543772) * 1.0507009873554805


def elu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """Return ``x`` if positive, else ``alpha * (exp(x) - 1)``."""
    return F.LeakyReLU(x, act_type="elu", slope=alpha)


def celu(F: Any, x: Any, alpha: float = 1.0) -> Any:
    """Return ``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``."""
    return F.LeakyReLU(x * (1 / alpha), act_type="elu", slope=1) * alpha


def leaky_relu(F: Any, x: Any, slope: float = 0.2) -> Any:
    """Return Keras 3's function, whose default slope differs from the layer's."""
    return F.LeakyReLU(x, act_type="leaky", slope=slope)


def softsign(F: Any, x: Any) -> Any:
    """Return ``x / (1 + |x|)``."""
    return x / (1 + F.abs(x))


def log_sigmoid(F: Any, x: Any) -> Any:
    """Return ``-softplus(-x)``."""
    return -F.Activation(-x, act_type="softrelu")


def hard_tanh(F: Any, x: Any) -> Any:
    """Clip ``x`` to [-1, 1]."""
    return F.clip(x, -1, 1)


def hard_shrink(F: Any, x: Any, threshold: float = 0.5) -> Any:
    """Return ``x`` if its magnitude exceeds the threshold, else 0."""
    return x * (F.abs(x) > threshold)


def soft_shrink(F: Any, x: Any, threshold: float = 0.5) -> Any:
    """Move ``x`` toward 0 by the threshold, but not past 0."""
    return F.relu(x - threshold) - F.relu(-x - threshold)


def tanh_shrink(F: Any, x: Any) -> Any:
    """Return ``x - tanh(x)``."""
    return x - F.tanh(x)


def squareplus(F: Any, x: Any, b: float = 4.0) -> Any:
    """Return ``(x + sqrt(x ** 2 + b)) / 2``."""
    return (x + F.sqrt(F.square(x) + b)) / 2


def sparse_plus(F: Any, x: Any) -> Any:
    """Return 0 below -1, ``x`` above 1, and ``(x + 1) ** 2 / 4`` in between."""
    return F.square(F.clip(x, -1, 1) + 1) / 4 + F.relu(x - 1)


def sparse_sigmoid(F: Any, x: Any) -> Any:
    """Return ``(x + 1) / 2`` clipped to [0, 1]."""
    return F.clip(x * 0.5 + 0.5, 0, 1)


def general_relu(F: Any, x: Any, most: Optional[float], slope: float, threshold: float) -> Any:
    """Return ``min(x, most)`` if ``x >= threshold``, else ``slope * (x - threshold)``."""
    high = x * (x >= threshold)
    if most is not None:
        high = F.clip(high, -3e38, most)
    return high - slope * F.relu(threshold - x) if slope else high


def thresholded_relu(F: Any, x: Any, theta: float) -> Any:
    """Return ``x`` if it exceeds theta, else 0."""
    return x * (x > theta)


def glu(F: Any, x: Any, axis: int) -> Any:
    """Return the first half of an axis times the sigmoid of the second half."""
    first, second = F.split(x, num_outputs=2, axis=axis)
    return first * F.sigmoid(second)


def sparsemax(F: Any, x: Any, axis: int) -> Any:
    """Return Keras' sparsemax.

    Keras adds up running totals of the elements instead of the elements. The result is therefore the
    projection onto the simplex only if a single element stays positive.
    """
    ordered = F.sort(x, axis=axis, is_ascend=False)
    total = F.cumsum(ordered, axis=axis)
    rank = F.cumsum(F.ones_like(ordered), axis=axis)
    inside = 1 + rank * ordered > total
    count = F.sum(inside, axis=axis, keepdims=True)
    reached = F.sum(total * inside, axis=axis, keepdims=True)
    return F.relu(F.broadcast_sub(x, (reached - 1) / count))


def prelu(F: Any, x: Any, alpha: Any) -> Any:
    """Return ``x`` if positive, else ``alpha * x``, with slopes that broadcast."""
    return F.relu(x) - F.broadcast_mul(alpha, F.relu(-x))


def scalar(F: Any, x: Any, kind: str, number: float, first: bool) -> Any:
    """Combine an array elementwise with a number, which is the left operand if ``first``."""
    function = _ARITHMETIC.get(kind) or getattr(F, kind)
    return function(number, x) if first else function(x, number)


def with_constant(F: Any, x: Any, constant: Any, kind: str, first: bool) -> Any:
    """Combine an array elementwise with a constant array, which is the left operand if ``first``."""
    return pairwise(F, kind, *((constant, x) if first else (x, constant)))


def merge(F: Any, x: Any, *others: Any, kind: str, even: bool, scale: float = 1) -> Any:
    """Combine arrays elementwise, from the first to the last, and multiply by ``scale``.

    ``even`` declares that all shapes are equal, for which MXNet has faster operators.
    """
    if even and kind == "add" and len(others) > 1:
        x = F.add_n(x, *others)
    else:
        for other in others:
            x = pairwise(F, kind, x, other, even)
    return x if scale == 1 else x * scale


def scaled_sum(F: Any, a: Any, b: Any, scale: float) -> Any:
    """Return ``a + scale * b``, as in InceptionResNet's CustomScaleLayer."""
    return F.elemwise_add(a, b * scale)


def linear(F: Any, x: Any, scale: float, offset: float) -> Any:
    """Return ``x * scale + offset`` for two numbers."""
    x = x * scale if scale != 1 else x
    return x + offset if offset else x


def affine(F: Any, x: Any, scale: Any, offset: Any, standardize: bool) -> Any:
    """Return ``x * scale + offset``, or ``(x - offset) / scale`` to standardize."""
    if standardize:
        return F.broadcast_div(F.broadcast_sub(x, offset), scale)
    return F.broadcast_add(F.broadcast_mul(x, scale), offset)


def scaled(F: Any, x: Any, gamma: Any) -> Any:
    """Return ``x * gamma``, as in ConvNeXt's LayerScale."""
    return F.broadcast_mul(x, gamma)


def dot(F: Any, a: Any, b: Any, axes: Tuple[int, int], ranks: Tuple[int, int], normalize: bool) -> Any:
    """Multiply batches of matrices or vectors along one axis of each, counted from 1.

    ``normalize`` scales the vectors along the axes to unit length first.
    """
    matrices = []
    for x, axis, rank in zip((a, b), axes, ranks):
        x = unit_norm(F, x, axis) if normalize else x
        matrices.append(F.expand_dims(x, axis=2) if rank == 2 else x)
    y = F.batch_dot(*matrices, transpose_a=axes[0] == 1, transpose_b=axes[1] == 2)
    if ranks[1] == 2:
        return F.squeeze(y, axis=2)
    return F.squeeze(y, axis=1) if ranks[0] == 2 else y


def unit_norm(F: Any, x: Any, axis: Any) -> Any:
    """Scale vectors along some axes to unit length."""
    total = F.sum(F.square(x), axis=axis, keepdims=True)
    return F.broadcast_div(x, F.sqrt(F.clip(total, 1e-12, 3e38)))


def rms_norm(F: Any, x: Any, gamma: Any, axis: Tuple[int, ...], epsilon: float) -> Any:
    """Divide by the root mean square along some axes, and multiply by factors that broadcast."""
    mean = F.mean(F.square(x), axis=axis, keepdims=True)
    return F.broadcast_mul(F.broadcast_div(x, F.sqrt(mean + epsilon)), gamma)


def group_norm(F: Any, x: Any, ones: Any, zeros: Any, epsilon: float, groups: int, **scales: Any) -> Any:
    """Normalize groups of channels, the second axis; then apply ``gamma`` and ``beta`` per channel.

    ``ones`` and ``zeros`` are constants, one for each group, that MXNet's operator requires.
    """
    grouped = F.InstanceNorm(F.reshape(x, (0, groups, -1)), ones, zeros, eps=epsilon)
    y = F.reshape(F.reshape_like(grouped, x), (0, 0, -1))
    if "gamma" in scales:
        y = F.broadcast_mul(y, F.reshape(scales["gamma"], (1, -1, 1)))
    if "beta" in scales:
        y = F.broadcast_add(y, F.reshape(scales["beta"], (1, -1, 1)))
    return F.reshape_like(y, x)


def repeat_vector(F: Any, x: Any, times: int) -> Any:
    """Repeat vectors along a new axis after the batch."""
    return F.repeat(F.expand_dims(x, axis=1), repeats=times, axis=1)


def reshape(F: Any, x: Any, shape: Sequence[int], fits: bool = False) -> Any:
    """Reshape all axes except the batch, one of which may be -1.

    ``fits`` declares that all possible inputs have the right number of elements.
    """
    if not fits:
        # MXNet reads beyond the array if the number of elements differs, but splits an axis exactly.
        known = math.prod(n for n in shape if n != -1)
        split = (-1, known) if -1 in shape else (known, 1)
        x = F.reshape(F.reshape(x, shape=(0, -1)), shape=(0, -4, *split))
    return F.reshape(x, shape=(0, *shape))


def slices(F: Any, x: Any, parts: Sequence[Any], dropped: Tuple[int, ...], added: int) -> Any:
    """Slice by one (begin, end, step) for each axis; drop axes of size 1; add some after the batch."""
    if any(part != (None, None, 1) for part in parts):
        begin, end, step = zip(*parts)
        x = F.slice(x, begin=begin, end=end, step=step)
    x = F.squeeze(x, axis=dropped) if dropped else x
    for _ in range(added):
        x = F.expand_dims(x, axis=1)
    return x


def pad_axes(F: Any, x: Any, pairs: Sequence[Tuple[int, int]], value: float) -> Any:
    """Pad each axis except the batch by elements before and after it, for any number of axes."""
    for axis, pair in enumerate(pairs, 1):
        for count, before in zip(pair, (True, False)):
            if count:
                edge = F.slice_axis(x, axis=axis, begin=0, end=1) * 0 + value
                edge = F.repeat(edge, repeats=count, axis=axis)
                x = F.concat(*((edge, x) if before else (x, edge)), dim=axis)
    return x


def global_pool(F: Any, x: Any, kind: str, ndim: int, keepdims: bool) -> Any:
    """Pool channels-first data over all spatial axes, and drop these axes unless ``keepdims``."""
    y = F.Pooling(x, kernel=(1,) * ndim, pool_type=kind, global_pool=True)
    return y if keepdims else F.flatten(y)


def resize(F: Any, x: Any, size: Tuple[int, int]) -> Any:
    """Interpolate images to a size. Positions refer to the centers of pixels."""
    return F.contrib.BilinearResize2D(x, height=size[0], width=size[1], align_corners=False)


def repeat_elements(F: Any, x: Any, times: Sequence[int]) -> Any:
    """Repeat each element along the spatial axes of channels-first data."""
    if len(times) == 2 and len(set(times)) == 1:
        return F.UpSampling(x, scale=times[0], sample_type="nearest")
    for axis, count in enumerate(times, 2):
        x = F.repeat(x, repeats=count, axis=axis) if count > 1 else x
    return x


def interpolate(F: Any, x: Any, times: Sequence[int], centers: bool) -> Any:
    """Interpolate channels-first images linearly to a multiple of their size.

    Each output is a weighted mean of the input element that contains it and a neighbor. Edges repeat.
    MXNet's own operator is not used, because no ONNX operator treats the edges the same way. ``centers``
    means that positions refer to pixel centers, as in TensorFlow 2, and not to pixel corners.
    """
    for axis, count in enumerate(times, 2):
        if count == 1:
            continue
        width = [0] * 8
        width[2 * axis : 2 * axis + 2] = 1, 1
        wide = F.pad(x, mode="edge", pad_width=width)
        before = F.slice_axis(wide, axis=axis, begin=0, end=-2)
        after = F.slice_axis(wide, axis=axis, begin=2, end=None)
        phases = []
        for phase in range(count):
            offset = (phase + 0.5) / count - 0.5 if centers else phase / count
            other = before if offset < 0 else after
            phases.append(x * (1 - abs(offset)) + other * abs(offset) if offset else x)
        y = F.stack(*phases, axis=axis + 1)
        x = F.reshape(y, shape=(*(0,) * axis, -3, *(0,) * (3 - axis)))
    return x
