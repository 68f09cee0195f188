"""Inputs that do not fit each other are refused, where MXNet would read or write beyond an array."""

import mxnet as mx
import numpy as np
import onnx
import pytest
from imported import compared, numbers, written

from gluon_same.onnx import import_model

N = np.array


def floats(*shape):
    return np.ones(shape, np.float32)


#: (operator with attributes, shape of the data, its other inputs, words of the error)
MISFITS = [
    ("BatchNormalization", "2, 8, 5", [floats(8), floats(8), floats(8), floats(4)], r"shape \(4,\)"),
    ("BatchNormalization", "2, 8, 5", [floats(1)] * 4, r"its input of shape \(1,\) does not fit"),
    ("BatchNormalization", "2, 8, 5", [floats(8, 5)] * 4, r"its input of shape \(8, 5\) does not fit"),
    ("InstanceNormalization", "2, 8, 5", [floats(4)] * 2, r"its input of shape \(4,\) does not fit"),
    ("Gemm", "3, 5", [floats(5, 4), floats(2, 3, 4)], "its input to add has 3 axes"),
    ("Upsample", "2, 3, 8, 8", [N([1, 1, 0.5, 2], "f")], "are below 1: use Resize"),
    ("QuantizeLinear", "2, 8", [floats(8), np.ones(1, "u1")], r"zero point of shape \(1,\)"),
    ("QuantizeLinear", "2, 8", [floats(1), np.ones(8, "u1")], r"zero point of shape \(8,\)"),
    ("Gather", "3, 4", [N([0, 3])], "its index 3 is beyond an axis of 3"),
    ("Gather", "3, 4", [N(-4)], "its index -4 is beyond"),
    ("Gather<axis = 1>", "N, 4", [N([[4]])], "its index 4 is beyond"),
    ("GatherElements", "3, 4", [N([[3, 0, 0, 0]])], "its index 3 is beyond"),
    ("GatherElements", "3, 4", [N([[0] * 6])], r"its indices of shape \(1, 6\) do not fit"),
    ("GatherElements", "3, 4", [N([0])], r"its indices of shape \(1,\) do not fit"),
    ("GatherND", "3, 4", [N([[0, 4]])], "its index 4 is beyond"),
    ("GatherND<batch_dims = 1>", "3, 4", [N([[0], [-5], [0]])], "its index -5 is beyond"),
    ("ScatterElements", "3, 4", [N([[3, 0, 0, 0]]), floats(1, 4)], "its index 3 is beyond"),
    (
        "ScatterElements",
        "3, 4",
        [N([[0] * 5]), floats(1, 5)],
        r"its indices of shape \(1, 5\) do not fit",
    ),
    ("ScatterND", "3, 4", [N([[3]]), floats(1, 4)], "its index 3 is beyond"),
    ("OneHot", "4", [N(3), floats(3)], "it has 3 values"),
    ("Trilu", "4", [], "its data have 1 axes"),
    ("GridSample", "2, 3, 4, 5", [floats(2, 3, 3, 3)], r"its grid of shape \(2, 3, 3, 3\)"),
    ("Tile", "3, 4", [N([2])], r"its repeats of shape \(1,\)"),
    ("Tile", "3, 4", [N([2, 1, 2])], r"its repeats of shape \(3,\)"),
    ("Unsqueeze", "3, 4", [N([0, 0])], r"its axes \[0, 0\] are not distinct"),
    ("Slice", "3, 4", [N([0, 0]), N([2, 2]), N([0, -2])], r"its axes \[0, 0\] are not distinct"),
    ("Flatten<axis = 3>", "3, 4", [], "its axis 3 does not fit"),
]


@pytest.mark.parametrize("operator, shape, others, words", MISFITS)
def test_inputs_that_do_not_fit(tmp_path, operator, shape, others, words):
    names = [f"w{i}" for i in range(len(others))]
    kind = "int64" if operator == "OneHot" else "float"
    operator, _, attributes = operator.partition("<")
    called = f"{operator}{'<' + attributes if attributes else ''}({', '.join(['x', *names])})"
    graph = f"net ({kind}[{shape}] x) => (float[a] y) {{ y = {called} }}"
    version = {"Upsample": 9, "GridSample": 16}.get(operator, 18)
    path = written(tmp_path / "net.onnx", graph, dict(zip(names, others)), version)
    with pytest.raises(ValueError, match=words):
        import_model(path)


@pytest.mark.parametrize("shape", ["3, 4", "N, 4"])
def test_a_condition_that_is_longer_than_the_axis(tmp_path, shape):
    graph = f"net (float[{shape}] x) => (float[a, 4] y) {{ y = Compress<axis = 0>(x, condition) }}"
    path = written(tmp_path / "net.onnx", graph, {"condition": N([True, False, True, shape[0] == "3"])})
    net = compared(path, numbers(3, 4))
    if shape[0] == "N":
        with pytest.raises(mx.MXNetError, match="out of bound"):
            net(mx.nd.ones((2, 4))).asnumpy()


def test_outputs_without_a_type(tmp_path):
    graph = "net (float[2, 3] x) => (float[2, 3] y, bool[2, 3] z) { y = Relu(x) z = Less(y, x) }"
    model = onnx.load(written(tmp_path / "net.onnx", graph))
    for output in model.graph.output:
        output.ClearField("type")
    onnx.save(model, tmp_path / "net.onnx")
    compared(str(tmp_path / "net.onnx"), numbers(2, 3))
