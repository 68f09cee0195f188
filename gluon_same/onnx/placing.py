"""Convert operators of MXNet that pick, place and order elements to ONNX."""

from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from .windows import ALL, ALL_BACKWARDS, MARK
from .writer import Writer, kind_of


def _whole_axis(write: Writer, axis: int) -> Any:
    """Return the size of an axis of the first input."""
    return write("Slice", write("Shape", write.inputs[0]), [axis], [axis + 1 or ALL])


def _int64(write: Writer, x: Any) -> Any:
    return write("Cast", x, to=kind_of(np.int64))


def _where(write: Writer) -> None:
    """Choose elements. MXNet's converter takes the results to be of the condition's dtype."""
    condition, x, y = write.inputs
    if write.node["op"] == "where" and len(write.shape_of(0)) < len(write.shape_of(1)):
        return  # one condition for each index of the first axis, which MXNet's converter writes
    write("Where", write("Cast", condition, to=kind_of(bool)), x, y)
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


def _slice(write: Writer) -> None:
    if MARK in write.node["attrs"]:
        write("Identity", write.inputs[0], doc_string=MARK)
        return
    begins, ends = (write.attributes[name] for name in ("begin", "end"))
    steps = [step or 1 for step in write.attributes.get("step", ())]
    steps += [1] * (len(begins) - len(steps))
    wholes = [(0, ALL) if step > 0 else (ALL, ALL_BACKWARDS) for step in steps]
    begins = [first if begin is None else begin for begin, (first, _) in zip(begins, wholes)]
    ends = [last if end is None else end for end, (_, last) in zip(ends, wholes)]
    write("Slice", write.inputs[0], begins, ends, [*range(len(begins))], steps)


def _reversed(write: Writer, axes: List[int]) -> None:
    back = [-1] * len(axes)
    write("Slice", write.inputs[0], back, [ALL_BACKWARDS] * len(axes), axes, back)


def _sequence_reverse(write: Writer) -> None:
    if not write.attributes.get("use_sequence_length"):
        _reversed(write, [0])
        return
    x, lengths = write.inputs
    write("ReverseSequence", x, _int64(write, lengths), batch_axis=1, time_axis=0)


def _shape(write: Writer) -> None:
    write("Shape", write.inputs[0])
    write.dtypes = [np.dtype(np.int64)]


def _cumsum(write: Writer) -> None:
    """Add up along an axis, or along all axes as one."""
    x, axis = write.inputs[0], write.attributes.get("axis")
    if not isinstance(axis, int):
        x, axis = write("Reshape", x, [-1]), 0
    write("CumSum", x, [axis])


def _order(write: Writer) -> Tuple[Any, int, Any]:
    """Write the indices that sort an axis. Return the data, the axis, and the indices.

    MXNet's converter gives the number of elements as a scalar.
    """
    x, axis = write.inputs[0], write.attributes.get("axis", -1)
    if write.node.get("attrs", {}).get("axis") == "None":
        x, axis = write("Reshape", x, [-1]), 0
    count = write("Slice", write("Shape", x), [axis], [axis + 1 or ALL])
    largest = int(not write.attributes.get("is_ascend", 1))
    return x, axis, write("TopK", x, count, count=2, axis=axis, largest=largest)


def _argsort(write: Writer) -> None:
    dtype = np.dtype(write.attributes.get("dtype", "float32"))
    write("Cast", _order(write)[2], to=kind_of(dtype))
    write.dtypes = [dtype]


def _sort(write: Writer) -> None:
    x, axis, order = _order(write)
    write("GatherElements", x, order, axis=axis)


def _repeat(write: Writer) -> None:
    """Repeat elements of an axis. MXNet's converter writes 16 operators, and onnxruntime fails."""
    axis, rank = write.attributes.get("axis"), write.rank()
    if isinstance(axis, int) and write.given[0].dtype == np.float32:
        scales = np.ones(rank, np.float32)
        scales[axis] = write.attributes["repeats"]
        write(
            "Resize", write.inputs[0], "", scales, mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip


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
    "argsort": _argsort,
    "pick": _pick,
    "repeat": _repeat,
    "reverse": lambda write: _reversed(write, write.sizes("axis")),
    "shape_array": _shape,
    "slice": _slice,
    "sort": _sort,
    "where": _where,
}
