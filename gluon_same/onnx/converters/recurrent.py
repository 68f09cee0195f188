"""Recurrent layers."""

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from ...importing import functions
from ...importing.functions.recurrent import ACTIVATIONS, GATES, Activation, Cell
from ...importing.net import fits
from ..registry import converter
from ..values import Data, Unsupported

_BACKWARDS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


class _Kind(NamedTuple):
    """Activation of ONNX."""

    function: Any
    names: Tuple[str, ...] = ()  # names of alpha and beta in the function
    defaults: Tuple[float, ...] = ()


_ACTIVATIONS = {
    "affine": _Kind(functions.linear, ("scale", "offset"), (1.0, 0.0)),
    "elu": _Kind(functions.elu, ("alpha",), (1.0,)),
    "hardsigmoid": _Kind(functions.clipped_linear, ("scale", "offset"), (0.2, 0.5)),
    "leakyrelu": _Kind(functions.leaky_relu, ("slope",), (0.01,)),
    "relu": _Kind("relu"),
    "scaledtanh": _Kind(functions.scaled_tanh, ("alpha", "beta"), (1.0, 1.0)),
    "sigmoid": _Kind("sigmoid"),
    "softplus": _Kind(functions.softplus),
    "softsign": _Kind(functions.softsign),
    "tanh": _Kind("tanh"),
    "thresholdedrelu": _Kind(functions.thresholded_relu, ("theta",), (1.0,)),
}


@converter("LSTM", 7)
def lstm(
    net: Any, x: Data, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    initial_c: Any = None, p: Any = None, *, activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (), activations: Sequence[str] = (), clip: float = 0.0,
    direction: str = "forward", hidden_size: int = 0, input_forget: int = 0, layout: int = 0,
) -> List[Data]:  # fmt: skip
    cells = _cells("LSTM", r, direction, activations, activation_alpha, activation_beta)
    cells = [cell._replace(clip=clip, coupled=bool(input_forget)) for cell in cells]
    more = {"bias": b, "lengths": sequence_lens, "h": initial_h, "c": initial_c, "peepholes": p}
    return _recurrent(net, (x, w, r), more, cells, direction, (hidden_size, layout))


@converter("GRU", 7)
def gru(
    net: Any, x: Data, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    *, activation_alpha: Sequence[float] = (), activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (), clip: float = 0.0, direction: str = "forward",
    hidden_size: int = 0, layout: int = 0, linear_before_reset: int = 0,
) -> List[Data]:  # fmt: skip
    cells = _cells("GRU", r, direction, activations, activation_alpha, activation_beta)
    cells = [cell._replace(clip=clip, reset_after=bool(linear_before_reset)) for cell in cells]
    more = {"bias": b, "lengths": sequence_lens, "h": initial_h}
    return _recurrent(net, (x, w, r), more, cells, direction, (hidden_size, layout))


@converter("RNN", 7)
def rnn(
    net: Any, x: Data, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    *, activation_alpha: Sequence[float] = (), activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (), clip: float = 0.0, direction: str = "forward",
    hidden_size: int = 0, layout: int = 0,
) -> List[Data]:  # fmt: skip
    cells = _cells("RNN", r, direction, activations, activation_alpha, activation_beta)
    cells = [cell._replace(clip=clip) for cell in cells]
    more = {"bias": b, "lengths": sequence_lens, "h": initial_h}
    return _recurrent(net, (x, w, r), more, cells, direction, (hidden_size, layout))


def _recurrent(net, operands, more, cells, direction, options):
    (x, w, r), (hidden_size, layout) = operands, options
    given = {name: value for name, value in more.items() if value is not None}
    units = cells[0].units
    gates = GATES[cells[0].kind]
    shapes: List[Any] = [(w, (len(cells), gates * units, None)), (r, (len(cells), gates * units, units))]
    shapes += [(given["bias"], (len(cells), 2 * gates * units))] if "bias" in given else []
    if not all(fits(each.shape, wanted) for each, wanted in shapes):
        raise Unsupported(f"its weights have shapes {[each.shape for each, _ in shapes]}")
    if hidden_size not in (0, units) or x.ndim != 3:
        raise Unsupported(f"its hidden_size={hidden_size} with weights of shape {r.shape}")
    return net.call(
        functions.onnx_recurrent, x, w, r, *given.values(), cells=tuple(cells), given=tuple(given),
        backwards=_BACKWARDS[direction], batch_first=bool(layout), dtype=x.dtype, scalar=False,
        outputs=3 if cells[0].kind == "LSTM" else 2,
    )  # fmt: skip


def _cells(kind, r, direction, activations, alphas, betas) -> List[Cell]:
    """Return the cell of each direction."""
    if direction not in _BACKWARDS:
        raise Unsupported(f"its direction={direction!r} is not known")
    count, size = len(_BACKWARDS[direction]), len(ACTIVATIONS[kind])
    if r.ndim != 3 or None in r.shape:
        raise Unsupported(f"its recurrence weights have shape {r.shape}")
    names = list(activations) or [str(name) for name, _ in ACTIVATIONS[kind]] * count
    if len(names) != count * size:
        raise Unsupported(f"its activations={names} are not {size} for each direction")
    left = {"alpha": list(alphas), "beta": list(betas)}
    found = [_activation(name, left) for name in names]
    if any(left.values()):
        raise Unsupported(f"its activations={names} do not use {left}")
    parts = [tuple(found[i : i + size]) for i in range(0, len(found), size)]
    return [Cell(kind, r.shape[2], part) for part in parts]


def _activation(name: str, left: Dict[str, List[float]]) -> Activation:
    """Return an activation with the next parameters of the node that are left for it."""
    if name.lower() not in _ACTIVATIONS:
        raise Unsupported(f"its activation {name!r} is not known")
    function, names, defaults = _ACTIVATIONS[name.lower()]
    pairs = zip(left.values(), defaults)
    values = [numbers.pop(0) if numbers else default for numbers, default in pairs]
    return function, dict(zip(names, values))
