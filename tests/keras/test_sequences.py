"""Nets of sequences: open lengths, states that are kept, masks that would be lost."""

import h5py
import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same import deploy, specialize
from gluon_same.keras import load_model
from gluon_same.onnx import export_model

EMBEDDING = ("Embedding", "words", "image"), {"input_dim": 5, "output_dim": 3}
WEIGHTS = {"words": {"embeddings": (5, 3)}}
LSTM_WEIGHTS = {"kernel": (3, 8), "recurrent_kernel": (2, 8), "bias": (8,)}


def words(length, mask=False):
    names, arguments = EMBEDDING
    return image(length), layer(*names, **arguments, mask_zero=mask)


def test_an_input_of_indices_has_any_length(tmp_path):
    config = functional(*words(6), layer("GlobalMaxPooling1D", "pool", "words"))
    net = load_model(write(tmp_path, config, **WEIGHTS))
    assert net.input_sizes == ((None, None),)
    for hybridized in (False, True):
        net.hybridize(hybridized)
        for length in (6, 9):
            x = np.random.RandomState(length).randint(0, 5, (2, length))
            table = net.layers["words"].weight.data().asnumpy()
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), table[x].max(1))


def test_an_input_that_a_dense_layer_reads_as_well_keeps_its_length(tmp_path):
    config = functional(
        *words(6),
        layer("Dense", "dense", "image", units=2),
        layer("GlobalMaxPooling1D", "pool", "words"),
        outputs=["dense", "pool"],
    )
    net = load_model(write(tmp_path, config, **WEIGHTS, dense={"kernel": (6, 2), "bias": (2,)}))
    assert net.input_sizes == ((None, 6),)


@pytest.mark.parametrize("outer", ["custom", "TimeDistributed"])
def test_a_mask_that_would_be_lost_is_refused(tmp_path, outer):
    if outer == "custom":
        last, custom = layer("Mine", "last", "words"), {"Mine": lambda config, arrays: None}
    else:
        inner = {"class_name": "Softmax", "config": {"axis": -1}}
        last, custom = layer(outer, "last", "words", layer=inner), None
    path = write(tmp_path, functional(*words(6, mask=True), last), **WEIGHTS)
    with pytest.raises(ValueError, match=r"last \(\w+\): .*mask"):
        load_model(path, custom=custom)


def distributed(kind, **config):
    inner = {
        "class_name": "Sequential",
        "config": {"name": "inner", "layers": [layer(kind, "own", **config)]},
    }
    return layer("TimeDistributed", "last", "words", layer=inner)


@pytest.mark.parametrize("version", ["2.15.0", "3.15.1"])
def test_a_mask_passes_by_a_model_of_each_step(tmp_path, version):
    last = distributed("LeakyReLU", alpha=0.5), layer("GlobalAveragePooling1D", "mean", "last")
    config = {**functional(*words(6, mask=True), *last), "keras_version": version}
    net = load_model(write(tmp_path, config, **WEIGHTS))
    net.layers["words"].weight.set_data(mx.nd.random.normal(shape=(5, 3)))
    ids = np.array([[1, 4, 0, 2, 0, 0], [1, 2, 3, 4, 1, 2]])
    y = net.layers["words"].weight.data().asnumpy()[ids]
    mask = ids[..., None] > 0
    for _ in range(2):
        found = net(mx.nd.array(ids)).asnumpy()
        wanted = (np.where(y < 0, y / 2, y) * mask).sum(1) / mask.sum(1)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        net.hybridize()


def test_a_model_of_each_step_that_may_read_its_mask_is_refused(tmp_path):
    path = write(tmp_path, functional(*words(6, mask=True), distributed("Softmax")), **WEIGHTS)
    with pytest.raises(ValueError, match="a mask of its input, whose steps the inner layer may read"):
        load_model(path)


@pytest.mark.parametrize("version", ["2.4.0", "2.9.0", "2.10.0", "2.15.0"])
def test_attention_with_heads_reads_masks_since_keras_2_10(tmp_path, version):
    shapes = {f"{part}/kernel": (3, 1, 2) for part in ("query", "key", "value")}
    heads = layer("MultiHeadAttention", "heads", "words", num_heads=1, key_dim=2, use_bias=False)
    heads["inbound_nodes"] = [[["words", 0, 0, {"value": ["words", 0, 0]}]]]
    mean = layer("GlobalAveragePooling1D", "mean", "heads")  # reads a mask
    weights = dict(WEIGHTS, heads={**shapes, "attention_output/kernel": (1, 2, 3)})
    found = []
    for mask in (False, True):
        config = {**functional(*words(6, mask), heads, mean), "keras_version": version}
        net = load_model(write(tmp_path, config, **weights))
        found.append(net(mx.nd.array([[1, 4, 0, 2, 0, 0]])).asnumpy())
    assert np.allclose(*found) == (version in ("2.4.0", "2.9.0"))


