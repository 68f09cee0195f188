"""Compare arrays, symbols and blocks with TensorFlow's numbers in golden/golden.npz."""

import json
from functools import partial
from itertools import groupby
from pathlib import Path

import gluon_same  # isort: skip  before mxnet, because it restores NumPy names

import mxnet as mx
import numpy as np
import pytest

# Number of cases of each group in the file.
COUNTS = {
    ("convolution", 1): 56,
    ("convolution", 2): 36,
    ("convolution", 3): 22,
    ("dilated", 1): 12,
    ("dilated", 2): 20,
    ("dilated", 3): 12,
    ("grouped", 1): 14,
    ("grouped", 2): 40,
    ("grouped", 3): 12,
    ("transposed", 1): 24,
    ("transposed", 2): 32,
    ("transposed", 3): 18,
    ("max", 1): 58,
    ("max", 2): 46,
    ("max", 3): 20,
    ("avg", 1): 26,
    ("avg", 2): 46,
    ("avg", 3): 20,
}
GRADIENT_COUNTS = {"convolution": 14, "dilated": 5, "grouped": 9, "transposed": 9, "max": 16, "avg": 13}
BLOCKS = {"transposed": "Conv{}DTranspose", "max": "MaxPool{}D", "avg": "AvgPool{}D"}
CLOSE = 1e-5  # relative to the largest number of an output
UNSEEN = 14  # larger than any size in the file; graphs are traced at this size


def load():
    with np.load(str(Path(__file__).parent / "golden" / "golden.npz")) as file:
        arrays = {name: file[name] for name in file.files}
    cases = json.loads(str(arrays.pop("cases")))
    for number, case in enumerate(cases):
        case["number"] = number
    return arrays, cases, json.loads(str(arrays.pop("worked")))


GOLDEN, CASES, WORKED = load()


def ndim_of(case):
    return len(case["kernel"])


def group(kind, ndim):
    return [c for c in CASES if (c["kind"], ndim_of(c)) == (kind, ndim)]


def by_window(cases):
    """Return lists of the cases that differ only in size, which can share a graph."""

    def window(case):
        return [case[key] for key in ("kernel", "stride", "dilation", "groups", "weight")]

    cases = sorted(cases, key=lambda case: json.dumps(window(case)))
    return [list(same) for _, same in groupby(cases, key=window)]


def shared(name, shape):
    return mx.nd.array(GOLDEN["{} {}".format(name, "x".join(map(str, shape)))])


def data_of(case):
    return shared("data", case["in"])


def weights_of(case):
    return [shared("weight", case["weight"])] if case["weight"] else []


def apply(F, case, *inputs):
    """Apply the operation of a case with gluon_same.functional."""
    window = {"kernel": tuple(case["kernel"]), "stride": tuple(case["stride"])}
    if case["kind"] in ("max", "avg"):
        return gluon_same.functional.pooling(F, *inputs, pool_type=case["kind"], **window)
    window["dilate"] = tuple(case["dilation"])
    if case["kind"] == "transposed":
        return gluon_same.functional.deconvolution(F, *inputs, num_filter=case["weight"][1], **window)
    window["num_group"] = case["groups"]
    return gluon_same.functional.convolution(F, *inputs, num_filter=case["weight"][0], **window)


def run_on_arrays(case, weights, data):
    return apply(mx.nd, case, data, *weights)


def graph_of(case):
    """Return a hybridized block of the graph for every size; its inputs are data and weight."""
    names = ["data", "weight"] if case["weight"] else ["data"]
    inputs = [mx.sym.var(name, dtype="float32") for name in names]
    graph = mx.gluon.SymbolBlock(apply(mx.sym, case, *inputs), inputs)
    graph.hybridize()
    graph(unseen(case), *weights_of(case))
    return graph


def layer_of(case):
    """Return the hybridized and traced layer with the weight of a case."""
    make = getattr(gluon_same.nn, BLOCKS.get(case["kind"], "Conv{}D").format(ndim_of(case)))
    window = {"strides": tuple(case["stride"]), "padding": "same"}
    if case["weight"] is None:
        layer = make(tuple(case["kernel"]), **window)
    else:
        if case["kind"] != "transposed":
            window.update(dilation=tuple(case["dilation"]), groups=case["groups"])
        channels = case["weight"][1 if case["kind"] == "transposed" else 0]
        layer = make(
            channels, tuple(case["kernel"]), use_bias=False, in_channels=case["in"][1], **window
        )
        layer.initialize()
        layer.weight.set_data(weights_of(case)[0])
    layer.hybridize()
    layer(unseen(case))
    return layer


