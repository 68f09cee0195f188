"""Recurrent layers."""

from typing import Any, Dict, List, Literal, NamedTuple, Sequence, Tuple

from ...importing import functions
from ...importing.functions.recurrent import ACTIVATIONS, GATES, Activation, Cell
from ...importing.net import fits
from ..registry import converter
from ..values import Data, Flag, Unsupported

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


class Attributes(NamedTuple):
    """Attributes that all recurrent layers have."""

    activation_alpha: Sequence[float] = ()
    activation_beta: Sequence[float] = ()
    activations: Sequence[str] = ()
    clip: float = 0.0
    direction: Literal["forward", "reverse", "bidirectional"] = "forward"
    hidden_size: int = 0
    layout: int = 0


@converter("LSTM", 7)
def lstm(
    net: Any, x: Data, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    initial_c: Any = None, p: Any = None, *, input_forget: Flag = 0, **own: Attributes,
) -> List[Data]:  # fmt: skip
    more = {"bias": b, "lengths": sequence_lens, "h": initial_h, "c": initial_c, "peepholes": p}
    return _recurrent(net, "LSTM", (x, w, r), more, own, coupled=bool(input_forget))


@converter("GRU", 7)
def gru(
    net: Any, x: Data, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    *, linear_before_reset: Flag = 0, **own: Attributes,
) -> List[Data]:  # fmt: skip
    more = {"bias": b, "lengths": sequence_lens, "h": initial_h}
    return _recurrent(net, "GRU", (x, w, r), more, own, reset_after=bool(linear_before_reset))


@converter("RNN", 7)
def rnn(
    net: Any, x: Data, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
    **own: Attributes,
) -> List[Data]:  # fmt: skip
    return _recurrent(net, "RNN", (x, w, r), {"bias": b, "lengths": sequence_lens, "h": initial_h}, own)


def _recurrent(net, kind, operands, more, attributes, **options):
    (x, w, r), own = operands, Attributes(**attributes)
    cells = [cell._replace(clip=own.clip, **options) for cell in _cells(kind, r, own)]
    given = {name: value for name, value in more.items() if value is not None}
    units, gates = cells[0].units, GATES[kind]
    shapes: List[Any] = [(w, (len(cells), gates * units, None)), (r, (len(cells), gates * units, units))]
    shapes += [(given["bias"], (len(cells), 2 * gates * units))] if "bias" in given else []
    if not all(fits(each.shape, wanted) for each, wanted in shapes):
        raise Unsupported(f"its weights have shapes {[each.shape for each, _ in shapes]}")
    if own.hidden_size not in (0, units) or x.ndim != 3:
        raise Unsupported(f"its hidden_size={own.hidden_size} with weights of shape {r.shape}")
    return net.call(
        functions.onnx_recurrent, x, w, r, *given.values(), cells=tuple(cells), given=tuple(given),
        backwards=_BACKWARDS[own.direction], batch_first=bool(own.layout), dtype=x.dtype, scalar=False,
        outputs=3 if kind == "LSTM" else 2,
    )  # fmt: skip


def _cells(kind: str, r: Any, own: Attributes) -> List[Cell]:
    """Return the cell of each direction."""
    count, size = len(_BACKWARDS[own.direction]), len(ACTIVATIONS[kind])
    if r.ndim != 3 or None in r.shape:
        raise Unsupported(f"its recurrence weights have shape {r.shape}")
    names = list(own.activations) or [str(name) for name, _ in ACTIVATIONS[kind]] * count
    if len(names) != count * size:
        raise Unsupported(f"its activations={names} are not {size} for each direction")
    left = {"alpha": list(own.activation_alpha), "beta": list(own.activation_beta)}
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
