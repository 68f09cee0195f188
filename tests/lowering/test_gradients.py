"""Gradients of the operators that plans use: added to what is there with ``grad_req='add'``."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn
from gluon_same.lowering import OPERATORS

S, X, Y, W = mx.sym, *map(mx.sym.var, "xyw")
IMAGES, WIDE = {"x": (2, 4, 5, 6)}, {"x": (2, 4, 5, 6), "y": (1, 1, 3, 1)}
WINDOW = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
FILTERS = {**WINDOW, "num_filter": 4, "no_bias": True}
NONE = (None,) * 4

#: Uses of each operator: the name, the result, and the shapes of its inputs.
USES = [
    ("Convolution", S.Convolution(X, W, **FILTERS), {**IMAGES, "w": (4, 4, 3, 3)}),
    ("Convolution", S.Convolution(X, W, num_group=4, **FILTERS), {**IMAGES, "w": (4, 1, 3, 3)}),
    (
        "Convolution",
        S.Convolution(X, W, kernel=(3,), num_filter=2, no_bias=True),
        {"x": (2, 4, 5), "w": (2, 4, 3)},
    ),
    ("Deconvolution", S.Deconvolution(X, W, **FILTERS), {**IMAGES, "w": (4, 4, 3, 3)}),
    ("Deconvolution", S.Deconvolution(X, W, num_group=4, **FILTERS), {**IMAGES, "w": (4, 1, 3, 3)}),
    *(
        ("Pooling", S.Pooling(X, pool_type=kind, pooling_convention=rounded, **WINDOW), IMAGES)
        for kind in ("max", "avg", "sum")
        for rounded in ("valid", "full")
    ),
    ("Pad", S.Pad(X, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 0, 1)), IMAGES),
    ("Pad", S.Pad(X, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 0, 1)), IMAGES),
    ("Reshape", S.reshape(X, shape=(0, 0, 1, -1)), IMAGES),
    ("expand_dims", S.expand_dims(X, axis=2), IMAGES),
    ("squeeze", S.squeeze(X, axis=2), {"x": (2, 4, 1, 6)}),
    ("slice", S.slice(X, begin=(None, None, 1, None), end=(None, None, None, -1)), IMAGES),
    ("slice", S.slice(X, begin=NONE, end=NONE, step=(1, 1, -1, -1)), IMAGES),
    ("slice", S.slice(X, begin=NONE, end=NONE, step=(1, 1, 2, 1)), IMAGES),
    ("slice_axis", S.slice_axis(X, axis=1, begin=0, end=1), IMAGES),
    ("slice_like", S.slice_like(X, Y, axes=(2, 3)), WIDE),
    ("transpose", S.transpose(X, axes=(0, 2, 3, 1)), IMAGES),
    ("Concat", S.concat(X, Y, X, dim=0), {"x": (5,), "y": (3,)}),
    ("_contrib_arange_like", S.contrib.arange_like(X, axis=2), IMAGES),
    ("broadcast_add", S.broadcast_add(X, Y), {"x": (2, 4, 5, 6), "y": (1, 1, 5, 1)}),
    ("broadcast_div", S.broadcast_div(X, Y), {"x": (2, 4, 5, 6), "y": (1, 1, 5, 6)}),
    ("ones_like", S.ones_like(X), IMAGES),
    ("_copy", S.identity(X), IMAGES),
    ("reverse", S.reverse(S.identity(X), axis=(2, 3)), IMAGES),  # wrong without the copy
    ("BlockGrad", S.BlockGrad(X), IMAGES),
]


def gradients(symbol, shapes, dtype, grad_req):
    """Return the gradients after two passes, the second one over other data."""
    random = np.random.RandomState(0)
    grads = {name: mx.nd.full(shape, 7, dtype=dtype) for name, shape in shapes.items()}
    args = {name: mx.nd.zeros(shape, dtype=dtype) for name, shape in shapes.items()}
    bound, passes = symbol.bind(mx.cpu(), args, grads, grad_req=grad_req), []
    for _ in range(2):
        for name, shape in shapes.items():
            args[name][:] = mx.nd.array(random.uniform(0.5, 2, shape), dtype=dtype)
        heads = [mx.nd.array(random.normal(size=y.shape), dtype=dtype) for y in bound.forward(True)]
        bound.backward(heads)
        passes.append({name: grad.asnumpy().astype("float64") for name, grad in grads.items()})
    return passes


def test_each_operator_is_checked():
    assert {name for name, *_ in USES} == OPERATORS


@pytest.mark.parametrize("number", range(len(USES)))
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("uses", [1, 2, 12])  # MXNet adds up more than eight gradients in place
def test_gradients_are_added_to_those_of_earlier_passes(number, dtype, uses):
    name, symbol, shapes = USES[number]
    if dtype == "float16" and name.endswith("onvolution"):
        pytest.skip("MXNet has no float16 convolution on a CPU")
    symbol = mx.sym.Group([symbol * (1 + i) for i in range(uses)])
    first, second = gradients(symbol, shapes, dtype, "write")
    _, added = gradients(symbol, shapes, dtype, "add")
    for name in shapes:
        near = {"rtol": 2e-2, "atol": 0.5} if dtype == "float16" else {"rtol": 1e-4, "atol": 1e-3}
        np.testing.assert_allclose(added[name], 7 + first[name] + second[name], **near)


@pytest.mark.parametrize("ndim", [1, 2])
@pytest.mark.parametrize("exported", [False, True])
def test_the_graph_for_every_size_accumulates_gradients_of_depthwise_weights(ndim, exported, tmp_path):
    layer = getattr(nn, f"DepthwiseConv{ndim}D")(3, 2, "same", in_channels=4)
    layer.initialize(mx.init.Normal(1))
    data = [mx.nd.random.normal(shape=(2, 4, *[n] * ndim)) for n in (5, 6, 9)]
    eager = _accumulated(layer, data)
    layer.hybridize()
    if exported:
        layer(data[0])
        layer.export(str(tmp_path / "net"))
        files = [str(tmp_path / name) for name in ("net-symbol.json", "net-0000.params")]
        layer = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    for want, got in zip(eager, _accumulated(layer, data)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def _accumulated(layer, data):
    layer.collect_params().setattr("grad_req", "add")
    layer.collect_params().zero_grad()
    for x in data:
        with mx.autograd.record():
            y = layer(x)
        y.backward(y)
    return [p.grad().asnumpy() for _, p in sorted(layer.collect_params().items())]
