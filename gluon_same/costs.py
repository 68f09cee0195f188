"""What it costs to have a convolution of a known size see SAME windows: rules on plain integers.

Costs are counted in elements copied, and :mod:`.lowering` takes the form of the least. Measured over the
operator with as much padding at both ends, on two AVX-512 cores, at batch 1 and 8:

==================================  =========  =========  =========  =========
layer                               crop       pad        join       move
==================================  =========  =========  =========  =========
4x4, 3 > 32 channels at 128         3.69 2.32  1.25 1.22  1.42 1.27
7x7/2, 3 > 64 at 224                1.29 1.55  1.16 1.15  1.14 1.10
3x3/2, 3 > 32 at 224                2.64 2.46  1.96 1.83  1.62 1.40
4x4, 32 > 32 at 100x20              1.23 1.27  1.25 1.36  1.44 1.52  1.16 1.14
2x2, 64 > 64 at 56                  1.15 1.13  1.39 1.27  1.46 1.14  1.30 1.06
2x2, 256 > 256 at 13                1.24 1.27  1.26 1.38  1.63 1.40  1.36 1.28
3x3/2, 64 > 128 at 56               1.20 1.21  1.57 1.45  1.61 1.32  1.34 1.18
depthwise 3x3/2, 32 at 112          1.38 1.13  2.50 1.89  2.42 1.29  1.84 1.44
the same, trained                   2.88 3.83  1.82 1.99  1.84 1.83  1.56 1.24
2x2, 64 > 64 at 56, between others  0.92 0.96                        1.07 1.00
==================================  =========  =========  =========  =========

What an operator takes to start is much of it for small inputs. It is 50 us more for those that run in
threads, where OpenMP's threads are more than processors and so do not wait awake. The rules come within
a tenth of the best of each row; depthwise convolutions that may be trained count as trained.
"""

from math import prod
from typing import Optional, Sequence

from .arguments import Window

#: Multiplications and additions that take as long as copying one element.
MACS_PER_COPY = 64

#: Elements that are copied while an operator is started: 25 us, at two a nanosecond.
OPERATOR = 50_000

#: Samples of a batch where nothing tells how many there are.
BATCH = 8


def crop(
    outputs: Sequence[int], computed: Sequence[int], channels: int, macs: int, batch: Optional[int]
) -> float:
    """Cost of computing ``computed`` outputs along the axes, by ``macs`` each, and cropping them."""
    surplus = prod(computed) - prod(outputs)
    return channels * (prod(outputs) + surplus * macs / MACS_PER_COPY) + _started(1, batch)


def pad(elements: int, batch: Optional[int]) -> float:
    """Cost of lengthening a sample by ``Pad``, which is one slow operator."""
    return 3.5 * elements + _started(1, batch)


def join(elements: int, ends: int, batch: Optional[int]) -> float:
    """Cost of lengthening a sample at some ends of its axes, by slices of zeros and ``concat``."""
    return 2 * elements + _started(2 * ends, batch)


def move(elements: int, batch: Optional[int]) -> float:
    """Cost of moving a sample by a depthwise convolution, the making of its weight included."""
    return 0.75 * elements + _started(4, batch)


def _started(operators, batch):
    return operators * OPERATOR / (batch or BATCH)


def trains_slowly(windows: Sequence[Window], own: Sequence[int]) -> bool:
    """Whether a depthwise convolution that pads by ``own`` falls off oneDNN's quick gradient.

    That of the weight is for kernels of up to three elements, and padding of up to half of them. Beyond
    it takes 5 to 10 times as long. (Larger kernels have no quick one to fall off.)
    """
    small = all(window.span <= 3 for window in windows)
    return small and any(p > window.span // 2 for window, p in zip(windows, own))
