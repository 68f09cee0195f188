"""The code that is advised for each framework runs, and gives the numbers of the windows."""

import ast
import random

import mxnet as mx
import numpy as np
import pytest

import reference
import stand_ins
from gluon_same import nn
from gluon_same.advice.case import Case, symmetric
from gluon_same.advice.frameworks import advise
from gluon_same.advice.graphs import measured, operators
from gluon_same.advice.lowered import lowerings, operator_padding
from gluon_same.advice.report import Report
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
        mode = rng.choice(["same", "same", "same_lower", "valid", "pairs", "causal"])
        if mode == "pairs":
            mode = tuple((rng.randint(0, 2), rng.randint(0, 2)) for _ in range(ndim))
        average, groups = op == "pool" and rng.random() < 0.5, 1
        channels, filters = rng.choice(ENDS)
        if op == "conv" and rng.random() < 0.2:
            channels = filters = groups = rng.choice([3, 8])
        case = Case(sizes, kernel, stride, dilation, mode, op, average, channels, filters, 1, groups)
        try:
            case.check()
        except ValueError:
            continue
        cases.append(case._replace(batch=[1, 99][len(cases) % 2]))
    return cases


CASES = random_cases(150)

#: A padding of 2 serves although SAME pads by 1 and 2: the only window covers the same elements.
SHORT = Case((3, 1), (1, 4), (3, 3), (1, 1), op="pool")


def data_of(case):
    ends = case.filters, case.channels // case.groups
    if case.op == "transpose":
        ends = ends[::-1]
    x = np.random.normal(size=(1, case.channels, *case.sizes)).astype("float32")
    return x, np.random.normal(size=(*ends, *case.kernel)).astype("float32")


def expected(case, x, weight):
    if case.op == "conv":
        return reference.convolution(x, weight, case.stride, case.dilation, case.pads, case.groups)
    if case.op == "pool":
        kind = "avg" if case.average else "max"
        return reference.pooling(x, case.kernel, case.stride, case.pads, kind)
    return reference.deconvolution(x, weight, case.stride, case.dilation, case.pads, case.extra)


def advice_of(case, framework):
    return next(a for a in advise(case) if a.framework == framework)


