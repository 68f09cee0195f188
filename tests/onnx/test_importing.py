"""import_model: arguments, open sizes, names, shared weights, training, and what is refused."""

import sys

import mxnet as mx
import numpy as np
import onnx
import pytest
from imported import close, compared, numbers, reference, written

from gluon_same import deploy, nn, specialize, summary
from gluon_same.onnx import export_model, import_model
from gluon_same.onnx.builder import Builder
from small_nets import has_right_gradients, operators_of

NET = """
net (float[N, 3, H, W] x) => (float[N, 2] y) {
    a = Conv<pads: ints = [0, 0, 1, 1], strides: ints = [2, 2]>(x, conv_weight, conv_bias)
    b = BatchNormalization(a, scale, shift, mean, variance)
    c = Relu(b)
    d = GlobalAveragePool(c)
    e = Flatten(d)
    y = Gemm<transB: int = 1>(e, fc_weight, fc_bias)
}
"""
WEIGHTS = {
    "conv_weight": numbers(4, 3, 3, 3, seed=1),
    "conv_bias": numbers(4, seed=2),
    "scale": np.array([1, 2, 0.5, 1], "f"),
    "shift": numbers(4, seed=3),
    "mean": numbers(4, seed=4),
    "variance": np.array([1, 2, 0.5, 1], "f"),
    "fc_weight": numbers(2, 4, seed=5),
    "fc_bias": numbers(2, seed=6),
}
CALLS = [numbers(2, 3, 8, 8), numbers(1, 3, 9, 13), numbers(3, 3, 12, 7)]


@pytest.fixture
def path(tmp_path):
    return written(tmp_path / "net.onnx", NET, WEIGHTS)


def test_every_size_gives_the_files_numbers(path):
    net = compared(path, *CALLS)
    assert net.input_sizes == ((None, 3, None, None),)
    assert list(net.layers) == ["a", "b", "c", "d", "e", "y"]
    assert isinstance(net.layers["a"], nn.Conv2D)
    assert isinstance(net.layers["y"], nn.Dense)
    assert set(net.collect_params()) == set(WEIGHTS)
    assert net.collect_params()["mean"].grad_req == "null"
    assert "Conv2D" in str(summary(net, (1, 3, 8, 8)))


def test_all_ways_to_run_a_net(path, tmp_path):
    net = import_model(path)
    x = mx.nd.array(CALLS[1])
    wanted = reference(path, CALLS[1])
    close(specialize(net, x.shape)(x), wanted)
    close(deploy(net, x.shape, tune=False)(x), wanted)
    again = export_model(net, (2, 3, 8, 8), tmp_path / "again.onnx", dynamic=True)
    for each in CALLS:
        np.testing.assert_allclose(reference(again, each)[0], reference(path, each)[0], 1e-4, 1e-5)
    net.hybridize()
    net(x)
    net.export(str(tmp_path / "plain"))
    plain = nn.SymbolBlock.imports(*(str(tmp_path / f"plain-{n}") for n in ("symbol.json",)), ["data"],
        str(tmp_path / "plain-0000.params"))  # fmt: skip
    close(plain(x), wanted)
    net.save_parameters(str(tmp_path / "net.params"))
    other = import_model(path)
    for parameter in other.collect_params().values():
        parameter.set_data(mx.nd.zeros(parameter.shape))
    other.load_parameters(str(tmp_path / "net.params"))
    close(other(x), wanted)


def test_a_net_learns(path):
    net = import_model(path)
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    x, losses = mx.nd.array(CALLS[0]), []
    for _ in range(5):
        with mx.autograd.record():
            loss = mx.nd.square(net(x) - 1).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    assert losses[-1] < 0.5 * losses[0]
    assert not np.array_equal(
        net.collect_params()["conv_weight"].data().asnumpy(), WEIGHTS["conv_weight"]
    )


