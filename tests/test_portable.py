"""Portable graphs equal the checked-in files and are the same on every machine."""

import json
import os
import subprocess
import sys
import textwrap

import mxnet as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gluon_same
from gluon_same import nn
from gluon_same.lowering import OPERATORS
from golden.make_portable import FOLDER, LAYERS, graph_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(gluon_same.__file__)))


@pytest.mark.parametrize("name", LAYERS)
def test_graphs_are_those_checked_in(name):
    assert graph_of(name) == json.loads((FOLDER / f"{name}.json").read_text())


@pytest.mark.parametrize("name", [name for name in LAYERS if "stride_2" not in name])
def test_stride_one_uses_one_or_two_operators(name):
    found = [node["op"] for node in graph_of(name)]
    even = name != "conv_3x3"
    assert found == ["Pooling" if "pool" in name else "Convolution", *["slice"] * even]


def test_graphs_do_not_depend_on_channels_dtype_or_use():
    def operators(layer):
        return [node["op"] for node in json.loads(layer(mx.sym.var("data")).tojson())["nodes"]]

    def layers():
        plain = nn.Conv2D(64, (4, 1), padding="same")
        plain.initialize()
        yield plain
        yield nn.Conv2D(64, (4, 1), padding="same", in_channels=64)
        wide = nn.Conv2D(512, (4, 1), padding="same", in_channels=3)
        wide.cast("float64")
        yield wide
        plain(mx.nd.ones((1, 16, 9, 9)))  # fixes its channels
        yield plain

    found = list(map(operators, layers()))
    with mx.autograd.record():
        found += map(operators, layers())
    assert all(each == found[0] for each in found)


@st.composite
def nets(draw):
    ndim = draw(st.integers(1, 3))

    def each(most):
        return draw(st.tuples(*[st.integers(1, most)] * ndim))

    net, groups = nn.HybridSequential(), draw(st.sampled_from([1, 2, 4]))
    padding = draw(st.sampled_from(["same", "same_lower"]))
    cls = {f"{kind}{ndim}D": getattr(nn, f"{kind}{ndim}D") for kind in ("Conv", "MaxPool", "AvgPool")}
    net.add(
        cls[f"Conv{ndim}D"](4, each(4), each(4), padding, groups=groups, in_channels=4),
        cls[f"MaxPool{ndim}D"](each(4), each(4), padding),
        cls[f"AvgPool{ndim}D"](each(4), each(4), padding, count_include_pad=draw(st.booleans())),
        getattr(nn, f"Conv{ndim}DTranspose")(4, each(3), each(3), padding, in_channels=4),
    )
    return net


@settings(max_examples=100)
@given(nets())
def test_graphs_contain_only_the_listed_operators(net):
    graph = json.loads(net(mx.sym.var("data")).tojson())
    assert {node["op"] for node in graph["nodes"]} - {"null"} <= OPERATORS


def test_the_listed_operators_exist_in_mxnet():
    assert set(mx.operator.get_all_registered_operators()) >= OPERATORS


UNDER_A_FAKED_CACHE = """
    import builtins, contextlib, hashlib, io, json, os, sys

    size, opened, real = sys.argv[1], [], builtins.open
    def fake(file, *args, **kwargs):
        if "/cache/" in str(file):
            opened.append(file)
            return io.StringIO(size + "\\n")
        return real(file, *args, **kwargs)
    builtins.open = io.open = fake
    assert open("/sys/devices/system/cpu/cpu0/cache/index2/size").read() == size + "\\n"
    opened.clear()

    import gluon_same
    import mxnet as mx
    from gluon_same import functional, lowering, model_zoo, nn, specialize
    from gluon_same.__main__ import main
    from gluon_same.geometry import Window

    found = []
    for fixed in (False, True):
        with mx.name.NameManager():
            net = nn.HybridSequential(prefix="net_")
            with net.name_scope():
                net.add(nn.Conv2D(32, 3, 2, "same"), nn.MaxPool2D(3, 2, "same"),
                        nn.Conv2D(64, (4, 1), padding="same"), nn.AvgPool2D(2, 2, "same"))
            if fixed:
                net = specialize(net, (1, 3, 224, 224))
            found.append(net(mx.sym.var("data")).tojson())
    for sizes in ((None, None), (224, 224), (400, 150)):
        for k, s in ((2, 1), (3, 2), (2, 2), (4, 1)):
            windows = (Window(k, s, "same"),) * 2
            found.append(repr(lowering.plan_convolution(windows, sizes, (3, 32))))
            found.append(repr(lowering.plan_pooling(windows, sizes, "max", False)))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(["pad", "--size", "224x224", "--kernel", "3", "--stride", "2"])
        main(["pad", "--size", "8x90x90", "--kernel", "3", "--stride", "2", "--op", "pool"])
    found.append(out.getvalue())
    assert len(out.getvalue()) > 1000 and not opened, opened
    print(hashlib.sha256("".join(found).encode()).hexdigest())
"""


def test_no_plan_depends_on_the_cache_of_the_machine():
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    script, digests = textwrap.dedent(UNDER_A_FAKED_CACHE), set()
    for size in ("256K", "8192K"):
        command = [sys.executable, "-c", script, size]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout)
    assert len(digests) == 1