@pytest.mark.parametrize("version, kept", [("2.3.0-tf", None), ("2.4.0", None), ("2.5.0", True)])
def test_a_mask_before_relu_is_refused_if_versions_differ(tmp_path, version, kept):
    last = layer("GlobalAveragePooling1D", "mean", "relu")
    config = functional(*words(6, mask=True), layer("ReLU", "relu", "words"), last)
    path = write(tmp_path, {**config, "keras_version": version}, **WEIGHTS)
    if not kept:
        with pytest.raises(ValueError, match="hand on"):
            load_model(path)
        return
    net = load_model(path)
    table = np.maximum(net.layers["words"].weight.data().asnumpy(), 0)
    found = net(mx.nd.array([[1, 4, 0, 2, 0, 0]])).asnumpy()
    np.testing.assert_allclose(found, [table[[1, 4, 2]].mean(0)], rtol=1e-6)


def stateful(folder):
    lstm = layer("LSTM", "lstm", "image", units=2, stateful=True)
    return load_model(write(folder, functional(image(4, 3), lstm), lstm=LSTM_WEIGHTS))


def test_states_are_kept_until_they_are_reset(tmp_path):
    net, whole = stateful(tmp_path), mx.nd.random.normal(shape=(2, 3, 8))
    first, second = whole[:, :, :4], whole[:, :, 4:]
    for hybridized in (False, True):
        net.hybridize(hybridized)
        net.reset_states()
        alone = net(second).asnumpy()
        net.reset_states()
        net(first)
        after = net(second).asnumpy()
        assert np.abs(after - alone).max() > 1e-3
        net.reset_states()
        np.testing.assert_allclose(net(whole).asnumpy(), after, rtol=1e-5, atol=1e-6)


def test_states_have_one_batch_size_and_no_graph(tmp_path):
    net = stateful(tmp_path)
    net(mx.nd.ones((2, 3, 4)))
    with pytest.raises(ValueError, match="states for a batch of 2, and received 3"):
        net(mx.nd.ones((3, 3, 4)))
    with pytest.raises(ValueError, match="keeps states between its calls"):
        export_model(net, (2, 3, 4), str(tmp_path / "net.onnx"))


def test_an_exported_net_receives_and_returns_its_states(tmp_path):
    import onnxruntime

    net, path = stateful(tmp_path), str(tmp_path / "net.onnx")
    export_model(net, [(2, 3, 4), *((2, *shape) for shape in net.plan.states)], path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names, states = [each.name for each in session.get_inputs()], [np.zeros((2, 2), "float32")] * 2
    for _ in range(2):
        x = np.random.RandomState(0).normal(size=(2, 3, 4)).astype("float32")
        y, *states = session.run(None, dict(zip(names, [x, *states])))
        np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), y, rtol=1e-5, atol=1e-6)


def convolutional_lstm(folder):
    last = layer("ConvLSTM2D", "last", "image", filters=2, kernel_size=3)
    arrays = {"kernel": (3, 3, 1, 8), "recurrent_kernel": (3, 3, 2, 8), "bias": (8,)}
    return load_model(write(folder, functional(image(2, 5, 5, 1), last), last=arrays))


def test_a_hybridized_block_around_a_convolutional_lstm_is_refused(tmp_path):
    outer = mx.gluon.nn.HybridSequential()
    outer.add(convolutional_lstm(tmp_path))
    x = mx.nd.ones((1, 1, 2, 5, 5))
    want = outer(x).asnumpy()
    outer.hybridize()
    with pytest.raises(ValueError, match=rf"{outer.name} is hybridized .* call hybridize\(False\)"):
        outer(x)
    outer.hybridize(False)
    outer[0].hybridize()
    np.testing.assert_array_equal(outer(x).asnumpy(), want)


