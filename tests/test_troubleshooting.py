"""The messages that the guides list as symptoms are those that users get."""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from types import SimpleNamespace

import mxnet as mx
import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest

import gluon_same.onnx
from gluon_same import _compat, model_zoo, nn
from gluon_same.deployment import fuse
from small_nets import has_right_gradients, normal

ROOT = Path(__file__).parents[1]
SHAPE = (1, 2, 5, 5)


def hybridized(forward):
    """Run a function of ``F`` and the data as the ``hybrid_forward`` of a hybridized block."""

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return forward(F, x)

    block = Block()
    block.hybridize()
    return block(mx.nd.ones(SHAPE))


def run(layer, shape=SHAPE, dtype="float32", hybridize=False):
    layer.initialize()
    layer.cast(dtype)
    layer.hybridize(hybridize)
    layer(mx.nd.ones(shape, dtype=dtype)).wait_to_read()
    return layer


def specialized_to_another_size():
    net = nn.Conv2D(2, 3, padding="same", in_channels=2)
    net.initialize()
    gluon_same.specialize(net, SHAPE)(mx.nd.ones((1, 2, 6, 6)))


def without_an_equivalent():
    net = model_zoo.yolov3_tiny(2, ctx=mx.cpu())
    net(mx.nd.ones((1, 3, 64, 64)))
    export(net, (1, 3, 64, 64))


def imported(text, given="float[N, W]", **weights):
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "net.onnx"))
        model = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17]> net ({given} x) => (float[A, B] y) {{ '
            + text
            + " }"
        )
        for name, array in weights.items():
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
        onnx.save(model, path)
        return gluon_same.onnx.import_model(path)


def export(net, shape):
    net.initialize()
    gluon_same.onnx.export_model(net, shape, "never-written.onnx")


def without_onnx():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "onnx", None)
        export(nn.MaxPool2D(), SHAPE)


def set_data_after_a_call():
    layer = run(nn.Conv1D(16, 3, in_channels=16), (1, 16, 32))
    layer.weight.set_data(mx.nd.ones((16, 16, 3)))
    layer(mx.nd.ones((1, 16, 32))).wait_to_read()


