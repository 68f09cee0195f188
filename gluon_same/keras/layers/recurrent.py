"""Builders of recurrent layers, unidirectional and bidirectional."""

from typing import Any, Callable, Optional, Sequence, Tuple

import numpy as np

from ..arguments import Unsupported
from ..values import Shape, Value
from .activations import activation
from .registry import Lowered, Request, builds, inner_request, inside, of_rank, within
from .rnn import Bidirectional, Layer, Recurrent
from .weight import Weight

_KINDS = {"LSTM": "LSTM", "GRU": "GRU", "SimpleRNN": "RNN"}

#: Activations that MXNet's recurrent operators have.
_FUSED = ("tanh", "sigmoid", "relu")

_CUDNN = ("CuDNNLSTM", "CuDNNGRU")


@builds(*_KINDS, *_CUDNN)
def _recurrent(request: Request, x: Value, *states: Value) -> Lowered:
    arguments = request.arguments
    channels = of_rank(x, 3).channels
    if not channels:
        raise ValueError("the channels of its input are not known")
    count = 2 if "LSTM" in request.class_name else 1
    if states and (len(states) != count or any(state.rank != 2 for state in states)):
        raise ValueError(f"initial states of shapes {[state.shape for state in states]}")
    arguments.only(stateful=False, time_major=False)
    arguments.ignore("unroll", "unit_forget_bias", "use_cudnn")
    rates = [arguments.number(name, 0) for name in ("dropout", "recurrent_dropout")]
    layer = _layer(request, channels)
    block = Recurrent(
        layer,
        arguments.flag("go_backwards", False),
        arguments.flag("return_sequences", False),
        arguments.flag("return_state", False),
        prefix=request.prefix,
    )
    return Lowered(
        block,
        (0, 1, 2) if block._sequences else (0, 1),
        ((0, 1, 2), *((0, 1) for _ in states)),
        _rule(block, block._units),
        _weights(block, layer, request.class_name in _CUDNN, arguments.flag("use_bias", True)),
        more_axes=((0, 1),) * count if block._states else (),
        inference_only=any(rates),
    )


@builds("Bidirectional")
def _bidirectional(request: Request, x: Value) -> Lowered:
    arguments = request.arguments
    mode = arguments.word("merge_mode", ("concat", "sum", "ave", "mul"), "concat")
    inner = arguments.get("layer")
    backward = arguments.get("backward_layer", None)
    parts = []
    for name, given in (("forward", inner), ("backward", backward or inner)):
        own = inner_request(request, given, (*_KINDS, *_CUDNN))
        own.arguments.only(return_state=False)
        part = _recurrent(within(own, name), x)
        own.arguments.finish()
        parts.append(part._replace(weights=inside(f"{name}_layer", part.weights)))
    one, other = (part.block for part in parts)
    if not backward:
        other._backwards = not other._backwards
    if one._units != other._units or one._sequences != other._sequences:
        raise Unsupported("layers that differ in units or return_sequences")
    block = Bidirectional(one, other, mode, prefix=request.prefix)
    rule = _rule(one, one._units * (2 if mode == "concat" else 1))
    return parts[0]._replace(
        block=block,
        rule=rule,
        weights=(*parts[0].weights, *parts[1].weights),
        inference_only=any(part.inference_only for part in parts),
    )


def _rule(block: Recurrent, units: int) -> Optional[Callable[..., Shape]]:
    """Return the rule of the output shape, because loops take long to trace; None with states."""
    return None if block._states else lambda shape, *_: (*shape[: 1 + block._sequences], units)


def _weights(block: Recurrent, layer: Layer, cudnn: bool, use_bias: bool) -> Tuple[Weight, ...]:
    """Return a recurrent layer's weights. Biases that Keras lacks are not trained."""
    size, both = layer.units * layer.gates, layer.reset_after or cudnn
    if block.h2h_bias is not None and not (use_bias and both):
        block.h2h_bias.grad_req = "null"
    if not use_bias:
        block.i2h_bias.grad_req = "null"
    part = "" if cudnn else "cell"
    i2h, h2h = (_assign_kernel(each, layer, cudnn) for each in (block.i2h_weight, block.h2h_weight))
    shape = (2 * size,) if cudnn else (2, size) if both else (size,)
    bias = Weight("bias", shape, _assign_bias(block, layer, both), part)
    return (
        Weight("kernel", (layer.in_units, size), i2h, part),
        Weight("recurrent_kernel", (layer.units, size), h2h, part),
        *([bias] if use_bias else []),
    )


def _layer(request: Request, in_units: int) -> Layer:
    arguments, kind = request.arguments, request.class_name
    units = arguments.whole("units")
    if kind in _CUDNN:
        kind = kind[len("CuDNN") :]
        return Layer(kind, units, in_units, reset_after=kind == "GRU")
    names = [arguments.get("activation", "tanh")]
    names.append(arguments.get("recurrent_activation", None) if kind != "SimpleRNN" else None)
    reset_after = kind == "GRU" and arguments.flag("reset_after", False)
    plain = request._replace(prefix=None)
    activations = tuple(
        _name_of(name) if _name_of(name) in _FUSED else activation(plain, name) for name in names
    )
    return Layer(_KINDS[kind], units, in_units, activations, reset_after)


def _assign_kernel(parameter: Any, layer: Layer, cudnn: bool) -> Callable[[np.ndarray], Sequence[Any]]:
    def assign(array):
        if not cudnn:
            return [(parameter, _reordered(array.T, layer.kind))]
        # Keras stores cuDNN's matrices, which equal MXNet's, with the shapes of its own matrices.
        gates = np.split(array, layer.gates, axis=1)
        joined = np.concatenate([gate.reshape((layer.units, -1)) for gate in gates])
        return [(parameter, _reordered(joined, layer.kind))]

    return assign


def _assign_bias(block: Recurrent, layer: Layer, both: bool) -> Callable[[np.ndarray], Sequence[Any]]:
    def assign(array):
        parameters = [block.i2h_bias, block.h2h_bias] if both else [block.i2h_bias]
        parts = array.reshape((len(parameters), -1))
        return [(parameter, _reordered(part, layer.kind)) for parameter, part in zip(parameters, parts)]

    return assign


def _reordered(array: np.ndarray, kind: str) -> np.ndarray:
    """Return a GRU's gates in MXNet's order: reset, update, new. Keras has update first."""
    if kind != "GRU":
        return array
    update, reset, new = np.split(array, 3)
    return np.concatenate([reset, update, new])


def _name_of(given: Any) -> Any:
    return given.get("config") if isinstance(given, dict) else given