@pytest.mark.parametrize("function", [specialize, deploy])
def test_convolutional_lstms_run_outside_of_graphs(tmp_path, function):
    net = convolutional_lstm(tmp_path)
    net.hybridize()
    assert not net._active and not net.layers["last"]._active
    with pytest.raises(ValueError, match="contains a ConvRecurrent"):
        function(net, (1, 2, 1, 5, 5))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("name, act", [("softmax", softmax), ("tanh", np.tanh)])
@pytest.mark.parametrize("backwards", [False, True])
def test_convolutional_lstms_with_softmax_or_backwards(tmp_path, ndim, name, act, backwards):
    how = dict(filters=2, kernel_size=[1] * ndim, activation=name, recurrent_activation="sigmoid")
    made = layer(f"ConvLSTM{ndim}D", "odd", "image", go_backwards=backwards, **how)
    ones, shape = (1,) * ndim, (3, *(4, 5, 2)[:ndim], 3)
    arrays = {"kernel": (*ones, 3, 8), "recurrent_kernel": (*ones, 2, 8), "bias": (8,)}
    path = write(tmp_path, functional(image(*shape), made), odd=arrays)
    with h5py.File(path[1], "r") as file:
        kernel, recurrent, bias = (np.array(file[f"odd/odd/{role}:0"]) for role in arrays)
    x = np.random.RandomState(0).normal(size=(2, *shape)).astype("float32")
    h = c = np.zeros((2, *shape[1:-1], 2))
    for step in range(3)[:: -1 if backwards else 1]:
        gates = x[:, step] @ kernel.reshape((3, 8)) + h @ recurrent.reshape((2, 8)) + bias
        i, f, new, o = np.split(gates, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * act(new)
        h = sigmoid(o) * act(c)
    found = load_model(path, layout="NHWC")(mx.nd.array(x)).asnumpy()
    np.testing.assert_allclose(found, h, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel, pool", [([3], "GlobalMaxPooling1D"), ([3, 3], "MaxPooling2D")])
def test_layers_follow_convolutions_of_each_step(tmp_path, kernel, pool):
    """In a graph, oneDNN has results of 8 channels in blocks, which not every reshape changes."""
    size, ndim = (2, *(6,) * len(kernel), 3), len(kernel)
    inner = {"class_name": f"Conv{ndim}D", "config": {"filters": 8, "kernel_size": kernel}}
    convolution = layer("TimeDistributed", "convolution", "image", layer=inner)
    after = layer("TimeDistributed", "after", "convolution", layer={"class_name": pool, "config": {}})
    shapes = {"kernel": (*kernel, 3, 8), "bias": (8,)}
    config = functional(image(*size), convolution, after)
    net = load_model(write(tmp_path, config, convolution=shapes), layout="NHWC")
    x = mx.nd.random.normal(shape=(2, *size))
    found = net(x).asnumpy()
    for made in (specialize(net, x), deploy(net, x, tune=False), net):
        made.hybridize()
        np.testing.assert_allclose(made(x).asnumpy(), found, rtol=1e-5, atol=1e-5)


def test_a_mean_takes_its_mask_from_an_input(tmp_path):
    mean = layer("GlobalAveragePooling1D", "mean", "image")
    mean["inbound_nodes"] = [[["image", 0, 0, {"mask": ["mask", 0, 0]}]]]
    mask = layer("InputLayer", "mask", batch_input_shape=[None, 6], dtype="bool")
    config = functional(image(6, 4), mask, mean, inputs=["image", "mask"])
    net = load_model(write(tmp_path, config), layout="NHWC")
    x, kept = np.random.RandomState(0).normal(size=(2, 6, 4)), np.array([[1, 0, 1, 1, 0, 0], [1] * 6])
    wanted = (x * kept[..., None]).sum(1) / kept.sum(1, keepdims=True)
    found = net(mx.nd.array(x), mx.nd.array(kept)).asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_calls_of_a_layer_have_initial_states_or_none(tmp_path):
    lstm = layer("LSTM", "lstm", "image", units=2)
    state = image(2, name="state")
    lstm["inbound_nodes"].append([["image", 0, 0, {"initial_state": [["state", 0, 0]] * 2}]])
    model = functional(image(4, 3), state, lstm, inputs=["image", "state"])
    model["config"]["output_layers"] = [["lstm", 0, 0], ["lstm", 1, 0]]
    with pytest.raises(ValueError, match="give all of them initial states"):
        load_model(write(tmp_path, model, lstm=LSTM_WEIGHTS))