@pytest.mark.parametrize("moved", ["Transpose<perm = [0, 2, 1]>(b)", 'Einsum<equation = "nab->nba">(b)'])
def test_a_net_learns_whose_arrays_are_transposed_and_reshaped(moved, tmp_path):
    """As in attention among convolutions. Hybridized, MXNet's own operators have no gradient."""
    text = f"""net (float[N, 8, 4, W] x) => (float[N, 8, 4, W2] y) {{ a = Conv(x, w) b = Reshape(a, flat)
        c = {moved} e = Exp(c) d = {moved.replace("(b)", "(e)")} f = Reshape(d, back)
        y = Conv(f, w) }}"""
    weights = {"w": numbers(8, 8, 1, 1), "flat": np.array([0, 8, -1]), "back": np.array([0, 8, 4, -1])}
    x = numbers(2, 8, 4, 5)
    path = written(tmp_path / "net.onnx", text, weights)
    compared(path, x, numbers(2, 8, 4, 3))
    has_right_gradients(lambda: import_model(path), x)


@pytest.mark.parametrize("axes", [1, 3])
def test_a_net_learns_whose_normalizations_are_beside_convolutions_over_other_axes(axes, tmp_path):
    """MXNet alone has no gradient there."""
    shape = "N, 16, " + ", ".join("HWD"[:axes])
    text = f"""net (float[{shape}] x) => (float[{shape}] y) {{ a = Conv(x, w)
        b = BatchNormalization(a, g, s, m, v) y = Conv(b, w) }}"""
    weights = {name: np.abs(numbers(16, seed=i)) + 0.5 for i, name in enumerate("gsmv")}
    weights["w"], x = numbers(16, 16, *(1,) * axes), numbers(2, 16, *range(3, 3 + axes))
    path = written(tmp_path / "net.onnx", text, weights)
    net = compared(path, x)
    has_right_gradients(lambda: import_model(path), x)
    again = onnx.load(export_model(net, x.shape, tmp_path / "again.onnx"))
    assert [node.op_type for node in again.graph.node] == ["Conv", "BatchNormalization", "Conv"]
    deployed = deploy(net, x.shape, tune=False)
    assert "slice_axis" not in operators_of(deployed(mx.sym.var("data")))


@pytest.mark.parametrize("part", [4, 8])
def test_a_net_learns_that_joins_parts_of_few_channels(part, tmp_path):
    """MXNet alone fails or crashes there, unless all parts are whole blocks of oneDNN's channels."""
    text = """net (float[N, 16, H, W] x) => (float[N, 16, H, W] y) { a = Conv(x, w)
        b, c = Split<axis = 1>(a, sizes) d = Conv(b, v) e = Concat<axis = 1>(d, c) y = Conv(e, w) }"""
    weights = {"w": numbers(16, 16, 1, 1), "v": numbers(part, part, 1, 1)}
    weights["sizes"], x = np.array([part, 16 - part]), numbers(2, 16, 4, 5)
    path = written(tmp_path / "net.onnx", text, weights)
    compared(path, x, numbers(2, 16, 3, 3))
    has_right_gradients(lambda: import_model(path), x)


def test_nodes_share_a_weight(tmp_path):
    text = "net (float[N, 3] x) => (float[N, 3] y) { a = MatMul(x, w) b = MatMul(a, w) y = Add(b, v) }"
    weights = {"w": numbers(3, 3, seed=1), "v": numbers(3, seed=2)}
    net = compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 3))
    assert sorted(net.collect_params()) == ["v", "w"]


def test_a_weight_is_not_shared_with_a_running_statistic(tmp_path):
    """Exporters write equal arrays once."""
    text = """net (float[N, 3, H, W] x) => (float[N, 3, H, W] y) {
        a = Conv(x, w, zeros) y = BatchNormalization(a, ones, zeros, zeros, ones) }"""
    weights = {"w": numbers(3, 3, 1, 1), "zeros": np.zeros(3, "f"), "ones": np.ones(3, "f")}
    net = compared(written(tmp_path / "net.onnx", text, weights), CALLS[0])
    kinds = {name: p.grad_req for name, p in net.collect_params().items()}
    assert kinds == {
        "w": "write",
        "zeros": "write",
        "ones": "write",
        "zeros_1": "null",
        "ones_1": "null",
    }
    export_model(net, CALLS[0].shape, tmp_path / "again.onnx")


