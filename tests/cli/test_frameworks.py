"""The line for each framework gives the numbers of the windows."""

import random
import re

import mxnet as mx
import numpy as np
import pytest
import stand_ins

import reference
from gluon_same import nn
from gluon_same.cli.frameworks import Layer, lines
from gluon_same.picture.explain import explain

CHANNELS, FILTERS = 3, 2


def layer_of(op, mode, average, sizes, kernel, stride, dilation):
    modes = [mode] * len(sizes) if isinstance(mode, str) else mode
    if mode == "causal":
        modes = [((kernel[0] - 1) * dilation[0], 0)]
    window = zip(sizes, kernel, stride, dilation, modes)
    return Layer(op, mode, average, [explain(*axis, transposed=op == "transpose") for axis in window])


def random_layers(count, seed=7):
    rng, layers = random.Random(seed), []
    while len(layers) < count:
        ndim, op = rng.choice([1, 2, 2, 3]), rng.choice(["conv", "pool", "transpose"])
        sizes = tuple(rng.randint(1, 9 if ndim < 3 else 5) for _ in range(ndim))
        kernel, stride = (tuple(rng.randint(1, n) for _ in range(ndim)) for n in (4, 3))
        if rng.random() < 0.5:
            kernel, stride = kernel[:1] * ndim, stride[:1] * ndim
        dilated = op != "pool" and ndim < 3 and rng.random() < 0.4
        dilation = (2 if dilated else 1,) * ndim
        mode = rng.choice(["same", "same", "same_lower", "valid", "pairs", "causal"])
        if mode == "causal" and (ndim > 1 or op != "conv"):
            continue
        if mode == "pairs":
            mode = tuple((rng.randint(0, 2), rng.randint(0, 2)) for _ in range(ndim))
        average = op == "pool" and rng.random() < 0.5
        try:
            layer = layer_of(op, mode, average, sizes, kernel, stride, dilation)
        except ValueError:  # the window does not fit
            continue
        if op != "pool" or all(max(a.before, a.after) < a.kernel for a in layer.axes):
            layers.append(layer)
    return layers


LAYERS = random_layers(150)
each = pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: f"{layer.op}")


def numbers(layer, name):
    return tuple(getattr(axis, name) for axis in layer.axes)


def data_of(layer):
    ends = (CHANNELS, FILTERS) if layer.op == "transpose" else (FILTERS, CHANNELS)
    x = np.random.normal(size=(1, CHANNELS, *numbers(layer, "in_size"))).astype("float32")
    return x, np.random.normal(size=(*ends, *numbers(layer, "kernel"))).astype("float32")


def expected(layer, x, weight):
    pads = [(a.before, a.after) for a in layer.axes]
    kernel, stride, dilation = (numbers(layer, name) for name in ("kernel", "stride", "dilation"))
    if layer.op == "conv":
        want = reference.convolution(x, weight, stride, dilation, pads)
    elif layer.op == "pool":
        want = reference.pooling(x, kernel, stride, pads, "avg" if layer.average else "max")
    else:
        want = reference.deconvolution(x, weight, stride, dilation, pads, numbers(layer, "extra"))
    assert want.shape[2:] == numbers(layer, "out_size")
    return want


def parts_of(layer, framework):
    """Return a line's parts: what to pad the input by, the layer's arguments, and what to cut off."""
    line = lines(layer)[framework]
    if line.startswith("none: "):
        return None
    fill = ".*" if layer.op == "transpose" else " of -inf" if layer.op == "pool" else ""
    form = rf"(?:pad x by (.*\]){fill} first, then )?(.*?)(?:, then cut (.*) off y)?"
    before, arguments, after = re.fullmatch(form, line).groups()
    return before and eval(before), arguments, after and eval(after)


def padded(layer, x, pads):
    """Pad channels-first data as a line tells."""
    value = -np.inf if layer.op == "pool" else 0
    return np.pad(x, [(0, 0), (0, 0), *pads], constant_values=value) if pads else x


def cut(y, pads):
    """Cut off channels-first data as a line tells."""
    ends = [slice(before, -after or None) for before, after in pads or ()]
    return y[(slice(None), slice(None), *ends)]


