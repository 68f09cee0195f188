"""Recurrent layers, unidirectional and bidirectional."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
from mxnet.gluon import HybridBlock

from ..arguments import Arguments, Unsupported
from ..values import Shape, Value, keras_order
from .activations import activation
from .table import Built, Request, Weight, builds, of_rank

_GATES = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}

#: MXNet's recurrent operators, by layer, activation and recurrent activation.
_FUSED = {
    ("LSTM", "tanh", "sigmoid"): "lstm",
    ("GRU", "tanh", "sigmoid"): "gru",
    ("SimpleRNN", "tanh", None): "rnn_tanh",
    ("SimpleRNN", "relu", None): "rnn_relu",
}


class Recurrent(HybridBlock):
    """LSTM, GRU or simple recurrent layer for data of shape (batch, time, channels).

    Parameters
    ----------
    kind : {'LSTM', 'GRU', 'SimpleRNN'}
    units, in_units : int
    fused : str or None
        Mode of MXNet's operator; None for a loop over the steps.
    activations : tuple of HybridBlock or None
        Activations of the state and the gates, for the loop.
    reset_after : bool
        Whether a GRU applies the reset gate after the product with its weights.
    backwards : bool
        Whether to process the data in reverse.
    sequences : bool
        Whether to return the outputs of all steps, in the order of processing.
    states : bool
        Whether to return the final states as well.
    """

    def __init__(
        self,
        kind: str,
        units: int,
        in_units: int,
        fused: Optional[str],
        activations: Tuple[Optional[HybridBlock], ...],
        reset_after: bool = True,
        backwards: bool = False,
        sequences: bool = False,
        states: bool = False,
        prefix: Optional[str] = None,
    ):
        super().__init__(prefix=prefix)
        self._kind = kind
        self._units = units
        self._gates = _GATES[kind]
        self._fused = fused
        self._reset_after = reset_after
        self._backwards = backwards
        self._sequences = sequences
        self._states = states
        size = self._gates * units
        shapes: Dict[str, Tuple[int, ...]] = {
            "i2h_weight": (size, in_units),
            "h2h_weight": (size, units),
        }
        shapes.update(i2h_bias=(size,), h2h_bias=(size,))
        with self.name_scope():
            for name, shape in shapes.items():
                init = "zeros" if name.endswith("bias") else None
                setattr(self, name, self.params.get(name, shape=shape, init=init))
            self.activation, self.gate = activations

    def hybrid_forward(self, F: Any, x: Any, *states: Any, **parameters: Any) -> Any:
        steps = F.swapaxes(x, dim1=0, dim2=1)
        if self._backwards:
            steps = F.reverse(steps, axis=0)
        if not states:
            first = F.squeeze(F.slice_axis(steps, axis=0, begin=0, end=1), axis=0)
            like = F.FullyConnected(
                first, parameters["i2h_weight"], no_bias=True, num_hidden=self._gates * self._units
            )
            like = F.slice_axis(like, axis=1, begin=0, end=self._units)
            # Each state is a separate node because the loop rejects duplicate states.
            states = tuple(F.zeros_like(like) for _ in range(2 if self._kind == "LSTM" else 1))
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

    def _run_steps(self, F, steps, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
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
        if self._mode == "mul":
            return F.elemwise_mul(one, other)
        y = F.elemwise_add(one, other)
        return y * 0.5 if self._mode == "ave" else y


@builds("LSTM", "GRU", "SimpleRNN")
def _recurrent(request: Request, x: Value, *states: Value) -> Built:
    block, weights, noisy = _block(request, x, request.prefix)
    count = 2 if request.class_name == "LSTM" else 1
    if states and (len(states) != count or any(state.rank != 2 for state in states)):
        raise Unsupported(f"initial states of shapes {[state.shape for state in states]}")
    rule, order = _rule(block)

    def state_rule(shape: Shape, *_: Shape) -> Shape:
        return (shape[0], block._units)

    more = ((state_rule, (0, 1)),) * count if block._states else ()
    takes = (keras_order(3), *((0, 1) for _ in states))
    return Built(block, rule, order, takes, tuple(weights), more=more, inference_only=noisy)


@builds("Bidirectional")
def _bidirectional(request: Request, x: Value) -> Built:
    arguments = request.arguments
    mode = arguments.word("merge_mode", ("concat", "sum", "ave", "mul"), "concat")
    inner = arguments.get("layer")
    backward = arguments.get("backward_layer", None)
    blocks, weights, noisy = [], [], False
    for name, given in (("forward", inner), ("backward", backward or inner)):
        class_name, config = _layer_of(given)
        config["go_backwards"] = bool(config.get("go_backwards")) != (
            name == "backward" and not backward
        )
        own = request._replace(class_name=class_name, arguments=Arguments(config))
        own.arguments.only(return_state=False)
        block, found, drops = _block(own, x, f"{request.prefix}{name}_")
        own.arguments.finish()
        noisy = noisy or drops
        blocks.append(block)
        weights += [weight._replace(part=f"{name}_layer/cell") for weight in found]
    one, other = blocks
    if one._units != other._units or one._sequences != other._sequences:
        raise Unsupported("layers that differ in units or return_sequences")
    rule, order = _rule(one)

    def doubled(shape: Shape) -> Shape:
        shape = rule(shape)
        return (*shape[:-1], 2 * one._units) if mode == "concat" else shape

    block = Bidirectional(one, other, mode, prefix=request.prefix)
    return Built(block, doubled, order, (keras_order(3),), tuple(weights), inference_only=noisy)


def _layer_of(given: Any) -> Tuple[str, dict]:
    class_name = given.get("class_name") if isinstance(given, dict) else None
    if class_name not in _GATES or not isinstance(given.get("config"), dict):
        raise Unsupported(f"a layer of class {class_name!r}, where LSTM, GRU or SimpleRNN is supported")
    return class_name, dict(given["config"])


def _block(request: Request, x: Value, prefix: str) -> Tuple[Recurrent, List[Weight], bool]:
    """Return a recurrent layer's block, its weights, and whether Keras applies dropout in training."""
    arguments, kind = request.arguments, request.class_name
    of_rank(x, 3)
    units, channels = arguments.whole("units"), x.channels
    if not channels:
        raise ValueError("the channels of its input are not known")
    arguments.only(stateful=False, time_major=False)
    arguments.ignore("unroll", "unit_forget_bias", "use_cudnn")
    use_bias = arguments.flag("use_bias", True)
    names = [arguments.get("activation", "tanh")]
    names.append(arguments.get("recurrent_activation", None) if kind != "SimpleRNN" else None)
    reset_after = kind == "GRU" and arguments.flag("reset_after", False)
    fused = _FUSED.get((kind, *map(_name_of, names))) if kind != "GRU" or reset_after else None
    block = Recurrent(
        kind,
        units,
        channels,
        fused,
        tuple(None if fused else activation(name, request.keras3) for name in names),
        reset_after,
        arguments.flag("go_backwards", False),
        arguments.flag("return_sequences", False),
        arguments.flag("return_state", False),
        prefix=prefix,
    )
    noisy = any(arguments.number(name, 0) for name in ("dropout", "recurrent_dropout"))
    size = units * _GATES[kind]
    weights = [
        Weight("kernel", (channels, size), _transposed_into(block.i2h_weight, kind), "cell"),
        Weight("recurrent_kernel", (units, size), _transposed_into(block.h2h_weight, kind), "cell"),
    ]
    if use_bias:
        put, shape = _put_bias(block, kind), (2, size) if reset_after else (size,)
        weights.append(Weight("bias", shape, put, "cell"))
    frozen = [block.h2h_bias] if use_bias and not reset_after else []
    for parameter in frozen if use_bias else (block.i2h_bias, block.h2h_bias):
        parameter.grad_req = "null"  # Keras has no such weight
    return block, weights, noisy


