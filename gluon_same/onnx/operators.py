"""Convert operators of MXNet to ONNX that MXNet's exporter lacks or converts wrong."""

from typing import Any, Callable, Dict, List

import numpy as np

from .loops import scan
from .placing import PLACING
from .products import PRODUCTS
from .recurring import recurrent
from .windows import ALL, window
from .writer import Shapes, Writer, kind_of


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
            parts.append(size(axis, ALL))
            axis = ALL
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
    """Normalize any axis: another one than 1 as axis 1 of data of shape (before, channels, after)."""
    parameters: List[Any] = write.inputs[1:]
    if write.attributes.get("fix_gamma", True) and write.shape_of(1):
        # MXNet sets the parameter to 1, but only when it runs the operator.
        parameters[0] = np.ones(write.shape_of(1))
    x, epsilon = write.inputs[0], write.attributes.get("eps", 1e-3)
    axis = write.attributes.get("axis", 1)
    if axis == 1:
        write("BatchNormalization", x, *parameters, epsilon=epsilon)
        return
    shape = write("Shape", x)
    before = write("ReduceProd", write("Slice", shape, [0], [axis]), keepdims=1)
    channels = write("Slice", shape, [axis], [axis + 1 or ALL])
    y = write("Reshape", x, write("Concat", before, channels, [-1], axis=0))
    y = write("BatchNormalization", y, *parameters, epsilon=epsilon)
    write("Reshape", y, shape)


def _group_norm(write: Writer) -> None:
    """Normalize groups of channels, which have one scale each, as the channels of a sequence."""
    x, *parameters = write.inputs
    y = write("Reshape", x, [0, int(write.attributes["num_groups"]), -1])
    y = write("InstanceNormalization", y, *parameters, epsilon=write.attributes.get("eps", 1e-5))
    write("Reshape", y, write("Shape", x))


def _softmax(operator: str, sign: int = 1) -> Callable[[Writer], None]:
    """Return a converter of a softmax with a temperature, of the first elements of a length.

    Of the first elements, MXNet's converter scales the softmax of all, which vanishes beside large ones.
    """

    def convert(write: Writer) -> None:
        given, x = write.attributes, write.inputs[0]
        axis, masked, rank = given.get("axis", -1), given.get("use_length"), len(write.shape_of(0))
        if given.get("dtype") or (masked and (not rank or operator != "Softmax")):
            return
        scale = sign * (given.get("temperature") or 1)
        x = x if scale == 1 else write("Div", x, scale)
        if not masked:
            write(operator, x, axis=axis)
            return
        ones = write("Expand", [1], write("Slice", write("Shape", x), [axis], [axis + 1 or ALL]))
        places = write("Reshape", write("CumSum", ones, [0]), [-1] + [1] * (rank - 1 - axis % rank))
        lengths = write("Unsqueeze", write("Cast", write.inputs[1], to=kind_of(np.int64)), [axis])
        within = write("LessOrEqual", places, lengths)
        x = write("Where", within, x, np.finfo(write.given[0].dtype).min)
        write("Where", within, write(operator, x, axis=axis), 0)

    return convert


def _l2_norm(write: Writer) -> None:
    """Divide by the square root of a sum of squares and epsilon, which MXNet's converter ignores."""
    rank, x = len(write.shape_of(0)), write.inputs[0]
    modes = {"instance": [*range(1, rank)], "channel": [1], "spatial": [*range(2, rank)]}
    axes = modes[write.attributes.get("mode", "instance")]
    if rank:
        squares = write("ReduceSumSquare", x, axes=axes, keepdims=1)
        squares = write("Add", squares, write.attributes.get("eps", 1e-10))
        write("Div", x, write("Sqrt", squares))


def _one_hot(write: Writer) -> None:
    """Compare indices with those of the classes. ONNX's operator counts negative ones from the end."""
    from onnx import numpy_helper

    given, x = write.attributes, write.inputs[0]
    dtype = np.dtype(given.get("dtype", "float32"))
    pair = np.array([given.get("off_value", 0), given.get("on_value", 1)], dtype)
    indices = write("Unsqueeze", write("Cast", x, to=kind_of(np.int64)), [-1])
    same = write("Cast", write("Equal", indices, [*range(given["depth"])]), to=kind_of(np.int64))
    write("Gather", write("Constant", value=numpy_helper.from_array(pair)), same)
    write.dtypes = [dtype]


def _slice_like(write: Writer) -> None:
    if write.attributes.get("axes") == ():  # all axes, as without the argument
        write.nodes += write.theirs(axes="None")


