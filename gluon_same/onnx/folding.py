"""Numbers that follow from known ones, at each trial of the sizes that a file leaves open."""

from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from . import limits
from .evaluation import TooLarge, evaluate, may_evaluate
from .values import Known, Unsupported


def folded(
    node: Any, opsets: Dict[str, int], attributes: Dict[str, Any], inputs: Sequence[Any],
    refuse: Callable[[Dict[int, str]], None],
) -> Optional[List[Known]]:  # fmt: skip
    """Return the results of a node whose inputs are known.

    Return None if they are not known, or if their shapes depend on open sizes. ``refuse`` is called with
    the reasons, by trial, why there are none.
    """
    given = [x for x in inputs if x is not None]
    if not may_evaluate(node, opsets) or not all(isinstance(x, Known) for x in given):
        return None
    count = max([len(x.trials) for x in given], default=1)
    trials = [[None if x is None else x.at(t) for x in inputs] for t in range(count)]
    # The least results at all sizes, and the limits of what an operator moves, are evaluated, too.
    rules = limits.least_inputs, limits.limits_that_move
    more = [rule(node.op_type, inputs) if count > 1 else None for rule in rules]
    try:
        found = evaluate(node, opsets, attributes, [*trials, *filter(None, more)])
    except TooLarge:
        return None
    others = (None if isinstance(arrays, Unsupported) else arrays for arrays in found[count:])
    lowest, moved = (next(others) if each else None for each in more)
    del found[count:]
    why = {t: str(arrays) for t, arrays in enumerate(found) if isinstance(arrays, Unsupported)}
    if why and count == 1:
        return None
    refuse(why)
    trainable = any(x.trainable for x in given)
    results = []
    # Limits that are attributes: those of Clip before operator set 11.
    bounds = [Known([np.array(attributes[name])]) for name in ("min", "max") if name in attributes]
    for place, (name, arrays) in enumerate(zip(node.output, zip(*found))):
        if len({np.shape(array) for array in arrays}) > 1 and any(map(np.size, arrays)):
            return None
        result = Known(arrays, name, trainable and arrays[0].dtype.kind == "f")
        result.bounded = limits.may_be_bounded(node.op_type, given)
        result.resized = limits.may_be_resized(node.op_type, given)
        limit = limits.limit_of(node.op_type, [*given, *bounds], result)
        kept = given[0].limits if node.op_type == "Cast" and limit == given[0].limit else limit
        result.limits = moved[place] if moved else np.broadcast_to(np.float64(kept), result.shape)
        if count > 1:
            result.line = limits.line_of(node.op_type, inputs, result)
        if node.op_type == "Shape":
            result.low = np.zeros_like(arrays[0])
        else:
            result.low = lowest[place] if lowest else limits.least_of(result.line, result)
        result.fill, result.sizes = _filling(node.op_type, attributes, inputs)
        results.append(result)
    return results


def _filling(operator, attributes, inputs):
    """Return the one number of which an operator makes an array, and its sizes; None if it does not."""
    if operator == "ConstantOfShape":
        return attributes.get("value", np.zeros(1, np.float32)), inputs[0]
    return (inputs[0].first, inputs[1]) if operator == "Expand" and fills(*inputs) else (None, None)


def fills(x: Any, shape: Any) -> bool:
    """Return whether arrays expanded to a shape are of that shape, and of one known number."""
    one = isinstance(x, Known) and x.first.size == 1 and not x.open
    return one and isinstance(shape, Known) and x.ndim <= shape.first.size