def test_other_dtypes_are_cast_and_wrong_shapes_refused(path):
    net = import_model(path)
    whole = np.round(CALLS[0])
    close(net(mx.nd.array(whole, dtype="int32")), reference(path, whole))
    with pytest.raises(ValueError, match=r"requires \(any, 3, any, any\)"):
        net(mx.nd.zeros((1, 4, 8, 8)))
    with pytest.raises(ValueError, match="has 1 inputs, and 2 were given"):
        net(mx.nd.zeros((1, 3, 8, 8)), mx.nd.zeros((1, 3, 8, 8)))


def test_input_shapes_replace_those_of_the_file(path):
    for given in ((2, 3, 8, 8), [(2, 3, 8, 8)], {"x": (2, 3, 8, 8)}):
        net = import_model(path, input_shapes=given)
        assert net.input_sizes == ((2, 3, 8, 8),)
    assert import_model(path, input_shapes=(None, 3, 8, 8)).input_sizes == ((None, 3, 8, 8),)


@pytest.mark.parametrize(
    "given, error, words",
    [
        ({"input_shapes": 3}, TypeError, "input_shapes=3 is not a shape"),
        ({"input_shapes": [(1, 3, 8, 8)] * 2}, ValueError, "has 2 shapes: give 1"),
        ({"input_shapes": {"z": (1,)}}, ValueError, "'z': the inputs are"),
        ({"input_shapes": (1, 3, 8)}, ValueError, "does not have 4 axes"),
        ({"input_shapes": (1, 3, 0, 8)}, ValueError, "is not a shape"),
        ({"constants": 3}, TypeError, "constants=3 is not a dict"),
        ({"constants": {"z": 1}}, ValueError, "constants has a value for 'z': the inputs are"),
        ({"constants": {"x": 1}}, ValueError, r"'x' is 1, .* of shape \(any, 3, any, any\)"),
        ({"custom": 3}, TypeError, "custom=3 is not a dict"),
        ({"ctx": "cpu"}, TypeError, "ctx='cpu' is not a context"),
    ],
)
def test_wrong_arguments(path, given, error, words):
    with pytest.raises(error, match=words):
        import_model(path, **given)


def test_one_error_lists_everything(tmp_path):
    text = """net (float[2, 3] x) => (float[2, 3] y) {
        a = Unique(x)
        b = Relu<alpha: float = 2.0>(x)
        c = Relu(a)
        y = Multinomial(b)
    }"""
    with pytest.raises(ValueError) as caught:
        import_model(written(tmp_path / "net.onnx", text))
    message = str(caught.value)
    assert "a (Unique): the operator has no converter: give custom={'Unique': builder}" in message
    assert "b (Relu): its attributes alpha=2.0 are not known" in message
    assert "c (Relu)" not in message
    assert message.count("\n- ") == 2


UNSUPPORTED = {
    "ReduceMax<keepdims: int = 7>(x)": "keepdims=7",
    "AveragePool<kernel_shape: ints = [2, 2], ceil_mode: int = 2>(x)": "ceil_mode=2",
    'MaxPool<kernel_shape: ints = [2, 2], auto_pad: string = "SAME">(x)': "auto_pad='SAME'",
    'DepthToSpace<blocksize: int = 2, mode: string = "RCD">(x)': "mode='RCD'",
}


def test_an_operator_without_converter_is_reported_at_once(tmp_path, monkeypatch):
    """No sizes mend it, so that the first ones will do, and that another node does not fit them."""
    text = """net (float[N, L] x) => (float[N, L] y) {
        b = RandomNormalLike(x) a = Reshape(x, k) y = Add(a, b)
    }"""
    calls, build = [], Builder.build
    monkeypatch.setattr(Builder, "build", lambda *args: calls.append(1) or build(*args))
    with pytest.raises(ValueError, match="RandomNormalLike") as raised:
        import_model(written(tmp_path / "net.onnx", text, {"k": np.array([3, 5])}))
    assert "Reshape" not in str(raised.value) and len(calls) == 1


