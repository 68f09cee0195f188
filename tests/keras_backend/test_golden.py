"""Compare functions on arrays and symbols with TensorFlow's layers, without keras-mxnet."""

import gluon_same  # noqa: F401  isort: skip  before mxnet

import mxnet as mx
import pytest

from gluon_same import keras_backend as K
from golden import keras_cases as cases
from helpers import FORMATS, GOLDEN, channels_first, right

# Keras' Conv1D computes 'causal' by padding before a 'valid' convolution.
LAYERS = [layer for layer in cases.LAYERS if layer[2].get("padding") != "causal"]


def kernels_of(kind, arguments, channels):
    """Return the shapes of a layer's kernels."""
    ndim = int(kind.replace("Transpose", "")[-2])
    window = arguments.get("kernel_size", ())
    window = (window,) * ndim if isinstance(window, int) else window
    filters, multiplier = arguments.get("filters"), arguments.get("depth_multiplier", 1)
    if "Pooling" in kind:
        return []
    if kind.startswith("Depthwise"):
        return [(*window, channels, multiplier)]
    if kind.startswith("Separable"):
        return [(*window, channels, multiplier), (*(1,) * ndim, channels * multiplier, filters)]
    return [(*window, filters, channels) if "Transpose" in kind else (*window, channels, filters)]


def function_of(kind):
    for start, function in (
        ("Max", K.max_pool),
        ("Average", K.average_pool),
        ("Depthwise", K.depthwise_conv),
        ("Separable", K.separable_conv),
    ):
        if kind.startswith(start):
            return function
    return K.conv_transpose if "Transpose" in kind else K.conv


@pytest.mark.parametrize("way", ["array", "symbol"])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer[0])
def test_function_equals_the_layer(layer, way):
    name, kind, arguments, shape = layer
    kernels = [cases.weight(k, 1) for k in kernels_of(kind, arguments, shape[-1])]
    kept = ("filters", "kernel_size", "depth_multiplier")
    how = {key: value for key, value in arguments.items() if key not in kept}
    arrays = [mx.nd.array(a) for a in (cases.data(shape), *kernels)]
    if way == "array":
        out = function_of(kind)(*arrays, **how)
    else:
        symbols = [mx.sym.var(f"x{i}", shape=a.shape) for i, a in enumerate(arrays)]
        (out,) = function_of(kind)(*symbols, **how).eval(**{f"x{i}": a for i, a in enumerate(arrays)})
    if kernels:  # the layer has a bias, too
        out = out + mx.nd.array(cases.weight(out.shape[-1:], 1))
    assert right(out.asnumpy(), GOLDEN[name])


@pytest.mark.parametrize("way", ["array", "symbol"])
@pytest.mark.parametrize("data_format", FORMATS)
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer[0])
def test_gradients_equal_those_of_the_layer(layer, data_format, way):
    name, kind, arguments, shape = layer
    kernels = [cases.weight(k, 1) for k in kernels_of(kind, arguments, shape[-1])]
    kept = ("filters", "kernel_size", "depth_multiplier")
    how = {key: value for key, value in arguments.items() if key not in kept}
    x, slopes = cases.distinct(shape), cases.whole(GOLDEN[name].shape, "slopes")
    if data_format == "channels_first":
        x, slopes = channels_first(x), channels_first(slopes)
    arrays = [mx.nd.array(a) for a in (x, *kernels)]
    for array in arrays:
        array.attach_grad()
    if way == "array":
        with mx.autograd.record():
            out = function_of(kind)(*arrays, **how, data_format=data_format)
        out.backward(mx.nd.array(slopes))
    else:
        symbols = [mx.sym.var(f"x{i}", shape=a.shape) for i, a in enumerate(arrays)]
        out = function_of(kind)(*symbols, **how, data_format=data_format)
        grads = [a.grad for a in arrays]
        executor = out.bind(mx.cpu(), arrays, args_grad=grads)
        executor.forward(is_train=True)
        executor.backward(mx.nd.array(slopes))
    for number, array in enumerate(arrays):
        want = GOLDEN[f"{name} gradient {number}"]
        if number == 0 and data_format == "channels_first":
            want = channels_first(want)
        assert right(array.grad.asnumpy(), want)
