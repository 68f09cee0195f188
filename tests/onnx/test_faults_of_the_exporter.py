"""Nets that MXNet's exporter converts wrong, or to files that onnxruntime refuses."""

import mxnet as mx
import numpy as np
import onnx
import pytest
from mxnet.gluon import nn as stock

from gluon_same import nn
from gluon_same.onnx import export_model
from onnx_files import close, operators, reader, ready


def of(function):
    return nn.HybridLambda(function)


def exported(net, shape, path, *others, dtype="float32", **kwargs):
    """Compare a file with the net, for numbers up to 20."""
    export_model(net, shape, path, dynamic=bool(others), dtype=dtype, **kwargs)
    run = reader(path)
    for each in (shape, *others):
        x = mx.nd.random.uniform(-20, 20, shape=each, dtype=dtype)
        close(run(x), net(x))


@pytest.mark.parametrize("package", [nn, stock])
@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 1), (3, 3, 1), (2, 3, 0), (3, 2, 1)])
def test_a_pooling_that_rounds_up(package, kernel, stride, padding, path):
    pool = package.MaxPool2D(kernel, stride, padding=padding, ceil_mode=True)
    exported(pool, (1, 2, 8, 9), path, (1, 2, 7, 7), (2, 2, 10, 11))
    exported(pool, (1, 2, 7, 7), path)


@pytest.mark.parametrize("package", [nn, stock])
def test_an_average_that_rounds_up_to_a_window_of_padding_is_refused(package, path):
    pool = package.AvgPool2D(2, 2, padding=1, ceil_mode=True, count_include_pad=False)
    for shape, dynamic in [((1, 2, 7, 7), False), ((1, 2, 8, 8), True)]:
        with pytest.raises(ValueError, match="AvgPool2D.* may contain padding only.*ceil_mode=False"):
            export_model(pool, shape, path, dynamic=dynamic)
    exported(pool, (1, 2, 8, 8), path)


class Residual(nn.HybridBlock):
    """A convolution's result, its sum with another one's, and itself with more padding."""

    def __init__(self, groups, padding, pads):
        super().__init__()
        self.pads = pads
        with self.name_scope():
            self.first, self.second = (
                nn.Conv2D(6, 3, padding=padding, groups=groups, in_channels=6) for _ in range(2)
            )

    def hybrid_forward(self, F, x):
        y = self.first(x)
        found = [y, y + self.second(F.relu(x))]
        if self.pads:
            found.append(F.pad(y, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)))
        return found


@pytest.mark.parametrize("padding", ["same", 1])
@pytest.mark.parametrize("groups, pads", [(1, False), (6, False), (1, True)])
def test_a_convolution_that_is_an_output_and_a_summand(groups, padding, pads, path):
    net = Residual(groups, padding, pads)
    net.initialize()
    export_model(net, (1, 6, 5, 5), path)
    x = mx.nd.random.normal(shape=(1, 6, 5, 5))
    close(reader(path)(x), net(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda F, x: x + 3.0,
        lambda F, x: 3.0 / (x + 50),
        lambda F, x: F.clip(x, -3, 6),
        lambda F, x: F.maximum(x, 5),
        lambda F, x: F.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 2, 0), constant_value=2),
        lambda F, x: F.one_hot(F.reshape(x, -1) > 0, depth=2, on_value=5, off_value=2, dtype="float16"),
        lambda F, x: F.log2(F.abs(x) + 1),
        lambda F, x: F.LeakyReLU(x, act_type="leaky", slope=0.5),
        lambda F, x: F.LeakyReLU(x, act_type="gelu"),
        lambda F, x: F.ones_like(x) + x,
        lambda F, x: x > 3,
    ],
)
def test_constants_in_float16(function, path):
    net = of(function)
    export_model(net, (1, 2, 3, 4), path, dtype="float16")
    x = mx.nd.random.uniform(-20, 20, shape=(1, 2, 3, 4), dtype="float16")
    for one, other in zip(reader(path)(x), [net(x).asnumpy()]):
        np.testing.assert_allclose(one.astype("f"), other.astype("f"), rtol=2e-3, atol=1e-2)


def test_relu6_in_float16(path):
    net = nn.ReLU6()
    net.cast("float16")
    exported(net, (2, 3, 8), path, dtype="float16")


def test_the_check_reaches_the_constants(path):
    """The bounds of a wrong file differ only for numbers that reach them."""
    from gluon_same.onnx.check import compare

    export_model(of(lambda F, x: F.clip(x, 0, 5)), (2, 3), path)
    with pytest.raises(ValueError, match="would differ by"):
        compare(of(lambda F, x: F.clip(x, 0, 6)), path, {"data": (2, 3)}, ["float32"])


