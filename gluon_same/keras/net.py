"""The net of a loaded Keras model: a graph of blocks with Keras' names."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import mxnet as mx
from mxnet.gluon import HybridBlock
from mxnet.ndarray import NDArray


class Run(NamedTuple):
    """Step that calls a child."""

    child: str
    inputs: Tuple[int, ...]  # slots
    outputs: Tuple[int, ...]


class Move(NamedTuple):
    """Step that transposes an array."""

    slot: int
    axes: Tuple[int, ...]
    output: int


class Widen(NamedTuple):
    """Step that inserts axes of size 1 into a matrix."""

    slot: int
    shape: Tuple[int, ...]  # argument of MXNet's reshape
    output: int


Step = Union[Run, Move, Widen]
Shape = Tuple[Optional[int], ...]


class Shown(NamedTuple):
    """Layer output that corresponds to one in Keras."""

    key: str  # the layer's name, with '#1' for its second call
    slot: int
    order: Tuple[int, ...]  # Keras' axis for each axis of the array


@dataclass(frozen=True)
class Plan:
    """Steps of a net, with its inputs and outputs."""

    # Not a tuple, because Gluon searches tuples for blocks whenever it collects parameters.

    steps: Tuple[Step, ...]
    inputs: Tuple[int, ...]  # slots
    outputs: Tuple[int, ...]
    shown: Tuple[Shown, ...]  # the outputs of layers
    saved: Tuple[Shape, ...]  # input shapes of the saved model
    fixed: Tuple[Shape, ...]  # the same, with None for sizes that may vary
    made: Tuple[Shape, ...]  # output shapes, also with None


class KerasNet(HybridBlock):
    """Net loaded from a Keras model by :func:`gluon_same.keras.load_model`.

    Children and parameters have Keras' layer names. The net receives one positional argument for each of
    the model's inputs, and returns one output or a list of outputs.

    Parameters
    ----------
    blocks : dict of str to HybridBlock
        Children by Keras' layer names.
    plan : Plan
        Steps to run.
    prefix, params
        As for :class:`mxnet.gluon.HybridBlock`.


    Inputs:
        - **\\*data**: channels first, unless the net was loaded with ``layout='NHWC'``.

    Outputs:
        - **out**: an array, or a list of arrays, in the same layout.
    """

    def __init__(self, blocks: Dict[str, HybridBlock], plan: Plan, **kwargs: Any):
        super().__init__(**kwargs)
        for name, block in blocks.items():
            self.register_child(block, name)
        self.plan = plan

    @property
    def layers(self) -> Mapping[str, HybridBlock]:
        """Return the blocks by Keras' layer names."""
        return MappingProxyType(self._children)

    @property
    def input_sizes(self) -> Tuple[Shape, ...]:
        """Return the sizes that each input requires, with None for sizes that may vary."""
        return self.plan.fixed

    def forward(self, x: Any, *others: Any) -> Any:
        given = (x, *others)
        if len(given) != len(self.plan.inputs):
            raise ValueError(
                f"{self.name} has {len(self.plan.inputs)} inputs, and {len(given)} were given"
            )
        if not all(isinstance(each, NDArray) for each in given):
            return super().forward(*given)
        shapes = [each.shape for each in given]
        self._check_inputs(shapes)
        try:
            return super().forward(*given)
        except mx.MXNetError as error:
            raise ValueError(self._why(shapes, error)) from error

    def hybrid_forward(self, F: Any, x: Any, *others: Any) -> Any:
        slots = self.run_steps(F, x, *others)
        outputs = [slots[slot] for slot in self.plan.outputs]
        return outputs[0] if len(outputs) == 1 else outputs

    def run_steps(self, F: Any, *inputs: Any) -> Dict[int, Any]:
        """Run all steps and return the content of every slot."""
        slots = dict(zip(self.plan.inputs, inputs))
        for step in self.plan.steps:
            if isinstance(step, Run):
                out = self._children[step.child](*(slots[slot] for slot in step.inputs))
                slots.update(zip(step.outputs, [out] if len(step.outputs) == 1 else out))
            elif isinstance(step, Move):
                slots[step.output] = F.transpose(slots[step.slot], axes=step.axes)
            else:
                slots[step.output] = F.reshape(slots[step.slot], shape=step.shape)
        return slots

    def _check_input(self, shape: Shape) -> None:
        """Raise a ValueError if the first input's shape does not fit. Tracers call this method."""
        self._check_inputs([shape])

    def _check_inputs(self, given: Sequence[Shape]) -> None:
        for index, (shape, fixed) in enumerate(zip(given, self.plan.fixed)):
            same_rank = len(shape) == len(fixed)
            if not same_rank or any(n not in (None, m) for n, m in zip(fixed, shape)):
                which = "data" if len(self.plan.inputs) == 1 else f"input {index}"
                wanted = ", ".join("any" if n is None else str(n) for n in fixed)
                raise ValueError(
                    f"{which} of shape {tuple(shape)} does not fit {self.name}, which "
                    f"requires ({wanted})"
                )

    def _why(self, given, error):
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        cause = next((line for line in lines if "Error in operator" in line), lines[-1] if lines else "")
        shapes, saved = (", ".join(map(str, each)) for each in (given, self.plan.saved))
        return (
            f"{self.name} cannot run on data of shape {shapes}. It was saved for {saved}, and not all "
            f"models support other sizes: {cause}"
        )

    def __repr__(self) -> str:
        lines = [
            f"  ({name}): {block!r}".replace("\n", "\n  ") for name, block in self._children.items()
        ]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])
