"""What other frameworks are told, run where it can be: the numbers must be those of the windows."""

import random

import mxnet as mx
import numpy as np
import pytest

import reference
from gluon_same import nn
from gluon_same.advice.frameworks import Case, advise
from gluon_same.advice.lowered import lowerings, operator_padding
from gluon_same.picture.explain import explain

#: Channels of inputs and outputs: the smaller of the two is copied.
ENDS = [(2, 3), (8, 16)]


def random_cases(count, seed=7):
    rng, cases = random.Random(seed), []
    while len(cases) < count:
        ndim, op = rng.choice([1, 2, 2, 3]), rng.choice(["conv", "pool", "transpose"])
        sizes = tuple(rng.randint(1, 9 if ndim < 3 else 5) for _ in range(ndim))
        kernel, stride = (tuple(rng.randint(1, n) for _ in range(ndim)) for n in (4, 3))
        if rng.random() < 0.5:
            kernel, stride = kernel[:1] * ndim, stride[:1] * ndim
        dilated = op == "conv" and ndim < 3 and rng.random() < 0.4
        dilation = (2 if dilated else 1,) * ndim
        mode = rng.choice(["same", "same", "same_lower", "valid"])
        average = op == "pool" and rng.random() < 0.5
        case = Case(sizes, kernel, stride, dilation, mode, op, average, *rng.choice(ENDS))
        try:
            assert min(case.out) > 0
        except ValueError:
            continue
        cases.append(case._replace(batch=[1, 99][len(cases) % 2]))
    return cases


CASES = random_cases(150)


def data_of(case):
    ends = case.filters, case.channels
    if case.op == "transpose":
        ends = ends[::-1]
    x = np.random.normal(size=(1, case.channels, *case.sizes)).astype("float32")
    return x, np.random.normal(size=(*ends, *case.kernel)).astype("float32")


def expected(case, x, weight):
    if case.op == "conv":
        return reference.convolution(x, weight, case.stride, case.dilation, case.pads)
    if case.op == "pool":
        kind = "avg" if case.average else "max"
        return reference.pooling(x, case.kernel, case.stride, case.pads, kind)
    return reference.deconvolution(x, weight, case.stride, case.dilation, case.pads, case.extra)


def layer(case, block, **told):
    """The Gluon block that a case is about, with what it is told of the padding."""
    kind = {"conv": "Conv", "pool": "AvgPool" if case.average else "MaxPool", "transpose": "Conv"}
    cls = getattr(block, f"{kind[case.op]}{len(case.sizes)}D" + "Transpose" * (case.op == "transpose"))
    if case.op == "pool":
        return cls(case.kernel, case.stride, **told)
    told["in_channels"] = case.channels
    return cls(case.filters, case.kernel, case.stride, dilation=case.dilation, use_bias=False, **told)


def run(net, x, weight):
    net.initialize()
    for parameter in net.collect_params().values():
        parameter.set_data(mx.nd.array(weight))
    return net(mx.nd.array(x)).asnumpy()


def told(case, framework):
    return next(a.arguments for a in advise(case) if a.framework == framework)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_gluon_is_told_gives_the_windows(case):
    x, weight = data_of(case)
    want = expected(case, x, weight)
    assert want.shape[2:] == case.out
    arguments = dict(told(case, "stock Gluon"))
    if case.op == "transpose":
        cut = arguments.pop("slice")
        net = layer(case, mx.gluon.nn, **{k: tuple(v) for k, v in arguments.items()})
        got = run(net, x, weight)
        if cut:
            got = got[(slice(None), slice(None), *(slice(*part) for part in cut))]
    elif arguments["padding"] is None:
        return  # the next test looks for one all the same
    else:
        if case.op == "conv":
            del arguments["ceil_mode"]
        elif case.average:
            arguments["count_include_pad"] = False
        arguments["padding"] = tuple(arguments["padding"])
        got = run(layer(case, mx.gluon.nn, **arguments), x, weight)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_gluon_is_told_that_no_padding_gives_it_only_where_none_does(case):
    if case.op == "transpose" or told(case, "stock Gluon")["padding"] is not None:
        return
    x, weight = data_of(case)
    want = expected(case, x, weight)
    for amounts in np.ndindex(*(max(pair) + 1 for pair in case.pads)):
        for more in ({}, {"ceil_mode": True}) if case.op == "pool" else ({},):
            try:
                got = run(layer(case, mx.gluon.nn, padding=tuple(map(int, amounts)), **more), x, weight)
            except (mx.MXNetError, ValueError):
                continue
            assert got.shape != want.shape or not np.allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("case", CASES[::5], ids=str)
