"""ONNX models as text, compared with onnxruntime."""

import mxnet as mx
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from gluon_same.onnx import import_model

#: The latest onnxruntime for Python 3.8 to 3.10 lacks some operators, and computes others otherwise.
recent_runtime = pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 24), reason="onnxruntime is too old"
)

HEADER = '<ir_version: 8, opset_import: ["" : {}]>'


def operator_set(version):
    """Mark a test of operators that an older onnx does not define."""
    return pytest.mark.skipif(
        onnx.defs.onnx_opset_version() < version, reason="onnx has no such operator set"
    )


def written(path, graph, weights=None, version=17):
    """Write a model in ONNX's text form, with initializers by name."""
    model = onnx.parser.parse_model(HEADER.format(version) + graph)
    for name, array in (weights or {}).items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    onnx.save(model, str(path))
    return str(path)


def pipeline(
    path, operator, outputs=("scores",), *, initializers=(), given=TensorProto.FLOAT, features=3,
    version=2, **attributes,
):  # fmt: skip
    """Write a model of one operator of ai.onnx.ml, whose outputs are scores, or else whole numbers."""
    inputs = ["x", *(each.name for each in initializers)]
    node = helper.make_node(operator, inputs, list(outputs), domain="ai.onnx.ml", **attributes)
    kinds = [TensorProto.FLOAT if name == "scores" else TensorProto.INT64 for name in outputs]
    made = [helper.make_tensor_value_info(*each, None) for each in zip(outputs, kinds)]
    start = [helper.make_tensor_value_info("x", given, ["N", features])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    graph = helper.make_graph([node], "net", start, made, list(initializers))
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path / "net.onnx"))
    return str(path / "net.onnx")


def reference(path, *inputs):
    """Return the outputs of onnxruntime."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: x for each, x in zip(session.get_inputs(), inputs)})


def close(got, wanted):
    """Compare outputs, among which MXNet has one axis where ONNX has none."""
    got = got if isinstance(got, (list, tuple)) else [got]
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        assert one.shape == (other.shape or (1,))
        assert np.dtype(one.dtype) == other.dtype
        if other.dtype.kind != "f":
            np.testing.assert_array_equal(one.asnumpy().reshape(other.shape), other)
            continue
        tolerance = 1e-5 * max(np.abs(other.astype("f8")).max(initial=0), 1)
        np.testing.assert_allclose(
            one.asnumpy().reshape(other.shape).astype("f8"), other.astype("f8"), 1e-5, tolerance
        )


def compared(path, *calls, **arguments):
    """Import a file, and compare it with onnxruntime for several inputs, eager and hybridized."""
    net = import_model(path, **arguments)
    for active in (False, True):
        net.hybridize(active)
        for inputs in calls:
            inputs = inputs if isinstance(inputs, tuple) else (inputs,)
            arrays = [mx.nd.array(np.atleast_1d(x), dtype=x.dtype) for x in inputs]
            close(net(*arrays), reference(path, *inputs))
    return net


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype("f")
