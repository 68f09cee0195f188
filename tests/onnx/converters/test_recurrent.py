"""Imported recurrent layers against onnxruntime."""

import itertools

import mxnet as mx
import numpy as np
import onnx
import onnxruntime
import pytest
from imported import recent_runtime
from onnx import helper, numpy_helper

from gluon_same.onnx import export_model, import_model

RANDOM = np.random.RandomState(0)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
TIME, BATCH, CHANNELS, UNITS = 5, 3, 4, 6


def saved(
    path, kind, direction="forward", extras=(), outputs=None, constant=True, layout=0, **attributes
):
    """Write a file with one recurrent layer, and return arrays for its inputs.

    ``extras`` are the names of the optional inputs that the layer has.
    """
    count, gates = 1 + (direction == "bidirectional"), GATES[kind]
    state = (BATCH, count, UNITS) if layout else (count, BATCH, UNITS)
    shapes = {
        "W": (count, gates * UNITS, CHANNELS),
        "R": (count, gates * UNITS, UNITS),
        "B": (count, 2 * gates * UNITS),
        "sequence_lens": (BATCH,),
        "initial_h": state,
        "initial_c": state,
        "P": (count, 3 * UNITS),
    }
    places = ["X", *shapes][: 8 if kind == "LSTM" else 6]
    used = [name if name in ("X", "W", "R", *extras) else "" for name in places]
    x = (BATCH, TIME, CHANNELS) if layout else (TIME, BATCH, CHANNELS)
    arrays = {"X": RANDOM.normal(size=x).astype("float32")}
    for name in used[1:]:
        if name == "sequence_lens":
            arrays[name] = np.array([5, 2, 3], "int32")
        elif name:
            arrays[name] = RANDOM.normal(size=shapes[name], scale=0.5).astype("float32")
    weights = [name for name in "WRBP" if name in arrays] if constant else []
    given = [name for name in arrays if name not in weights]
    outputs = outputs or ["Y", "Y_h", "Y_c"][: 3 if kind == "LSTM" else 2]
    if layout:
        attributes["layout"] = 1
    node = helper.make_node(
        kind, used, outputs, "cell", direction=direction, hidden_size=UNITS, **attributes
    )
    infos = [
        helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(arrays[n].dtype),
            arrays[n].shape,
        )
        for n in given
    ]  # fmt: skip
    infos[0].type.tensor_type.shape.dim[layout].dim_param = "time"
    results = [helper.make_tensor_value_info(n, 1, None) for n in outputs if n]
    constants = [numpy_helper.from_array(arrays[n], n) for n in weights]
    graph = helper.make_graph([node], "net", infos, results, constants)
    opset = [helper.make_opsetid("", 14)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return {n: arrays[n] for n in given}


def outputs_of(net, arrays):
    y = net(*(mx.nd.array(x, dtype=x.dtype) for x in arrays.values()))
    return [each.asnumpy() for each in (y if isinstance(y, (list, tuple)) else [y])]


def check(path, given, lengths=(TIME, 2)):
    """Compare with onnxruntime, eager and hybridized, at two lengths with one graph."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    net = import_model(path)
    for hybridized, length in itertools.product((False, True), lengths):
        arrays = dict(given)
        arrays["X"] = given["X"][:length]
        if "sequence_lens" in arrays:
            arrays["sequence_lens"] = np.minimum(given["sequence_lens"], length)
        if hybridized and length == lengths[0]:
            net.hybridize()
        want = session.run(None, arrays)
        got = outputs_of(net, arrays)
        assert len(got) == len(want)
        for one, other in zip(got, want):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    return net


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(
    "kind,extras",
    [
        *((kind, extras) for kind in GATES for extras in ([], ["B"], ["B", "sequence_lens"])),
        *((kind, ["initial_h", "sequence_lens"]) for kind in GATES),
        ("LSTM", ["initial_c"]),
        ("LSTM", ["B", "initial_h", "initial_c", "P"]),
        ("LSTM", ["B", "sequence_lens", "initial_h", "initial_c", "P"]),
    ],
)
def test_directions_states_and_lengths(kind, extras, direction, tmp_path):
    path = str(tmp_path / "net.onnx")
    check(path, saved(path, kind, direction, extras))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", pytest.param("RNN", marks=recent_runtime)])
def test_sequences_without_steps(kind, tmp_path):
    """onnxruntime returns zeros instead of the first states."""
    extras = ["sequence_lens", "initial_h", *(["initial_c"] if kind == "LSTM" else [])]
    given = saved(str(tmp_path / "net.onnx"), kind, "bidirectional", extras)
    given["sequence_lens"][1] = 0
    check(str(tmp_path / "net.onnx"), given)


@pytest.mark.parametrize("extras", [[], ["B"], ["B", "initial_h"]])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_gru_that_resets_after_the_product(direction, extras, tmp_path):
    path = str(tmp_path / "net.onnx")
    check(path, saved(path, "GRU", direction, extras, linear_before_reset=1))


@pytest.mark.parametrize(
    "kind,attributes",
    [
        ("LSTM", dict(clip=0.3)),
        ("LSTM", dict(clip=0.1)),
        ("GRU", dict(clip=0.3)),
        ("GRU", dict(clip=0.3, linear_before_reset=1)),
        ("RNN", dict(clip=0.3)),
        ("LSTM", dict(input_forget=1)),
        ("RNN", dict(activations=["Relu"])),
        ("RNN", dict(activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.1])),
        ("RNN", dict(activations=["Softplus"])),
        ("RNN", dict(activations=["Softsign"])),
        ("RNN", dict(activations=["LeakyRelu"], activation_alpha=[0.1])),
        ("RNN", dict(activations=["ThresholdedRelu"], activation_alpha=[0.2])),
        ("GRU", dict(activations=["HardSigmoid", "ScaledTanh"], activation_alpha=[0.3, 0.7],
                     activation_beta=[0.4, 0.6])),
        ("LSTM", dict(activations=["HardSigmoid", "Elu", "Relu"])),
    ],
)  # fmt: skip
def test_activations_and_clips(kind, attributes, tmp_path):
    path = str(tmp_path / "net.onnx")
    check(path, saved(path, kind, "forward", ["B"], **attributes))


def test_each_direction_has_its_own_activations(tmp_path):
    path = str(tmp_path / "net.onnx")
    names = ["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "Relu", "Softsign"]
    check(path, saved(path, "LSTM", "bidirectional", ["B"], activations=names))


@pytest.mark.parametrize("kind", GATES)
def test_the_batch_may_be_first(kind, tmp_path):
    path = str(tmp_path / "net.onnx")
    extras = ["B", "initial_h", *(["initial_c"] if kind == "LSTM" else [])]
    given = saved(path, kind, "bidirectional", extras, layout=1)
    got = outputs_of(import_model(path), given)
    model = onnx.load(path)
    other = helper.make_model(model.graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    for attribute in other.graph.node[0].attribute:
        if attribute.name == "layout":
            attribute.i = 0
    for value in other.graph.input:
        del value.type.tensor_type.shape.dim[:]
        value.type.tensor_type.ClearField("shape")
    session = onnxruntime.InferenceSession(other.SerializeToString())
    want = session.run(None, {name: x.swapaxes(0, 1) for name, x in given.items()})
    np.testing.assert_allclose(got[0], want[0].transpose(2, 0, 1, 3), rtol=1e-4, atol=1e-5)
    for one, each in zip(got[1:], want[1:]):
        np.testing.assert_allclose(one, each.swapaxes(0, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", GATES)
def test_weights_may_be_inputs(kind, tmp_path):
    path = str(tmp_path / "net.onnx")
    check(path, saved(path, kind, "bidirectional", ["B"], constant=False))


def test_a_state_of_a_fixed_batch_asks_for_the_batch_of_the_data(tmp_path):
    path = str(tmp_path / "net.onnx")
    given = saved(path, "GRU", extras=["initial_h"])
    model = onnx.load(path)
    for dim in model.graph.input[0].type.tensor_type.shape.dim:
        if dim.dim_value == BATCH:
            dim.dim_param = "batch"
    onnx.save(model, path)
    with pytest.raises(ValueError, match="input_shapes="):
        import_model(path)
    name = model.graph.input[0].name
    net = import_model(path, input_shapes={name: given[name].shape})
    session = onnxruntime.InferenceSession(path)
    for one, other in zip(outputs_of(net, given), session.run(None, given)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_only_the_last_state_may_be_used(tmp_path):
    path = str(tmp_path / "net.onnx")
    check(path, saved(path, "LSTM", outputs=["", "Y_h"]))


@pytest.mark.parametrize(
    "kind,attributes,fused",
    [
        ("LSTM", {}, True),
        ("GRU", dict(linear_before_reset=1), True),
        ("RNN", dict(activations=["Relu", "Relu"]), True),
        ("GRU", {}, False),
        ("LSTM", dict(clip=1.0), False),
    ],
)
def test_exported_again(kind, attributes, fused, tmp_path):
    path, again = str(tmp_path / "net.onnx"), str(tmp_path / "again.onnx")
    given = saved(path, kind, "bidirectional", ["B"], **attributes)
    net = import_model(path)
    want = outputs_of(net, given)
    operators = {node["op"] for node in _nodes(net)}
    assert ("RNN" in operators) == fused and ("_foreach" in operators) != fused
    export_model(net, given["X"].shape, again)
    session = onnxruntime.InferenceSession(again, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    for one, other in zip(want, session.run(None, {name: given["X"]})):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_loops_that_were_exported_are_imported_again(tmp_path):
    path, again = str(tmp_path / "net.onnx"), str(tmp_path / "again.onnx")
    given = saved(path, "LSTM", "bidirectional", ["B", "P"])
    net = import_model(path)
    export_model(net, given["X"].shape, again, dynamic=True)
    other = import_model(again)
    for length in (TIME, 2):
        x = {"X": given["X"][:length]}
        for one, each in zip(outputs_of(net, x), outputs_of(other, x)):
            np.testing.assert_allclose(one, each, rtol=1e-4, atol=1e-5)


def _nodes(net):
    import json

    outputs = net(mx.sym.var("data"))
    return json.loads(mx.sym.Group(outputs).tojson())["nodes"]


def test_gradients_reach_the_weights(tmp_path):
    path = str(tmp_path / "net.onnx")
    given = saved(path, "LSTM", "bidirectional", ["B"])
    net = import_model(path)
    with mx.autograd.record():
        total = sum(y.sum() for y in net(mx.nd.array(given["X"])))
    total.backward()
    found = {name: p.grad().asnumpy() for name, p in net.collect_params().items()}
    assert set(found) == {"W", "R", "B"}
    assert all(np.abs(each).max() > 0 for each in found.values())


@pytest.mark.parametrize(
    "attributes,text",
    [
        (dict(activations=["Tanh", "Tanh"]), "activations"),
        (dict(activations=["Sine"]), "Sine"),
        (dict(activations=["Tanh"], activation_alpha=[0.5]), "do not use"),
        (dict(direction="sideways"), "sideways"),
    ],
)
def test_what_is_refused(attributes, text, tmp_path):
    path = str(tmp_path / "net.onnx")
    saved(path, "RNN", **attributes)
    with pytest.raises(ValueError, match=text):
        import_model(path)


@pytest.mark.parametrize("length", [-5, 3000])
def test_lengths_that_do_not_fit_write_nowhere(tmp_path, length):
    path = tmp_path / "net.onnx"
    given = saved(path, "GRU", "reverse", ["sequence_lens"], linear_before_reset=1)
    net = import_model(path)
    arrays = [mx.nd.array(x, dtype=x.dtype) for x in given.values()]
    arrays[1][1] = length
    got = net(*arrays)[0].asnumpy()
    arrays[1][1] = min(max(length, 0), TIME)
    np.testing.assert_array_equal(got, net(*arrays)[0].asnumpy())
