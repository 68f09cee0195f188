"""ONNX forms of operators that MXNet's exporter lacks."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same import functional, nn
from gluon_same.onnx import export_model, import_model
from onnx_files import close, operators, reader, ready

SHAPES = [(2, 4, 6, 5), (1, 4, 8, 7)]


def arrays(shape, seed=0):
    return mx.nd.array(np.random.RandomState(seed).normal(size=shape))


def exported(net, tmp_path, shapes=SHAPES):
    """Compare a file for every size with the net, at two sizes."""
    inputs = [arrays(shape) for shape in shapes]
    ready(net, inputs[0])
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.random.uniform(0.5, 2, parameter.shape))
    path = export_model(net, shapes[0], tmp_path / "net.onnx", dynamic=True)
    run = reader(path)
    for x in inputs:
        close(run(x), net(x))
    return operators(path)


def compared(F, x):
    return F.concat(x >= 0.1, x <= 0.1, dim=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda F, x: F.reverse(x, axis=2),
        lambda F, x: F.reverse(x, axis=(1, 3)),
        lambda F, x: F.broadcast_maximum(x, F.mean(x, axis=1, keepdims=True)),
        lambda F, x: F.broadcast_to(F.mean(x, axis=1, keepdims=True), shape=(0, 3, 0, 0)),
        lambda F, x: F.rsqrt(F.abs(x) + 0.1),
        lambda F, x: F.expm1(x),
        lambda F, x: F.erf(x) + F.sign(x),
        lambda F, x: F.sinh(x) + F.cosh(x),
        lambda F, x: F.arcsinh(x) + F.arccosh(F.abs(x) + 1) + F.arctanh(F.tanh(x)),
        lambda F, x: F.softsign(x),
        lambda F, x: (x > x * x) + (x == F.abs(x)) * 2 + (x <= 0 * x) * 4 + (x % (x * x + 1)),
        lambda F, x: F.cumsum(x, axis=2),
        lambda F, x: F.cumsum(x),
        lambda F, x: F.contrib.BilinearResize2D(x, height=9, width=4),
        lambda F, x: F.contrib.BilinearResize2D(x, height=1, width=7, align_corners=False),
        lambda F, x: F.contrib.BilinearResize2D(x, scale_height=2, scale_width=3, align_corners=False),
        lambda F, x: F.contrib.BilinearResize2D(x, scale_height=1.7, scale_width=0.5),
        lambda F, x: F.SequenceReverse(x),
        lambda F, x: F.contrib.BilinearResize2D(
            x, F.concat(x, x, dim=2), mode="like", align_corners=False
        ),
        lambda F, x: F.softmax(300 * x, axis=1, temperature=0.5),
        lambda F, x: F.log_softmax(300 * x, axis=2, temperature=0.5),
        lambda F, x: F.softmin(x, axis=1),
        lambda F, x: F.L2Normalization(x, eps=0.5),
        lambda F, x: F.L2Normalization(x, eps=0.5, mode="channel"),
        lambda F, x: F.L2Normalization(x, eps=0.5, mode="spatial"),
        lambda F, x: F.one_hot(F.floor(2 * x), depth=3, on_value=2.5, off_value=-1),
        lambda F, x: F.one_hot(F.cast(2 * x, dtype="int32"), depth=3) * 0.3,
        lambda F, x: F.linalg_gemm2(x, x, transpose_a=True, alpha=0.1),
        lambda F, x: F.linalg_gemm2(x, x, transpose_b=True),
        lambda F, x: F.slice_like(x, F.slice_axis(x, axis=2, begin=1, end=None), axes=()),
        lambda F, x: F.sum(x, axis=1, exclude=True),
        lambda F, x: F.max(x, exclude=True),
        lambda F, x: 2.5**x - 1.5,
        lambda F, x: 1.5 - x,
        compared,
    ],
)
def test_elementwise_operators(tmp_path, capfd, function):
    exported(nn.HybridLambda(function), tmp_path)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "codes",
    [
        (-2,),
        (-3, -2),
        (-3, -3),
        (0, -3, 0),
        (0, 0, -3),
        (0, -3, -1),
        (0, -4, 2, -1, -2),
        (0, -4, -1, 2, 0, 0),
        (0, 0, -4, 2, -1, 0),
        (-4, 1, -1, -2),
        (0, 2, -1),
    ],
)
def test_codes_of_reshape(tmp_path, codes):
    exported(nn.HybridLambda(lambda F, x: F.reshape(x, shape=codes)), tmp_path)


@pytest.mark.parametrize("axis", [0, 2, 3, -1])
def test_normalization_of_any_axis(tmp_path, axis):
    shapes = [(2, 4, 6, 5), (2, 4, 6, 5)] if axis == 0 else [(2, 4, 6, 5), (3, 4, 6, 5)]
    found = exported(nn.BatchNorm(axis=axis, epsilon=0.01), tmp_path, shapes)
    assert "BatchNormalization" in found


WINDOWS = [
    dict(kernel=(3, 2), stride=2),
    dict(kernel=(4, 3), stride=(1, 3)),
    dict(kernel=(2, 5), stride=(3, 2), pad="same_lower"),
    dict(kernel=(3, 4), stride=(2, 1), pad="valid"),
]


@pytest.mark.parametrize("shape", [(1, 2, 7, 8), (1, 2, 8, 9)])
def test_averages_that_count_the_padding_of_the_last_window(tmp_path, shape):
    net = nn.AvgPool2D(3, 2, 1, ceil_mode=True, count_include_pad=True)
    path = export_model(net, shape, tmp_path / "net.onnx")
    close(reader(path)(arrays(shape)), net(arrays(shape)))


def test_normalization_of_groups(tmp_path):
    exported(mx.gluon.nn.GroupNorm(2, epsilon=0.01), tmp_path)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", ["max", "avg", "convolution", "deconvolution"])
def test_functions_at_every_size(tmp_path, window, kind):
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(4, 4, *window["kernel"]))

        def hybrid_forward(self, F, x, weight):
            if kind in ("max", "avg"):
                return functional.pooling(F, x, pool_type=kind, **window)
            return getattr(functional, kind)(F, x, weight, num_filter=4, **window)

    exported(Net(), tmp_path, [(2, 4, 6, 5), (1, 4, 8, 7), (1, 4, 7, 10)])


@pytest.mark.parametrize(
    "begin, end, step",
    [
        ((None, 1), (None, -1), ()),
        ((None, None, -1), (None, None, 0), (1, 1, -2)),
        ((0, 3, None), (1, None, None), (None, -1, -1)),
    ],
)
def test_slices(tmp_path, begin, end, step):
    exported(nn.HybridLambda(lambda F, x: F.slice(x, begin=begin, end=end, step=step)), tmp_path)


@pytest.mark.parametrize("slopes", [1, 4])
def test_prelu(tmp_path, slopes):
    assert exported(nn.PReLU(in_channels=slopes), tmp_path)[-1] == "PRelu"
    assert exported(nn.PReLU(in_channels=slopes), tmp_path, [(2, 4), (3, 4)])[-1] == "PRelu"


class Loop(nn.HybridBlock):
    """A loop over two sequences, with two states and a weight."""

    def __init__(self):
        super().__init__()
        self.weight = self.params.get("weight", shape=(3, 3))

    def hybrid_forward(self, F, x, weight):
        def step(inputs, states):
            one, other = inputs
            first, second = states
            first = F.clip(F.dot(first, weight) + F.clip(one, -0.5, 0.5), -1, 1)
            return [first * 0.5, 1 - other], [first, second + other * 0.5]

        steps = F.transpose(x, axes=(2, 0, 1))
        first = F.zeros_like(F.squeeze(F.slice_axis(steps, axis=0, begin=0, end=1), axis=0))
        states = [first, first + 1]
        outputs, states = F.contrib.foreach(step, [steps, F.reverse(steps, axis=0)], states)
        return [*outputs, *states]


def test_a_loop(tmp_path):
    assert "Scan" in exported(Loop(), tmp_path, [(2, 3, 5), (1, 3, 7)])


def test_two_loops(tmp_path):
    class Two(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.one, self.other = Loop(), Loop()

        def hybrid_forward(self, F, x):
            return self.one(x)[2] + self.other(x)[3]

    assert exported(Two(), tmp_path, [(2, 3, 5), (1, 3, 7)]).count("Scan") == 2


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "shapes, transposed",
    [
        ([(2, 3, 4), (4, 5)], ""),
        ([(2, 3, 4), (4, 3, 2)], ""),
        ([(4,), (4,)], ""),
        ([(2, 4), (4,)], ""),
        ([(4,), (4, 3)], ""),
        ([(4, 2, 3), (4, 5)], "a"),
        ([(2, 3), (5, 4, 3)], "b"),
        ([(3, 2), (5, 3)], "ab"),
    ],
)
def test_dot_of_any_ranks(tmp_path, caplog, shapes, transposed, dynamic):
    class Dot(nn.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return F.dot(x, y, transpose_a="a" in transposed, transpose_b="b" in transposed)

    net, inputs = Dot(), [arrays(shape) for shape in shapes]
    path = export_model(net, shapes, tmp_path / "net.onnx", dynamic=dynamic)
    close(reader(path)(*inputs), net(*inputs))
    assert not caplog.records


def test_a_range_as_long_as_another_operand(tmp_path):
    """As the positions of GluonNLP's encoders."""

    def positions(F, x):
        if F is mx.nd:
            steps = mx.nd.arange(2, 2 + 3 * x.shape[2], 3)
        else:
            line = F.reshape(F.slice(x, begin=(0, 0, None), end=(1, 1, None)), shape=(-1,))
            steps = F.arange(start=2, stop=None, step=3, infer_range=True) + F.zeros_like(line)
        return F.broadcast_add(x, F.reshape(steps, shape=(1, 1, -1)))

    exported(nn.HybridLambda(positions), tmp_path, [(2, 3, 4), (1, 3, 7)])


