"""Blocks of recurrent layers."""

import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import mxnet as mx
from mxnet.gluon import HybridBlock

from ...arrays import flat
from ...importing.functions import as_boolean, flip, pairwise, recurrent
from ...importing.functions.recurrent import GATES, Cell, Weights, loop


class Flow(NamedTuple):
    """How the steps pass through a recurrent layer, and what it returns."""

    backwards: bool = False  # whether to process the data in reverse
    sequences: bool = False  # whether to return the outputs of all steps, in the order of processing
    states: int = 0  # how often to return the final states as well
    masked: bool = False  # whether the second input is a mask, of shape (batch, time)
    zeros: bool = False  # whether the output of a step that does not count is 0, not the one before


class Recurrent(HybridBlock):
    """LSTM, GRU or simple recurrent layer for data of shape (batch, time, channels).

    Parameters
    ----------
    cell : Cell
        Its activations may be blocks.
    in_units : int
    flow : Flow
    dropout : bool
        Whether Keras drops inputs or states in training.

    Attributes
    ----------
    sizes : list of int
        Units of each state.
    """

    _rank = 3  # number of axes of the data

    def __init__(
        self, cell: Cell, in_units: int, flow: Optional[Flow] = None, dropout: bool = False,
        prefix: Optional[str] = None,
    ):  # fmt: skip
        super().__init__(prefix=prefix)
        self.cell, self.flow, self.dropout = cell, flow or Flow(), dropout
        self.sizes = [cell.units] * (2 if cell.kind == "LSTM" else 1)
        for i, (each, _) in enumerate(cell.activations):
            if isinstance(each, HybridBlock):
                self.register_child(each, f"activation{i}")
        with self.name_scope():
            self._add_parameters(cell, in_units)

    def _add_parameters(self, cell: Cell, in_units: int) -> None:
        size = GATES[cell.kind] * cell.units
        for part, columns in (("i2h", in_units), ("h2h", cell.units)):
            setattr(self, f"{part}_weight", self.params.get(f"{part}_weight", shape=(size, columns)))
        self.i2h_bias = self.params.get("i2h_bias", shape=(size,), init="zeros")
        self.h2h_bias = None
        if cell.kind != "GRU" or cell.reset_after:
            self.h2h_bias = self.params.get("h2h_bias", shape=(size,), init="zeros")

    def hybrid_forward(self, F: Any, x: Any, *more: Any, **parameters: Any) -> Any:
        flow, mask = self.flow, None
        steps = F.swapaxes(x, dim1=0, dim2=1)
        if flow.masked:
            mask = as_boolean(F, F.transpose(more[0]))
            for _ in range(self._rank - 2):
                mask = F.expand_dims(mask, axis=-1)
        if flow.backwards:
            steps, mask = _reversed(F, steps, 0), None if mask is None else flip(F, mask, (0,))
        states = more[flow.masked :]
        outputs, last = self._run(F, steps, states, mask, parameters)
        y = last[0]
        if mask is not None and (flow.zeros or states):
            # Before the first step that counts, Keras returns zeros, and not the initial states.
            shown = mask if flow.zeros else F.cumsum(mask, axis=0) > 0
            outputs = F.broadcast_mul(outputs, shown)
            y = F.squeeze(F.slice_axis(outputs, axis=0, begin=-1, end=None), axis=0)
        y = F.swapaxes(outputs, dim1=0, dim2=1) if flow.sequences else y
        return [y, *last * flow.states] if flow.states else y

    def _run(
        self, F: Any, steps: Any, states: Sequence[Any], mask: Any, parameters: Dict[str, Any]
    ) -> Tuple[Any, List[Any]]:
        """Return the states h after all steps, and the last states, for data with the time first."""
        weights = [parameters[f"{part}_weight"] for part in ("i2h", "h2h")]
        biases = [parameters.get(f"{part}_bias") for part in ("i2h", "h2h")]
        y, last = recurrent(F, steps, self.cell, Weights(*weights, *biases), states, mask)
        return y, list(last)


