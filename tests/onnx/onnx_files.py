"""Helpers that run exported files in onnxruntime, an independent implementation."""

import mxnet as mx
import numpy as np
import onnx
import onnxruntime


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def reader(path):
    """Check the file, and return a function from arrays to its outputs."""
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(*arrays):
        names = [value.name for value in session.get_inputs()]
        return session.run(None, {n: a.asnumpy() for n, a in zip(names, arrays)})

    return run


def close(got, want):
    """Compare all outputs of a file with those of a net."""
    want = want if isinstance(want, (tuple, list)) else [want]
    assert [x.shape for x in got] == [x.shape for x in want]
    for one, other in zip(got, want):
        other = other.asnumpy()
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * max(1, abs(other).max()))


def ready(net, *arrays):
    net.initialize(mx.init.Normal(0.5))
    net(*arrays)
    return net
