"""From a window to MXNet's operators.

MXNet's operators pad both ends of an axis alike. A :class:`~.plan.Plan` says how one serves windows that
are padded by ``(before, after)`` all the same: steps that change its input, the operator with a padding
of its own, and steps that change its output.

- :mod:`.plan`: the rules that choose a plan, in integers, and the same on every machine.
- :mod:`.steps`: the steps of those plans, each in one operator or a few.
- :mod:`.ways`: other plans for the same windows, for :mod:`gluon_same.tuning` to choose from.
"""

from .plan import (  # noqa: F401
    OPERATORS,
    Operator,
    Plan,
    plan_convolution,
    plan_deconvolution,
    plan_pooling,
)
from .ways import ways_to_convolve, ways_to_pool  # noqa: F401

__all__ = [
    "OPERATORS",
    "Operator",
    "Plan",
    "plan_convolution",
    "plan_deconvolution",
    "plan_pooling",
    "ways_to_convolve",
    "ways_to_pool",
]