def test_our_own_layer_is_told_what_gives_the_windows(case):
    x, weight = data_of(case)
    more = {"count_include_pad": False} if case.average else {}
    got = run(layer(case, nn, **told(case, "gluon_same"), **more), x, weight)
    np.testing.assert_allclose(got, expected(case, x, weight), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pytorch_is_told_what_gives_the_windows(case):
    # F.pad and its layers written with the loops of the reference: padding at both ends alike, the
    # size rounded up for ceil_mode, and F.pad's order, from the last axis to the first.
    x, weight = data_of(case)
    want, arguments = expected(case, x, weight), told(case, "PyTorch")
    if case.op == "transpose":
        pads = [(p, p) for p in arguments["padding"]]
        extra = arguments["output_padding"]
        got = reference.deconvolution(x, weight, case.stride, case.dilation, pads, extra)
        if arguments["slice"]:
            got = got[(slice(None), slice(None), *(slice(*part) for part in arguments["slice"]))]
        # At the end of an axis output_padding cuts less off, where the reference adds zeros.
        inner = tuple(
            slice(0, n - e) for n, e in zip(got.shape[2:], extra if not arguments["slice"] else [0] * 3)
        )
        where = (slice(None), slice(None), *inner)
        assert got.shape == want.shape
        np.testing.assert_allclose(got[where], want[where], rtol=1e-4, atol=1e-4)
        return
    pads = [[p, p] for p in arguments["padding"]]
    if arguments["F.pad"]:
        assert arguments["padding"] == [0] * len(pads)
        flat = arguments["F.pad"]
        pads = [flat[i : i + 2] for i in range(0, len(flat), 2)][::-1]
    if arguments["ceil_mode"]:
        for pad, n, k, s in zip(pads, case.sizes, case.kernel, case.stride):
            pad[1] += -(n + sum(pad) - k) % s
    assert expected_with(case, x, weight, pads).shape == want.shape
    np.testing.assert_allclose(expected_with(case, x, weight, pads), want, rtol=1e-4, atol=1e-4)


def expected_with(case, x, weight, pads):
    if case.op == "conv":
        return reference.convolution(x, weight, case.stride, case.dilation, pads)
    kind = "avg" if case.average else "max"
    return reference.pooling(x, case.kernel, case.stride, pads, kind)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_onnxruntime_takes_what_it_is_told(case):
    x, weight = data_of(case)
    want, advice = expected(case, x, weight), next(a for a in advise(case) if a.framework == "ONNX")
    np.testing.assert_allclose(run_onnx(case, x, weight, **advice.arguments), want, rtol=1e-4, atol=1e-4)
    for word in ("SAME_UPPER", "SAME_LOWER"):
        if f"auto_pad='{word}'" in advice.say:
            got = run_onnx(case, x, weight, auto_pad=word)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def run_onnx(case, x, weight, **attributes):
    import onnxruntime
    from onnx import TensorProto, helper

    attributes.update(kernel_shape=case.kernel, strides=case.stride)
    if case.op != "pool":
        attributes["dilations"] = case.dilation
    name = {"conv": "Conv", "pool": "MaxPool", "transpose": "ConvTranspose"}[case.op]
    name = "AveragePool" if case.average else name
    feeds = {"x": x} if case.op == "pool" else {"x": x, "w": weight}
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(name, list(feeds), ["y"], **attributes)],
        "case",
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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_dropped_windows_in_the_picture_are_those_that_the_plan_drops(case):
    this, _ = lowerings(case)
    if case.op == "transpose":
        return
    pads, windows = operator_padding(case), zip(case.sizes, case.kernel, case.stride, case.dilation)
    pictures = [explain(*w, pad, operator=own) for w, pad, own in zip(windows, case.pads, pads)]
    for picture, axis in zip(pictures, this.axes):
        assert picture.dropped == axis["lead"] + axis["trail"]
    assert this.computed == np.prod([picture.count for picture in pictures])
    assert this.kept == np.prod(case.out)
    assert this.kept == np.prod([picture.count - picture.dropped for picture in pictures])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_operators_counted_are_those_that_the_layer_runs(case):
    for form, known in zip(lowerings(case), (True, False)):
        main = {"conv": "Convolution", "pool": "Pooling", "transpose": "Deconvolution"}[case.op]
        assert form.operators[main] >= 1
        if known and case.op != "transpose":
            cuts = any(axis["lead"] or axis["trail"] for axis in form.axes)
            longer = any(axis["front"] or axis["tail"] for axis in form.axes)
            assert ("slice" in form.operators) == cuts
            assert ("Pad" in form.operators) == longer


def test_a_shifted_result_of_the_same_size_is_told():
    case = Case((224, 224), (3, 3), (2, 2), (1, 1))
    say = next(a.say for a in advise(case) if a.framework == "stock Gluon")
    assert "1 makes 112x112 with windows that start 1 too early" in say
    assert "0 makes 111x111" in say


def test_the_smaller_of_input_and_output_is_copied():
    shallow, deep = (
        lowerings(Case((n, n), (3, 3), (2, 2), (1, 1), channels=c, filters=f))[0]
        for n, c, f in ((224, 3, 32), (56, 64, 128))
    )
    assert shallow.words == ["height, width: lengthens the input by 1 at the end"]
    assert (shallow.computed, shallow.copied) == (112**2, 225**2)
    assert deep.words == ["height, width: pads both ends by 2; drops the first window"]
    assert (deep.computed, deep.kept, deep.copied) == (29**2, 28**2, 28**2)