@pytest.mark.parametrize("node, words", UNSUPPORTED.items())
def test_other_values_of_attributes_are_refused(tmp_path, node, words):
    text = f"net (float[1, 4, 4, 4] x) => (float[a, b, c, d] y) {{ y = {node} }}"
    with pytest.raises(ValueError, match=f"its {words} is not supported"):
        import_model(written(tmp_path / "net.onnx", text))


class Scaled(nn.HybridBlock):
    """Layer of a user."""

    def __init__(self, factor, offset):
        super().__init__()
        self.factor = factor
        self.offset = self.params.get_constant("offset", offset)

    def hybrid_forward(self, F, x, offset):
        return F.broadcast_add(x * self.factor, offset)


def test_custom_builders(tmp_path):
    domains = '<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>'
    text = (
        "net (float[N, 3] x) => (float[N, 3] y) { a = mine.Scale<factor: float = 2.0>(x, v) y = Neg(a) }"
    )
    model = onnx.parser.parse_model(domains + text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2, 3], "f"), "v"))
    onnx.save(model, str(tmp_path / "net.onnx"))
    calls = []

    def build(attributes, constants, shapes):
        calls.append((attributes, list(constants), shapes))
        block = Scaled(attributes["factor"], mx.nd.array(constants[1]))
        block.initialize()
        return block

    net = import_model(tmp_path / "net.onnx", custom={"mine::Scale": build})
    assert calls == [({"factor": 2.0}, [1], [(None, 3)])]
    net.hybridize()
    np.testing.assert_array_equal(net(mx.nd.ones((1, 3))).asnumpy(), [[-3, -4, -5]])
    with pytest.raises(
        ValueError, match="the builder in custom= returned 3, which is not a HybridBlock"
    ):
        import_model(tmp_path / "net.onnx", custom={"Scale": lambda *_: 3})


