"""Convert operators of MXNet to ONNX that MXNet's exporter lacks or converts wrong."""

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator

import numpy as np

from .loops import scan
from .writer import Shapes, Writer

#: An end beyond the last element, also of a slice with a negative step.
_ALL, _ALL_BACKWARDS = 2**63 - 1, -(2**63) + 1


def _slice(write: Writer) -> None:
    begins, ends = (write.attributes[name] for name in ("begin", "end"))
    steps = [step or 1 for step in write.attributes.get("step", ())]
    steps += [1] * (len(begins) - len(steps))
    wholes = [(0, _ALL) if step > 0 else (_ALL, _ALL_BACKWARDS) for step in steps]
    parts = zip(
        *(
            (first if begin is None else begin, last if end is None else end)
            for begin, end, (first, last) in zip(begins, ends, wholes)
        )
    )
    write("Slice", write.inputs[0], *map(list, parts), [*range(len(begins))], steps)


def _reverse(write: Writer) -> None:
    axes = write.sizes("axis")
    back = [-1] * len(axes)
    write("Slice", write.inputs[0], back, [_ALL_BACKWARDS] * len(axes), axes, back)


def _reshape(write: Writer) -> None:
    """Reshape to sizes with MXNet's codes -2 to -4, which merge, split and keep axes of the input."""
    codes = write.sizes("shape")
    if min(codes, default=0) >= -1 or write.attributes.get("reverse"):
        return
    x = write.inputs[0]
    shape, parts, axis = write("Shape", x), [], 0

    def size(begin, end):
        return write("Slice", shape, [begin], [end])

    while codes:
        code = codes.pop(0)
        if code == -2:
            parts.append(size(axis, _ALL))
            axis = _ALL
        elif code == -3:
            parts.append(write("Mul", size(axis, axis + 1), size(axis + 1, axis + 2)))
            axis += 2
        elif code == -4:
            pair = [codes.pop(0), codes.pop(0)]
            whole = size(axis, axis + 1)
            for i, part in enumerate(pair):
                parts.append([part] if part > 0 else write("Div", whole, [pair[1 - i]]))
            axis += 1
        else:
            parts.append(size(axis, axis + 1) if code == 0 else [code])
            axis += 1
    write("Reshape", x, write("Concat", *parts, axis=0))


def _batch_norm(write: Writer) -> None:
    """Normalize another axis than 1, as axis 1 of data of shape (before, channels, after)."""
    axis = write.attributes.get("axis", 1)
    if axis == 1:
        return
    x, *parameters = write.inputs
    shape = write("Shape", x)
    before = write("ReduceProd", write("Slice", shape, [0], [axis]), keepdims=1)
    channels = write("Slice", shape, [axis], [axis + 1 or _ALL])
    y = write("Reshape", x, write("Concat", before, channels, [-1], axis=0))
    y = write("BatchNormalization", y, *parameters, epsilon=write.attributes.get("eps", 1e-3))
    write("Reshape", y, shape)


def _leaky_relu(write: Writer) -> None:
    """Apply a slope for each channel to axis 1, which ONNX would apply to the last axis."""
    if write.attributes.get("act_type") == "prelu":
        x, slopes = write.inputs
        write("PRelu", x, write("Reshape", slopes, [-1, *[1] * (write.rank() - 2)]))


def _compared(operator: str) -> Callable[[Writer], Any]:
    """Return a converter of a comparison with a number, whose result is 1 or 0 in MXNet."""

    def convert(write):
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(write.given[0].dtype))
        write("Cast", write(operator, write.inputs[0], write.attributes["scalar"]), to=kind)

    return convert


#: Converters by operator. The last operator that they write returns the result. If they write none,
#: MXNet's converter is used.
CONVERTERS: Dict[str, Callable[[Writer], Any]] = {
    "BatchNorm": _batch_norm,
    "LeakyReLU": _leaky_relu,
    "Reshape": _reshape,
    "_greater_equal_scalar": _compared("GreaterOrEqual"),
    "_lesser_equal_scalar": _compared("LessOrEqual"),
    # MXNet's converter prints the name of the operator.
    "_rminus_scalar": lambda write: write("Sub", write.attributes["scalar"], write.inputs[0]),
    "_rpower_scalar": lambda write: write("Pow", write.attributes["scalar"], write.inputs[0]),
    "broadcast_maximum": lambda write: write("Max", *write.inputs),
    "expm1": lambda write: write("Sub", write("Exp", write.inputs[0]), 1),
    "reverse": _reverse,
    "rsqrt": lambda write: write("Reciprocal", write("Sqrt", write.inputs[0])),
    "slice": _slice,
}


@contextmanager
def added(registry: Dict[int, Dict[str, Any]], version: int, shapes: Shapes) -> Iterator[None]:
    """Add the converters to those of MXNet's exporter.

    Parameters
    ----------
    registry : dict
        Converters of MXNet's exporter, by operator set and operator.
    version : int
        Operator set that is written.
    shapes : callable
        Returns the shapes of all results in the graph, by name.
    """
    before = registry[version]
    older = {**registry.get(version - 1, {}), **before}
    ours = {name: _converter(name, older.get(name), shapes) for name in CONVERTERS}
    registry[version] = {**before, **ours}
    registry[version]["_foreach"] = lambda node, **known: scan(Writer(node, known, shapes), known)
    try:
        yield
    finally:
        registry[version] = before


def _converter(name, theirs, shapes):
    def convert(node, **known):
        write = Writer(node, known, shapes)
        CONVERTERS[name](write)
        if not write.nodes:
            return theirs(node, **known)
        write.nodes[-1].output[0] = write.nodes[-1].name = write.name
        return write.nodes

    return convert
