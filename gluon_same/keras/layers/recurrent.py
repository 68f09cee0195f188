"""Builders of recurrent layers, unidirectional and bidirectional."""

from functools import partial
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ... import nn
from ...importing.functions.recurrent import ACTIVATIONS, GATES, Activation, Cell
from ..arguments import Unsupported
from ..graph import arrays_in, snake_case
from ..values import Shape, Value, masks_of, replaced, resized, sequence_axes, stored_shape
from .activations import activation
from .convolutions import Window
from .registry import BUILDERS, Lowered, Request, builds, inner_request, inside, of_rank, within
from .rnn import Bidirectional, ConvRecurrent, Flow, Recurrent, Stack
from .weight import Assignments, Weight, kernel_of, weight_of

_PLAIN = ("LSTM", "GRU", "SimpleRNN")

#: Activations that MXNet's recurrent operators have.
_FUSED = ("tanh", "sigmoid", "relu")

_CUDNN = ("CuDNNLSTM", "CuDNNGRU")
_CELLS = tuple(f"{kind}Cell" for kind in _PLAIN)
_KINDS = {
    name: name.replace("Cell", "").replace("CuDNN", "").replace("Simple", "")
    for name in (*_PLAIN, *_CUDNN, *_CELLS)
}
_CONVOLUTIONAL = ("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")


@builds(*_PLAIN, *_CUDNN)
def _recurrent(request: Request, x: Value, *states: Value) -> Lowered:
    return _lowered(request, of_rank(x, 3), states, *_cell(request, x.channels))


@builds("RNN")
def _rnn(request: Request, x: Value, *states: Value) -> Lowered:
    cell = inner_request(request, request.get("cell"), (*_CELLS, "StackedRNNCells"))
    make = _cell if cell.class_name in _CELLS else _stack
    block, weights = make(cell, of_rank(x, 3).channels)
    cell.finish()
    return _lowered(request, x, states, block, weights)


def _stack(request: Request, channels: Optional[int]) -> Tuple[Stack, List[Weight]]:
    """Return the block of a StackedRNNCells, and its weights."""
    blocks: List[Recurrent] = []
    weights: List[Weight] = []
    counts: Dict[str, int] = {}
    for i, given in enumerate(request.get("cells") or [None]):
        inner = within(inner_request(request, given, _CELLS), f"cell{i}")
        block, own = _cell(inner, channels)
        inner.finish()
        kind = snake_case(inner.class_name)
        count = counts[kind] = counts.get(kind, -1) + 1
        group = f"cell/cells/{kind}_{count}" if count else f"cell/cells/{kind}"
        weights += [weight._replace(part=group) for weight in own]
        blocks.append(block)
        channels = block.sizes[0]
    return Stack(blocks, prefix=request.prefix), weights


@builds("ConvLSTM{}D", ndims=(1, 2, 3))
def _conv_lstm(request: Request, x: Value, *states: Value, ndim: int) -> Lowered:
    shape, free = ((each[0], *each[2:]) for each in (of_rank(x, ndim + 3).shape, x.free))
    window = Window(request, x._replace(shape=shape, free=free, padding=None), ndim)
    filters, conv = request.whole("filters"), getattr(nn, f"Conv{ndim}D")
    last = window.order.index(ndim + 1)  # along which Keras applies softmax
    cell = Cell("LSTM", filters, _activations(request, "LSTM", "hard_sigmoid", last, ndim + 2))
    i2h = conv(4 * filters, **{**window.forward, "prefix": within(request, "i2h").prefix})
    how: Dict[str, Any] = dict(in_channels=filters, use_bias=False, prefix=within(request, "h2h").prefix)
    h2h = conv(4 * filters, window.kernel, padding="same", **how)
    weights = [kernel_of(i2h), kernel_of(h2h)._replace(role="recurrent_kernel")]
    weights += [] if i2h.bias is None else [weight_of("bias", i2h.bias)]
    weights = [weight._replace(part="cell") for weight in weights]
    block = ConvRecurrent(cell, i2h, h2h, _drops(request), prefix=request.prefix)
    return _lowered(request, x, states, block, weights, window)


