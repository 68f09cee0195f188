"""Recurrent layers as functions of ``F``, on MXNet's fused operator or a loop over the steps."""

from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from mxnet.gluon import HybridBlock

from ...arrays import foreach
from .indexing import element, gather_nd, indices_along, reverse_sequence, scatter_nd, select
from .rearranging import flip
from .shapes import as_boolean

#: A function or an operator of MXNet, with its arguments.
Activation = Tuple[Union[str, Callable[..., Any]], Dict[str, Any]]

#: Number of gates, by kind of layer. Gates are in MXNet's order: input, forget, new, output for an
#: LSTM; reset, update, new for a GRU.
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

#: Positions in ONNX of MXNet's gates and of an LSTM's peepholes.
_ONNX_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_ONNX_PEEPHOLES = (0, 2, 1)

#: Activations by default: of the gates, the new state, and the output of an LSTM.
ACTIVATIONS: Dict[str, Tuple[Activation, ...]] = {
    "LSTM": (("sigmoid", {}), ("tanh", {}), ("tanh", {})),
    "GRU": (("sigmoid", {}), ("tanh", {})),
    "RNN": (("tanh", {}),),
}

#: Modes of MXNet's operator that computes all steps.
_FUSED = {
    "lstm": ("LSTM", ACTIVATIONS["LSTM"]),
    "gru": ("GRU", ACTIVATIONS["GRU"]),
    "rnn_tanh": ("RNN", ACTIVATIONS["RNN"]),
    "rnn_relu": ("RNN", (("relu", {}),)),
}

#: Input whose sigmoid is 1, and 0 for its negative.
_SATURATING = 1e4

#: Signs of the inputs of gates with which steps keep the state of an LSTM or GRU, and no state grows.
_KEEP = {"LSTM": (-1, 1, 0, 0), "GRU": (0, 1, 0), "RNN": (-1,)}


class Cell(NamedTuple):
    """Computation of a recurrent layer at each step."""

    kind: str  # 'LSTM', 'GRU' or 'RNN'
    units: int
    activations: Tuple[Activation, ...]  # of the gates, the new state, and an LSTM's output
    reset_after: bool = False  # whether a GRU applies the reset gate after the product with its weights
    clip: float = 0  # limit of the inputs of activations, but an LSTM's output's, if positive
    coupled: bool = False  # whether the forget gate of an LSTM is 1 minus its input gate

    @property
    def fused(self) -> Optional[str]:
        """Return the mode of MXNet's operator that computes all steps, or None."""
        if self.clip or self.coupled or (self.kind == "GRU" and not self.reset_after):
            return None
        own = self.kind, tuple(self.activations)
        return next((mode for mode, each in _FUSED.items() if each == own), None)


def scaled_tanh(F: Any, x: Any, alpha: float, beta: float) -> Any:
    """Return ``alpha * tanh(beta * x)``."""
    return F.tanh(x * beta) * alpha


class Weights(NamedTuple):
    """Weights of a recurrent layer in one direction, as arrays or symbols."""

    i2h: Any  # of shape (gates * units, channels)
    h2h: Any  # of shape (gates * units, units); or a function of the states of an LSTM without i2h
    i2h_bias: Any = None
    h2h_bias: Any = None
    peepholes: Any = None  # (3 * units,): from the states of an LSTM to input, forget and output gate


def recurrent(
    F: Any, x: Any, cell: Cell, weights: Weights, states: Sequence[Any] = (), mask: Any = None
) -> Tuple[Any, List[Any]]:
    """Run a recurrent layer on data of shape (time, batch, channels).

    Parameters
    ----------
    x : NDArray or Symbol
    cell : Cell
    weights : Weights
    states : sequence, optional
        Initial states of shape (batch, units), zeros by default: h, or h and c of an LSTM.
    mask : NDArray or Symbol, optional
        Array of shape (time, batch, 1). Where it is 0, a step leaves the states as they are.

    Returns
    -------
    tuple
        The states h after all steps, of shape (time, batch, units), and a list of the last states.
    """
    size = GATES[cell.kind] * cell.units
    if not states:
        # Zeros from a FullyConnected, whose gradient is not needed, crash MXNet outside of graphs.
        column = F.squeeze(F.slice(x, begin=(0, None, 0), end=(1, None, 1)), axis=0)
        # Each state is a separate node because the loop rejects duplicate states.
        count = 2 if cell.kind == "LSTM" else 1
        states = [F.repeat(F.zeros_like(column), repeats=cell.units, axis=1) for _ in range(count)]
    if cell.fused and weights.peepholes is None:
        run = _fused if mask is None else partial(_masked, mask=mask)
        return run(F, x, cell, weights, states)
    inputs = dense(F, x, weights.i2h, weights.i2h_bias, size, flatten=False)
    return loop(F, inputs, cell, weights, states, mask)


