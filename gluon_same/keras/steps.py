"""Steps of a net under construction."""

from typing import Any, Dict, List, Optional, Sequence

from mxnet.gluon import HybridBlock

from .net import KerasNet, Move, Plan, Run, Shown, Step, Widen
from .values import Order, Value, transposition


class Steps:
    """Recorder of steps, and of the blocks that they call.

    Attributes
    ----------
    blocks : dict of str to HybridBlock
        Blocks by Keras' layer names.
    """

    def __init__(self) -> None:
        self.blocks: Dict[str, HybridBlock] = {}
        self._steps: List[Step] = []
        self._shown: List[Shown] = []
        self._known: Dict[Any, int] = {}  # slots of reordered arrays, by step
        self._count = 0

    def slot(self) -> int:
        """Return a new slot."""
        self._count += 1
        return self._count - 1

    def run(self, child: str, inputs: Sequence[Value], count: int) -> List[int]:
        """Add a call of a block, and return the slots of its outputs."""
        slots = [self.slot() for _ in range(count)]
        self._steps.append(Run(child, tuple(x.slot for x in inputs), tuple(slots)))
        return slots

    def show(self, key: str, value: Value) -> None:
        """Record that an array is the output of a layer."""
        if value.padding is None:
            self._shown.append(Shown(key, value.slot, value.order))

    def net(self, inputs: Sequence[Value], outputs: Sequence[Value], prefix: str) -> KerasNet:
        """Return the net."""
        plan = Plan(
            tuple(self._steps),
            tuple(value.slot for value in inputs),
            tuple(value.slot for value in outputs),
            tuple(self._shown),
            tuple(value.stored_shape(value.shape) for value in inputs),
            tuple(value.stored_shape(value.open) for value in inputs),
            tuple(value.stored_shape(value.open) for value in outputs),
        )
        return KerasNet(self.blocks, plan, prefix=prefix)

    def in_order(self, value: Value, order: Optional[Order]) -> Value:
        """Return a value with its padding applied and its axes in an order, adding steps as needed."""
        if value.padding is not None:
            run = Run(value.padding.layer, (value.slot,), ())
            self.blocks[value.padding.layer] = value.padding.block
            value = value._replace(slot=self._once(run), padding=None)
        if order is None:
            return value
        if value.rank < len(order):  # insert axes of size 1 into a matrix
            sizes = {0: 0, len(order) - 1: -1}
            step: Step = Widen(value.slot, tuple(sizes.get(axis, 1) for axis in order), -1)
        else:
            axes = transposition(value.order, order)
            if axes is None:
                return value
            step = Move(value.slot, axes, -1)
        return value._replace(slot=self._once(step), order=order)

    def _once(self, step: Any) -> int:
        """Return the slot of a step's result. Equal steps are added once."""
        if step not in self._known:
            slot = self._known[step] = self.slot()
            outputs = {"outputs": (slot,)} if isinstance(step, Run) else {"output": slot}
            self._steps.append(step._replace(**outputs))
        return self._known[step]