def test_a_range_of_unknown_length_is_refused(tmp_path):
    def added(F, x):
        places = F.arange(start=0, stop=None, infer_range=True) if F is mx.sym else F.zeros_like(x)
        return F.add_n(places, x, x)

    with pytest.raises(ValueError, match="cannot be exported: give its arange a stop"):
        export_model(nn.HybridLambda(added), (3,), tmp_path / "net.onnx")


@pytest.mark.parametrize("temperature", [None, 0.01])
@pytest.mark.parametrize("axis", [-1, 1, 0])
def test_softmax_of_the_first_elements(tmp_path, axis, temperature):
    how = dict(axis=axis, use_length=True, temperature=temperature)
    net = nn.HybridLambda(lambda F, x, lengths: F.softmax(x, lengths, **how))
    shape = (3, 4, 5)
    sizes = [n for i, n in enumerate(shape) if i != axis % 3]
    lengths = np.random.RandomState(0).randint(0, shape[axis] + 1, sizes)
    inputs = arrays(shape), mx.nd.array(lengths, dtype="int32")
    path = export_model(net, [shape, tuple(sizes)], tmp_path / "net.onnx", dtype=["float32", "int32"])
    close(reader(path)(*inputs), net(*inputs))


def test_samples_of_bins_are_as_many_as_they_are_large(tmp_path):
    how = dict(pooled_size=(3, 2), spatial_scale=0.5, sample_ratio=-1)
    net = nn.HybridLambda(lambda F, x, y: F.contrib.ROIAlign(x, y, **how))
    inputs = arrays((2, 3, 16, 16)), mx.nd.array([[0, 0, 0, 15, 15], [1, 3, 1, 31, 9]])
    path = export_model(net, [x.shape for x in inputs], tmp_path / "net.onnx", check=False)
    close(reader(path)(*inputs), net(*inputs))


@pytest.mark.parametrize(
    "function",
    [
        lambda F, x: F.linalg_gemm2(x, x, transpose_b=True),
        lambda F, x: F.slice_like(x, F.slice_axis(x, axis=2, begin=1, end=None), axes=()),
    ],
)
def test_operators_are_imported_again(tmp_path, function):
    net, x = nn.HybridLambda(function), arrays((2, 4, 6, 5))
    again = import_model(export_model(net, x.shape, tmp_path / "net.onnx"))
    np.testing.assert_allclose(again(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)