def loop(
    F: Any, inputs: Any, cell: Cell, weights: Weights, states: Sequence[Any], mask: Any = None
) -> Tuple[Any, List[Any]]:
    """Run the steps of a recurrent layer whose inputs are multiplied by their weights already.

    As in :func:`recurrent`, but arrays of an LSTM may have more axes if ``weights.h2h`` is a function,
    such as a convolution, and the mask must broadcast with the states.
    """
    data = [inputs] if mask is None else [inputs, mask]

    def one(parts, states):
        new = _STEPS[cell.kind](F, cell, parts[0], states, weights)
        if mask is not None:
            new = [select(F, parts[1], after, before) for after, before in zip(new, states)]
        return new[0], new

    return foreach(F, one, data, list(states))


def _fused(F, x, cell, weights, states):
    none = F.reshape(F.zeros_like(F.slice_axis(weights.h2h, axis=1, begin=0, end=1)), shape=(-1,))
    biases = [none if bias is None else bias for bias in (weights.i2h_bias, weights.h2h_bias)]
    # MXNet concatenates rows up to 20 times as fast as vectors.
    parts = [F.reshape(each, shape=(-1, cell.units)) for each in (weights.i2h, weights.h2h, *biases)]
    states = [F.expand_dims(state, axis=0) for state in states]
    how = dict(mode=cell.fused, state_size=cell.units, num_layers=1, state_outputs=True)
    y, *last = F.RNN(x, F.reshape(F.concat(*parts, dim=0), shape=(-1,)), *states, **how)
    return y, [F.squeeze(state, axis=0) for state in last]


def _masked(F, x, cell, weights, states, mask):
    """Run the steps that count before the others, and return the states in the original order."""
    mask = as_boolean(F, F.BlockGrad(mask))
    steps, batch = (indices_along(F, mask, axis, 3, dtype="float32") for axis in range(2))
    batch, count = F.broadcast_like(batch, mask), F.cumsum(mask, axis=0)
    ends = F.slice_axis(count, axis=0, begin=-1, end=None)
    place = F.where(mask, count - 1, F.broadcast_add(ends, F.broadcast_sub(steps, count)))
    x = scatter_nd(F, x, F.concat(place, batch, dim=2), x, (3, 3), 2)
    rest = partial(
        F.SequenceMask, sequence_length=F.reshape(ends, shape=(-1,)), use_sequence_length=True
    )
    x = F.concat(rest(x), rest(F.zeros_like(F.slice_axis(x, axis=2, begin=0, end=1)), value=1), dim=2)
    # The state c of an LSTM is returned for the last step only, which must not change it.
    zero = F.zeros_like(F.slice(weights.h2h, begin=(0, 0), end=(cell.units, 1)))
    column = F.concat(*(zero + sign * _SATURATING for sign in _KEEP[cell.kind]), dim=0)
    i2h = F.concat(weights.i2h, column, dim=1)
    y, last = _fused(F, x, cell, weights._replace(i2h=i2h), states)
    y = F.concat(F.expand_dims(states[0], axis=0), y, dim=0)
    y = gather_nd(F, y, F.concat(count, batch, dim=2), (3, 3))
    return y, [element(F, y, -1, axis=0, drop=True), *last[1:]]


def dense(F: Any, x: Any, weight: Any, bias: Any, size: int, **arguments: Any) -> Any:
    """Apply a FullyConnected, which may have no bias."""
    given = (x, weight) if bias is None else (x, weight, bias)
    return F.FullyConnected(*given, num_hidden=size, no_bias=bias is None, **arguments)


def _lstm(F, cell, x, states, weights):
    h, c = states
    gate, new, out = (_activation(F, cell, i) for i in range(3))
    if weights.i2h is None:
        gates = x + weights.h2h(h)
    else:
        gates = x + dense(F, h, weights.h2h, weights.h2h_bias, 4 * cell.units)
    i, f, g, o = F.split(gates, num_outputs=4, axis=1)
    peepholes = weights.peepholes
    if peepholes is not None:
        from_i, from_f, from_o = F.split(F.reshape(peepholes, shape=(1, -1)), num_outputs=3, axis=1)
        i, f = i + F.broadcast_mul(c, from_i), f + F.broadcast_mul(c, from_f)
    i = gate(i)
    c = (1 - i if cell.coupled else gate(f)) * c + i * new(g)
    if peepholes is not None:
        o = o + F.broadcast_mul(c, from_o)
    return [gate(o) * out(c), c]