def _roi_align(write: Writer) -> None:
    """Average samples in bins: MXNet's default number of samples, which depends on the bin, is -1."""
    if write.attributes.get("sample_ratio", -1) < 0:
        write.nodes += write.theirs(sample_ratio="0")


def _resize(write: Writer) -> None:
    """Resize images linearly. For a size of 1 ONNX's pytorch_half_pixel takes the first element, too."""
    given, x = write.attributes, write.inputs[0]
    mode, sizes = given.get("mode", "size"), list(write.result[2:])
    if mode == "like":
        sizes = write("Slice", write("Shape", write.inputs[1]), [2], [4])
    elif mode == "size" and given.get("scale_height") is None:
        sizes = [given["height"], given["width"]]
    elif mode == "size":  # MXNet multiplies in float32 and rounds down
        scales = np.array([given["scale_height"], given["scale_width"]])
        sizes = write("Cast", write("Slice", write("Shape", x), [2], [4]), to=kind_of(np.float32))
        sizes = write("Cast", write("Mul", sizes, scales), to=kind_of(np.int64))
    elif not sizes or None in sizes:
        raise ValueError(f"mode={mode!r} computes its sizes: export with dynamic=False")
    sizes = write("Concat", write("Slice", write("Shape", x), [0], [2]), sizes, axis=0)
    where = "align_corners" if given.get("align_corners", True) else "pytorch_half_pixel"
    write("Resize", x, "", "", sizes, mode="linear", coordinate_transformation_mode=where)


def _adaptive_pooling(write: Writer) -> None:
    """Average windows that divide an image of a fixed size, by a product with a matrix for each axis."""
    counts = write.sizes("output_size") or [1]
    sizes = write.shape_of(0)[2:]
    if set(counts) == {1}:
        return
    if len(sizes) != 2 or None in sizes:
        raise ValueError("its windows depend on the image size: export with dynamic=False")
    rows, columns = (_windows(size, count) for size, count in zip(sizes, (counts[0], counts[-1])))
    write("MatMul", write("MatMul", rows, write.inputs[0]), columns.T)


