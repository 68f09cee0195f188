"""Control flow: branches, both of which are computed unless their condition is known, and loops, which
are unrolled if the number of their steps is known."""

from typing import Any, List, Sequence

import numpy as np

from ...importing.steps import Scanned, Steps
from ..registry import converter
from ..reshaping import reshaped
from ..values import EMPTY, FIX, Data, Input, Ints, Known, Unsupported, axis_of, known
from .elementwise import where
from .shapes import range_

#: Most steps of all loops of a model that are unrolled.
_MOST_STEPS = 1000


@converter("If")
def if_(net: Any, condition: Any, *, then_branch: Any, else_branch: Any) -> List[Any]:
    if isinstance(condition, Known) or condition.index is not None or condition.source is not None:
        taken = then_branch if known(condition, "condition").item() else else_branch
        return net.subgraph(taken, [])
    flag = reshaped(net, condition, [()] * len(condition.trials))
    pairs = zip(*([net.array(x) for x in net.subgraph(each, [])] for each in (then_branch, else_branch)))
    results = []
    for one, other in pairs:
        if not all(isinstance(x, Data) for x in (one, other)) or one.trials != other.trials:
            raise Unsupported(
                "its condition is computed at run time, and its branches return different shapes"
            )
        results.append(where(net, flag, one, other))
    return results


@converter("Loop")
def loop(net: Any, count: Any = None, condition: Any = None, *carried: Any, body: Any) -> List[Any]:
    if isinstance(count, Known) and count.open:
        return _counted(net, count, condition, carried, body)
    most = None if count is None else int(known(count, "number of steps").item())
    state: List[Any] = list(carried)
    going, step = condition is None or bool(known(condition, "condition").item()), 0
    kept: List[List[Any]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    while going and (most is None or step < most):
        given = [Known([np.array(step, np.int64)]), Known([np.array(True)]), *state]
        going, *results = unrolled(net, body, given)
        going, step = bool(known(going, "condition").item()), step + 1
        state = results[: len(state)]
        for values, value in zip(kept, results[len(state) :]):
            values.append(value)
    return [*state, *(stacked(net, values, 0) for values in kept)]


def unrolled(net: Any, body: Any, inputs: Sequence[Any]) -> List[Any]:
    """Return the results of one step of a loop."""
    net.unrolled += 1
    if net.unrolled > _MOST_STEPS:
        raise Unsupported(f"the loops of the model have more than {_MOST_STEPS} steps")
    return net.subgraph(body, inputs)


def _counted(net: Any, count: Known, condition: Any, carried: Sequence[Any], body: Any) -> List[Any]:
    """Convert a loop with a number of steps that follows from open sizes, and no other end."""
    if not all(isinstance(x, (Data, Known)) for x in carried):
        raise Unsupported(f"the number of its steps, which collect a sequence, {FIX}")
    step = range_(net, Known([np.array(0)]), count, Known([np.array(1)]))
    arrays: List[Data] = [net.array(x) for x in carried]
    names = [each.name for each in body.input]
    trials = [tuple(x.trials) for x in arrays]
    pairs = zip(names[2:], arrays, trials)
    given = [Input(name, x.dtype, each, None, x.doubts) for name, x, each in pairs]
    given.append(Input(names[0], np.dtype(np.int64), ((),) * len(step.trials), None))
    always = condition is None or bool(known(condition, "condition").item())
    block, outer, outputs = net.nested(body, given, {names[1]: np.array(True)}, first=1)
    going, *outputs = outputs
    if not (always and known(going, "condition").item()):
        raise Unsupported(f"whether its condition ends it {FIX}")
    kept = [tuple(x.trials) if isinstance(x, Data) else (x.shape,) * len(step.trials) for x in outputs]
    if kept[: len(trials)] != trials:
        raise Unsupported(f"the shape of what it carries from step to step {FIX}")
    return _stepped(net, block, arrays, [step], outer, outputs, [Scanned(0, False, 1)], None)


@converter("Scan", 9)
def scan(
    net: Any, *inputs: Any, body: Any, num_scan_inputs: int, scan_input_axes: Ints = None,
    scan_input_directions: Ints = None, scan_output_axes: Ints = None,
    scan_output_directions: Ints = None,
) -> List[Any]:  # fmt: skip
    count = len(inputs) - num_scan_inputs
    arrays: List[Data] = [net.array(x) for x in inputs]
    scanned = _scanned(scan_input_axes, scan_input_directions, [x.ndim for x in arrays[count:]])
    names = iter(each.name for each in body.input)
    given = [Input(next(names), x.dtype, tuple(x.trials), None, x.doubts) for x in arrays[:count]]
    for x, axis in zip(arrays[count:], (how.axis for how in scanned)):
        shapes = tuple((*shape[:axis], *shape[axis + 1 :]) for shape in x.trials)
        doubts = {each - (each > axis): calls for each, calls in x.doubts.items() if each != axis}
        given.append(Input(next(names), x.dtype, shapes, None, doubts))
    block, outer, outputs = net.nested(body, given)
    how = scanned, scan_output_axes, scan_output_directions
    return _stepped(net, block, arrays[:count], arrays[count:], outer, outputs, *how)


def _stepped(net, block, states, arrays, outer, outputs, scanned, axes=None, directions=None):
    """Return the last states, and what the steps stack."""
    count = len(states)
    stacked = _scanned(axes, directions, [x.ndim + 1 for x in outputs[count:]])
    steps = Steps(block, count, scanned, stacked, net.prefix())
    scalar = tuple(i < count and x.ndim == 0 for i, x in enumerate(outputs))
    how: Any = dict(outputs=len(outputs), dtype=tuple(x.dtype for x in outputs), scalar=scalar)
    made = net.block(steps, *states, *arrays, *outer, **how)
    return made if isinstance(made, list) else [made]


def _scanned(axes: Ints, directions: Ints, ranks: Sequence[int]) -> List[Scanned]:
    axes, directions = axes or [0] * len(ranks), directions or [0] * len(ranks)
    return [Scanned(axis_of(a, n), bool(d), n) for a, d, n in zip(axes, directions, ranks)]


def stacked(net: Any, values: Sequence[Any], axis: int) -> Any:
    """Join the results of all steps along a new axis."""
    if not values:
        raise Unsupported(EMPTY)
    if all(isinstance(x, Known) for x in values):
        return Known([np.stack([known(x, "result") for x in values], axis)])
    arrays: List[Data] = [net.array(x) for x in values]
    if arrays[0].scalar:
        return net.call("concat", *arrays, dim=0, scalar=False)
    return net.call("stack", *arrays, axis=axis_of(axis, arrays[0].ndim + 1), scalar=False)