def test_the_check_compares_other_sizes(path):
    from gluon_same.onnx.check import compare

    export_model(nn.MaxPool2D(2, 2), (1, 2, 8, 8), path, dynamic=True)
    other = nn.MaxPool2D(2, 2, ceil_mode=True)
    compare(other, path, {"data": (1, 2, 8, 8)}, ["float32"])
    with pytest.raises(ValueError, match=r"inputs of shape \[\(2, 2, 9, 9\)\].*outputs of shapes"):
        compare(other, path, {"data": (1, 2, 8, 8)}, ["float32"], {"data": (0, 2, 3)})


def test_the_check_passes_over_sizes_that_the_net_does_not_support(path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(3, 3, 2, "same"), nn.Dense(4))
    export_model(ready(net, mx.nd.ones((1, 3, 9, 9))), (1, 3, 9, 9), path, dynamic=True)


@pytest.mark.parametrize("axis", [1, -1])
def test_a_normalization_whose_scale_is_not_one_and_has_not_run(axis, path):
    net = nn.BatchNorm(axis=axis, scale=False, in_channels=3, gamma_initializer=mx.init.Constant(2.5))
    net.initialize()
    export_model(net, (2, 3, 3), path)
    x = mx.nd.random.uniform(1, 2, shape=(2, 3, 3))
    close(reader(path)(x), net(x))


class Auxiliary(nn.HybridBlock):
    """A net with a head whose result is unused."""

    def __init__(self):
        super().__init__()
        self.main, self.head = nn.Conv2D(3, 3, 2, "same"), nn.AvgPool2D(3, 2, "same")

    def hybrid_forward(self, F, x):
        self.head(x)
        return self.main(x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_unused_layer_is_left_out(dynamic, path):
    net = ready(Auxiliary(), mx.nd.ones((1, 3, 9, 9)))
    export_model(net, (1, 3, 9, 9), path, dynamic=dynamic)
    assert operators(path) == ["Conv"]


class First(nn.HybridBlock):
    """A net that ignores its second input."""

    def hybrid_forward(self, F, x, other):
        return F.relu(x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_unused_input_is_left_out(dynamic, path):
    export_model(First(), [(1, 3), (1, 4)], path, dynamic=dynamic)
    assert operators(path) == ["Relu"]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "pool",
    [
        nn.MaxPool2D(2),
        nn.MaxPool2D(3, 2, "same"),
        nn.MaxPool2D(3, 2, padding=1),
        nn.MaxPool2D(3, 1, padding="same"),
        nn.MaxPool2D(3, 2, ceil_mode=True),
        nn.AvgPool2D(2),
        nn.AvgPool2D(3, 2, "same"),
        nn.AvgPool2D(3, 2, padding=1),
        nn.AvgPool2D(3, 1, padding=1, count_include_pad=False),
    ],
    ids=repr,
)
@pytest.mark.parametrize("between", [[], [nn.Dropout(0.5)]], ids=["", "dropout"])
def test_zeros_in_front_of_a_pooling(pool, between, dynamic, path):
    net = nn.HybridSequential()
    net.add(nn.ZeroPadding2D(3), *between, pool)
    net.initialize()
    others = [(2, 2, 9, 7)] if dynamic else []
    export_model(net, (1, 2, 8, 8), path, dynamic=dynamic)
    run = reader(path)
    for shape in [(1, 2, 8, 8), *others]:
        x = -mx.nd.random.uniform(1, 2, shape=shape)
        close(run(x), net(x))


@pytest.mark.parametrize(
    "function, shape",
    [
        (lambda F, x: F.split_v2(x, (0, 2), axis=1)[1:], (2, 4, 3)),
        (lambda F, x: F.squeeze(x), (1, 1)),
        (lambda F, x: F.squeeze(x, axis=0), (1, 1)),
        (lambda F, x: F.argsort(x, axis=1), (2, 4, 3)),
        (lambda F, x: F.argsort(x, axis=None, is_ascend=False, dtype="int32"), (2, 4, 3)),
        (lambda F, x: F.argsort(x, axis=-1) * 0.5, (2, 4, 3)),
        (lambda F, x: F.LRN(x, nsize=3), (2, 4, 3, 3)),
        (lambda F, x: F.mean(x, axis=1, exclude=True), (2, 4, 3)),
        (lambda F, x: F.sum(x, axis=(0, -1), exclude=True, keepdims=True), (2, 4, 3)),
        (lambda F, x: F.Pooling(x, kernel=(2, 2), pool_type="lp", p_value=1), (2, 4, 3, 3)),
        (lambda F, x: F.Pooling(x, kernel=(2, 2), pad=(1, 1), pool_type="sum"), (2, 4, 3, 3)),
        (lambda F, x: F.Pooling(x, global_pool=True, pool_type="lp", p_value=1), (2, 4, 3, 3)),
        (lambda F, x: F.Pooling(x, global_pool=True, pool_type="sum"), (2, 4, 3, 3)),
        (lambda F, x: F._internal._div_scalar(x, scalar=4, name="my_rdivscalar"), (2, 4)),
    ],
)
def test_operators_that_could_not_be_exported(function, shape, path, capfd):
    exported(of(function), shape, path)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2D(3, 3, 2, "same", dilation=2),
        nn.Conv2D(3, 3, 2, "same_lower", dilation=(1, 3)),
        nn.Conv1D(3, 3, 4, "same"),
        nn.MaxPool2D(3, 5, padding="same"),
        nn.MaxPool1D(2, 3, padding="same_lower"),
    ],
    ids=repr,
)
def test_dilated_windows_and_windows_with_gaps_at_every_size(layer, path):
    ndim = len(layer._kwargs["kernel"])
    ready(layer, mx.nd.ones((1, 3, 12, 13)[: ndim + 2]))
    exported(
        layer, (1, 3, 12, 13)[: ndim + 2], path, *((2, 3, n, n + 3)[: ndim + 2] for n in range(9, 14))
    )


