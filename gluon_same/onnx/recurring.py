"""Convert MXNet's recurrent layers to ONNX's."""

from typing import Any, Dict, Iterator, List, Tuple

from .windows import ALL
from .writer import Writer

#: ONNX's operator for each mode, where its gates are among MXNet's, and further attributes.
_MODES: Dict[str, Tuple[str, List[int], Dict[str, Any]]] = {
    "lstm": ("LSTM", [0, 3, 1, 2], {}),
    "gru": ("GRU", [1, 0, 2], {"linear_before_reset": 1}),
    "rnn_tanh": ("RNN", [0], {"activations": ["Tanh"]}),
    "rnn_relu": ("RNN", [0], {"activations": ["Relu"]}),
}


def recurrent(write: Writer) -> None:
    """Write an operator for each layer. MXNet has one for all, whose weights are one array."""
    given = write.attributes
    for name in ("projection_size", "lstm_state_clip_min", "lstm_state_clip_max"):
        if name in given:
            raise ValueError(f"ONNX has no {name}")
    if given.get("use_sequence_length"):
        raise ValueError("MXNet ignores its sequence_length on CPUs, and ONNX does not")
    x, _, *states = write.inputs
    states = [_state(write, i, x) for i in range(2, 2 + len(states))]
    operator, order, how = _MODES[given["mode"]]
    size, layers, directions = given["state_size"], given["num_layers"], 1
    if given.get("bidirectional"):
        directions, how = 2, {**how, "direction": "bidirectional"}
        how.update((key, 2 * value) for key, value in how.items() if key == "activations")

    found: List[List[str]] = [[] for _ in states]
    for i, weights in enumerate(_weights(write, order, layers, directions, size)):
        places = [i * directions], [(i + 1) * directions]
        first = [state and write("Slice", state, *places) for state in states]
        write(operator, x, *weights, "", *first, count=1 + len(states), hidden_size=size, **how)
        y, *last = write.nodes[-1].output
        for ends, end in zip(found, last):
            ends.append(end)
        x = write("Reshape", write("Transpose", y, perm=[0, 2, 1, 3]), [0, 0, directions * size])
    ends = [write("Concat", *each, axis=0) for each in found if given.get("state_outputs")]
    write.finish(x, *ends)


def _weights(
    write: Writer, order: List[int], layers: int, directions: int, size: int
) -> Iterator[Tuple[str, ...]]:
    """Yield the two matrices and the biases of each layer, with the gates in an order.

    All matrices come first. Places are counted from the end, because only the first matrix depends on
    the number of channels.
    """
    gates, rows = len(order), len(order) * size
    matrix, bias = directions * rows * (directions + 1) * size, directions * 2 * rows

    def take(begin, end, *shape):
        return write("Reshape", write("Slice", write.inputs[1], [begin], [end]), [directions, *shape])

    def ordered(y, axis, *shape):
        return write("Reshape", write("Gather", y, order, axis=axis), [directions, *shape])

    for left in range(layers, 0, -1):
        end = -layers * bias - (left - 1) * matrix
        both = take(0 if left == layers else end - matrix, end, -1)
        cut = -rows * size
        parts = [write("Slice", both, *places, [1]) for places in (([0], [cut]), ([cut], [ALL]))]
        parts = [write("Reshape", part, [directions, gates, size, -1]) for part in parts]
        biases = take(-left * bias, -(left - 1) * bias or ALL, 2, gates, size)
        yield (*(ordered(part, 1, rows, -1) for part in parts), ordered(biases, 2, 2 * rows))


def _state(write, i, x):
    """Return a first state of all samples; nothing if it is zero."""
    source, state = write.node["inputs"][i][0], write.inputs[i]
    if write.known["mx_graph"][source]["op"] == "_zeros":
        return ""
    shape, batch = write("Shape", state), write("Slice", write("Shape", x), [1], [2])
    parts = write("Slice", shape, [0], [1]), batch, write("Slice", shape, [2], [3])
    return write("Expand", state, write("Concat", *parts, axis=0))