def in_a_process(program):
    """Run a program that fails, and raise what it reports."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    raise RuntimeError(subprocess.run(command, stderr=subprocess.PIPE).stderr.decode())


def gradient_of_a_computed_weight():
    # In a process, because the arrays would raise the error again in later tests.
    in_a_process("""
        import gluon_same.nn, mxnet as mx

        x, weight = mx.nd.ones((1, 2, 5, 5)), mx.nd.ones((2, 3, 3, 3))
        weight.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Deconvolution(x, 2 * weight, kernel=(3, 3), num_filter=3)
        y.backward()
        weight.grad.wait_to_read()
    """)


def transposed(then=lambda layer: None):
    """Call a transposed convolution at sizes for which oneDNN wants different layouts of its weight."""
    layer = mx.gluon.nn.Conv2DTranspose(8, (1, 2), strides=3, output_padding=1, in_channels=8)
    layer.initialize()
    for size in ((1, 1), (1, 9), (6, 4), (6, 2), (7, 6), (4, 11), (10, 10), (11, 1)):
        layer(mx.nd.ones((2, 8, *size))).wait_to_read()
        then(layer)


def gradient_of_one_channel():
    in_a_process("""
        import gluon_same.nn, mxnet as mx

        layer, x = mx.gluon.nn.Conv2DTranspose(1, 3, in_channels=16), mx.nd.ones((1, 16, 5, 5))
        layer.initialize()
        x.attach_grad()
        with mx.autograd.record():
            y = layer(x)
        y.backward()
        x.grad.wait_to_read()
    """)


class FlattenedSum(mx.gluon.HybridBlock):
    """Sum of a flattened 3-D convolution and its normalization."""

    def __init__(self, add):
        super().__init__()
        self.add = add
        self.conv, self.norm = nn.Conv3D(16, 1, in_channels=3), nn.BatchNorm(in_channels=16)

    def hybrid_forward(self, F, x):
        y = F.Flatten(F.Pooling(self.conv(x), kernel=(1, 1, 1), global_pool=True, pool_type="avg"))
        return getattr(F, self.add)(self.norm(y), y)


def sum_of_flattened(add="elemwise_add"):
    net = FlattenedSum(add)
    net.initialize()
    net.hybridize()
    return net(mx.nd.ones((2, 3, 4, 4, 4))).asnumpy()


def test_a_sum_of_flattened_results_as_the_guide_writes_it():
    assert sum_of_flattened("broadcast_add").shape == (2, 16)


def import_mxnet_first():
    if not (1, 24) <= tuple(map(int, np.__version__.split(".")[:2])) < (2, 0):
        pytest.skip("this NumPy still has the name, or gives it another meaning")
    in_a_process("import mxnet")


def without_a_library():
    raise _compat.explain(OSError("libgomp.so.1: cannot open shared object file"))


def another_mxnet():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mxnet", SimpleNamespace(__version__="2.0.0b1"))
        _compat.import_mxnet()


def without_launcher():
    path = ROOT / "notebooks" / "training" / "train_digits.py"
    spec = importlib.util.spec_from_file_location("train_digits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--kvstore", "dist_sync"])


#: A function that causes each message, by the words that the guides quote.
CAUSES = {
    "Symbol only support integer index to fetch i-th output": lambda: hybridized(
        lambda F, x: x[:, :, 1:, 1:]
    ),
    "'Symbol' object has no attribute 'shape'": lambda: hybridized(lambda F, x: x.shape),
    "Incompatible attr in node": lambda: hybridized(lambda F, x: x * F.mean(x, axis=1, keepdims=True)),
    "kernel size (2) exceeds input": lambda: run(
        nn.MaxPool2D(2, padding="same"), (1, 2, 1, 5), hybridize=True
    ),
    "stride=... has a padding that depends on the input size": lambda: nn.MaxPool2D(
        99, strides=98, padding="same"
    )(mx.sym.var("data")),
    "... is specialized for inputs of shape ... and received ...": specialized_to_another_size,
    "... rejected its operator ...": without_an_equivalent,
    "Exporting to ONNX requires the package onnx": without_onnx,
    "layout='NHWC' is not supported on a CPU": lambda: run(
        nn.Conv2D(2, 2, padding="same", layout="NHWC", in_channels=5)
    ),
    "FP16 gemm on cpu not implemented": lambda: run(nn.Conv2D(2, 3, in_channels=2), dtype="float16"),
    "MXNet has no dilated transposed convolution over 3 axes": lambda: nn.Conv3DTranspose(
        2, 3, dilation=2
    ),
    "... does not support float64": lambda: run(
        nn.Conv3DTranspose(2, 3, padding="same", in_channels=2), (1, 2, 3, 3, 3), "float64"
    ),
    "could not execute a primitive": gradient_of_a_computed_weight,
    "could not create a primitive descriptor for a reorder primitive": gradient_of_one_channel,
    "could not create a primitive descriptor for a sum primitive": sum_of_flattened,
    "... depends on sizes that the file leaves open: ...": lambda: imported(
        "n = Size(x) i = Cast<to = 7>(x) y = OneHot(i, n, w)", w=np.array([0, 1], "f")
    ),
    "Check failed: weights.GetMKLDNNData()->get_desc()": transposed,
    "the model supports none of the sizes that were tried": lambda: imported(
        "y = MatMul(x, w)", w=np.ones((11, 3), "f")
    ),
    "... does not fit ..., which requires (1": lambda: imported(
        "y = Squeeze(x, z)", "float[N, W, 4]", z=np.array([0])
    )(mx.nd.zeros((2, 3, 4))),
    "... selects none of some elements": lambda: imported("n = NonZero(x) y = Cast<to = 1>(n)")(
        mx.nd.zeros((2, 3))
    ),
    "... reads the values of its inputs ..., which symbols do not have": lambda: imported(
        "y = ConstantOfShape(x)", "int64[2]"
    )(mx.sym.var("x")),
    "the operator has no converter: give custom=": lambda: imported("y = Unique(x)"),
    "Check failed: to.IsDefaultData()": set_data_after_a_call,
    "module 'numpy' has no attribute 'bool'": import_mxnet_first,
    "libgomp.so.1: cannot open shared object file": without_a_library,
    "MXNet 2.0... is installed": another_mxnet,
    "--kvstore dist_sync is for processes that MXNet's launcher starts": without_launcher,
}

#: Messages that do not occur at every run, or that end the process.
RARE = {"any container is empty", "Check failed: !is_view"}
RARE |= {"terminate called without an active exception", "Segmentation fault"}
RARE |= {"could not construct a sub-memory"}  # otherwise the process ends


def symptoms():
    """Yield the quoted messages in the column "Symptom" of all tables. Names have no space."""
    pages = [
        path.read_text(encoding="utf-8")
        for path in (ROOT, ROOT / "notebooks")
        for path in path.glob("*.md")
    ]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        pages += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    for table in re.findall(r"^\| Symptom \|.*\n((?:\|.*\n?)+)", "\n".join(pages), re.MULTILINE):
        for row in table.splitlines():
            yield from (words for words in re.findall("`([^`]+)`", row.split("|")[1]) if " " in words)


def test_every_message_that_is_quoted_is_produced_below():
    quoted = set(symptoms())
    known = {*CAUSES, *RARE}
    assert all(any(words in message for message in known) for words in quoted)
    assert known <= quoted


@pytest.mark.parametrize("quoted", CAUSES)
def test_a_quoted_message_is_the_one_that_users_get(quoted, capsys):
    with pytest.raises((Exception, SystemExit)) as raised:
        CAUSES[quoted]()
    with contextlib.suppress(mx.MXNetError):
        mx.nd.waitall()  # raises what other arrays hold here, instead of in the next test
    message = f"{raised.value}{capsys.readouterr().err}"
    assert re.search(".*".join(map(re.escape, quoted.split("..."))), message, re.DOTALL)


def trained(program):
    """Run a training program that fails or not; return its status and what it reports."""
    with pytest.raises(RuntimeError) as raised:
        in_a_process(program)
    return str(raised.value)


def test_a_transposed_convolution_cannot_be_trained_twice_in_a_pass():
    message = trained("""
        import gluon_same.nn, mxnet as mx

        layer = mx.gluon.nn.Conv2DTranspose(4, 3, in_channels=4)
        layer.initialize()
        with mx.autograd.record():
            y = layer(layer(mx.nd.ones((1, 4, 5, 5))))
        y.backward()
        layer.weight.grad().wait_to_read()
    """)
    assert "primitive" in message


def slope_gradient(hybridize, prelu):
    """Return the gradient of the slope in a net of a convolution, PReLU and ELU."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=2), prelu, nn.ELU())
    net.initialize()
    for i, p in enumerate(net.collect_params().values()):
        p.set_data(mx.nd.array(np.random.RandomState(i).normal(size=p.shape)))
    net.hybridize(hybridize)
    with mx.autograd.record():
        y = net(mx.nd.array(np.random.RandomState(9).normal(size=(2, 2, 6, 6)))).sum()
    y.backward()
    return next(p.grad().asscalar() for p in prelu.collect_params().values())