def unseen(case):
    return mx.nd.zeros((1, case["in"][1]) + (UNSEEN,) * ndim_of(case))


def refused(case):
    """Return whether a case is at the limit of graphs for every size.

    This limit is one element under an even pooling with stride 2. If every axis has stride 1, or an even
    window and stride 2, the operator rounds up, and MXNet raises an error for an axis that is shorter
    than the window after symmetric padding.
    """
    axes = list(zip(case["kernel"], case["stride"], case["in"][2:]))
    rounds_up = all(s == 1 or (s == 2 and k % 2 == 0) for k, s, _ in axes)
    return case["kind"] in ("max", "avg") and rounds_up and any(s == 2 and n == 1 for _, s, n in axes)


def faults(case, got, name="out", close=CLOSE):
    """Return a list of the faults of a result."""
    want = GOLDEN["{} {}".format(name, case["number"])]
    got = got.asnumpy()
    if got.shape != want.shape:
        return [f"{name}: shape {got.shape} instead of {want.shape} for {case}"]
    apart = float(np.abs(got - want).max())
    if apart <= close * max(float(np.abs(want).max()), 1.0):  # False for NaN, too
        return []
    at = tuple(int(i) for i in np.unravel_index(np.abs(got - want).argmax(), want.shape))
    return [f"{name}: {got[at]} instead of {want[at]} at {at} for {case}"]


def faults_of_any_size(case, run, *inputs):
    if refused(case):
        with pytest.raises(mx.base.MXNetError, match="exceeds input"):
            run(*inputs).asnumpy()
        return []
    return faults(case, run(*inputs))


def gradient_faults(case, run, weights):
    """Return a list of the faults of the gradients of ``run(data)``, which uses at most one weight."""
    data = data_of(case)
    for array in (data, *weights):
        array.attach_grad()
    with mx.autograd.record():
        out = run(data)
    out.backward(shared("cotangent", case["out"]))
    found = faults(case, data.grad, "data gradient")
    for weight in weights:
        found += faults(case, weight.grad, "weight gradient")
    return found


def test_the_file_contains_every_group():
    found = {}
    for case in CASES:
        key = case["kind"], ndim_of(case)
        found[key] = found.get(key, 0) + 1
    assert found == COUNTS


def test_the_file_contains_gradients_of_every_kind():
    found = {kind: sum(c["kind"] == kind and c["gradient"] for c in CASES) for kind in GRADIENT_COUNTS}
    assert found == GRADIENT_COUNTS
    assert {n.rsplit(" ", 1)[0] for n in GOLDEN if "gradient" in n} == {
        "data gradient",
        "weight gradient",
    }


@pytest.mark.parametrize("kind, ndim", COUNTS)
def test_the_cases_cover_corner_cases(kind, ndim):
    axes = [
        (k, s, d, n)
        for c in group(kind, ndim)
        for k, s, d, n in zip(c["kernel"], c["stride"], c["dilation"], c["in"][2:])
    ]
    strides = {s for _, s, _, _ in axes}
    if kind == "dilated":
        assert strides == {1} and {d for _, _, d, _ in axes} >= {2, 3}
    else:
        assert strides == {1, 2, 3, 4}
        assert {k for k, s, _, _ in axes if s == 4} >= {1, 2, 3}, "windows with gaps between them"
    assert any(n < d * (k - 1) + 1 for k, _, d, n in axes), "an axis shorter than its window"
    assert {n % 2 for _, _, _, n in axes} == {0, 1}
    assert max(n for _, _, _, n in axes) < UNSEEN
    assert all(len(same) > 1 for same in by_window(group(kind, ndim)))


@pytest.mark.parametrize("kind, ndim", COUNTS)
def test_arrays_equal_tensorflow(kind, ndim):
    found = []
    for case in group(kind, ndim):
        found += faults(case, run_on_arrays(case, weights_of(case), data_of(case)))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind, ndim", COUNTS)
def test_one_symbol_for_all_sizes_equals_tensorflow(kind, ndim):
    found = []
    for cases in by_window(group(kind, ndim)):
        graph = graph_of(cases[0])
        for case in cases:
            found += faults_of_any_size(case, graph, data_of(case), *weights_of(case))
    assert not found, "\n".join(found)


