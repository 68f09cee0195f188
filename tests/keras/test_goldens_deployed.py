"""Nets of load_model match Keras when they are exported and deployed."""

from pathlib import Path

import numpy as np
import pytest

from gluon_same import deploy
from gluon_same.onnx import export_model
from goldens import call, cases, differences, first_kind, of_each_model, stateless

# In `images`, sparsemax cannot be exported.
EXPORTED = [case for case in of_each_model(cases(stateless)) if case.values[1] != "images"]
MASKED = cases(lambda *case: first_kind(*case) and case[0].startswith(("masked_", "attention")))
FUNCTIONS = [case for case in cases(first_kind) if case.values[0].stem.endswith("_functions")]


@pytest.mark.parametrize("archive, name, ending", EXPORTED)
def test_exported_nets_compute_it_as_well(golden, archive, name, ending):
    """In onnxruntime, at every size."""
    import onnxruntime

    model = golden(archive, name, ending)
    net, path = model.load(), str(Path(model.path).with_suffix(".onnx"))
    first, _ = next(model.runs())
    shapes, dtypes = zip(*((model.first(each).shape, each.dtype) for each in first))
    export_model(net, shapes, path, dynamic=True, check=False, dtype=dtypes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    for inputs, outputs in model.runs():
        arrays = [np.ascontiguousarray(model.first(each)) for each in inputs]
        expected = {key: model.first(value) for key, value in outputs.items()}
        assert differences(session.run(None, dict(zip(names, arrays))), expected) == {}


@pytest.mark.parametrize("archive, name, ending", of_each_model(FUNCTIONS + MASKED))
def test_deployed_nets_compute_it_as_well(golden, archive, name, ending):
    model = golden(archive, name, ending)
    inputs, outputs = next(model.runs())
    inputs = [model.first(each) for each in inputs]
    net = deploy(model.load(), *(each.shape for each in inputs), data=[inputs], tune=False)
    expected = {key: model.first(value) for key, value in outputs.items()}
    assert differences(call(net, inputs), expected) == {}
