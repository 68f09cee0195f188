"""Convert operators of MXNet that pick, place and order elements to ONNX."""

from typing import Any, Callable, Dict

import numpy as np

from .windows import ALL
from .writer import Writer


def _whole_axis(write: Writer, axis: int) -> Any:
    """Return the size of an axis of the first input."""
    return write("Slice", write("Shape", write.inputs[0]), [axis], [axis + 1 or ALL])


def _int64(write: Writer, x: Any) -> Any:
    from onnx import TensorProto

    return write("Cast", x, to=TensorProto.INT64)


def _where(write: Writer) -> None:
    from onnx import TensorProto

    condition, x, y = write.inputs
    write("Where", write("Cast", condition, to=TensorProto.BOOL), x, y)
    write.dtypes = [write.given[1].dtype]


def _index_copy(write: Writer) -> None:
    old, places, new = write.inputs
    write("ScatterND", old, write("Reshape", _int64(write, places), [-1, 1]), new)


def _pick(write: Writer) -> None:
    """Pick an element along an axis, with indices that are clipped or wrapped."""
    x, index = write.inputs
    axis = write.attributes.get("axis", -1)
    index, size = _int64(write, index), _whole_axis(write, axis)
    if write.attributes.get("mode", "clip") == "wrap":
        index = write("Mod", index, size)
    else:
        index = write("Min", write("Max", index, [0]), write("Sub", size, [1]))
    if len(write.shape_of(1)) < len(write.shape_of(0)):
        index = write("Unsqueeze", index, [axis])
    y = write("GatherElements", x, index, axis=axis)
    if not write.attributes.get("keepdims", False):
        write("Squeeze", y, [axis])


def _sequence_reverse(write: Writer) -> None:
    x, lengths = write.inputs
    write("ReverseSequence", x, _int64(write, lengths), batch_axis=1, time_axis=0)


def _shape(write: Writer) -> None:
    write("Shape", write.inputs[0])
    write.dtypes = [np.dtype(np.int64)]


def _cumsum(write: Writer) -> None:
    x, axis = write.inputs[0], write.attributes.get("axis")
    write("CumSum", x if axis is not None else write("Reshape", x, [-1]), [axis or 0])


def _sort(write: Writer) -> None:
    x, axis = write.inputs[0], write.attributes.get("axis", -1)
    largest = int(not write.attributes.get("is_ascend", True))
    order = write("TopK", x, _whole_axis(write, axis), count=2, axis=axis, largest=largest)
    write("GatherElements", x, order, axis=axis)


def _mod_scalar(write: Writer) -> None:
    """Write the remainder of a division that rounds down, which ONNX has for integers only."""
    x, number = write.inputs[0], float(write.attributes["scalar"])
    if np.dtype(write.given[0].dtype).kind != "f":
        write("Mod", x, number)
    else:
        write("Sub", x, write("Mul", write("Floor", write("Div", x, number)), number))


#: Converters by operator.
PLACING: Dict[str, Callable[[Writer], Any]] = {
    "SequenceReverse": _sequence_reverse,
    "_contrib_index_copy": _index_copy,
    "_mod_scalar": _mod_scalar,
    "_npi_where": _where,
    "_np_cumsum": _cumsum,
    "pick": _pick,
    "shape_array": _shape,
    "sort": _sort,
}