def _rule(block: Recurrent) -> Tuple[Callable[..., Shape], Tuple[int, ...]]:
    if block._sequences:
        return lambda shape, *_: (shape[0], shape[1], block._units), (0, 1, 2)
    return lambda shape, *_: (shape[0], block._units), (0, 1)


def _transposed_into(parameter: Any, kind: str) -> Callable[[np.ndarray], Sequence[Any]]:
    return lambda array: [(parameter, _reordered(array.T, kind))]


def _put_bias(block: Recurrent, kind: str) -> Callable[[np.ndarray], Sequence[Any]]:
    def put(array):
        if array.ndim == 1:
            return [(block.i2h_bias, _reordered(array, kind))]
        return [
            (block.i2h_bias, _reordered(array[0], kind)),
            (block.h2h_bias, _reordered(array[1], kind)),
        ]

    return put


def _reordered(array: np.ndarray, kind: str) -> np.ndarray:
    """Return a GRU's gates in MXNet's order: reset, update, new. Keras has update first."""
    if kind != "GRU":
        return array
    update, reset, new = np.split(array, 3)
    return np.concatenate([reset, update, new])


def _name_of(given: Any) -> Any:
    return given.get("config") if isinstance(given, dict) else given


def _apply(block: Optional[HybridBlock], x: Any) -> Any:
    return x if block is None else block(x)
