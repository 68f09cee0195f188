"""The net that an importer builds: a graph of named blocks with guards for its inputs."""

import re
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock
from mxnet.ndarray import NDArray

from ..arrays import flat
from ..saving import Saved
from .functions.selecting import SELECTING

Shape = Tuple[Optional[int], ...]
Group = Tuple[Tuple[int, int], ...]  #: axes that have one size: the number of the input, and the axis

#: What MXNet's errors say of a result without elements.
_NO_SHAPE = "Shape is unknown"
_NO_ELEMENTS = re.compile(
    rf"{_NO_SHAPE}|Invalid begin, end|shapes failed\.\s+input shapes:[^a-z]*[\[,]-1[,\]]"
)

#: What they say of an axis whose size ``functions.exactly`` requires.
_EXACTLY = re.compile(r"Split dims (\d+), 1 do not divide original dim (\d+)")

#: Errors that builders and converters raise for malformed files.
FAILURES = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError),
    mx.MXNetError,
)


class Run(NamedTuple):
    """Step that calls a child."""

    child: str
    inputs: Tuple[int, ...]  # slots
    outputs: Tuple[int, ...]


class Move(NamedTuple):
    """Step that changes the axes of an array, without a block of its own."""

    operator: str  # 'transpose', 'reshape', 'expand_dims' or 'cast'
    amounts: Any  # the axes, the shape, the axis, or the dtype
    inputs: Tuple[int, ...]
    outputs: Tuple[int, ...]


Step = Union[Run, Move]


class LayerOutput(NamedTuple):
    """Output of a layer in the file."""

    key: str  # name of the layer, with '#1' for its second call
    slot: int
    axes: Tuple[int, ...]  # the file's axis for each axis of the array


@dataclass(frozen=True)
class Plan:
    """Steps of a net, with its inputs and outputs."""

    # Not a tuple, because Gluon searches tuples for blocks whenever it collects parameters.

    steps: Tuple[Step, ...]
    inputs: Tuple[int, ...]  # slots
    outputs: Tuple[int, ...]
    layer_outputs: Tuple[LayerOutput, ...]
    saved: Tuple[Shape, ...]  # input shapes of the saved model
    input_shapes: Tuple[Shape, ...]  # the same, with None for sizes that may vary
    output_shapes: Tuple[Shape, ...]  # also with None
    names: Tuple[str, ...] = ()  # of the inputs in the file
    dtypes: Tuple[np.dtype, ...] = ()  # dtype of each input, to which arrays of another kind are cast
    #: Shapes, without the batch, of the last inputs and outputs, which are kept from call to call.
    states: Tuple[Shape, ...] = ()
    alike: Tuple[Group, ...] = ()


