"""Constants that are computed while importing, against the numbers of ONNX's own tests."""

import numpy as np
import onnx
import pytest
from imported import compared, numbers, written
from test_backend import DATA, FAULTY, arrays, is_late

from gluon_same.onnx import import_model
from gluon_same.onnx.evaluation import MOST_OPEN, TooLarge, attributes_of, evaluate
from gluon_same.onnx.values import Unsupported

#: Operators whose results are random.
RANDOM = {"Bernoulli", "Dropout"}


def cases():
    for path in sorted(DATA.glob("node/test_*")):
        model = onnx.load(str(path / "model.onnx"))
        name, node = f"node/{path.name}", model.graph.node[0]
        plain = len(model.graph.node) == 1 and node.op_type not in RANDOM and not node.domain
        if "FLOAT8" in name or "BFLOAT16" in name:  # which NumPy lacks
            continue
        if plain and name not in FAULTY and not is_late(name):
            yield path, model


def test_no_constant_is_wrong():
    compared, wrong = 0, []
    for path, model in cases():
        node = model.graph.node[0]
        opsets = {each.domain: each.version for each in model.opset_import}
        folder = path / "test_data_set_0"
        try:
            wanted, given = arrays(folder, "output"), iter(arrays(folder, "input"))
            inputs = [next(given) if name else None for name in node.input]
            (found,) = evaluate(node, opsets, attributes_of(node, {}), [inputs])
        except (Unsupported, ValueError, TypeError, KeyError):  # also lists and optional values
            continue
        if isinstance(found, Unsupported) or wanted[0].dtype == object:
            continue
        compared += 1
        found = [x for x in found if x is not None]
        try:
            for one, other in zip(found, wanted):
                assert one.shape == other.shape and one.dtype == other.dtype
                np.testing.assert_allclose(one.astype("f8"), other.astype("f8"), rtol=1e-3, atol=1e-6)
        except (AssertionError, ValueError, TypeError) as error:
            wrong.append((path.name, str(error)[:200]))
    assert compared > 600 and not wrong, wrong


@pytest.mark.parametrize("size", [1, 17])  # of which 17 does not fit: the reference needs memory, too
def test_large_numbers_of_several_trials_are_left_to_the_net(size):
    node = onnx.helper.make_node("Expand", ["x", "shape"], ["y"])
    x, side = np.zeros((1, size, 1), "f"), int(MOST_OPEN**0.5) + 1
    with pytest.raises(TooLarge):
        evaluate(node, {"": 17}, {}, [[x, np.array([1, side + i, side])] for i in range(2)])


def test_a_kernel_that_a_normalization_standardizes_is_a_constant(tmp_path):
    """The layers of BiT: the mode of training normalizes by the numbers themselves."""
    text = """v, m, r = BatchNormalization<training_mode: int = 1>(w, ones, zeros, zeros, ones)
        k0 = Reshape(v, t) y = Conv<pads: ints = [1, 1, 1, 1]>(x, k0)"""
    head = "net (float[B, 2, H, W] x) => (float[a, b, c, d] y)"
    values = dict(w=numbers(1, 4, 18), ones=np.ones(4, "f"), zeros=np.zeros(4, "f"))
    values["t"] = np.array([4, 2, 3, 3])
    path = written(tmp_path / "net.onnx", f"{head} {{ {text} }}", values)
    compared(path, numbers(2, 2, 5, 6), numbers(1, 2, 8, 3))


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("version", [11, 13])
def test_constants_follow_the_rules_of_their_version(tmp_path, operator, version):
    text = f"z = {operator}<axis: int = 1>(w) y = Add(x, z)"
    head = "net (float[B, 2, 3, 4] x) => (float[a, b, c, d] y)"
    values = {"w": numbers(1, 2, 3, 4)}
    path = written(tmp_path / "net.onnx", f"{head} {{ {text} }}", values, version)
    compared(path, numbers(2, 2, 3, 4))


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_repeats_that_an_exporter_writes_as_a_one_hot_array(tmp_path, axis):
    """PyTorch's repeat_interleave; indices out of range have no element."""
    text = f"""net (float[N, M] x) => (float[a, b] y, float[c, d] z) {{ s = Shape(x)
        n = Gather(s, zero) counts = Concat<axis: int = 0>(one, n) hot = OneHot(zero, two, counts)
        repeats = Reshape(hot, minus) y = Tile(x, repeats)
        z = OneHot<axis: int = {axis}>(indices, three, pair) }}"""
    whole = dict(zero=[0], one=[1], minus=[-1], indices=[0, -3, 2, 3, -4], two=2, three=3)
    weights = {name: np.array(x) for name, x in whole.items()}
    path = written(tmp_path / "net.onnx", text, {**weights, "pair": np.float32([2, 5])})
    compared(path, numbers(2, 3), numbers(5, 2))


def test_a_one_hot_array_of_open_sizes_is_not_taken_for_a_constant(tmp_path):
    text = """net (float[N, M] x) => (float[a, b] y) { s = Shape(x) n = Gather(s, zero)
        hot = OneHot(n, many, pair) repeats = Slice(hot, zero, two) y = Tile(x, repeats) }"""
    weights = {"zero": np.array([0]), "many": np.array(512), "pair": np.array([1, 2])}
    path = written(tmp_path / "net.onnx", text, {**weights, "two": np.array([2])})
    with pytest.raises(ValueError, match="Tile"):
        import_model(path)