class Slope(mx.gluon.HybridBlock):
    """PReLU, as the guide writes it."""

    def __init__(self):
        super().__init__()
        self.slope = self.params.get("slope", shape=(1, 1, 1, 1))

    def hybrid_forward(self, F, x, slope):
        return F.maximum(x, 0) + F.broadcast_mul(slope, F.minimum(x, 0))


def test_the_slope_of_prelu_has_a_wrong_gradient_when_hybridized_but_not_as_the_guide_writes_it():
    right = slope_gradient(False, nn.PReLU())
    assert abs(slope_gradient(True, nn.PReLU()) / right - 1) > 0.1
    assert slope_gradient(True, Slope()) == pytest.approx(right, rel=1e-4)
    assert slope_gradient(False, Slope()) == pytest.approx(right, rel=1e-4)


def test_prelu_overwrites_what_a_batchnormrelu_in_front_of_it_needs():
    net = nn.HybridSequential()
    net.add(nn.BatchNormReLU(in_channels=3), nn.PReLU(in_channels=3), nn.GlobalAvgPool2D())
    net.initialize()
    found = []
    for hybridize in (False, True):
        net.hybridize(hybridize)
        x = mx.nd.array(np.random.RandomState(0).normal(size=(2, 3, 1, 10)))
        x.attach_grad()
        with mx.autograd.record():
            y = net(x) * mx.nd.array([[[[1]], [[2]], [[-1]]]])
        y.backward()
        found.append(net[0].gamma.grad().asnumpy())
    right, wrong = found
    assert np.abs(wrong - right).max() > 0.1 * np.abs(right).max()