#: float16 has 11 bits. On a CPU, MXNet supports it only for pooling, and has no float64 transposed
#: convolution over three axes.
OTHER_DTYPES = [(*key, "float64", CLOSE) for key in COUNTS if key != ("transposed", 3)]
OTHER_DTYPES += [(*key, "float16", 2e-3) for key in COUNTS if key[0] in ("max", "avg")]


@pytest.mark.parametrize("kind, ndim, dtype, close", OTHER_DTYPES)
def test_one_symbol_in_another_dtype_equals_tensorflow(kind, ndim, dtype, close):
    found = []
    for cases in by_window(group(kind, ndim)):
        names = ["data", "weight"] if cases[0]["weight"] else ["data"]
        graph = apply(mx.sym, cases[0], *[mx.sym.var(name, dtype=dtype) for name in names])
        for case in (case for case in cases if not refused(case)):
            arrays = [x.astype(dtype) for x in (data_of(case), *weights_of(case))]
            out = graph.bind(mx.cpu(), dict(zip(names, arrays))).forward()[0]
            assert out.dtype == np.dtype(dtype)
            found += faults(case, out.astype("float64"), close=close)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind, ndim", COUNTS)
def test_one_hybridized_layer_for_all_sizes_equals_tensorflow(kind, ndim):
    found = []
    for cases in by_window(group(kind, ndim)):
        layer = layer_of(cases[0])
        for case in cases:
            found += faults_of_any_size(case, layer, data_of(case))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", GRADIENT_COUNTS)
def test_gradients_of_arrays_equal_tensorflow(kind):
    found = []
    for case in (c for c in CASES if c["kind"] == kind and c["gradient"]):
        weights = weights_of(case)
        found += gradient_faults(case, partial(run_on_arrays, case, weights), weights)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", GRADIENT_COUNTS)
def test_gradients_of_a_hybridized_layer_for_all_sizes_equal_tensorflow(kind):
    found = []
    for case in (c for c in CASES if c["kind"] == kind and c["gradient"] and not refused(c)):
        layer = layer_of(case)
        found += gradient_faults(case, layer, [layer.weight.data()] if case["weight"] else [])
    assert not found, "\n".join(found)


def test_every_kind_covers_the_limit_of_pooling_for_all_sizes():
    beyond = {(case["kind"], ndim_of(case)) for case in CASES if refused(case)}
    assert beyond == {(kind, ndim) for kind in ("max", "avg") for ndim in (1, 2, 3)}


@pytest.mark.parametrize("worked", WORKED, ids=lambda w: "{kind}-{sizes[0]}".format(**w))
@pytest.mark.parametrize("hybridized", [False, True])
def test_worked_examples_have_the_sizes_of_keras(worked, hybridized):
    window = {"strides": tuple(worked["stride"]), "padding": "same"}
    if worked["kind"] == "convolution":
        layer = gluon_same.nn.Conv2D(1, tuple(worked["kernel"]), in_channels=1, **window)
        layer.initialize()
    else:
        layer = getattr(gluon_same.nn, BLOCKS[worked["kind"]].format(2))(
            tuple(worked["kernel"]), **window
        )
    if hybridized:
        layer.hybridize()
    x = mx.nd.ones((1, 1, *worked["sizes"][0]))
    found = [list(x.shape[2:])]
    for _ in worked["sizes"][1:]:
        x = layer(x)
        found.append(list(x.shape[2:]))
    assert found == worked["sizes"]


def test_the_worked_examples_are_the_expected_ones():
    sizes = [worked["sizes"] for worked in WORKED]
    assert sizes[:2] == [[[100, 20], [100, 20]], [[30, 30], [15, 15]]]
    assert sizes[2] == sizes[3] == [[n, n] for n in (28, 14, 7, 4)]


@pytest.mark.parametrize("hybridized", [False, True])
def test_pooling_by_two_with_stride_one(hybridized):
    layer = gluon_same.nn.MaxPool2D(2, strides=1, padding="same")
    if hybridized:
        layer.hybridize()
    pooled = layer(mx.nd.arange(25).reshape((1, 1, 5, 5)))[0, 0].asnumpy()
    np.testing.assert_array_equal(pooled, GOLDEN["counting max 2x2"])
    np.testing.assert_array_equal(pooled[-1], [21, 22, 23, 24, 24])
