"""Weights of TensorFlow's resizing methods that have no operator, for images of a known size."""

from typing import Callable, Dict, NamedTuple

import numpy as np

from .resizing import Resize


class Kernel(NamedTuple):
    """Weights of elements by their distance, up to a radius."""

    radius: float
    weight: Callable[[np.ndarray], np.ndarray]


def _lanczos(radius: int) -> Kernel:
    return Kernel(radius, lambda x: np.sinc(x) * np.sinc(x / radius))


def _mitchell(x: np.ndarray) -> np.ndarray:
    near = (7 * x / 6 - 2) * x * x + 8 / 9
    far = ((2 - 7 * x / 18) * x - 10 / 3) * x + 16 / 9
    return np.where(x < 1, near, far)


#: Methods that weight each element by a kernel.
KERNELS: Dict[str, Kernel] = {
    "bicubic": Kernel(2, Resize("cubic", cubic=-0.5).kernel),
    "bilinear": Kernel(1, lambda x: 1 - x),
    "gaussian": Kernel(1.5, lambda x: np.exp(-2 * x * x)),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "mitchellcubic": Kernel(2, _mitchell),
}


def kernel_matrix(kernel: Kernel, size: int, new: int, antialias: bool) -> np.ndarray:
    """Return the weights of ``size`` inputs for each of ``new`` outputs.

    With ``antialias``, the kernel is as wide as the part of the input that an output covers.
    """
    one = np.float32(1)  # TensorFlow's rounding decides about elements at the radius
    shrink = one / (np.float32(new) / np.float32(size))
    where = (np.arange(new, dtype="float32") + one / 2) * shrink
    wide = max(shrink, one) if antialias else one
    distance = np.abs((np.arange(size, dtype="float32") + one / 2 - where[:, None]) * (one / wide))
    weights = np.where(distance < kernel.radius, kernel.weight(distance), 0)
    return weights / weights.sum(1, keepdims=True)


def area_matrix(size: int, new: int) -> np.ndarray:
    """Return how much of each output's part of an axis belongs to each input."""
    begin, end = (np.arange(new)[:, None] + i for i in (0, 1))
    first = np.arange(size)
    overlap = np.minimum(first + 1, end * size / new) - np.maximum(first, begin * size / new)
    return np.maximum(overlap, 0) * new / size
