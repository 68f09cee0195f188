"""The comparison finds the first layer whose numbers differ."""

import mxnet as mx
import numpy as np
import pytest
from small_models import conv, functional, image, layer, write

from gluon_same.keras import compare, load_model


@pytest.fixture
def net(tmp_path):
    first, shapes = conv("first", "image", padding="same")
    inner = layer("Functional", "inner", "first")
    second, _ = conv("second", "image", padding="same")
    inner["config"] = functional(image(None, None, 2), second, name="inner")["config"]
    config = functional(image(None, None, 2), first, inner, layer("ReLU", "last", "inner"))
    arrays = {f"second/{role}": shape for role, shape in shapes.items()}
    return load_model(write(tmp_path, config, first=shapes, inner=arrays))


@pytest.fixture
def arrays(net):
    x = mx.nd.random.uniform(shape=(1, 2, 5, 6))
    first = net.layers["first"](x)
    second = net.layers["inner"](first)
    found = {"image": x, "first": first, "inner/second": second, "inner": second, "last": second.relu()}
    return {name: array.asnumpy().transpose(0, 2, 3, 1) for name, array in found.items()}


def test_equal_numbers_are_within_the_tolerance(net, arrays):
    found = compare(net, arrays)
    assert [row.layer for row in found.rows] == ["image", "first", "inner/second", "inner", "last"]
    assert found.first is None
    assert max(row.difference for row in found.rows) < 1e-6
    assert "All 5 layers are within" in str(found)


def test_the_first_layer_that_differs_is_named(net, arrays, tmp_path):
    for name in ("inner/second", "inner", "last"):
        arrays[name] = arrays[name] + 0.5
    path = tmp_path / "activations.npz"
    np.savez(path, **arrays)
    found = compare(net, path)
    assert found.first.layer == "inner/second"
    assert found.first.difference == pytest.approx(0.5 / np.abs(arrays["inner/second"]).max(), rel=1e-3)
    assert "inner/second (Conv2D)" in str(found).splitlines()[-1]


def test_the_calls_of_a_shared_layer_may_have_any_order(tmp_path):
    shared, shapes = conv("shared", "image", padding="same")
    shared["inbound_nodes"].append([["relu", 0, 0, {}]])
    config = functional(image(None, None, 2), layer("ReLU", "relu", "image"), shared)
    config["config"]["output_layers"] = [["shared", 0, 0], ["shared", 1, 0]]
    net = load_model(write(tmp_path, config, shared=shapes))
    x = mx.nd.random.normal(shape=(1, 2, 5, 6))
    first, second = (y.asnumpy().transpose(0, 2, 3, 1) for y in net(x))
    arrays = {"input:0": x.asnumpy().transpose(0, 2, 3, 1), "shared": second, "shared#1": first}
    found = compare(net, arrays)
    assert found.first is None and [row.layer for row in found.rows] == ["shared", "shared#1"]
    found = compare(net, {**arrays, "shared#1": first + 1})
    assert found.first.layer == "shared" and not found.not_compared


def test_other_shapes_differ(net, arrays):
    arrays["first"] = arrays["first"][:, 1:]
    found = compare(net, arrays)
    assert (found.first.layer, found.first.difference) == ("first", float("inf"))
    assert "has 1x5x6x2" in str(found)


def test_what_the_net_does_not_have_is_said(net, arrays):
    assert compare(net, {**arrays, "other": np.ones(3)}).not_compared == ["other"]


def test_the_input_may_have_a_number(net, arrays):
    arrays["input:0"] = arrays.pop("image")
    assert compare(net, arrays).first is None


def test_an_input_is_needed(net, arrays):
    del arrays["image"]
    with pytest.raises(ValueError, match="no array for the input 'image': give it, or 'input:0'"):
        compare(net, arrays)


def test_nothing_in_common_is_an_error(net, arrays):
    with pytest.raises(ValueError, match="none of other is a layer of"):
        compare(net, {"input:0": arrays["image"], "other": arrays["first"]})


def test_a_file_with_objects_is_not_unpickled(net, tmp_path):
    np.savez(tmp_path / "bad.npz", image=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"bad\.npz .*'image'"):
        compare(net, tmp_path / "bad.npz")


def test_another_net_is_refused(arrays):
    with pytest.raises(TypeError, match="not a net from gluon_same.keras.load_model"):
        compare(mx.gluon.nn.Dense(2), arrays)


def test_a_notebook_shows_a_table_of_html(net, arrays):
    arrays["first"] = arrays["first"] + 0.5
    page = compare(net, arrays)._repr_html_()
    assert page.count("<tr>") == 6 and ">first (Conv2D)</td>" in page
    assert "The first layer beyond 0.0001 is first (Conv2D)." in page


def test_layers_that_keep_states_begin_with_zeros(tmp_path):
    lstm = layer("LSTM", "lstm", "image", units=2, stateful=True)
    arrays = {"kernel": (3, 8), "recurrent_kernel": (2, 8), "bias": (8,)}
    net = load_model(write(tmp_path, functional(image(4, 3), lstm), lstm=arrays), layout="NHWC")
    x = mx.nd.random.normal(shape=(2, 4, 3))
    want = net(x).asnumpy()
    net(x)
    found = compare(net, {"image": x.asnumpy(), "lstm": want})
    assert found.first is None and len(found.rows) == 2