def test_a_transposed_convolution_at_several_sizes_as_the_page_writes_it():
    transposed(then=lambda layer: layer.collect_params().reset_ctx(mx.cpu()))


@pytest.mark.parametrize("flattened", [1, 2])
def test_results_of_3d_convolutions_can_be_flattened_once(flattened):
    net = nn.HybridSequential()
    net.add(mx.gluon.nn.Conv3D(16, 1, in_channels=3), *(nn.Flatten() for _ in range(flattened)))
    net.initialize()
    net.hybridize()
    y = net(mx.nd.ones((2, 3, 3, 3, 1)))
    fails = pytest.raises(mx.MXNetError, match="a reorder primitive")
    with fails if flattened > 1 else contextlib.nullcontext():
        assert y.asnumpy().shape == (2, 144)


def chain(layers):
    net = nn.HybridSequential()
    net.add(*layers)
    mx.random.seed(0)
    net.initialize()
    return net


@pytest.mark.parametrize("conv", [mx.gluon.nn.Conv1D, mx.gluon.nn.Conv3D])
def test_a_net_that_others_wrote_learns_as_the_page_writes_it(conv):
    stock = mx.gluon.nn.BatchNorm
    net = chain([conv(16, 3, in_channels=3), stock(in_channels=16), conv(16, 1, in_channels=16)])

    def own(block):
        if type(block) is stock:
            block.__class__ = nn.BatchNorm

    net.apply(own)
    has_right_gradients(lambda: net, normal((2, 3, *(5,) * len(net[0].weight.shape[2:]))))


class Joined(mx.gluon.HybridBlock):
    """A convolution of some channels, joined with the others, as the page writes it."""

    def __init__(self):
        super().__init__()
        self.first, self.part, self.last = (
            nn.Conv2D(n, 3, padding="same", in_channels=n) for n in (16, 4, 16)
        )

    def hybrid_forward(self, F, x):
        x = self.first(x)
        part = self.part(F.slice_axis(x, axis=1, begin=0, end=4))
        y = F.concat(part, F.slice_axis(x, axis=1, begin=4, end=None), dim=1)
        return self.last(F.slice_axis(y, axis=0, begin=0, end=None))


def test_joined_channels_learn_as_the_page_writes_it():
    net = chain([Joined()])
    has_right_gradients(lambda: net, normal((2, 16, 5, 6)))


def test_a_transposed_and_reshaped_array_learns_as_the_page_writes_it():
    before = mx.gluon.nn.HybridLambda(
        lambda F, x: F.transpose(F.exp(F.transpose(x, (0, 2, 1))), (0, 2, 1))
    )
    apart = mx.gluon.nn.HybridLambda(lambda F, x: F.slice_axis(x, axis=0, begin=0, end=None))
    after = mx.gluon.nn.HybridLambda(lambda F, x: F.reshape(x, (0, 16, 4, -1)))
    net = chain([before, apart, after, nn.Conv2D(16, 1, in_channels=16)])
    has_right_gradients(lambda: net, normal((2, 16, 20)))