@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda F, x, i: F.take(x, i), [(3, 4), (2,)]),
        (lambda F, x, i: F.gather_nd(x, F.reshape(i, (2, 2))), [(3, 4), (4,)]),
        (lambda F, x, i: F.softmax(x, i, use_length=True, axis=-1), [(3, 4), (3,)]),
        (lambda F, x, i: F.SequenceMask(x, i, use_sequence_length=True), [(3, 4), (4,)]),
    ],
)
def test_the_check_draws_indices(function, shapes, path):
    class Net(nn.HybridBlock):
        def hybrid_forward(self, F, x, i):
            return function(F, x, i)

    dtypes = ["float32", "int32" if "softmax" in function.__code__.co_names else "float32"]
    export_model(Net(), shapes, path, dtype=dtypes)


@pytest.mark.parametrize("form", ["corner", "center"])
@pytest.mark.parametrize("most", [-1, 3, 9])
def test_the_highest_scores_are_kept_before_boxes_are_suppressed(form, most, path):
    net = of(
        lambda F, x: F.contrib.box_nms(
            x,
            coord_start=1,
            score_index=0,
            topk=most,
            overlap_thresh=0.4,
            in_format=form,
            out_format=form,
        )
    )
    export_model(net, (1, 2, 6, 5), path, dynamic=True)
    run, random = reader(path), np.random.RandomState(0)
    for shape in [(1, 2, 6, 5), (2, 2, 8, 6)] * 10:
        x = random.uniform(0, 2, shape)
        corners = x[..., 1:5].reshape(*shape[:-1], 2, 2)
        x[..., 1:5] = np.sort(corners, axis=-2).reshape(*shape[:-1], 4)
        close(run(mx.nd.array(x)), net(mx.nd.array(x)))


@pytest.mark.parametrize("heads", [3, 5])
def test_the_check_passes_over_sizes_that_cannot_be_split_into_heads(heads, path):
    net = of(lambda F, x: F.contrib.interleaved_matmul_selfatt_qk(x, heads=heads))
    exported(net, (4, 2, 6 * heads), path, (5, 2, 9 * heads))


def test_random_results_are_not_compared(path):
    net = of(lambda F, x: x + F.random.uniform(0, 1, shape=(2, 3)))
    with pytest.warns(UserWarning, match="were not compared"):
        export_model(net, (2, 3), path)
    assert "RandomUniform" in {node.op_type for node in onnx.load(path).graph.node}


def test_the_check_passes_over_sizes_that_a_reshape_does_not_support(path):
    """MXNet reshapes (9, 9, 11) to (9, 3, 3, 10), and reads other memory later."""
    net = of(lambda F, x: F.reshape(x, shape=(0, -4, 3, -1, 10)))
    for _ in range(20):
        export_model(net, (8, 9, 10), path, dynamic=True)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_output_that_is_padded_before_a_convolution(dynamic, path):
    net = nn.HybridSequential()
    net.add(nn.Activation("tanh"), nn.ZeroPadding2D(1), nn.Conv2D(2, 3, in_channels=2))

    class Outputs(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.net = net

        def hybrid_forward(self, F, x):
            activation, *others = self.net._children.values()
            first = activation(x)
            y = z = activation(first)
            for layer in others:
                z = layer(z)
            return first, y, z, first

    files = Outputs()
    files.initialize()
    export_model(files, (1, 2, 5, 5), path, dynamic=dynamic)
    assert operators(path) == ["Tanh", "Identity", "Tanh", "Pad", "Conv"]


@pytest.mark.parametrize("size", [1, 2, 3, (4, 1), (7, 9), (9, 12)])
def test_an_adaptive_average_of_a_fixed_size(size, path):
    net = of(lambda F, x: F.contrib.AdaptiveAvgPooling2D(x, output_size=size))
    exported(net, (2, 3, 7, 9), path)
    if size != 1:
        with pytest.raises(ValueError, match="AdaptiveAvgPooling2D.*dynamic=False"):
            export_model(net, (2, 3, 7, 9), path, dynamic=True)
