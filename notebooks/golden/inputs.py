"""The inputs of the golden numbers: the same for Keras, for PyTorch and in the notebooks.

Data have their channels last, and weights are HWIO (height, width, inputs, outputs), as in Keras. The
small cases use integers, so sums are exact in every order.
"""

from typing import Dict, List, NamedTuple, Tuple

import numpy as np


class Case(NamedTuple):
    """One layer, with ``padding='same'`` in Keras."""

    kind: str  # 'conv', 'max' or 'avg'
    size: Tuple[int, int]
    kernel: Tuple[int, int]
    stride: int


CASES = {
    "max pool 2x2 on 13x13": Case("max", (13, 13), (2, 2), 1),
    "average pool 2x2 on 5x5": Case("avg", (5, 5), (2, 2), 1),
    "conv 2x2 on 5x5": Case("conv", (5, 5), (2, 2), 1),
    "conv 3x3 stride 2 on 6x6": Case("conv", (6, 6), (3, 3), 2),
    "conv 3x3 stride 2 on 7x7": Case("conv", (7, 7), (3, 3), 2),
    "conv 4x1 on 100x20": Case("conv", (100, 20), (4, 1), 1),
}


def data(case: Case) -> np.ndarray:
    """Return 0, 1, 2, ... row by row; for large cases, numbers from -9 to 9 in a fixed order."""
    height, width = case.size
    count = height * width
    numbers = np.arange(count) if count < 200 else np.arange(count) * 7 % 19 - 9
    return numbers.reshape(1, height, width, 1).astype("float32")


def weight(case: Case) -> np.ndarray:
    """Return 1, 2, 3, ... row by row. They are distinct, so a shifted window gives other results."""
    numbers = np.arange(1, 1 + case.kernel[0] * case.kernel[1])
    return numbers.reshape(*case.kernel, 1, 1).astype("float32")


def keras_cnn_images() -> np.ndarray:
    """Return two images of 32x32x3."""
    return np.random.RandomState(1).uniform(size=(2, 32, 32, 3)).astype("float32")


def keras_cnn_weights() -> Dict[str, List[np.ndarray]]:
    """Return the arguments of ``set_weights`` for each layer of the Keras model, by name."""
    random = np.random.RandomState(0)

    def convolution(inputs, outputs):
        scale = (9 * inputs) ** -0.5
        kernel = random.normal(0, scale, (3, 3, inputs, outputs))
        return [kernel.astype("float32"), random.normal(0, 0.1, outputs).astype("float32")]

    def normalization(rows):
        names = [(0.5, 1.5), (-0.5, 0.5), (-0.3, 0.3), (0.2, 1.2)]  # gamma, beta, mean, variance
        return [random.uniform(low, high, rows).astype("float32") for low, high in names]

    return {
        "conv2d": convolution(3, 64),
        "batch_normalization": normalization(30),
        "conv2d_1": convolution(64, 64),
        "batch_normalization_1": normalization(30),
    }