@pytest.mark.parametrize("layers", [
    lambda: [nn.ZeroPadding3D(1), nn.Conv3D(16, 3, strides=2, padding=0, in_channels=16)],
    lambda: [nn.Conv3D(16, 3, strides=2, padding="same", in_channels=16)],
])  # fmt: skip
def test_gradients_of_a_3d_convolution_of_few_elements_as_the_page_writes_it(layers):
    net = nn.HybridSequential()
    net.add(*layers())
    net.initialize()
    x, found = mx.nd.random.normal(shape=(2, 16, 3, 3, 3)), []
    for dtype in ("float32", "float64"):
        net.cast(dtype)
        with mx.autograd.record():
            y = net(x.astype(dtype)) ** 2
        y.backward()
        found.append(net[-1].weight.grad().asnumpy())
    got, want = found
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max()


def test_a_dense_layer_is_normalized_after_an_image_without_the_cache_of_onednn():
    program = """
        import gluon_same.nn, mxnet as mx

        norm = mx.gluon.nn.BatchNorm(in_channels=16)
        norm.initialize()
        image, weight = mx.nd.ones((2, 8, 1, 1)), mx.nd.ones((16, 8, 1, 1))
        norm(mx.nd.Convolution(image, weight, kernel=(1, 1), num_filter=16, no_bias=True)).wait_to_read()
        assert abs(norm(mx.nd.ones((2, 16))) - 1).max().asscalar() < 1e-4
    """
    environment = {**os.environ, "DNNL_PRIMITIVE_CACHE_CAPACITY": "0"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment, check=True)


@pytest.mark.parametrize("channels", [8, 16])
@pytest.mark.parametrize("hybridize", [False, True])
def test_a_softmax_after_a_convolution_as_the_page_writes_it(channels, hybridize):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(channels, 3, padding=1))
    net.add(nn.HybridLambda(lambda F, x: F.softmax(x.expand_dims(0), axis=-1).squeeze(axis=0)))
    net.initialize(mx.init.Normal(1))
    if hybridize:
        net.hybridize()
    x = mx.nd.random.normal(shape=(1, 3, 8, 8))
    y = np.exp(net[0](x).asnumpy())
    np.testing.assert_allclose(net(x).asnumpy(), y / y.sum(-1, keepdims=True), rtol=1e-4)


def test_pip_warns_because_of_the_metadata_of_mxnet():
    page = (ROOT / "notebooks" / "troubleshooting.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if "pip warns that mxnet" in line)
    assert f"mxnet {mx.__version__} requires numpy below 2" in row
    asked = [line for line in importlib.metadata.requires("mxnet") if line.startswith("numpy")]
    assert len(asked) == 1 and "<2" in asked[0]


@pytest.mark.parametrize("first", ["numpy", "gluon_same"])
def test_gluon_same_may_be_imported_before_and_after_numpy(first):
    program = f"import {first}; import numpy, gluon_same, mxnet; print(mxnet.nd.ones(1).asscalar())"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"1.0\n"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is measured on Linux")
@pytest.mark.skipif(not fuse.available(), reason="this build of MXNet is without oneDNN")
def test_the_advised_variable_slows_the_growth_of_memory_with_input_sizes():
    page = (ROOT / "notebooks" / "troubleshooting.md").read_text(encoding="utf-8")
    name, value = re.search(r"(MXNET_MKLDNN_CACHE_NUM)=(\d+)", page).groups()
    program = """
import gluon_same
import mxnet as mx
net = gluon_same.nn.HybridSequential()
net.add(gluon_same.nn.Conv2D(8, 2, padding="same", in_channels=3))
net.add(gluon_same.nn.MaxPool2D(3, 1, "same"))
net.initialize()
net.hybridize()
def pages(first, last):  # after calls at so many sizes
    for i in range(first, last):
        net(mx.nd.ones((1, 3, 4 + i % 20, 4 + i // 20))).wait_to_read()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
print(-pages(0, 100) + pages(100, 400))
"""

    def growth(**variables):
        kept = {key: setting for key, setting in os.environ.items() if key != name}
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            check=True,
            env={**kept, **variables},
        )
        return int(done.stdout)

    assert growth(**{name: value}) < 0.75 * growth()
