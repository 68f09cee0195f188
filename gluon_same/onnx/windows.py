"""Convert convolutions and poolings, with any padding, to operators that onnxruntime computes right."""

from math import prod
from typing import Any, List

import numpy as np

from ..geometry import ceil_div
from .writer import Writer

#: Attribute of operators that replace a SAME block: ONNX attributes that set its padding.
MARK = "__onnx__"

#: An end beyond the last element.
ALL = 2**63 - 1

#: An end beyond the first element, of a slice with a negative step.
ALL_BACKWARDS = -(2**63) + 1


def window(write: Writer) -> None:
    """Convert a Convolution, Deconvolution or Pooling."""
    from onnx import helper

    kind, power = write.attributes.get("pool_type"), write.attributes.get("p_value", 2)
    if kind == "lp" and power not in (1, 2):
        raise ValueError("pooling of type 'lp' requires p_value=1 or p_value=2")
    sums = kind == "sum" or (kind == "lp" and power == 1)
    if sums and write.attributes.get("global_pool"):
        layout = write.attributes.get("layout") or "NCDHW"[: write.rank()]
        axes = [i for i, axis in enumerate(layout) if axis not in "NC"]
        write("ReduceSum", write.inputs[0], axes, keepdims=1)
        return
    changed = {"pool_type": "avg", "count_include_pad": "True"} if sums else {}
    if write.attributes.get("layout"):
        changed["layout"] = "NCHW"  # of any number of axes
    last = write.attributes.get("layout", "").endswith("C")
    rank = write.rank() if last else 2  # which is not known inside of a loop
    first, back = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
    if last:  # a weight has the layout of the data
        for i in range(min(len(write.inputs), 2)):
            write.inputs[i] = write("Transpose", write.inputs[i], perm=first)
    (node,) = write.theirs(**changed)
    values = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    if sums and values.get("ceil_mode"):
        raise ValueError("pooling of type 'sum' or 'lp' requires pooling_convention='valid'")
    marked = write.attributes.get(MARK, {})
    for name in ("pads", "output_padding") if marked else ():
        values.pop(name, None)
    values.update(marked)
    x = write.inputs[0] if node.op_type.startswith("Global") else _padded(write, node.op_type, values)
    y = write(node.op_type, x, *write.inputs[1:], **values)
    if sums:
        y = write("Mul", y, prod(values["kernel_shape"]))
    if last:
        write("Transpose", y, perm=back)


def _padded(write, operator, values):
    """Return the input, padded if the operator cannot pad it; change the operator's attributes."""
    x, kernel = write.inputs[0], values["kernel_shape"]
    strides, dilations = (values.get(key, [1] * len(kernel)) for key in ("strides", "dilations"))
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations)]
    own: List[int] = list(values.get("pads", [0] * 2 * len(kernel)))
    sizes = write.shape_of(0)[2:]
    if values.get("ceil_mode") and values.get("count_include_pad"):
        # onnxruntime counts padding of the last windows otherwise. Max keeps it from merging the Pad.
        pair = own[: len(kernel)], own[len(kernel) :]
        x = write("Max", write("Pad", x, [0, 0, *pair[0], 0, 0, *pair[1]]), -np.inf)
        sizes = tuple(n and n + before + after for n, before, after in zip(sizes, *pair))
        own, values["count_include_pad"] = [0] * len(own), 0
        values.pop("pads", None)
    befores, afters = own[: len(kernel)], own[len(kernel) :]
    pads: Any = None
    if "auto_pad" in values and any(d > 1 or span < s for span, s, d in zip(spans, strides, dilations)):
        # onnxruntime does not support auto_pad for dilated windows, and misplaces windows with gaps.
        if operator == "AveragePool":
            raise ValueError(
                "its padding depends on the size, and onnxruntime's auto_pad misplaces windows with "
                "gaps between them: use dynamic=False"
            )
        pads = _same(write, x, spans, strides, values["auto_pad"] == "SAME_LOWER")
    elif values.get("ceil_mode") and any(after + s > k for after, s, k in zip(afters, strides, kernel)):
        # ONNX drops a last window that contains padding only.
        if operator == "MaxPool":
            pads = [0, 0, *befores, 0, 0, *(after + s - 1 for after, s in zip(afters, strides))]
        elif any(map(_ends_in_padding, sizes, kernel, strides, befores)):
            raise ValueError(
                "a window may contain padding only, which ONNX drops: use ceil_mode=False or "
                "less padding"
            )
    if pads is not None:
        lowest = [float(np.finfo(write.given[0].dtype).min)] if operator == "MaxPool" else []
        x = write("Pad", x, pads, *lowest)
    elif not operator.endswith("Pool") or not _is_padded(write) or "auto_pad" in values:
        return x
    elif any(own) or values.get("ceil_mode"):
        return write("Max", x, -np.inf)  # onnxruntime would merge the Pad into the pooling
    for name in ("pads", "ceil_mode"):
        values.pop(name, None)
    values["auto_pad"] = "VALID"  # the form without padding that onnxruntime does not merge with a Pad
    return x


def _same(write, x, spans, strides, lower):
    """Return the pads of SAME windows, computed from the size of the data."""
    sizes = write("Slice", write("Shape", x), [2], [ALL])
    steps = write("Div", write("Sub", sizes, [1]), list(strides))
    ends = write("Add", write("Mul", steps, list(strides)), list(spans))
    total = write("Max", write("Sub", ends, sizes), [0])
    less = write("Div", total, [2])
    more = write("Sub", total, less)
    before, after = (more, less) if lower else (less, more)
    return write("Concat", [0, 0], before, [0, 0], after, axis=0)


def _ends_in_padding(size, kernel, stride, pad):
    """Return whether the last window of a pooling that rounds up may start behind the data."""
    return size is None or ceil_div(size + 2 * pad - kernel, stride) * stride >= size + pad


def _is_padded(write):
    """Return whether a pooling receives the result of a Pad."""
    nodes = write.known["mx_graph"]
    source = nodes[write.node["inputs"][0][0]]
    while source["op"] in ("Dropout", "identity"):
        source = nodes[source["inputs"][0][0]]
    return source["op"] == "Pad"