def equal(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def gluon_layer(layer, arguments, blocks):
    kind = {"conv": "Conv", "pool": "AvgPool" if layer.average else "MaxPool", "transpose": "Conv"}
    name = f"{kind[layer.op]}{len(layer.axes)}D" + "Transpose" * (layer.op == "transpose")
    window = f"{numbers(layer, 'kernel')}, strides={numbers(layer, 'stride')}"
    if layer.op != "pool":
        window = f"{FILTERS}, {window}, dilation={numbers(layer, 'dilation')}"
    return eval(f"nn.{name}({window}, {arguments})", {"nn": blocks})


def run(net, x, weight, hybridize):
    weights = [p for p in net.collect_params().values() if p.name.endswith("weight")]
    for parameter in weights:
        parameter.shape = weight.shape
    net.initialize()  # a bias is zero
    for parameter in weights:
        parameter.set_data(mx.nd.array(weight))
    if hybridize:
        net.hybridize()
    return net(mx.nd.array(x)).asnumpy()


@each
@pytest.mark.parametrize("framework", ["gluon_same", "stock Gluon"])
def test_the_line_for_gluon_gives_the_windows(layer, framework):
    x, weight = data_of(layer)
    want = expected(layer, x, weight)
    if parts_of(layer, framework) is None:
        assert framework == "stock Gluon" and layer.average
        return
    before, arguments, after = parts_of(layer, framework)
    net = gluon_layer(layer, arguments, nn if framework == "gluon_same" else mx.gluon.nn)
    hybridize = framework == "stock Gluon" and sum(x.shape) % 2
    equal(cut(run(net, padded(layer, x, before), weight, hybridize), after), want)


@each
def test_stock_gluon_has_padding_of_its_own_wherever_one_number_gives_the_windows(layer):
    found = parts_of(layer, "stock Gluon")
    pads = numbers(layer, "before"), numbers(layer, "after")
    if pads[0] == pads[1] and (layer.op != "conv" or len(pads[0]) < 3):
        assert found[0] is found[2] is None and found[1].startswith("padding=")


@each
def test_the_line_for_pytorch_gives_the_windows(layer):
    x, weight = data_of(layer)
    if parts_of(layer, "PyTorch") is None:
        assert layer.average
        return
    before, arguments, after = parts_of(layer, "PyTorch")
    kind = {"conv": "Conv", "pool": "AvgPool" if layer.average else "MaxPool"}
    name = f"{kind.get(layer.op, 'ConvTranspose')}{len(layer.axes)}d"
    window = f"{numbers(layer, 'kernel')}, stride={numbers(layer, 'stride')}"
    if layer.op != "pool":
        window = f"{CHANNELS}, {FILTERS}, {window}, dilation={numbers(layer, 'dilation')}"
    names = stand_ins.torch_of(weight)
    got = stand_ins.run(f"nn.{name}({window}, {arguments})(x)", padded(layer, x, before), names)
    equal(cut(got, after), expected(layer, x, weight))


@each
@pytest.mark.parametrize("framework", ["Keras", "TensorFlow"])
def test_the_line_for_keras_and_tensorflow_gives_the_windows(layer, framework):
    x, weight = data_of(layer)
    kernel, stride, dilation = (numbers(layer, name) for name in ("kernel", "stride", "dilation"))
    strided_and_dilated = max(stride) > 1 and max(dilation) > 1
    if parts_of(layer, framework) is None:
        assert layer.average or framework == "Keras" and strided_and_dilated
        return
    assert framework == "TensorFlow" or not strided_and_dilated
    before, arguments, after = parts_of(layer, framework)
    ndim = len(layer.axes)
    if framework == "Keras":
        kind = {"pool": "AveragePooling" if layer.average else "MaxPooling"}.get(layer.op, "Conv")
        name = f"keras.layers.{kind}{ndim}D" + "Transpose" * (layer.op == "transpose")
        window = f"{kernel}, strides={stride}"
        if layer.op != "pool":
            window = f"{FILTERS}, {window}, dilation_rate={dilation}"
        call = f"{name}({window}, {arguments})(x)"
    elif layer.op == "pool":
        kind = "avg" if layer.average else "max"
        call = f"tf.nn.{kind}_pool{ndim}d(x, {kernel}, strides={stride}, {arguments})"
    else:
        if ndim == 3 and layer.op == "conv":
            stride, dilation = (1, *stride, 1), (1, *dilation, 1)
        name = f"tf.nn.conv{ndim}d" + "_transpose" * (layer.op == "transpose")
        call = f"{name}(x, w, strides={stride}, dilations={dilation}, {arguments})"
    names = {**stand_ins.keras_of(weight), "batch": 1, "filters": FILTERS}
    got = stand_ins.run(call, np.moveaxis(padded(layer, x, before), 1, -1), names)
    equal(cut(np.moveaxis(got, -1, 1), after), expected(layer, x, weight))


@each
def test_onnxruntime_gives_the_windows(layer):
    x, weight = data_of(layer)
    want = expected(layer, x, weight)
    _, arguments, _ = parts_of(layer, "ONNX")
    equal(run_onnx(layer, x, weight, **eval(f"dict({arguments})")), want)


def run_onnx(layer, x, weight, **attributes):
    import onnxruntime
    from onnx import TensorProto, helper

    attributes.update(kernel_shape=numbers(layer, "kernel"), strides=numbers(layer, "stride"))
    if layer.op != "pool":
        attributes.update(dilations=numbers(layer, "dilation"))
    name = {"conv": "Conv", "pool": "MaxPool", "transpose": "ConvTranspose"}[layer.op]
    name = "AveragePool" if layer.average else name
    feeds = {"x": x} if layer.op == "pool" else {"x": x, "w": weight}
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(name, list(feeds), ["y"], **attributes)],
        "layer",
        [info(key, TensorProto.FLOAT, value.shape) for key, value in feeds.items()],
        [info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)[0]


def test_a_strided_3d_convolution_of_stock_gluon_does_not_pad_its_depth_itself():
    layer = layer_of("conv", ((1, 1),) * 3, False, (5, 5, 5), (3, 3, 3), (2, 1, 1), (1, 1, 1))
    assert lines(layer)["stock Gluon"].startswith("pad x by [(1, 1),")