def _lowered(
    request: Request,
    x: Value,
    states: Sequence[Value],
    block: Any,
    weights: Sequence[Weight],
    window: Optional[Window] = None,
) -> Lowered:
    """Return the result for a block, whose flow it sets."""
    given = (request.kwargs or {}).pop("initial_state", None)
    sizes, order = block.sizes, window.order if window else (0, 1)
    if given is not None and not list(arrays_in(given, Value)):
        raise Unsupported(f"initial_state={given!r}: only outputs of layers are supported")
    if states and (len(states) != len(sizes) or any(s.rank != len(order) for s in states)):
        raise ValueError(f"initial states of shapes {[state.shape for state in states]}")
    stateful, returned = (request.flag(name, False) for name in ("stateful", "return_state"))
    if stateful and states:
        raise Unsupported("stateful=True with initial states")
    # Keras 3 finds the mask of an input by itself only if the input is the only array.
    masks = masks_of([x]) if request.masked or not (states and request.keras3) else []
    if any(mask.rank != 2 for mask in masks):
        raise Unsupported(f"a mask of shape {masks[0].shape}")
    names = ("go_backwards", "return_sequences", "zero_output_for_mask")
    backwards, sequences, zeros = (request.flag(name, False) for name in names)
    zeros = zeros and not (window and not request.keras3)  # which Keras 2 ignores in ConvLSTM2D
    block.flow = Flow(backwards, sequences, returned + stateful, bool(masks), zeros)

    def last(shape: Shape) -> List[Shape]:
        if not window:
            return [(shape[0], n) for n in sizes]
        how = window.kernel, window.strides, window.dilation
        step = resized((shape[0], *shape[2:]), window.axes, window.size, *how)
        return [replaced(step, window.channel_axis, n) for n in sizes]

    def rule(shape: Shape, *_: Shape) -> Any:  # because loops take long to trace
        parts = last(shape)
        y = parts[-1]
        y = (y[0], shape[1], *y[1:]) if sequences else y
        return [y, *parts] if returned else y

    return Lowered(
        block,
        sequence_axes(order) if sequences else order,
        (sequence_axes(order), *((0, 1) for _ in masks), *(order for _ in states)),
        rule,
        tuple(weights),
        more_axes=(order,) * len(sizes) if returned else (),
        inputs=(x, *masks, *states),
        masks=(x.mask,) if sequences else (),
        states=tuple(stored_shape(order, s)[1:] for s in last(x.shape)) if stateful else (),
        inference_only=block.dropout,
    )


@builds("Bidirectional")
def _bidirectional(request: Request, x: Value, *states: Value) -> Lowered:
    half = len(states) // 2
    mode = request.get("merge_mode", "concat")
    if mode is not None:
        mode = request.word("merge_mode", ("concat", "sum", "ave", "mul"), "concat")
    inner, backward = request.get("layer"), request.get("backward_layer", None)
    parts, allowed = [], (*_PLAIN, *_CUDNN, "RNN", *_CONVOLUTIONAL)
    named = (("forward", inner, states[:half]), ("backward", backward or inner, states[half:]))
    for name, given, own in named:
        wrapped = within(inner_request(request, given, allowed), name)
        part = BUILDERS[wrapped.class_name](wrapped, x, *own)
        wrapped.finish()
        parts.append(part._replace(weights=inside(f"{name}_layer", part.weights)))
    one, other = parts
    blocks: List[Any] = [part.block for part in parts]
    flow, back = (block.flow for block in blocks)
    if not backward:
        back = back._replace(backwards=not back.backwards)
    alike = mode == "concat" or blocks[0].sizes == blocks[1].sizes
    if flow != back._replace(backwards=flow.backwards) or not alike:
        raise Unsupported("layers that differ in units or in what they return")
    for block, each in zip(blocks, (flow, back)):
        # Keras returns zeros for steps that do not count, except in a ConvLSTM2D of Keras 2.
        zeros = each.sequences and (request.keras3 or not isinstance(block, ConvRecurrent))
        block.flow = each._replace(states=min(each.states, 1), zeros=zeros)
    axes, first = one.axes or (), 1 + flow.masked
    axis = axes.index(len(axes) - 1)  # `concat` joins Keras' last axis in every data_format

    def rule(*shapes: Shape) -> Any:
        (y, *last), (z, *others) = (_listed(part.rule(*shapes)) for part in parts if part.rule)
        size = None if y[-1] is None or z[-1] is None else y[-1] + z[-1]
        joined = (*y[:-1], size) if mode == "concat" else y
        outputs = [*([y, z] if mode is None else [joined]), *last, *others]
        return outputs if len(outputs) > 1 else joined

    block = Bidirectional(blocks[0], blocks[1], mode, flow.states, axis, prefix=request.prefix)
    return one._replace(
        block=block,
        rule=rule,
        weights=(*one.weights, *other.weights),
        input_axes=(*one.input_axes, *other.input_axes[first:]),
        inputs=(*one.inputs, *other.inputs[first:]),
        more_axes=(*((axes,) if mode is None else ()), *one.more_axes, *other.more_axes),
        masks=(one.masks or ()) * (2 if mode is None else 1),
        states=(*one.states, *other.states),
        inference_only=one.inference_only or other.inference_only,
    )