def test_functions_of_the_model_are_inlined(tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    net (float[N, 3] x) => (float[N, 3] y) { y = local.twice<slope: float = 0.5>(x) }
    <opset_import: ["" : 17], domain: "local">
    twice <slope> (x) => (y) { a = LeakyRelu<alpha: float = @slope>(x) y = Add(a, a) }
    """
    path = str(tmp_path / "net.onnx")
    onnx.save(onnx.parser.parse_model(text), path)
    compared(path, numbers(2, 3))


def test_inputs_that_are_read_as_numbers(tmp_path):
    text = "net (float[2, 3, 4] x, int64[k] axes) => (float[a, b, c] y) { y = ReduceSum(x, axes) }"
    path = written(tmp_path / "net.onnx", text)
    x = numbers(2, 3, 4)
    net = compared(path, (x, np.array([1])), (x, np.array([0, 2])), (x, np.array([1])))
    with pytest.raises(ValueError, match="constants="):
        net(mx.sym.var("x"), mx.sym.var("axes"))


def test_an_output_that_no_node_computes(tmp_path):
    """As PyTorch's exporter writes ``torch.full_like``."""
    path = written(tmp_path / "net.onnx", "net (float[2] x) => (float[3] y) { }", {"y": numbers(3)})
    compared(path, numbers(2))


def test_constants_replace_inputs(tmp_path):
    text = """net (float[N, 4] x, int64 rate, int64[k] axes) => (float[a, b] y) {
        slow = Equal(rate, limit)
        z = If(slow) <then_branch = g () => (float[N, 4] u) { u = Neg(x) },
                      else_branch = h () => (float[N, 4] v) { v = Exp(x) }>
        y = ReduceSum(z, axes) }"""
    path = written(tmp_path / "net.onnx", text, {"limit": np.array(8000)})
    x, axes = numbers(2, 4), np.array([1])
    for rate in (8000, 16000):
        wanted = reference(path, x, np.array(rate), axes)
        net = import_model(path, constants={"rate": rate, "axes": mx.nd.array(axes)})
        close(net(mx.nd.array(x)), wanted)
        close(deploy(net, x.shape, tune=False)(mx.nd.array(x)), wanted)
        close([mx.nd.array(reference(export_model(net, x.shape, tmp_path / "a.onnx"), x)[0])], wanted)
    with pytest.raises(ValueError, match=r"'rate' is 0.5, and must be int64 of shape \(\)"):
        import_model(path, constants={"rate": 0.5})
    other = written(
        tmp_path / "b.onnx", "net (float[2] x, float[2] z) => (float[2] y) { y = Mul(x, z) }"
    )
    net = import_model(other, constants={"z": [3, 4]})
    assert [p.grad_req for p in net.collect_params().values()] == ["null"]
    with pytest.raises(ValueError, match="the model has no inputs"):
        import_model(path, constants={"x": x, "rate": 8000, "axes": axes})


def test_a_size_that_is_given_as_floats(tmp_path):
    """The mask of Segment Anything in the size of its image."""
    text = """net (float[N, 1, 4, 4] x, float[2] size) => (float[N, 1, a, b] y) {
        s = Cast<to: int = 7>(size) t = Concat<axis: int = 0>(ones, s)
        m = ReduceMax<axes: ints = [2, 3]>(x) y = Expand(m, t) }"""
    path = written(tmp_path / "net.onnx", text, {"ones": np.array([1, 1])})
    compared(path, (numbers(2, 1, 4, 4), np.float32([3, 5])), (numbers(1, 1, 4, 4), np.float32([6, 2])))


def test_a_loop_that_reads_what_is_not_supported_adds_no_error(tmp_path):
    text = """net (float[2, 3] x) => (float[2, 3] y) { z = Unknown(x) y, all = Loop(two, yes, x) <body =
        step (int64 i, bool go, float[2, 3] v) => (bool on, float[2, 3] w, float[2, 3] r)
        { on = Identity(go) w = Add(v, v) r = Neg(z) }> }"""
    path = written(tmp_path / "net.onnx", text, {"yes": np.array(True), "two": np.array(2)})
    with pytest.raises(ValueError, match=r"supported:\n- z \(Unknown\): [^\n]*$"):
        import_model(path)


def test_axes_that_have_one_size_under_several_names(tmp_path):
    """PyTorch's exporter gives each axis of each input a name of its own."""
    text = "net (float[N, T, 4] x, float[M, S, 4] z) => (float[N, A, 4] y) {{ {} }}"
    apart = written(tmp_path / "net.onnx", text.format("y = Concat<axis: int = 1>(x, z)"))
    net = compared(apart, (numbers(2, 3, 4), numbers(2, 6, 4)))
    with pytest.raises(ValueError, match="one size for axis 0 of input 0 and axis 0 of input 1"):
        net(mx.nd.ones((2, 3, 4)), mx.nd.ones((3, 3, 4)))
    alike = written(tmp_path / "net.onnx", text.format("y = Add(x, z)"))
    net = compared(alike, (numbers(2, 3, 4), numbers(2, 3, 4)), (numbers(1, 5, 4), numbers(1, 5, 4)))
    with pytest.raises(ValueError, match=r"axis 1 of input 0 and axis 1 of input 1.* input_shapes=\[\("):
        net(mx.nd.ones((2, 3, 4)), mx.nd.ones((2, 1, 4)))
    data = [mx.nd.ones((2, 3, 4))] * 2
    assert (deploy(net, *data, tune=False)(*data).asnumpy() == 2).all()


def test_the_batch_of_a_recurrent_state_is_its_second_axis(tmp_path):
    text = """net (float[N, 3] x, float[2, M, 4] state) => (float[N, 7] y, float[A, 4] last) {
        last = Gather(state, one) y = Concat<axis: int = 1>(x, last) }"""
    path = written(tmp_path / "net.onnx", text, {"one": np.array(1)})
    net = compared(path, (numbers(2, 3), numbers(2, 2, 4)), (numbers(1, 3), numbers(2, 1, 4)))
    with pytest.raises(ValueError, match="one size for axis 0 of input 0 and axis 1 of input 1"):
        net(mx.nd.ones((2, 3)), mx.nd.ones((2, 3, 4)))


def test_the_batch_of_data_with_the_steps_first(tmp_path):
    """PyTorch's recurrent layers have it, and a state of each layer."""
    text = """net (float[T, N, 3] x, float[2, M, 3] state) => (float[T, A, 3] y) {
        last = Gather(state, one) y = Add(x, last) }"""
    path = written(tmp_path / "net.onnx", text, {"one": np.array(1)})
    sizes = ((5, 2), (2, 2), (4, 1))
    compared(path, *((numbers(steps, n, 3), numbers(2, n, 3)) for steps, n in sizes))


def test_a_mask_beside_data_has_no_batch(tmp_path):
    text = """net (float[N, T, 4] x, float[S, U] mask) => (float[N, T, A] y) {
        k = Transpose<perm: ints = [0, 2, 1]>(x) a = MatMul(x, k) y = Add(a, mask) }"""
    path = written(tmp_path / "net.onnx", text)
    compared(path, *((numbers(n, t, 4), numbers(t, t)) for n, t in ((2, 5), (3, 3), (1, 7))))


def test_two_images_have_one_size(tmp_path):
    text = "net (float[N, 3, H, W] x, float[M, 3, I, J] z) => (float[N, 3, H, W] y) { y = Mul(x, z) }"
    path = written(tmp_path / "net.onnx", text)
    compared(path, *((numbers(n, 3, h, w),) * 2 for n, h, w in ((2, 5, 8), (1, 9, 3))))


def test_keys_and_values_have_a_length_of_their_own(tmp_path):
    text = """net (float[N, T, 4] q, float[M, S, 4] k, float[L, U, 5] v) => (float[N, T, 5] y) {
        t = Transpose<perm: ints = [0, 2, 1]>(k) a = MatMul(q, t) y = MatMul(a, v) }"""
    path = written(tmp_path / "net.onnx", text)
    sizes = ((2, 3, 5), (1, 5, 3), (3, 4, 4))
    compared(path, *((numbers(n, t, 4), numbers(n, s, 4), numbers(n, s, 5)) for n, t, s in sizes))


def test_tables_that_are_too_large_at_a_size_that_is_tried(tmp_path):
    text = """net (float[N, T] x, float[M, S] z) => (float[N, T] y) {
        s = Shape(x) t = Gather(s, one) u = Concat<axis: int = 0>(t, t) ones = ConstantOfShape(u)
        a = Add(ones, number) b = ReduceMean<axes: ints = [0], keepdims: int = 0>(a)
        c = Add(x, z) y = Add(c, b) }"""
    names = dict(one=[1], number=np.float32(1))
    path = written(tmp_path / "net.onnx", text, names)
    compared(path, (numbers(2, 3), numbers(2, 3)), (numbers(4, 5), numbers(4, 5)))


def test_axes_may_be_one_number(tmp_path):
    """So they are in the functions that define ONNX's own operators."""
    text = """net (float[N, 1] x) => (float[N, 1, 1] y) {
        u = Squeeze(x, one) v = Unsqueeze(u, one) y = Unsqueeze(v, minus) }"""
    path = written(tmp_path / "net.onnx", text, {"one": np.array(1), "minus": np.array(-1)})
    net = import_model(path)
    assert net(mx.nd.ones((2, 1))).shape == (2, 1, 1)


def test_trials_of_axes_that_have_one_size_by_chance_show_nothing(tmp_path):
    """Some of the sizes that are tried are squares, which the net requires."""
    text = "net (float[N, T] x) => (float[A, B] y) { t = Transpose(x) y = Add(x, t) }"
    path = written(tmp_path / "net.onnx", text)
    with pytest.warns(UserWarning, match="has a batch of 1"):
        net = compared(path, numbers(1, 5))
    assert net.input_sizes == ((1, None),)
    compared(path, numbers(4, 4), input_shapes=(4, 4))


@pytest.mark.parametrize(
    "graph, values",
    [
        ("y = Reshape(x, shape)", {"shape": [4, 2, 6]}),  # of a view of 4 samples
        (
            "shape = Concat<axis = 0>(four, two, six) y = Reshape(x, shape)",
            dict(four=[4], two=[2], six=[6]),
        ),
        ("y = Add(x, table)", {"table": numbers(4, 3, 4)}),
    ],
)
def test_a_model_that_was_traced_with_several_samples_has_their_batch(graph, values, tmp_path):
    text = f"net (float[N, 3, 4] x) => (float[a, b, c] y) {{ {graph} }}"
    path = written(tmp_path / "net.onnx", text, {name: np.array(x) for name, x in values.items()})
    with pytest.warns(UserWarning, match="has a batch of 4: with an open one, "):
        net = compared(path, numbers(4, 3, 4))
    assert net.input_sizes == ((4, 3, 4),)


def test_the_batch_is_that_of_another_input(tmp_path):
    text = "net (float[N, 3, H] x, float[5, 3, 1] z) => (float[a, b, c] y) { y = Mul(x, z) }"
    path = written(tmp_path / "net.onnx", text)
    with pytest.warns(UserWarning, match="has a batch of 5: with an open one, "):
        net = compared(path, (numbers(5, 3, 4), numbers(5, 3, 1)))
    assert net.input_sizes == ((5, 3, None), (5, 3, 1))


def test_a_batch_of_one_is_for_the_values_that_require_it(tmp_path):
    text = "net (float[N, 4] x, int64[2] k) => (float[a, b] y) { y = Reshape(x, k) }"
    net = import_model(written(tmp_path / "net.onnx", text))
    with pytest.warns(UserWarning, match="has a batch of 1"):
        assert net(mx.nd.ones((1, 4)), mx.nd.array([2, 2], dtype="int64")).shape == (2, 2)
    assert net(mx.nd.ones((3, 4)), mx.nd.array([-1, 2], dtype="int64")).shape == (6, 2)


def test_the_batch_of_lengths_that_are_read_is_that_of_the_data(tmp_path):
    """As in TorchAudio's Emformer."""
    text = """net (float[N, T] x, int64[N] lengths) => (float[N, S] y) {
        most = ReduceMax<keepdims = 0>(lengths) line = Range(zero, most, one)
        column = Unsqueeze(lengths, last) mask = Less(line, column)
        end = Unsqueeze(most, first) part = Slice(x, first, end, last) y = Where(mask, part, none) }"""
    weights = {"zero": np.array(0), "one": np.array(1), "last": np.array([1]), "first": np.array([0])}
    path = written(tmp_path / "net.onnx", text, {**weights, "none": np.float32(-1)})
    compared(path, (numbers(2, 6), np.array([3, 5])), (numbers(3, 7), np.array([4, 1, 6])))


def test_an_open_length_beside_a_batch_of_one_is_no_batch(tmp_path):
    text = """net (float[1, L, 3] x) => (float[1, M, 2] y) {
        c = Transpose<perm: ints = [0, 2, 1]>(x) y = Conv(c, w) }"""
    path = written(tmp_path / "net.onnx", text, {"w": np.ones((2, 3, 9), "f4")})
    compared(path, numbers(1, 20, 3), numbers(1, 33, 3))


def test_a_reshape_that_requires_one_size(tmp_path):
    text = """net (float[N, T] x, float[M, S] z) => (float[N, A] y) {
        s = Shape(z) v = Reshape(x, minus) w = Reshape(v, s) y = Sub(w, z) }"""
    path = written(tmp_path / "net.onnx", text, {"minus": np.array([-1])})
    compared(path, (numbers(2, 3), numbers(2, 3)), (numbers(4, 5), numbers(4, 5)))


def test_a_table_limits_the_sizes(tmp_path):
    """The first sizes that are tried exceed the mask of 32 steps."""
    text = """net (float[N, T, 4] x) => (float[N, T, T] y) {
        s = Shape(x) t = Gather(s, one) m = Slice(mask, zero, t, one) n = Slice(m, zero, t, zero)
        k = Transpose<perm: ints = [0, 2, 1]>(x) a = MatMul(x, k) b = Equal(n, none) y = Where(b, low, a)
    }"""
    names = dict(zero=[0], one=[1], mask=np.tril(np.ones((32, 32), "f4")), none=np.float32(0))
    path = written(tmp_path / "net.onnx", text, {**names, "low": np.float32(-1e9)})
    compared(path, numbers(2, 7, 4), numbers(1, 32, 4))


def test_half_precision_is_computed_in_float32(tmp_path):
    text = "net (float16[N, 3] x) => (float16[N, 3] y) { y = Add(x, w) }"
    path = written(tmp_path / "net.onnx", text, {"w": np.array([1, 2, 3], "f2")})
    with pytest.warns(UserWarning, match="float16, and the net in float32"):
        compared(path, np.ones((2, 3), "f2"))


def test_numpy_mode_is_refused(path):
    mx.npx.set_np()
    try:
        with pytest.raises(ValueError, match="reset_np"):
            import_model(path)
    finally:
        mx.npx.reset_np()


def test_names_that_terminals_and_graphs_do_not_accept(tmp_path):
    path = written(tmp_path / "net.onnx", "net (float[2] x) => (float[2] y) { a = Neg(x) y = Abs(a) }")
    model = onnx.load(path)
    model.graph.node[0].name = "\x1b]0;title\x07a\nb"
    model.graph.node[1].name = "/model/layer.0/Abs"
    onnx.save(model, path)
    net = compared(path, numbers(2))
    assert list(net.layers) == ["_]0;title_a_b", "/model/layer.0/Abs"]


def test_without_onnx(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx.reference", None)
    with pytest.raises(ImportError, match="requires the package onnx, 1.13 or later .*pip install onnx"):
        import_model(path)


def test_whole_numbers_stay_whole_in_graphs(tmp_path):
    graph = """net (int64[2, 3] x) => (float[2, 5] y)
        { a = Concat<axis: int = 1>(x, more) y = Cast<to: int = 1>(a) }"""
    net = import_model(written(tmp_path / "net.onnx", graph, {"more": np.array([[1, 2], [3, 4]])}))
    x = np.array([[5, 6, 7], [8, 9, 10]])
    want = np.concatenate([x, [[1, 2], [3, 4]]], axis=1)
    for block in (net, specialize(net, x.shape), deploy(net, x.shape, data=x)):
        for dtype in ("int64", "int32", "float32"):
            np.testing.assert_array_equal(block(mx.nd.array(x, dtype=dtype)).asnumpy(), want)


@pytest.mark.filterwarnings("error:.*unregistered container")
def test_nets_that_read_numbers_train_and_save_from_the_first_call_on(tmp_path):
    text = "net (float[N, 3] x, int64[1] k) => (float[a, b] y) { p = MatMul(x, w) y = ReduceSum(p, k) }"
    path = written(tmp_path / "net.onnx", text, {"w": numbers(3, 4)})
    x, rows, columns = mx.nd.array(numbers(2, 3)), *(mx.nd.array([k], dtype="int64") for k in (0, 1))
    net, other = import_model(path), import_model(path)
    before = net(x, rows).asnumpy()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with mx.autograd.record():
        loss = net(x, columns).sum()
    loss.backward()
    trainer.step(1)
    after = net(x, rows).asnumpy()
    assert abs(after - before).max() > 0.1
    net.save_parameters(str(tmp_path / "net.params"))
    other(x, rows)
    other.load_parameters(str(tmp_path / "net.params"))
    np.testing.assert_array_equal(other(x, rows).asnumpy(), after)


def test_nodes_in_any_order(tmp_path):
    """Converters to half precision append casts of inputs at the end."""
    text = """net (float[N, 3] x) => (float[N, 3] y) {
        y = If(yes) <then_branch = g () => (float[N, 3] u) { w = Add(a, x) u = Neg(w) },
                     else_branch = h () => (float[N, 3] v) { v = Exp(a) }>
        a = Clip(b, , c) b = Exp(x) c = Identity(one) }"""
    weights = {"yes": np.array(True), "one": np.array(1, "f")}
    net = compared(written(tmp_path / "net.onnx", text, weights), numbers(2, 3))
    assert [*net.layers] == ["b", "a", "y/w", "y/u"]
