"""From a window to MXNet's operators.

MXNet's operators pad both ends of an axis equally. A :class:`~.steps.Plan` computes windows that are
padded by ``(before, after)`` with them: steps that change the input, the operator with a padding of its
own, and steps that change the output.

- :mod:`.plan`: the rules that choose a plan, in integers, the same on every machine.
- :mod:`.steps`: the steps of a plan, each in one operator or a few.

Stride 1
    The operator pads both ends by ``k // 2``. If the kernel is even, a slice drops the first row and
    column. That is one operator for odd kernels and two for even ones, at every size.
Larger strides, known size
    Windows start in one of several phases. The operator pads to the right phase and a slice drops what
    is left over, or ``Pad`` lengthens the input: whichever copies fewer elements. Pooling rounds the
    number of windows up where that gives SAME.
Larger strides, every size
    The padding may depend on the size. Poolings and depthwise convolutions then run on the reversed axis
    if their padding is constant there: 3x3 with stride 2 always pads 1. Other convolutions are padded
    by the size that the graph receives: the input is reversed, padded, cut to the required length, and
    reversed back. Explicit padding that is not symmetric is cropped, and the graph finds how many
    windows there are.

No rule depends on the machine, the batch or the dtype.
"""

from .plan import OPERATORS, Windows, plan_convolution, plan_deconvolution, plan_pooling

__all__ = ["OPERATORS", "Windows", "plan_convolution", "plan_deconvolution", "plan_pooling"]