def _listed(shapes: Any) -> List[Shape]:
    return shapes if isinstance(shapes, list) else [shapes]


def _cell(request: Request, channels: Optional[int]) -> Tuple[Recurrent, Sequence[Weight]]:
    """Return the block of a layer or cell, and its weights."""
    if not channels:
        raise ValueError("the channels of its input are not known")
    kind, cudnn = _KINDS[request.class_name], request.class_name in _CUDNN
    reset_after = kind == "GRU" and (cudnn or request.flag("reset_after", False))
    cell = Cell(kind, request.whole("units"), _activations(request, kind), reset_after)
    block = Recurrent(cell, channels, dropout=_drops(request), prefix=request.prefix)
    return block, _weights(block, channels, cudnn, request.flag("use_bias", True))


def _drops(request: Request) -> bool:
    """Return whether Keras drops inputs or states in training."""
    rates = [request.number(name, 0) for name in ("dropout", "recurrent_dropout")]
    return any(rates)


def _weights(block: Recurrent, channels: int, cudnn: bool, use_bias: bool) -> Tuple[Weight, ...]:
    """Return a recurrent layer's weights. Biases that Keras lacks are not trained."""
    cell = block.cell
    size, both = cell.units * GATES[cell.kind], cell.reset_after or cudnn
    if block.h2h_bias is not None and not (use_bias and both):
        block.h2h_bias.grad_req = "null"
    if not use_bias:
        block.i2h_bias.grad_req = "null"
    part = "" if cudnn else "cell"

    def assign(parameter: Any, array: np.ndarray) -> Assignments:
        if not cudnn:
            return [(parameter, _reordered(array.T, cell.kind))]
        # Keras stores cuDNN's matrices, which equal MXNet's, with the shapes of its own matrices.
        gates = np.split(array, GATES[cell.kind], axis=1)
        joined = np.concatenate([gate.reshape((cell.units, -1)) for gate in gates])
        return [(parameter, _reordered(joined, cell.kind))]

    def assign_bias(array: np.ndarray) -> Assignments:
        parameters = [block.i2h_bias, block.h2h_bias] if both else [block.i2h_bias]
        parts = array.reshape((len(parameters), -1))
        return [(p, _reordered(part, cell.kind)) for p, part in zip(parameters, parts)]

    names = ("kernel", channels, block.i2h_weight), ("recurrent_kernel", cell.units, block.h2h_weight)
    kernels = [Weight(name, (n, size), partial(assign, each), part) for name, n, each in names]
    shape = (2 * size,) if cudnn else (2, size) if both else (size,)
    return (*kernels, *[Weight("bias", shape, assign_bias, part)] * use_bias)


def _activations(
    request: Request, kind: str, gates: str = "sigmoid", axis: int = -1, rank: int = 0
) -> Tuple[Activation, ...]:
    """Return the activations of the gates, if there are any, the new state, and an LSTM's output."""
    plain, names = request.replace(prefix=None), {"activation": "tanh"}
    names.update({} if kind == "RNN" else {"recurrent_activation": gates})
    found: List[Any] = []
    for name, default in names.items():
        given = request.get(name, default)
        block = activation(plain, given, axis, rank)
        word = block._act_type if isinstance(block, nn.Activation) else ""
        found.append((word if word in _FUSED else block or "identity", {}))
    new, *gate = found
    return (*gate, new, new)[: len(ACTIVATIONS[kind])]


def _reordered(array: np.ndarray, kind: str) -> np.ndarray:
    """Return a GRU's gates in MXNet's order: reset, update, new. Keras has update first."""
    if kind != "GRU":
        return array
    update, reset, new = np.split(array, 3)
    return np.concatenate([reset, update, new])
