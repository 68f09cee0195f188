"""With numeric padding, blocks equal stock blocks in outputs, gradients, parameters and text."""

import copy
import inspect
import pickle
import pydoc

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd
from mxnet.gluon import nn as stock

from gluon_same import nn
from gluon_same.nn import borders, depthwise, separable

CASES = [
    ("Conv1D", (4, 3), dict(padding=1), (2, 3, 9)),
    ("Conv1D", (4, (3,), 2, (2,), 2), {}, (2, 3, 9)),
    ("Conv2D", (4, 3), dict(padding=1, activation="relu"), (2, 3, 9, 8)),
    ("Conv2D", (4, (4, 1), (2, 1), (2, 0), (1, 2)), dict(use_bias=False), (2, 3, 9, 8)),
    ("Conv2D", (6, 3), dict(groups=3, in_channels=3), (2, 3, 9, 8)),
    ("Conv3D", (4, 3), dict(padding=(1, 0, 2), strides=2), (2, 3, 6, 7, 8)),
    ("Conv1DTranspose", (4, 3, 2, 1, 1), {}, (2, 3, 9)),
    ("Conv2DTranspose", (4, 3, (2, 2), (1, 1), (1, 0)), dict(activation="tanh"), (2, 3, 5, 6)),
    ("Conv3DTranspose", (4, 2, 2), {}, (2, 3, 4, 5, 6)),
    ("MaxPool1D", (3, 2, 1), {}, (2, 3, 9)),
    ("MaxPool1D", (), {}, (2, 3, 9)),
    ("MaxPool2D", (3, 2, 1), dict(ceil_mode=True), (2, 3, 9, 8)),
    ("MaxPool2D", ((2, 1),), {}, (2, 3, 9, 8)),
    ("MaxPool2D", (2,), dict(layout="NHWC"), (2, 9, 8, 3)),
    ("MaxPool3D", (2, 1, 1), {}, (2, 3, 4, 5, 6)),
    ("AvgPool1D", (3, 2, 1), {}, (2, 3, 9)),
    ("AvgPool2D", (3, 2, 1), {}, (2, 3, 9, 8)),
    ("AvgPool2D", (3, 2, 1), dict(count_include_pad=False), (2, 3, 9, 8)),
    ("AvgPool2D", (3, 2, 1), dict(count_include_pad=True, ceil_mode=True), (2, 3, 9, 8)),
    ("AvgPool3D", (2,), {}, (2, 3, 4, 5, 6)),
]
LAYERS = sorted({name for name, *_ in CASES})
OWN = [*borders.__all__, *depthwise.__all__, *separable.__all__]


def run(net, x, seed=3):
    """Return the output and all gradients, with the same weights and head gradient for every net."""
    rng = np.random.RandomState(seed)
    net(x)
    for _, p in sorted(net.collect_params().items()):
        p.set_data(mx.nd.array(rng.standard_normal(p.shape), dtype=p.dtype))
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward(mx.nd.array(rng.standard_normal(y.shape), dtype=y.dtype))
    gradients = [p.grad().asnumpy() for _, p in sorted(net.collect_params().items())]
    return [y.asnumpy(), x.grad.asnumpy().copy(), *gradients]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("name, args, kwargs, shape", CASES)
def test_numeric_padding_is_bit_identical(name, args, kwargs, shape, hybridize, dtype):
    if name == "Conv3DTranspose" and dtype == "float64":
        pytest.skip("MXNet has no such kernel for the CPU, in stock blocks either")
    x = mx.nd.random.normal(shape=shape, dtype=dtype)
    results = []
    for module in (stock, nn):
        net = getattr(module, name)(*args, **kwargs)
        net.initialize()
        net.cast(dtype)
        net.hybridize(hybridize)
        results.append(run(net, x))
    assert len(results[0]) == len(results[1]) > 1
    for theirs, ours in zip(*results):
        assert ours.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name, args, kwargs, shape", CASES)
def test_repr_and_parameters_equal_stock(name, args, kwargs, shape):
    theirs = getattr(stock, name)(*args, prefix="layer_", **kwargs)
    ours = getattr(nn, name)(*args, prefix="layer_", **kwargs)
    assert repr(ours) == repr(theirs)
    assert ours._kwargs == theirs._kwargs and isinstance(ours, getattr(stock, name))
    named = lambda net: {k: (p.shape, p.init, p.dtype) for k, p in net.collect_params().items()}  # noqa: E731
    assert named(ours) == named(theirs)