class ImportedNet(Saved):
    """Net from a model file.

    Parameters
    ----------
    blocks : dict of str to HybridBlock
        Children by the names of layers in the file.
    plan : Plan
        Steps to run.
    prefix, params
        As for :class:`mxnet.gluon.HybridBlock`.

    Inputs:
        - **\\*data**: one array for each of the model's inputs.

    Outputs:
        - **out**: an array, or a list of arrays.
    """

    def __init__(self, blocks: Dict[str, HybridBlock], plan: Plan, **kwargs: Any):
        super().__init__(**kwargs)
        for name, block in blocks.items():
            self.register_child(block, name)
        self.plan = plan

    @property
    def layers(self) -> Mapping[str, HybridBlock]:
        """Return the blocks by the names of layers in the file."""
        return MappingProxyType(self._children)

    @property
    def input_sizes(self) -> Tuple[Shape, ...]:
        """Return the sizes that each input requires, with None for sizes that may vary."""
        return self.plan.input_shapes

    def hybridize(self, *args: Any, **kwargs: Any) -> None:
        """Hybridize; without ``static_shape``, which MXNet refuses, if sizes follow from numbers."""
        children = self._children.values()
        if any(getattr(child, "_function", None) in SELECTING for child in children):
            kwargs.pop("static_shape", None)
        super().hybridize(*args, **kwargs)

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
        given = (*map(_of_kind, given, self.plan.dtypes), *given[len(self.plan.dtypes) :])
        try:
            out = super().forward(*given)
            if any(0 in y.shape for y in flat(out)):
                raise mx.MXNetError(_NO_SHAPE)
            return out
        except mx.MXNetError as error:
            self._clear_cached_op()  # which MXNet cannot run again if sizes followed from the data
            with suppress(mx.MXNetError):  # which a later call would raise
                mx.nd.waitall()
            raise ValueError(self._why(shapes, error)) from error

    def hybrid_forward(self, F: Any, x: Any, *others: Any) -> Any:
        given: Any = (x, *others)
        if F is mx.sym:  # a graph may be given other kinds of numbers, as by ``deploy``
            whole = [dtype.name if dtype.kind in "iu" else "" for dtype in self.plan.dtypes]
            casts = [F.cast(x, dtype=name) if name else x for x, name in zip(given, whole)]
            given = (*casts, *given[len(casts) :])
        slots = self.run_steps(F, *given)
        outputs = [slots[slot] for slot in self.plan.outputs]
        return outputs[0] if len(outputs) == 1 else outputs

    def run_steps(self, F: Any, *inputs: Any) -> Dict[int, Any]:
        """Run all steps and return the content of every slot."""
        slots = dict(zip(self.plan.inputs, inputs))
        for step in self.plan.steps:
            given = [slots[slot] for slot in step.inputs]
            if isinstance(step, Run):
                out = self._children[step.child](*given)
            else:
                out = getattr(F, step.operator)(*given, step.amounts)
            slots.update(zip(step.outputs, [out] if len(step.outputs) == 1 else out))
        return slots

    def _check_input(self, shape: Shape) -> None:
        """Raise a ValueError if the first input's shape does not fit. Tracers call this method."""
        self._check_inputs([shape])

    def _check_inputs(self, given: Sequence[Shape]) -> None:
        wanted_shapes = self.plan.input_shapes
        for index, (shape, wanted) in enumerate(zip(given, wanted_shapes)):
            if not fits(shape, wanted):
                which = "data" if len(self.plan.inputs) == 1 else f"input {index}"
                sizes = ", ".join("any" if n is None else str(n) for n in wanted)
                raise ValueError(
                    f"{which} of shape {tuple(shape)} does not fit {self.name}, which requires ({sizes})"
                )

        for group in self.plan.alike:
            if len({given[i][axis] for i, axis in group if i < len(given)}) > 1:
                axes = " and ".join(f"axis {axis} of input {i}" for i, axis in group)
                raise ValueError(
                    f"data of shapes {[*given]} do not fit {self.name}, which requires one size for "
                    f"{axes}: for others, import the model with input_shapes={[*given]}"
                )

    def _why(self, given, error):
        shapes, saved = (", ".join(map(str, each)) for each in (given, self.plan.saved))
        if any(0 in shape for shape in given):
            return f"{self.name} cannot run on data of shape {shapes}: its operators require elements"
        if _NO_ELEMENTS.search(str(error)):
            return (
                f"{self.name} cannot run on data of shape {shapes}: it selects none of some elements, "
                "by a slice or as boxes with a high score, and MXNet has no arrays without elements"
            )
        exactly = _EXACTLY.search(str(error))
        if exactly:
            return (
                f"{self.name} cannot run on data of shape {shapes}: an axis in it has {exactly[2]} "
                f"elements, and {exactly[1]} at the sizes for which it was imported. Import it with "
                "input_shapes="
            )
        return (
            f"{self.name} cannot run on data of shape {shapes}. It was saved for {saved}, and not all "
            f"models support other sizes: {cause(error)}"
        )

    def __repr__(self) -> str:
        children = self._children.items()
        lines = [f"  ({name}): {block!r}".replace("\n", "\n  ") for name, block in children]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])


def cause(error: Exception) -> str:
    """Return what is wrong: the text of an error, without MXNet's backtrace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, mx.MXNetError):
        line = next((line for line in lines if "Error in operator" in line), lines[-1] if lines else "")
        return line.replace("MXNetError: ", "", 1)
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _of_kind(x: NDArray, dtype: np.dtype) -> NDArray:
    """Return an array, cast if its dtype is of another kind, or if a CPU does not compute in it."""
    given = np.dtype(x.dtype)
    half = given == np.float16 and x.context.device_type == "cpu"
    kept = given == dtype or (given.kind == dtype.kind == "f" and not half)
    return x if kept else x.astype(dtype)


def batch_axes(shapes: Sequence[Sequence[Optional[int]]]) -> List[int]:
    """Return the axis of each input's batch: the first, or the open one of a recurrent layer's state.

    A state, such as ``(2, None, 128)``, is beside an input whose first axis is open.
    """
    batched = any(n is None for shape in shapes for n in shape[:1])
    return [int(batched and [n is None for n in shape] == [False, True, False]) for shape in shapes]


def fits(shape: Sequence[Optional[int]], wanted: Sequence[Optional[int]]) -> bool:
    """Return whether a shape has the wanted sizes, among which None allows any."""
    return len(shape) == len(wanted) and all(m in (None, n) for n, m in zip(shape, wanted))
