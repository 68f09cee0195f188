"""Files of small PyTorch nets, at two sizes, against the numbers that onnxruntime gave for them."""

import re
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from imported import reference

from gluon_same import deploy, specialize
from gluon_same.arrays import read_by
from gluon_same.deployment.running import ERRORS, caller
from gluon_same.graph import Graph
from gluon_same.onnx import export_model, import_model
from gluon_same.trace import Trace

HERE = Path(__file__).with_name("golden")
NAMES = sorted(path.stem for path in HERE.glob("*.onnx"))
NUMBERS = np.load(HERE / "golden.npz")


def net_of(name):
    """Return the name of a net, without the exporter that wrote the file."""
    return re.sub(r"_(script|dynamo)\d+$", "", name)


def arrays(name, size, kind):
    """Return the inputs (``in``) or outputs (``out``) at one of two sizes."""
    prefix = f"{net_of(name)}/{size}/{kind}"
    return [NUMBERS[f"{prefix}{i}"] for i in range(sum(key.startswith(prefix) for key in NUMBERS.files))]


def close(got, wanted):
    got = got if isinstance(got, (list, tuple)) else [got]
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        one = one.asnumpy() if isinstance(one, mx.nd.NDArray) else one
        assert one.shape == (other.shape or (1,)) and one.dtype == other.dtype
        largest = max(np.abs(other.astype("f8")).max(initial=0), 1)
        np.testing.assert_allclose(one.astype("f8"), other.astype("f8"), rtol=1e-4, atol=2e-5 * largest)


def test_there_are_files_and_numbers():
    assert len(NAMES) >= 50
    assert {key.split("/")[0] for key in NUMBERS.files} == set(map(net_of, NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_onnxruntime(name, tmp_path):
    net = import_model(str(HERE / f"{name}.onnx"))
    given = [arrays(name, size, "in") for size in (0, 1)]
    wanted = [arrays(name, size, "out") for size in (0, 1)]
    data = [[mx.nd.array(x, dtype=x.dtype) for x in each] for each in given]
    for active in (False, True):
        net.hybridize(active)
        for size in (0, 1):
            close(net(*data[size]), wanted[size])
    for size in (0, 1):
        close(specialize(net, *data[size])(*data[size]), wanted[size])
    close(deploy(net, *data[0], tune=False)(*data[0]), wanted[0])

    # Exported again, at one size and at every size.
    shapes = [x.shape for x in given[0]]
    for dynamic in (False, True):
        path = export_model(net, shapes, str(tmp_path / "again.onnx"), dynamic=dynamic, check=False)
        for size in (0, 1)[: 1 + dynamic]:
            close(reference(path, *given[size]), wanted[size])


def test_places_out_of_bounds_stop_a_graph_before_others_read_them():
    """Operators that ran on unset memory ended the process after some of these calls."""
    net = import_model(str(HERE / "places_dynamo18.onnx"))
    data = [mx.nd.array(x, dtype=x.dtype) for x in arrays("places_dynamo18", 0, "in")]
    net(*data)
    trace = Trace(net, [x.shape for x in data])
    symbol = trace.symbol()
    params = {name: p.data() for name, p in read_by(symbol, trace.parameters).items()}
    graph = Graph(symbol, params, trace.shapes)
    for _ in range(200):
        run = caller(graph)
        results = run(data)
        with pytest.raises(ERRORS, match="out of bound"):
            run([data[0], -8 * data[1]])
    close(results, arrays("places_dynamo18", 0, "out"))
