"""Configurations of both generations become the same graph of calls."""

import pytest
from small_models import functional, image, layer

from gluon_same.keras.config import decoded, parse
from gluon_same.keras.graph import Call, Ref


def calls(config):
    return [
        (call.layer, call.number, [tuple(ref) for ref in call.inputs()])
        for call in parse(config, "m").calls
    ]


def keras_3_node(name, call, **kwargs):
    """Return a call of a layer on the output of another one, as Keras 3 writes it."""
    history = {"shape": [None, 3], "keras_history": [name, call, 0]}
    return {"args": [{"class_name": "__keras_tensor__", "config": history}], "kwargs": kwargs}


def test_a_sequential_model_is_a_chain():
    first = {"class_name": "Dense", "config": {"name": "a", "units": 2, "batch_input_shape": [None, 3]}}
    second = {"class_name": "ReLU", "config": {"name": "b"}}
    for content in ({"name": "s", "layers": [first, second]}, [first, second]):  # a list in Keras 2.2
        found = calls({"class_name": "Sequential", "config": content})
        assert found == [("input", 0, []), ("a", 0, [("input", 0, 0)]), ("b", 0, [("a", 0, 0)])]


def test_a_nested_sequential_may_lack_a_name():
    first = {"class_name": "Dense", "config": {"name": "a", "units": 2, "batch_input_shape": [None, 3]}}
    nested = {"class_name": "Sequential", "config": [{"class_name": "ReLU", "config": {"name": "b"}}]}
    found = calls({"class_name": "Sequential", "config": [first, nested]})
    assert found[-1] == ("sequential_1", 0, [("a", 0, 0)])


def test_layers_come_after_those_that_they_take():
    config = functional(
        layer("ReLU", "last", "first"), layer("ReLU", "first", "image"), image(3), outputs=["last"]
    )
    assert [name for name, _, _ in calls(config)] == ["image", "first", "last"]


def test_calls_of_a_nested_model_may_be_numbered_from_one():
    config = functional(image(3), layer("ReLU", "a", "image"), layer("ReLU", "b", "a"))
    config["config"]["layers"][2]["inbound_nodes"] = [[["a", 1, 0, {}]]]
    assert calls(config)[-1] == ("b", 0, [("a", 0, 0)])


def test_keras_3_numbers_the_calls_of_nested_models_from_one_in_the_outputs_alone():
    inner = functional(image(3), layer("ReLU", "relu", "image"))["config"]
    config = functional(image(3), layer("Functional", "inner"), layer("ReLU", "last"))
    *_, nested, last = config["config"]["layers"]
    nested["config"] = {**inner, "name": "inner"}
    nested["inbound_nodes"] = [keras_3_node("image", 0), keras_3_node("inner", 0)]
    last["inbound_nodes"] = [keras_3_node("inner", 1)]
    config["config"]["output_layers"] = [["inner", 1, 0], ["last", 0, 0]]
    model = parse(config, "m")
    assert model.outputs == [Ref("inner", 0, 0), Ref("last", 0, 0)]
    assert model.calls[-1].inputs() == [Ref("inner", 1, 0)]


def test_both_generations_write_the_same_call():
    config = functional(image(3), layer("ReLU", "a", "image"))
    config["config"]["layers"][1]["inbound_nodes"] = [keras_3_node("image", 0, mask=None)]
    assert parse(config, "m").calls[-1] == Call("a", 0, [Ref("image", 0, 0)], {"mask": None})


def test_keywords_of_keras_2_may_hold_arrays():
    config = functional(image(3), layer("TFOpLambda", "add", "image", function="math.add"))
    config["config"]["layers"][1]["inbound_nodes"] = [
        ["image", 0, 0, {"y": ["image", 0, 0], "name": None}]
    ]
    assert parse(config, "m").calls[-1].kwargs == {"y": Ref("image", 0, 0), "name": None}


def test_wrappings_are_taken_off():
    wrapped = {
        "class_name": "__tuple__",
        "items": [1, {"class_name": "__numpy__", "config": {"value": [2.0]}}],
    }
    assert decoded({"a": wrapped}) == {"a": [1, [2.0]]}


def broken(change):
    config = functional(image(3), layer("ReLU", "a", "image"), layer("ReLU", "b", "a"))
    change(config["config"])
    return config


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda c: c["layers"][1].update(inbound_nodes=[[["b", 0, 0, {}]]]),
            "depends on its own output",
        ),
        (lambda c: c["layers"][2].update(name="a"), "two layers are named 'a'"),
        (lambda c: c["layers"][1].update(inbound_nodes=[[["image", 0, 0, {}], 5]]), "5 is not an input"),
        (lambda c: c.update(output_layers=[]), "no outputs"),
        (lambda c: c.update(layers=[]), "no layers"),
        (lambda c: c["layers"][1].pop("class_name"), "damaged"),
        (lambda c: c["layers"][1].update(name=5), "give strings"),
        (lambda c: c["layers"][1].update(inbound_nodes=[]), "calls of layer 'a' are used"),
    ],
)
def test_a_configuration_that_makes_no_graph_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        parse(broken(change), "m")


def test_a_subclassed_model_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match="write it as a functional model"):
        parse({"class_name": "MyModel", "config": {}}, "m")
