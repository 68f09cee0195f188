"""The messages that the guides list as symptoms are those that users get."""

import contextlib
import importlib.util
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import mxnet as mx
import numpy as np
import pytest

import gluon_same.onnx
from gluon_same import _compat, model_zoo, nn

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
    "Check failed: to.IsDefaultData()": set_data_after_a_call,
    "module 'numpy' has no attribute 'bool'": import_mxnet_first,
    "libgomp.so.1: cannot open shared object file": without_a_library,
    "MXNet 2.0... is installed": another_mxnet,
    "--kvstore dist_sync is for processes that MXNet's launcher starts": without_launcher,
}

#: Messages of threads, which do not occur at every run.
RARE = {"any container is empty"}


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
