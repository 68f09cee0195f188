"""compare_speed measures each form of a net, and says which ones it left out and why."""

import math
import sys

import mxnet as mx
import numpy as np
import onnx
import pytest

import gluon_same
from gluon_same import compare_speed, nn, speed
from gluon_same.onnx import import_model
from gluon_same.speed import Speed, Speeds

X = (1, 3, 9, 8)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(speed, "SECONDS", 0.0)


def small():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, strides=2, padding="same"), nn.BatchNorm(), nn.Activation("relu"))
    net.initialize()
    return net


def row(spread=0.0, note=""):
    return Speed("net.hybridize()", 2.0, 1.0, 0.0, 0.1, spread, note)


def test_each_form_has_a_row_with_the_code_that_makes_it():
    net = small()
    rows = compare_speed(net, X).rows
    assert [row.code for row in rows] == [
        "net.hybridize()",
        "net.hybridize(static_alloc=True, static_shape=True)",
        "gluon_same.specialize(net, (1, 3, 9, 8))",
        "gluon_same.deploy(net, (1, 3, 9, 8))",
        "gluon_same.onnx.export_model(net, (1, 3, 9, 8), 'net.onnx', dynamic=True)  # in onnxruntime",
    ]
    for row in rows:
        assert row.note == "" and row.ms > 0 and row.seconds > 0 and row.spread >= 0
        assert row.ratio == pytest.approx(row.ms / rows[0].ms)
        assert row.difference < 1e-5
    assert rows[0].difference == rows[1].difference == 0
    names = {"gluon_same": gluon_same, "net": net}
    for row in rows[:4]:
        eval(row.code, names)


@pytest.mark.parametrize("flags", [None, {}, {"static_alloc": True}])
def test_the_net_stays_as_it_was(flags):
    net = small()
    if flags is not None:
        net.hybridize(**flags)
    want = net(mx.nd.ones(X)).asnumpy()
    before = [dict(vars(block)) for block in (net, *net)]
    compare_speed(net, X)
    assert [dict(vars(block)) for block in (net, *net)] == before
    np.testing.assert_array_equal(net(mx.nd.ones(X)).asnumpy(), want)


def test_it_says_that_onnxruntime_is_not_installed(monkeypatch):
    monkeypatch.setattr(speed, "find_spec", lambda name: None)
    found = compare_speed(small(), X)
    assert "not installed: pip install onnx onnxruntime" in found.rows[-1].note
    assert math.isnan(found.rows[-1].ms)
    assert "Left out: gluon_same.onnx.export_model" in str(found) and "not installed" in str(found)
    assert "nan" not in str(found)


@pytest.mark.parametrize(
    "error", [ValueError("the reason\nand more"), mx.MXNetError("Traceback:\n  File x\nthe reason")]
)
def test_a_form_that_cannot_serve_the_net_is_left_out_with_the_reason(monkeypatch, error):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(speed, "deploy", refuse)
    assert compare_speed(small(), X).rows[3].note == "the reason"


def test_code_that_mxnet_cannot_hybridize_is_measured_in_the_other_forms():
    net = nn.HybridSequential()
    net.add(small(), nn.HybridLambda(lambda F, x: x[:, :2] * x.shape[2]))
    rows = compare_speed(net, X).rows
    assert all("the net's code uses shapes and slices of arrays" in row.note for row in rows[:2])
    assert rows[2].note == rows[3].note == "" and rows[2].ratio == 1 and rows[3].difference < 1e-5


def test_arrays_are_the_inputs():
    net = nn.HybridLambda(lambda F, x, y: (F.log(x), y))
    x = mx.nd.ones((2, 3)), mx.nd.ones((2, 3))
    rows = compare_speed(net, *x).rows
    assert rows[3].note == "" and rows[3].difference == 0
    assert "(net, (2, 3), (2, 3))" in rows[3].code and "(net, [(2, 3), (2, 3)], " in rows[4].code


def test_a_busy_machine_is_named():
    quiet, busy = Speeds([row(0.05)]), Speeds([row(0.05), row(0.6)])
    assert not quiet.busy and "busy" not in str(quiet)
    assert busy.busy and "too busy to tell: times vary by 60%" in str(busy)
    assert not Speeds([row(), row(math.nan, "left out")]).busy


def test_the_table_as_text_and_html():
    found = Speeds([row(0.9)])
    assert str(found).splitlines()[:2] == [
        "                   ms  ratio  difference  seconds to prepare",
        "net.hybridize()  2.00   1.00     0.0e+00                 0.1",
    ]
    assert repr(found) == str(found)
    page = found._repr_html_()
    assert "<td" in page and ">2.00</td>" in page and "too busy" in page


def test_numpy_mode(numpy_mode):
    rows = compare_speed(small(), X).rows
    assert [r.note for r in rows[:4]] == [""] * 4


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="is not a Gluon Block"):
        compare_speed(3, X)
    with pytest.raises(ValueError, match="input_shapes is empty"):
        compare_speed(small())
    with pytest.raises(ValueError, match=r"call net.initialize\(\)"):
        compare_speed(nn.Conv2D(2, 3), X)


def test_onnxruntime_gets_the_threads_of_openmp(monkeypatch):
    onnxruntime = pytest.importorskip("onnxruntime")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    given, create = [], onnxruntime.InferenceSession

    def session(path, *options, **named):
        given.extend(each.intra_op_num_threads for each in options[:1])
        return create(path, *options, **named)

    monkeypatch.setattr(sys.modules["onnxruntime"], "InferenceSession", session)
    compare_speed(small(), X)
    assert given[-1] == 1  # the first one is that of the check


def test_inputs_that_are_indices(tmp_path):
    file = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        net (int32[2, 24] ids, float[3, 4] table) => (float[2, 24, 4] y) { y = Gather(table, ids) }""")
    table = np.arange(12, dtype="f").reshape(3, 4)
    file.graph.initializer.append(onnx.numpy_helper.from_array(table, "table"))
    file.graph.input.pop()
    onnx.save(file, str(tmp_path / "net.onnx"))
    rows = compare_speed(import_model(str(tmp_path / "net.onnx")), (2, 24)).rows
    assert not any(row.note for row in rows) and len(rows) == 5
