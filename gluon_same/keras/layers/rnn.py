"""Blocks of recurrent layers."""

from typing import Any, NamedTuple, Optional, Tuple, Union

from mxnet.gluon import HybridBlock

from ...importing.functions import pairwise, recurrent
from ...importing.functions.recurrent import ACTIVATIONS, GATES, Cell, Weights


class Layer(NamedTuple):
    """A recurrent layer of Keras."""

    kind: str  # 'LSTM', 'GRU' or 'RNN'
    units: int
    in_units: int
    #: Activations of the states and of the gates: blocks, names of operators, or None for linear ones.
    activations: Tuple[Union[HybridBlock, str, None], ...] = ("tanh", "sigmoid")
    reset_after: bool = False  # whether a GRU applies the reset gate after the product with its weights

    @property
    def gates(self) -> int:
        return GATES[self.kind]


class Recurrent(HybridBlock):
    """LSTM, GRU or simple recurrent layer for data of shape (batch, time, channels).

    Parameters
    ----------
    layer : Layer
    backwards : bool
        Whether to process the data in reverse.
    sequences : bool
        Whether to return the outputs of all steps, in the order of processing.
    states : bool
        Whether to return the final states as well.
    """

    def __init__(
        self,
        layer: Layer,
        backwards: bool = False,
        sequences: bool = False,
        states: bool = False,
        prefix: Optional[str] = None,
    ):
        super().__init__(prefix=prefix)
        self._layer = layer._replace(activations=())  # which are children
        self._units = layer.units
        self._backwards, self._sequences, self._states = backwards, sequences, states
        size = layer.gates * layer.units
        with self.name_scope():
            for part, columns in (("i2h", layer.in_units), ("h2h", layer.units)):
                name = f"{part}_weight"
                setattr(self, name, self.params.get(name, shape=(size, columns)))
            self.i2h_bias = self.params.get("i2h_bias", shape=(size,), init="zeros")
            self.h2h_bias = None
            if layer.kind != "GRU" or layer.reset_after:
                self.h2h_bias = self.params.get("h2h_bias", shape=(size,), init="zeros")
            self.activation, self.gate = layer.activations

    def hybrid_forward(self, F: Any, x: Any, *states: Any, **parameters: Any) -> Any:
        steps = F.swapaxes(x, dim1=0, dim2=1)
        if self._backwards:
            steps = F.reverse(F.identity(steps), axis=0)  # reverse alone ignores grad_req='add'
        weights = [parameters[f"{part}_weight"] for part in ("i2h", "h2h")]
        biases = [parameters.get(f"{part}_bias") for part in ("i2h", "h2h")]
        outputs, last = recurrent(F, steps, self._cell(), Weights(*weights, *biases), states)
        y = F.swapaxes(outputs, dim1=0, dim2=1) if self._sequences else last[0]
        return [y, *last] if self._states else y

    def _cell(self):
        kind, units = self._layer.kind, self._units
        new = _called(self.activation)
        count = len(ACTIVATIONS[kind])
        activations = (_called(self.gate), new, new)[:count] if count > 1 else (new,)
        return Cell(kind, units, activations, self._layer.reset_after)


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
            other = F.reverse(F.identity(other), axis=1)
        if self._mode == "concat":
            return F.concat(one, other, dim=-1)
        y = pairwise(F, "multiply" if self._mode == "mul" else "add", one, other, even=True)
        return y * 0.5 if self._mode == "ave" else y


def _called(given):
    """Return an activation as a function of ``F`` and an array."""
    if isinstance(given, str):
        return given, {}
    return (lambda F, x: x if given is None else given(x)), {}
