"""Models that nest deeply, and names that no terminal may receive."""

import json

import h5py
import mxnet as mx
import numpy as np
import pytest
from small_models import conv, functional, image, layer, write

import gluon_same
from gluon_same.keras import compare, load_model
from gluon_same.keras.calls import Calls
from gluon_same.onnx import export_model

EVIL = "\x1b]0;title\x07a\nb\x00c"


def nested(depth):
    """Return a model whose inner model is called twice, on so many levels."""
    model = functional(image(3), layer("ReLU", "relu", "image"), name="m0")
    for level in range(depth):
        name = f"m{level}"
        inner = layer("Functional", name)
        inner["config"] = model["config"]
        inner["inbound_nodes"] = [[["image", 0, 0, {}]], [[name, 0, 0, {}]]]
        model = functional(image(3), inner, name=f"m{level + 1}")
        model["config"]["output_layers"] = [[name, 1, 0]]
    return model


def test_nested_models_are_built_once_for_each_level(tmp_path, monkeypatch):
    models, begin = [], Calls.__post_init__
    monkeypatch.setattr(Calls, "__post_init__", lambda calls: models.append(calls) or begin(calls))
    net = load_model(write(tmp_path, nested(10)))
    assert 10 <= len(models) <= 40  # 1,024 calls, but 10 models, whose shapes are found twice more
    assert net(mx.nd.array([[-1, 0, 2]])).asnumpy().tolist() == [[0, 0, 2]]


def test_too_many_calls_are_refused(tmp_path):
    with pytest.raises(ValueError, match="m40 calls 3298534883327 layers, and at most 200000"):
        load_model(write(tmp_path, nested(40)))


@pytest.mark.parametrize(
    "function, first, arguments",
    [
        ("math.multiply", "abc", {"y": 2**40}),
        ("math.mod", "%1000000000d", {"y": 5}),
        ("math.reduce_prod", ["abc", 2**40], {}),
        ("math.multiply", 2**80, {"y": 2**80}),
        ("stack", [[1], [2]], {}),
    ],
)
def test_computed_sizes_are_numbers(tmp_path, function, first, arguments):
    made, end = (
        layer("TFOpLambda", "odd", function=function),
        layer("TFOpLambda", "end", function="tile"),
    )
    made["inbound_nodes"] = [[["_CONSTANT_VALUE", -1, first, arguments]]]
    end["inbound_nodes"] = [[["image", 0, 0, {"multiples": ["odd", 0, 0]}]]]
    with pytest.raises(ValueError, match=r"odd \(TFOpLambda\): (multiply|mod|stack) of"):
        load_model(write(tmp_path, functional(image(3), made, end)))


def test_lists_of_sizes_that_double_are_refused(tmp_path):
    layers = []
    for i in range(40):
        before = [f"double{i - 1}", 0, 0] if i else ["size", 0, 0]
        made = layer("TFOpLambda", f"double{i}", function="concat")
        made["inbound_nodes"] = [[[*before, {"axis": 0}], [*before, {}]]]
        layers.append(made)
    size = layer("TFOpLambda", "size", "image", function="shape")
    with pytest.raises(ValueError, match="sizes that are computed: at most 4096 are supported"):
        load_model(write(tmp_path, functional(image(3), size, *layers)))


def test_inputs_have_a_bounded_size(tmp_path):
    made = layer("Normalization", "odd", "image", mean=0.0, variance=1.0)
    with pytest.raises(ValueError, match="input 'image' of shape .*: at most 268435456 are supported"):
        load_model(write(tmp_path, functional(image(2**14, 2**15), made)))
    with pytest.raises(ValueError, match="at most 67108864 are supported"):
        load_model(write(tmp_path, functional(image(2**27), made)))


@pytest.fixture
def evil(tmp_path):
    made, shapes = conv(EVIL, "image")
    model = functional(image(5, 5, 2), made, layer("ReLU", "relu\n", EVIL), name="mo\x1bdel")
    (tmp_path / "config.json").write_text(json.dumps(model))
    with h5py.File(tmp_path / "new.weights.h5", "w") as file:
        for number, shape in enumerate(shapes.values()):
            file[f"layers/conv2d/vars/{number}"] = np.ones(shape, "float32")
    return str(tmp_path / "config.json"), str(tmp_path / "new.weights.h5")


def test_names_are_printed_without_control_characters(evil, capfd):
    net = load_model(evil)
    print(net, gluon_same.summary(net, (1, 2, 5, 5)), list(net.collect_params()))
    assert all(c.isprintable() or c == "\n" for c in capfd.readouterr().out)


def test_layers_keep_the_names_of_the_file(evil):
    net = load_model(evil)
    assert list(net.layers) == [EVIL, "relu\n"]
    assert net.layers[EVIL].weight.shape == (2, 2, 3, 3)


def test_nets_with_such_names_deploy_export_and_save(evil, tmp_path):
    net, x = load_model(evil), mx.nd.ones((1, 2, 5, 5))
    np.testing.assert_allclose(gluon_same.deploy(net, x.shape)(x).asnumpy(), net(x).asnumpy())
    export_model(net, [x.shape], str(tmp_path / "net.onnx"))
    net.save_parameters(str(tmp_path / "net.params"))
    net.load_parameters(str(tmp_path / "net.params"))


def test_errors_are_printed_without_control_characters(tmp_path):
    odd = [
        layer(f"Strange{EVIL}", EVIL, "image", **{EVIL: 1}),
        layer("ReLU", "odd", "image", **{EVIL: 1}),
    ]
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, functional(image(3), *odd, name=EVIL)))
    assert all(c.isprintable() or c == "\n" for c in str(error.value))
    assert len(str(error.value).splitlines()) == 3


def test_layers_with_such_names_are_compared(evil):
    net, x = load_model(evil), np.ones((1, 5, 5, 2))
    known = {"input:0": x, EVIL: np.full((1, 3, 3, 2), 19), "oth\x1ber": x}
    found = compare(net, known)
    assert found.first is None and len(found.rows) == 1
    assert all(c.isprintable() or c == "\n" for c in str(found))


def test_numbers_of_sizes_that_double_are_refused(tmp_path):
    layers, before = [], "size"
    for i in range(200):
        made = layer("TFOpLambda", f"double{i}", function="math.add")
        made["inbound_nodes"] = [[before, 0, 0, {"y": [before, 0, 0]}]]
        layers, before = [*layers, made], f"double{i}"
    size, item = (
        layer("TFOpLambda", "shape", "image", function="shape"),
        layer("SlicingOpLambda", "size", function="__operators__.getitem"),
    )
    item["inbound_nodes"] = [["shape", 0, 0, {"slice_spec": 1}]]
    last = layer("TFOpLambda", "last", function="math.multiply")
    last["inbound_nodes"] = [["image", 0, 0, {"y": [before, 0, 0]}]]
    with pytest.raises(ValueError, match="(computed from sizes by many steps|add of)"):
        load_model(write(tmp_path, functional(image(None, 3), size, item, *layers, last)))