@pytest.mark.parametrize("name", LAYERS)
def test_signature_equals_stock(name):
    theirs = dict(inspect.signature(getattr(stock, name)).parameters)
    ours = dict(inspect.signature(getattr(nn, name)).parameters)
    del theirs["kwargs"]
    assert [ours.pop(key).default for key in ("prefix", "params")] == [None, None]
    assert list(ours) == list(theirs)
    for key in theirs:
        assert ours[key].kind == theirs[key].kind
        if key in ("count_include_pad", "layout"):
            assert ours[key].default is None
        else:  # one int where stock Gluon has a tuple of them
            want = theirs[key].default
            assert ours[key].default == (want[0] if isinstance(want, tuple) else want)


def test_exports_every_name_of_stock():
    names = {name for name in dir(stock) if not name.startswith("_")}
    assert names <= set(nn.__all__) and all(hasattr(nn, name) for name in names)
    replaced = {*LAYERS, "BatchNorm"}
    others = names - replaced
    assert all(getattr(nn, name) is getattr(stock, name) for name in others)
    assert all(getattr(nn, name) is not getattr(stock, name) for name in replaced)


@pytest.mark.parametrize("name", LAYERS + OWN)
def test_help_explains_every_argument(name):
    cls = getattr(nn, name)
    arguments = list(inspect.signature(cls).parameters)
    lines = inspect.getdoc(cls.__init__).splitlines()
    explained = [key for line in lines if " : " in line for key in line.split(" : ")[0].split(", ")]
    assert sorted(explained) == sorted(arguments)
    assert inspect.getdoc(cls.__init__) in pydoc.render_doc(cls, renderer=pydoc.plaintext).replace(
        " |      ", ""
    ).replace(" |", "")
    assert all(
        parameter.annotation is not inspect.Parameter.empty
        for parameter in inspect.signature(cls).parameters.values()
    )


@pytest.mark.parametrize("name", LAYERS)
def test_copies_are_layers_of_the_same_class(name):
    layer = getattr(nn, name)(*((4, 3) if "Conv" in name else ()), prefix="layer_")
    for twin in (pickle.loads(pickle.dumps(layer)), copy.copy(layer)):
        assert type(twin) is type(layer) and repr(twin) == repr(layer)


def make(module, padding):
    net = module.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            module.Conv2D(4, 3, padding=padding),
            module.BatchNorm(),
            module.MaxPool2D(2, 1),
            module.Conv2D(4, 3, padding=padding, groups=2, use_bias=False),
            module.Conv2DTranspose(2, 3, 1, padding=padding),
            module.Dense(3),
        )
    net.initialize(mx.init.Normal(1.0))
    return net


@pytest.mark.parametrize("padding", [1, "same"])
@pytest.mark.parametrize("direction", ["from stock", "to stock"])
def test_params_files_are_compatible_with_stock(direction, padding, tmp_path):
    source, target = make(stock, 1), make(nn, padding)
    if direction == "to stock":
        source, target = target, source
    x = mx.nd.random.normal(shape=(2, 3, 8, 8))
    want = source(x).asnumpy()
    for save, load in [
        (source.save_parameters, target.load_parameters),
        (source.collect_params().save, target.collect_params().load),
    ]:
        save(str(tmp_path / "net.params"))
        load(str(tmp_path / "net.params"))
        np.testing.assert_allclose(target(x).asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_parameters_are_shared_by_params():
    ours = nn.Conv2D(4, 2, padding="same", in_channels=3)
    ours.initialize()
    theirs = stock.Conv2D(4, 2, in_channels=3, params=ours.params)
    x = mx.nd.random.normal(shape=(1, 3, 5, 5))
    np.testing.assert_allclose(
        ours(x).asnumpy()[:, :, :4, :4], theirs(x).asnumpy(), rtol=1e-5, atol=1e-6
    )


def test_initializers_are_kept():
    layer = nn.Conv2D(
        4, 3, padding="same", in_channels=2, weight_initializer="ones", bias_initializer="ones"
    )
    layer.initialize()
    assert layer(mx.nd.ones((1, 2, 5, 5)))[0, 0, 2, 2].asscalar() == 19
