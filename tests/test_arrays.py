import pickle

import mxnet as mx
import numpy as np
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


class _Looped(mx.gluon.HybridBlock):
    """Convolutions, whose results are in oneDNN's layout, around a loop over the width."""

    def __init__(self, foreach, direct):
        super().__init__()
        self._foreach, self._direct = foreach, direct
        with self.name_scope():
            self.before, self.side = nn.HybridSequential(), nn.Conv2D(16, 3, padding="same")
            self.before.add(*(nn.Conv2D(16, 3, padding="same", activation="relu") for _ in range(4)))
            self.inner = nn.Conv2D(16, 3, padding="same")

    def hybrid_forward(self, F, x):
        y = self.before(x)
        steps = F.expand_dims(y, axis=1) if self._direct else F.transpose(y, axes=(3, 0, 1, 2))
        first = F.squeeze(F.slice_axis(steps, axis=0, begin=0, end=1), axis=0)

        def body(step, states):
            new = F.tanh((self.inner(step) if self._direct else step) + states[0])
            return new, [new]

        out, last = self._foreach(F, body, steps, [F.zeros_like(first)])
        return F.sum(out, axis=0), last[0], F.relu(self.side(x))


def _stock_foreach(F, *args):
    return F.contrib.foreach(*args)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("way", ["hybridized", "static", "specialized", "deployed"])
def test_a_loop_reads_what_is_in_front_of_it(way, direct):
    """In MXNet, it read memory that held other arrays: wrong numbers, or the end of the process."""
    foreach = arrays.foreach if way in ("hybridized", "static") else _stock_foreach
    net = _Looped(foreach, direct)
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(2, 3, 12, 16))
    want = [y.asnumpy() for y in net(x)]
    if way in ("hybridized", "static"):
        net.hybridize(static_alloc=way == "static")
    else:
        net = specialize(net, x.shape) if way == "specialized" else deploy(net, x.shape, tune=False)
    for _ in range(10):
        for y, wanted in zip(net(x), want):
            np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-4, atol=1e-4)