def equal(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def forward_of(case, framework, blocks):
    """Return a block whose ``hybrid_forward`` is the code advised for Gluon."""
    code = advice_of(case, framework).code
    layer, rest = code[0].split("layer = ")[-1], code[1:]

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.layer = eval(layer, {"nn": blocks})

        def hybrid_forward(self, F, x):
            names = {"F": F, "x": x, "layer": self.layer}
            exec("\n".join(rest) or "y = layer(x)", names)
            return names["y"]

    return Net()


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


@pytest.mark.parametrize("case", [*CASES, SHORT], ids=str)
def test_the_code_for_stock_gluon_gives_the_windows(case):
    x, weight = data_of(case)
    want = expected(case, x, weight)
    assert want.shape[2:] == case.out
    net = forward_of(case, "stock Gluon", mx.gluon.nn)
    equal(run(net, x, weight, hybridize=sum(case.sizes) % 2), want)


@pytest.mark.parametrize("case", [*CASES[::3], SHORT], ids=str)
def test_padding_is_said_not_to_serve_only_where_none_does(case):
    if "No value of padding=" not in advice_of(case, "stock Gluon").note:
        return
    x, weight = data_of(case)
    want = expected(case, x, weight)
    stock = case._replace(mode="valid")
    for amounts in np.ndindex(*(max(pair) + 1 for pair in case.pads)):
        for more in ("", ", ceil_mode=True") if case.op == "pool" else ("",):
            try:
                code = advice_of(stock, "stock Gluon").code[-1][:-1]
                code += f", padding={tuple(map(int, amounts))}{more}"
                code += ", count_include_pad=False)" if case.average else ")"
                layer = eval(code, {"nn": mx.gluon.nn})
                got = run(layer, x, weight, hybridize=False)
            except (mx.MXNetError, ValueError):
                continue
            assert got.shape != want.shape or not np.allclose(got, want, atol=1e-4)


def test_a_padding_that_covers_the_same_elements_serves_a_pooling():
    assert advice_of(SHORT, "stock Gluon").code == ("nn.MaxPool2D((1, 4), strides=3, padding=(0, 2))",)
    assert symmetric(SHORT, [3, 3]) == ((0, 2), False)
    assert symmetric(SHORT._replace(op="conv"), [3, 3]) is None  # its taps meet other elements


@pytest.mark.parametrize("case", CASES[::5], ids=str)
def test_the_layer_of_gluon_same_gives_the_windows(case):
    x, weight = data_of(case)
    equal(run(forward_of(case, "gluon_same", nn), x, weight, True), expected(case, x, weight))


@pytest.mark.parametrize("case", [*CASES, SHORT], ids=str)
def test_the_code_for_pytorch_gives_the_windows(case):
    x, weight = data_of(case)
    code = advice_of(case, "PyTorch").code
    equal(stand_ins.run(code, x, stand_ins.torch_of(weight)), expected(case, x, weight))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("framework", ["Keras", "TensorFlow"])
def test_the_code_for_keras_and_tensorflow_gives_the_windows(case, framework):
    x, weight = data_of(case)
    code = advice_of(case, framework).code
    dilated = max(case.stride) > 1 and max(case.dilation) > 1
    if dilated if framework == "Keras" else case.ndim == 3 and case.groups > 1:
        assert not code
        return
    got = stand_ins.run(code, np.moveaxis(x, 1, -1), stand_ins.keras_of(weight))
    equal(np.moveaxis(got, -1, 1), expected(case, x, weight))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_onnxruntime_gives_the_windows(case):
    x, weight = data_of(case)
    want, advice = expected(case, x, weight), advice_of(case, "ONNX")
    equal(run_onnx(case, x, weight, **advice.arguments), want)
    words = [f"{k}={v}" for k, v in advice.arguments.items() if k == "pads" or any(v)]
    assert advice.code == (", ".join(words),)
    for word in ("SAME_UPPER", "SAME_LOWER"):
        if f"auto_pad='{word}'" in advice.note:
            equal(run_onnx(case, x, weight, auto_pad=word), want)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_code_that_is_broken_into_lines_is_still_python(case):
    lines = str(Report(case)).split("What to write")[1].split("\n\n")[0].splitlines()[1:]
    for framework, code, *_ in advise(case):
        if framework == "ONNX":  # the attributes of a node
            continue
        first = next(i for i, line in enumerate(lines) if line.startswith(f"  {framework}  "))
        rows = [lines[first][16:]]
        for line in lines[first + 1 :]:
            if line[2] != " ":
                break
            rows.append(line[16:])
        for statement in code:
            taken = []
            while "".join(taken).replace(" ", "") != statement.replace(" ", ""):
                taken.append(rows.pop(0))
            ast.parse("\n".join(taken))


def run_onnx(case, x, weight, **attributes):
    import onnxruntime
    from onnx import TensorProto, helper

    attributes.update(kernel_shape=case.kernel, strides=case.stride)
    if case.op != "pool":
        attributes.update(dilations=case.dilation, group=case.groups)
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


@pytest.mark.parametrize("case", CASES[::2], ids=str)
def test_the_operators_counted_are_those_of_the_plan(case):
    for form, found, known in zip(lowerings(case), operators(case), (True, False)):
        main = {"conv": "Convolution", "pool": "Pooling", "transpose": "Deconvolution"}[case.op]
        assert found[main] >= 1
        if known and case.op != "transpose":
            cuts = any(axis["lead"] or axis["trail"] for axis in form.axes)
            longer = any(axis["front"] or axis["tail"] for axis in form.axes)
            assert ("slice" in found) == cuts
            assert ("Pad" in found) == longer


def test_a_graph_that_is_refused_has_no_operators_and_no_cost():
    case = Case((999,), (99,), (98,), (1,))
    this, every = lowerings(case)
    assert operators(case)[0] and operators(case)[1] == {}
    assert this.cost() != "no graph" == every.cost()
    assert "specialize" in every.words[0]


def test_ways_are_measured_with_groups_and_pairs():
    case = Case((9, 9), (2, 2), (2, 2), (1, 1), ((1, 0), (0, 1)), channels=4, filters=4, groups=4)
    assert len(measured(case)) > 1 and min(measured(case).values()) > 0
    assert measured(case._replace(op="transpose")) == {}
    pool = Case((9, 9), (2, 2), (1, 1), (1, 1), ((1, 0), (0, 1)), "pool", True, 4)
    assert len(measured(pool)) > 1


def test_a_shifted_result_of_the_same_size_is_noted():
    note = advice_of(Case((224, 224), (3, 3), (2, 2), (1, 1)), "stock Gluon").note
    assert "1 gives 112x112 with windows that start 1 too early" in note
    assert "0 gives 111x111" in note


@pytest.mark.parametrize(
    "case, words",
    [
        (Case((9,), (3,), (1,), (1,), filters=6, channels=6, groups=4), "not a multiple of groups=4"),
        (Case((9, 9), (3, 3), (1, 1), (1, 1), "causal"), "over one axis"),
        (Case((9,), (3,), (1,), (1,), ((3, 0),), op="pool"), "contains whole windows"),
        (Case((2,), (3,), (1,), (1,), ((3, 3),), op="transpose"), "cuts off the whole output"),
        (Case((2,), (3,), (1,), (1,), ((0, 0),)), "spans more than the 2 elements"),
    ],
)
def test_a_case_that_no_layer_computes_is_refused(case, words):
    with pytest.raises(ValueError, match=words):
        case.check()


def test_the_smaller_of_input_and_output_is_copied():
    shallow, deep = (
        lowerings(Case((n, n), (3, 3), (2, 2), (1, 1), channels=c, filters=f))[0]
        for n, c, f in ((224, 3, 32), (56, 64, 128))
    )
    assert shallow.words == ["height, width: lengthens the input by 1 at the end"]
    assert (shallow.computed, shallow.copied) == (112**2, 225**2)
    assert deep.words == ["height, width: pads both ends by 2; drops the first window"]
    assert (deep.computed, deep.kept, deep.copied) == (29**2, 28**2, 28**2)
