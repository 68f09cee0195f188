"""Blocks of recurrent layers."""

from typing import Any, NamedTuple, Optional, Tuple

from mxnet.gluon import HybridBlock

from ...importing.functions import pairwise

#: Number of gates, by layer.
GATES = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}


class Cell(NamedTuple):
    """Computation of a recurrent layer at each step."""

    kind: str  # 'LSTM', 'GRU' or 'SimpleRNN'
    units: int
    in_units: int
    fused: Optional[str]  # mode of MXNet's operator; None for a loop over the steps
    activations: Tuple[Optional[HybridBlock], ...]  # of the state and of the gates, for the loop
    reset_after: bool  # whether a GRU applies the reset gate after the product with its weights


class Recurrent(HybridBlock):
    """LSTM, GRU or simple recurrent layer for data of shape (batch, time, channels).

    Parameters
    ----------
    cell : Cell
    backwards : bool
        Whether to process the data in reverse.
    sequences : bool
        Whether to return the outputs of all steps, in the order of processing.
    states : bool
        Whether to return the final states as well.
    """

    def __init__(
        self,
        cell: Cell,
        backwards: bool = False,
        sequences: bool = False,
        states: bool = False,
        prefix: Optional[str] = None,
    ):
        super().__init__(prefix=prefix)
        self._kind, self._units, in_units, self._fused, activations, self._reset_after = cell
        self._gates = GATES[cell.kind]
        self._backwards, self._sequences, self._states = backwards, sequences, states
        size = self._gates * cell.units
        with self.name_scope():
            for part, columns in (("i2h", in_units), ("h2h", cell.units)):
                name = f"{part}_weight"
                setattr(self, name, self.params.get(name, shape=(size, columns)))
            self.i2h_bias = self.params.get("i2h_bias", shape=(size,), init="zeros")
            self.h2h_bias = None
            if cell.kind != "GRU" or cell.reset_after:
                self.h2h_bias = self.params.get("h2h_bias", shape=(size,), init="zeros")
            self.activation, self.gate = activations

    def hybrid_forward(self, F: Any, x: Any, *states: Any, **parameters: Any) -> Any:
        steps = F.swapaxes(x, dim1=0, dim2=1)
        if self._backwards:
            steps = F.reverse(steps, axis=0)
        if not states:
            # Zeros from a FullyConnected, whose gradient is not needed, crash MXNet outside of graphs.
            column = F.squeeze(F.slice(steps, begin=(0, None, 0), end=(1, None, 1)), axis=0)
            # Each state is a separate node because the loop rejects duplicate states.
            states = tuple(
                F.repeat(F.zeros_like(column), repeats=self._units, axis=1)
                for _ in range(2 if self._kind == "LSTM" else 1)
            )
        run = self._run_fused if self._fused else self._run_steps
        outputs, last = run(F, steps, states, **parameters)
        y = F.swapaxes(outputs, dim1=0, dim2=1) if self._sequences else last[0]
        return [y, *last] if self._states else y

    def _run_fused(self, F, steps, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        parts = [F.reshape(each, (-1,)) for each in (i2h_weight, h2h_weight, i2h_bias, h2h_bias)]
        parameters = F.concat(*parts, dim=0)
        outputs, *last = F.RNN(
            steps,
            parameters,
            *(F.expand_dims(state, axis=0) for state in states),
            state_size=self._units,
            num_layers=1,
            mode=self._fused,
            state_outputs=True,
        )
        return outputs, [F.squeeze(state, axis=0) for state in last]

    def _run_steps(self, F, steps, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias=None):
        size = self._gates * self._units
        inputs = F.FullyConnected(steps, i2h_weight, i2h_bias, num_hidden=size, flatten=False)
        step = {"LSTM": self._lstm, "GRU": self._gru, "SimpleRNN": self._simple}[self._kind]

        def one(x, states):
            new = step(F, x, states, h2h_weight, h2h_bias)
            return new[0], new

        return F.contrib.foreach(one, inputs, list(states))

    def _lstm(self, F, x, states, weight, bias):
        h, c = states
        gates = x + F.FullyConnected(h, weight, bias, num_hidden=4 * self._units)
        i, f, g, o = F.split(gates, num_outputs=4, axis=1)
        c = _apply(self.gate, f) * c + _apply(self.gate, i) * _apply(self.activation, g)
        return [_apply(self.gate, o) * _apply(self.activation, c), c]

    def _gru(self, F, x, states, weight, bias):
        (h,) = states
        xr, xz, xn = F.split(x, num_outputs=3, axis=1)
        if self._reset_after:
            hidden = F.FullyConnected(h, weight, bias, num_hidden=3 * self._units)
            hr, hz, hn = F.split(hidden, num_outputs=3, axis=1)
            r, z = _apply(self.gate, xr + hr), _apply(self.gate, xz + hz)
            n = _apply(self.activation, xn + r * hn)
        else:
            wr, wz, wn = F.split(weight, num_outputs=3, axis=0)
            own = dict(no_bias=True, num_hidden=self._units)
            r = _apply(self.gate, xr + F.FullyConnected(h, wr, **own))
            z = _apply(self.gate, xz + F.FullyConnected(h, wz, **own))
            n = _apply(self.activation, xn + F.FullyConnected(r * h, wn, **own))
        return [z * h + (1 - z) * n]

    def _simple(self, F, x, states, weight, bias):
        (h,) = states
        y = x + F.FullyConnected(h, weight, bias, num_hidden=self._units)
        return [_apply(self.activation, y)]


class Bidirectional(HybridBlock):
    """Two recurrent layers, one of which processes the data in reverse.

    Parameters
    ----------
    forward_layer, backward_layer : Recurrent
    mode : {'concat', 'sum', 'ave', 'mul'}
        How to combine the outputs.
    """

    def __init__(
        self,
        forward_layer: Recurrent,
        backward_layer: Recurrent,
        mode: str,
        prefix: Optional[str] = None,
    ):
        super().__init__(prefix=prefix)
        self.forward_layer = forward_layer
        self.backward_layer = backward_layer
        self._mode = mode

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        one, other = self.forward_layer(x), self.backward_layer(x)
        if self.forward_layer._sequences:
            other = F.reverse(other, axis=1)
        if self._mode == "concat":
            return F.concat(one, other, dim=-1)
        y = pairwise(F, "multiply" if self._mode == "mul" else "add", one, other, even=True)
        return y * 0.5 if self._mode == "ave" else y


def _apply(block: Optional[HybridBlock], x: Any) -> Any:
    return x if block is None else block(x)