def _windows(size, count):
    """Return the weights of the elements of an axis, with a row for each window."""
    weights = np.zeros((count, size))
    for i in range(count):
        window = slice(i * size // count, -(-(i + 1) * size // count))
        weights[i, window] = 1 / len(range(size)[window])
    return weights


def _broadcast_to(write: Writer) -> None:
    # MXNet keeps an axis for 0, and ONNX for 1.
    write("Expand", write.inputs[0], [n or 1 for n in write.sizes("shape")])


def _squeeze(write: Writer) -> None:
    """Leave one axis, as MXNet does where all have size 1."""
    if write.rank() == 1:
        write("Reshape", write.inputs[0], [-1])


def _leaky_relu(write: Writer) -> None:
    """Write the two kinds for which MXNet's converter ignores the number of axes, and the dtype."""
    kind = write.attributes.get("act_type")
    if kind == "prelu":  # a slope for each channel of axis 1, which ONNX would apply to the last axis
        x, slopes = write.inputs
        write("PRelu", x, write("Reshape", slopes, [-1, *[1] * (write.rank() - 2)]))
    elif kind == "gelu":
        x = write.inputs[0]
        erf = write("Erf", write("Div", x, np.sqrt(2)))
        write("Mul", write("Mul", x, 0.5), write("Add", erf, 1))


def _scalar(*operators: str, first: bool = False, compares: bool = False) -> Callable[[Writer], None]:
    """Return a converter to operators: the first of an array and a number, the others of its result.

    ``first`` puts the number before the array. The result of a comparison is 1 or 0 in MXNet.
    """

    def convert(write):
        operands = [write.inputs[0], float(write.attributes["scalar"])]
        y = write(operators[0], *(reversed(operands) if first else operands))
        for operator in operators[1:]:
            y = write(operator, y)
        if compares:
            write("Cast", y, to=kind_of(write.given[0].dtype))

    return convert


def _box_nms(write: Writer) -> None:
    """Keep the highest scores before boxes are suppressed, as MXNet does; ONNX would keep them after."""
    given, x = write.attributes, write.inputs[0]
    if given.get("id_index", -1) != -1 and not given.get("force_suppress"):
        raise ValueError("boxes of all classes compete in ONNX, which requires force_suppress=True")
    most, at = given.get("topk", -1), given.get("score_index", 1)
    if most > 0:
        scores = write("Slice", x, [at], [at + 1], [-1])
        count = write("Min", write("Slice", write("Shape", x), [-2], [-1]), [most])
        write("TopK", scores, count, axis=-2, count=2)
        least = write("ReduceMin", write.nodes[-1].output[0], axes=[-2], keepdims=1)
        kept = write("GreaterOrEqual", scores, least)
        # This is not above the threshold, so that the box is left out.
        x = write("Where", kept, x, float(given.get("valid_thresh", 0)))
    write.nodes += write.theirs(x, topk="-1")


_ON_NUMBERS = {"div": "Div", "maximum": "Max", "minimum": "Min", "minus": "Sub", "mul": "Mul"}
_ON_NUMBERS.update(plus="Add", power="Pow")

#: Functions of each element that MXNet's exporter lacks.
_ELEMENTWISE = {"arccosh": "Acosh", "arcsinh": "Asinh", "arctanh": "Atanh", "cosh": "Cosh"}
_ELEMENTWISE.update(erf="Erf", sign="Sign", sinh="Sinh", softsign="Softsign")

#: Operators of operands of one shape, which MXNet's exporter knows as those that broadcast.
_EVEN = (
    *("equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or"),
    *("logical_xor", "mod", "not_equal"),
)


def _same_inputs(operator: str) -> Callable[[Writer], None]:
    """Return a converter to an operator of the same inputs."""
    return lambda write: write(operator, *write.inputs)


#: Converters by operator. The last operator that they write returns the result. If they write none,
#: MXNet's converter is used.
CONVERTERS: Dict[str, Callable[[Writer], Any]] = {
    **PLACING,
    **PRODUCTS,
    "BatchNorm": _batch_norm,
    "GroupNorm": _group_norm,
    "Convolution": window,
    "Deconvolution": window,
    "L2Normalization": _l2_norm,
    "LeakyReLU": _leaky_relu,
    "Pooling": window,
    "RNN": recurrent,
    "Reshape": _reshape,
    "_contrib_AdaptiveAvgPooling2D": _adaptive_pooling,
    "_contrib_BilinearResize2D": _resize,
    "_contrib_ROIAlign": _roi_align,
    "_contrib_box_nms": _box_nms,
    "_not_equal_scalar": _scalar("Equal", "Not", compares=True),
    "_greater_equal_scalar": _scalar("GreaterOrEqual", compares=True),
    "_lesser_equal_scalar": _scalar("LessOrEqual", compares=True),
    # MXNet's converters read the order of the operands from the name of the operator, and print it.
    **{f"_{name}_scalar": _scalar(operator) for name, operator in _ON_NUMBERS.items()},
    **{f"_r{name}_scalar": _scalar(_ON_NUMBERS[name], first=True) for name in ("div", "minus", "power")},
    **{name: _same_inputs(operator) for name, operator in _ELEMENTWISE.items()},
    "broadcast_to": _broadcast_to,
    "log_softmax": _softmax("LogSoftmax"),
    "one_hot": _one_hot,
    "slice_like": _slice_like,
    "softmax": _softmax("Softmax"),
    "softmin": _softmax("Softmax", sign=-1),
    "broadcast_maximum": _same_inputs("Max"),
    "expm1": lambda write: write("Sub", write("Exp", write.inputs[0]), 1),
    "log1p": lambda write: write("Log", write("Add", write.inputs[0], 1)),
    "rsqrt": lambda write: write("Reciprocal", write("Sqrt", write.inputs[0])),
    "squeeze": _squeeze,
}


def added(registry: Dict[int, Dict[str, Any]], version: int, shapes: Shapes) -> Dict[str, Any]:
    """Return the converters of MXNet's exporter for an operator set, with ours added.

    Parameters
    ----------
    registry : dict
        Converters of MXNet's exporter, by operator set and operator.
    version : int
        Operator set that is written.
    shapes : dict
        Shapes of all results in the graph, by name.
    """
    older = {**registry.get(version - 1, {}), **registry[version]}
    ours = {name: _converter(write, older.get(name), shapes) for name, write in CONVERTERS.items()}
    alike = [name for name in _EVEN if f"broadcast_{name}" in older]
    ours.update({f"_{name}": older[f"broadcast_{name}"] for name in alike})
    return {**registry[version], **ours, "_foreach": _converter(scan, None, shapes)}


def _converter(convert, theirs, shapes):
    def converted(node, **known):
        write = Writer(node, known, shapes, theirs)
        convert(write)
        if not write.nodes:
            return write.theirs()
        if not write.finished:
            last = write.nodes[-1]
            last.output[-1] = last.name = write.name
        return write.nodes, write.dtypes

    return converted