class ConvRecurrent(Recurrent):
    """Convolutional LSTM for data of shape (batch, time, channels, ...).

    Parameters
    ----------
    cell : Cell
        With filters as units.
    i2h, h2h : HybridBlock
        Convolutions of the data and of the states, with four times as many filters.
    """

    def __init__(self, cell: Cell, i2h: Any, h2h: Any, dropout: bool, prefix: Optional[str] = None):
        super().__init__(cell, 0, dropout=dropout, prefix=prefix)
        self.i2h, self.h2h = i2h, h2h
        self._rank = 3 + len(h2h._kwargs["kernel"])

    eager = True  # nets run this block outside of graphs

    def _add_parameters(self, cell: Cell, in_units: int) -> None:
        pass

    def hybrid_forward(self, F: Any, x: Any, *more: Any, **parameters: Any) -> Any:
        if F is mx.sym:
            _refuse_hybridized(self)
        y = self.i2h(F.reshape(x, shape=(-3, -2)))
        y = F.reshape_like(y, x, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
        return super().hybrid_forward(F, y, *more, **parameters)

    def _run(
        self, F: Any, steps: Any, states: Sequence[Any], mask: Any, parameters: Dict[str, Any]
    ) -> Tuple[Any, List[Any]]:
        if not states:
            first = F.squeeze(F.slice_axis(steps, axis=0, begin=0, end=1), axis=0)
            first = F.BlockGrad(F.slice_axis(first, axis=1, begin=0, end=self.cell.units))
            states = [first * 0 for _ in range(2)]  # the loop rejects duplicate states
        y, last = loop(F, steps, self.cell, Weights(None, self.h2h), states, mask)
        return y, list(last)


def _reversed(F: Any, x: Any, axis: int) -> Any:
    """Reverse one of the first axes of an array of more axes than MXNet's slice takes."""
    rows = F.reshape(x, shape=(*[0] * (axis + 1), -1))
    return F.reshape_like(flip(F, rows, (axis,)), x)


def _refuse_hybridized(block: HybridBlock) -> None:
    """Raise a ValueError if a hybridized block is being traced, whose graph would be wrong."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code is HybridBlock._build_cache.__code__:
            outer = frame.f_locals["self"].name
            raise ValueError(
                f"{outer} is hybridized and contains {block.name}, a convolutional LSTM, which MXNet's "
                f"graphs compute wrong: call hybridize(False) on {outer}, and hybridize() on the net "
                "from load_model, which keeps this layer outside of graphs"
            )
        frame = frame.f_back  # type: ignore[assignment]


class Stack(HybridBlock):
    """Recurrent layers, each of which processes the outputs of all steps of the one before.

    Parameters
    ----------
    cells : sequence of Recurrent
    """

    def __init__(self, cells: Sequence[Recurrent], prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self.cells = list(cells)
        for i, cell in enumerate(cells):
            self.register_child(cell, f"cell{i}")
        self.sizes = [n for cell in cells for n in cell.sizes]
        self.dropout = any(cell.dropout for cell in cells)

    @property
    def flow(self) -> Flow:
        return self._flow

    @flow.setter
    def flow(self, flow: Flow) -> None:
        self._flow = flow
        inner = Flow(sequences=True, states=int(flow.states > 0), masked=flow.masked)
        for cell in self.cells:
            cell.flow = inner
        self.cells[-1].flow = inner._replace(sequences=flow.sequences, zeros=flow.zeros)

    def hybrid_forward(self, F: Any, x: Any, *more: Any) -> Any:
        flow = self.flow
        last: List[Any] = []
        mask, states = list(more[: flow.masked]), list(more[flow.masked :])
        if flow.backwards:
            x, mask = flip(F, x, (1,)), [flip(F, each, (1,)) for each in mask]
        for cell in self.cells:
            count = len(cell.sizes)
            own, states = states[:count], states[count:]
            x, *after = flat(cell(x, *mask, *own))
            last += after
        return [x, *last * flow.states] if flow.states else x


class Bidirectional(HybridBlock):
    """Two recurrent layers, one of which processes the data in reverse.

    Parameters
    ----------
    forward_layer, backward_layer : Recurrent or Stack
    mode : {'concat', 'sum', 'ave', 'mul', None}
        How to combine the outputs; None returns both.
    states : int
        How often to return the final states as well.
    axis : int
        Axis of the channels.
    """

    def __init__(
        self,
        forward_layer: Any,
        backward_layer: Any,
        mode: Optional[str],
        states: int = 0,
        axis: int = -1,
        prefix: Optional[str] = None,
    ):
        super().__init__(prefix=prefix)
        self.forward_layer = forward_layer
        self.backward_layer = backward_layer
        self._mode, self._states, self._axis = mode, states, axis

    def hybrid_forward(self, F: Any, x: Any, *more: Any) -> Any:
        flow = self.forward_layer.flow
        mask, states = more[: flow.masked], more[flow.masked :]
        half = len(states) // 2
        one, *last = flat(self.forward_layer(x, *mask, *states[:half]))
        other, *others = flat(self.backward_layer(x, *mask, *states[half:]))
        if flow.sequences:
            other = _reversed(F, other, 1)
        outputs = [one, other] if self._mode is None else [self._merged(F, one, other)]
        outputs += [*last, *others] * self._states
        return outputs if len(outputs) > 1 else outputs[0]

    def _merged(self, F: Any, one: Any, other: Any) -> Any:
        if self._mode == "concat":
            return F.concat(one, other, dim=self._axis)
        y = pairwise(F, "multiply" if self._mode == "mul" else "add", one, other, even=True)
        return y * 0.5 if self._mode == "ave" else y