def _gru(F, cell, x, states, weights):
    (h,), weight, bias = states, weights.h2h, weights.h2h_bias
    gate, new = (_activation(F, cell, i) for i in range(2))
    xr, xz, xn = F.split(x, num_outputs=3, axis=1)
    if cell.reset_after:
        hr, hz, hn = F.split(dense(F, h, weight, bias, 3 * cell.units), num_outputs=3, axis=1)
        r, z = gate(xr + hr), gate(xz + hz)
        n = new(xn + r * hn)
    else:
        parts = F.split(weight, num_outputs=3, axis=0)
        biases = [None] * 3 if bias is None else F.split(bias, num_outputs=3, axis=0)
        r, z = (gate(a + dense(F, h, w, b, cell.units)) for a, w, b in zip((xr, xz), parts, biases))
        n = new(xn + dense(F, r * h, parts[2], biases[2], cell.units))
    return [z * h + (1 - z) * n]


def _rnn(F, cell, x, states, weights):
    (h,) = states
    return [_activation(F, cell, 0)(x + dense(F, h, weights.h2h, weights.h2h_bias, cell.units))]


_STEPS = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}


def _activation(F, cell, index):
    function, arguments = cell.activations[index]

    def apply(x):
        # ONNX's text does not say whether an LSTM's state is limited, too. In onnxruntime, it is not.
        x = F.clip(x, -cell.clip, cell.clip) if cell.clip and index < 2 else x
        if isinstance(function, str):
            return getattr(F, function)(x, **arguments)
        return function(x) if isinstance(function, HybridBlock) else function(F, x, **arguments)

    return apply


def onnx_recurrent(
    F: Any, x: Any, *arrays: Any, cells: Sequence[Cell], backwards: Sequence[bool], given: Sequence[str],
    batch_first: bool,
) -> List[Any]:  # fmt: skip
    """Run ONNX's LSTM, GRU or RNN, whose weights, states and outputs have an axis for the direction.

    Parameters
    ----------
    x, *arrays
        ONNX's inputs X, W, R, and those that ``given`` names.
    cells : sequence of Cell
        Cell of each direction.
    backwards : sequence of bool
        Whether a direction starts at the end of each sequence.
    given : sequence of str
        Names among 'bias', 'lengths', 'h', 'c' and 'peepholes'.
    batch_first : bool
        Whether the batch is the first axis of data and states.

    Returns
    -------
    list
        ONNX's outputs Y and Y_h, and Y_c of an LSTM.
    """
    more = dict(zip(("i2h", "h2h", *given), arrays))
    lengths, mask = more.pop("lengths", None), None
    if batch_first:
        x = F.swapaxes(x, dim1=0, dim2=1)
    if lengths is not None:
        ends = F.reshape(F.cast(lengths, dtype="int64"), shape=(1, -1, 1))
        mask = F.broadcast_lesser(indices_along(F, x, 0, 3), ends)
    directions = []
    for i, (cell, back) in enumerate(zip(cells, backwards)):
        places = {name: int(batch_first and name in "hc") for name in more}
        part = {name: element(F, each, i, places[name], drop=True) for name, each in more.items()}
        states = [part[name] for name in "hc" if name in part]
        if cell.kind == "LSTM" and len(states) == 1:
            states.insert("h" in part, F.zeros_like(states[0]))
        data = _reversed(F, x, lengths) if back else x
        y, last = recurrent(F, data, cell, _weights(F, cell.kind, part), states, mask)
        if mask is not None:  # onnxruntime returns zeros for sequences without steps
            reached = element(F, mask, 0, axis=0, drop=True)
            pairs = ((mask, y), *((reached, each) for each in last))
            y, *last = (select(F, kept, each, F.zeros_like(each)) for kept, each in pairs)
        y = _reversed(F, y, lengths) if back else y
        directions.append([F.swapaxes(y, dim1=0, dim2=1) if batch_first else y, *last])
    axes = (2, 1, 1) if batch_first else (1, 0, 0)
    return [F.stack(*parts, axis=axis) for axis, parts in zip(axes, zip(*directions))]


def _weights(F, kind, part):
    """Return weights in MXNet's order of gates."""
    order = _ONNX_GATES[kind]
    i2h, h2h = (_reordered(F, part[name], order) for name in ("i2h", "h2h"))
    biases = [None, None]
    if "bias" in part:
        both = F.split(part["bias"], num_outputs=2, axis=0)
        biases = [_reordered(F, bias, order) for bias in both]
    peepholes = part.get("peepholes")
    if peepholes is not None:
        peepholes = _reordered(F, peepholes, _ONNX_PEEPHOLES)
    return Weights(i2h, h2h, biases[0], biases[1], peepholes)


def _reordered(F, array, order):
    if len(order) == 1:
        return array
    gates = F.split(array, num_outputs=len(order), axis=0)
    return F.concat(*(gates[i] for i in order), dim=0)


def _reversed(F, x, lengths):
    return flip(F, x, (0,)) if lengths is None else reverse_sequence(F, x, lengths, time_first=True)
