import pickle

import mxnet as mx
import pytest

from gluon_same import arrays, deploy, nn, specialize
from gluon_same.onnx import export_model


def test_a_symbol_of_fixed_shape_refuses_other_shapes():
    x = arrays.fix_shape(mx.sym.var("x"), (None, 3, None, 8), "only_8")
    assert x.infer_shape(x=(2, 3, 5, 8))[1] == [(2, 3, 5, 8)]
    for wrong in ((2, 3, 5, 16), (2, 6, 5, 8), (2, 3, 5, 4)):
        with pytest.raises(mx.MXNetError, match="only_8_axis"):
            x.infer_shape(x=wrong)


SHAPE = (1, 16, 8, 8)


@pytest.mark.parametrize(
    "read",
    [
        lambda net, path: export_model(net, SHAPE, path, check=False),
        lambda net, path: deploy(net, SHAPE, tune=False),
        lambda net, path: pickle.dumps(specialize(net)),
        lambda net, path: pickle.dumps(specialize(net, SHAPE)),
    ],
    ids=["export_model", "deploy", "every_size", "specialize"],
)
def test_parameters_are_read_while_no_operator_runs(read, tmp_path, monkeypatch):
    """Their layout may change while they are read otherwise, once in about 40,000 times."""
    net = nn.Conv2D(64, 3, padding="same")
    net.initialize()
    net(mx.nd.ones(SHAPE))
    calls = []
    for owner, name in ((mx.nd, "waitall"), (mx.nd.NDArray, "asnumpy"), (mx.nd.NDArray, "__getstate__")):
        function = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *args, of=(name, function): calls.append(of[0]) or of[1](*args)
        )
    read(net, tmp_path / "net.onnx")
    assert calls[0] == "waitall" and len(calls) > 1


def test_settling_raises_no_error_of_results_that_nobody_read():
    lost = mx.nd.take(mx.nd.ones(3), mx.nd.array([7]), mode="raise")
    del lost
    arrays.settle()
    mx.nd.waitall()  # would raise the error if it were left
