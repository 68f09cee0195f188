"""Graphs from configurations: their operators, and the errors."""

import json

import h5py
import mxnet as mx
import numpy as np
import pytest
from small_models import conv, functional, image, layer, write

from gluon_same import deploy, nn
from gluon_same.importing import functions
from gluon_same.importing.block import Function
from gluon_same.keras import load_model
from gluon_same.keras.layers.normalization import SizedBatchNorm
from small_nets import has_right_gradients


def operators(net, count=1):
    """Return the operators of a net's graph, without its variables."""
    outputs = net(*(mx.sym.var(f"data{i}") for i in range(count)))
    group = mx.sym.Group(outputs if isinstance(outputs, list) else [outputs])
    return [node["op"] for node in json.loads(group.tojson())["nodes"] if node["op"] != "null"]


def test_padding_becomes_a_part_of_the_convolution_after_it(tmp_path):
    pad = layer("ZeroPadding2D", "pad", "image", padding=[[1, 1], [1, 1]])
    after, shapes = conv("conv", "pad")
    net = load_model(write(tmp_path, functional(image(None, None, 2), pad, after), conv=shapes))
    assert operators(net) == ["Convolution"]
    assert list(net.layers) == ["conv"]


def test_padding_that_something_else_reads_is_a_layer_too(tmp_path):
    pad = layer("ZeroPadding2D", "pad", "image", padding=[[0, 1], [2, 1]])
    after, shapes = conv("conv", "pad", strides=[2, 2])
    config = functional(image(None, None, 2), pad, after, outputs=["conv", "pad"])
    net = load_model(write(tmp_path, config, conv=shapes))
    assert operators(net).count("Pad") + operators(net).count("pad") >= 1
    assert [y.shape for y in net(mx.nd.ones((1, 2, 6, 7)))] == [(1, 2, 3, 4), (1, 2, 7, 10)]


def test_a_shared_convolution_does_not_keep_the_padding_of_its_first_call(tmp_path):
    pad = layer("ZeroPadding2D", "pad", "image", padding=[[1, 1], [1, 1]])
    shared, shapes = conv("conv", "pad")
    shared["inbound_nodes"].append([["image", 0, 0, {}]])
    config = functional(image(None, None, 2), pad, shared)
    config["config"]["output_layers"] = [["conv", 0, 0], ["conv", 1, 0]]
    net = load_model(write(tmp_path, config, conv=shapes))
    padded, plain = net(mx.nd.random.uniform(shape=(1, 2, 5, 6)))
    assert (padded.shape, plain.shape) == ((1, 2, 5, 6), (1, 2, 3, 4))
    np.testing.assert_allclose(padded[:, :, 1:-1, 1:-1].asnumpy(), plain.asnumpy(), rtol=1e-5)


def test_a_pool_keeps_the_zeros_around_numbers_that_may_be_negative(tmp_path):
    pad = layer("ZeroPadding2D", "pad", "image", padding=[[1, 1], [1, 1]])
    pool = layer("MaxPooling2D", "pool", "pad", pool_size=[3, 3], strides=[1, 1])
    net = load_model(write(tmp_path, functional(image(None, None, 2), pad, pool)))
    assert net(-mx.nd.ones((1, 2, 2, 2))).asnumpy().max() == 0


def test_a_pool_pads_numbers_that_are_not_negative_itself(tmp_path):
    relu = layer("ReLU", "relu", "image")
    pad = layer("ZeroPadding2D", "pad", "relu", padding=[[1, 1], [1, 1]])
    pool = layer("MaxPooling2D", "pool", "pad", pool_size=[3, 3], strides=[2, 2])
    net = load_model(write(tmp_path, functional(image(None, None, 2), relu, pad, pool)))
    assert operators(net) == ["Activation", "Pooling"]


def test_nothing_is_transposed_where_order_does_not_matter(tmp_path):
    pool = layer("GlobalAveragePooling2D", "pool", "image", keepdims=True)
    flat = layer("Flatten", "flat", "pool")
    shaped = layer("Reshape", "shaped", "flat", target_shape=[1, 1, 2])
    product = layer("Multiply", "product", "image", "shaped")
    net = load_model(write(tmp_path, functional(image(None, None, 2), pool, flat, shaped, product)))
    assert "transpose" not in operators(net)


@pytest.mark.parametrize("axes", [1, 3])
def test_a_net_learns_whose_normalizations_are_beside_convolutions_over_other_axes(tmp_path, axes):
    """MXNet alone has no gradient there."""
    config = {"filters": 16, "kernel_size": [1] * axes}
    first, last = (layer(f"Conv{axes}D", *names, **config) for names in (("a", "image"), ("b", "norm")))
    norm = layer("BatchNormalization", "norm", "a", axis=[axes + 1], momentum=0.9, epsilon=0.1)
    kernel = {"kernel": (*[1] * axes, 16, 16), "bias": (16,)}
    scales = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), (16,))
    model = functional(image(*[None] * axes, 16), first, norm, last)
    files = write(tmp_path, model, a=kernel, norm=scales, b=kernel)
    x = np.random.RandomState(0).normal(size=(2, 16, *range(3, 3 + axes)))
    has_right_gradients(lambda: load_model(files), x)


@pytest.mark.parametrize("channels", [4, 8])
def test_a_net_learns_that_joins_parts_of_few_channels(tmp_path, channels):
    """MXNet alone fails or crashes there, unless all parts are whole blocks of oneDNN's channels."""
    config = {"kernel_size": [1, 1]}
    first = layer("Conv2D", "a", "image", filters=channels, **config)
    other = layer("Conv2D", "b", "a", filters=16 - channels, **config)
    joined, last = layer("Concatenate", "c", "a", "b"), layer("Conv2D", "d", "c", filters=16, **config)
    sizes = {"a": (3, channels), "b": (channels, 16 - channels), "d": (16, 16)}
    weights = {name: {"kernel": (1, 1, *s), "bias": s[1:]} for name, s in sizes.items()}
    files = write(tmp_path, functional(image(None, None, 3), first, other, joined, last), **weights)
    x = np.random.RandomState(0).normal(size=(2, 3, 4, 5))
    has_right_gradients(lambda: load_model(files), x)


def test_a_flatten_does_not_rely_on_the_size_that_the_model_was_saved_with(tmp_path):
    """At the saved size there is one position, so the order does not matter."""
    net = load_model(write(tmp_path, functional(image(1, 1, 2), layer("Flatten", "flat", "image"))))
    x = np.arange(8).reshape((1, 2, 2, 2))
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x.transpose(0, 2, 3, 1).reshape((1, 8)))


def test_permute_renames_axes(tmp_path):
    once = layer("Permute", "once", "image", dims=[3, 1, 2])
    back = layer("Permute", "back", "once", dims=[2, 3, 1])
    relu = layer("ReLU", "relu", "back")
    net = load_model(write(tmp_path, functional(image(None, None, 2), once, back, relu)))
    assert operators(net) == ["Activation"]


def shared_model(*layers):
    """Return the configuration of two inputs that a nested model receives, one after the other."""
    inner = functional(image(None, None, 2), *layers, name="inner")
    nested = layer("Functional", "inner")
    nested["config"] = inner["config"]
    positive = layer("ReLU", "positive", "first")
    pooled = layer("GlobalMaxPooling2D", "pooled", "positive", keepdims=True)
    nested["inbound_nodes"] = [[[name, 0, 0, {}]] for name in ("pooled", "second")]
    starts = [image(None, None, 2, name=name) for name in ("first", "second")]
    config = functional(*starts, positive, pooled, nested, inputs=["first", "second"])
    config["config"]["output_layers"] = [["inner", 0, 0], ["inner", 1, 0]]
    return config


def test_a_shared_model_does_not_depend_on_the_size_of_its_first_call(tmp_path):
    net = load_model(write(tmp_path, shared_model(layer("Flatten", "flat", "image"))))
    x = np.arange(12).reshape((1, 2, 2, 3))
    one, other = (y.asnumpy() for y in net(*[mx.nd.array(x)] * 2))
    np.testing.assert_array_equal(one, [[5, 11]])
    np.testing.assert_array_equal(other, x.transpose(0, 2, 3, 1).reshape((1, 12)))


def test_a_shared_model_does_not_depend_on_the_signs_in_its_first_call(tmp_path):
    pad = layer("ZeroPadding2D", "pad", "image", padding=[[1, 1], [1, 1]])
    pool = layer("MaxPooling2D", "pool", "pad", pool_size=[3, 3], strides=[1, 1])
    net = load_model(write(tmp_path, shared_model(pad, pool)))
    _, other = net(*[-mx.nd.ones((1, 2, 2, 2))] * 2)
    assert other.asnumpy().max() == 0


def test_problems_of_a_shared_model_are_listed_once(tmp_path):
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, shared_model(layer("Lambda", "secret", "image", function="?"))))
    assert [line.split(")")[0] for line in str(error.value).splitlines()[1:]] == [
        "- inner/secret (Lambda"
    ]


def test_an_input_that_is_an_output_is_passed_on(tmp_path):
    config = functional(image(3), layer("Dropout", "drop", "image", rate=0.5), outputs=["image", "drop"])
    net = load_model(write(tmp_path, config))
    net.hybridize()
    assert all((y.asnumpy() == 1).all() for y in net(mx.nd.ones((2, 3))))


def test_functions_of_losses_are_left_out(tmp_path):
    mean = layer("TFOpLambda", "mean", "image", function="math.reduce_mean")  # of the batch, too
    config = functional(image(3), mean, layer("AddLoss", "loss", "mean"), layer("ReLU", "relu", "image"))
    assert list(load_model(write(tmp_path, config)).layers) == ["relu"]


def test_all_problems_are_in_one_error(tmp_path):
    inner = functional(
        image(None, None, 2), layer("Lambda", "secret", "image", function="?"), name="inner"
    )
    nested = layer("Functional", "inner", "image")
    nested["config"] = inner["config"]
    odd, shapes = conv("odd", "image", padding="reflect")
    new, _ = conv("new", "inner", surprise=3)
    known = layer("Add", "sum", "odd", "new")
    config = functional(
        image(None, None, 2), nested, odd, new, layer("Strange", "strange", "image"), known
    )
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, config, odd=shapes))
    found = [line.split(")")[0] for line in str(error.value).splitlines()[1:]]
    # Layers after a refused layer are also checked, and are not blamed for its fault.
    assert found == ["- inner/secret (Lambda", "- odd (Conv2D", "- new (Conv2D", "- strange (Strange"]


def test_layers_after_a_refused_layer_are_not_blamed_for_their_inputs(tmp_path):
    """Their inputs may have other shapes than those that are guessed."""
    inner = functional(image(4, 4, 2), layer("Permute", "turn", "image", dims=[2, 1]), name="inner")
    nested = layer("Functional", "inner", "strange")
    nested["config"] = inner["config"]
    tower = functional(image(4, 4, 2), layer("Strange", "strange", "image"), nested)
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, tower))
    assert [line.split(")")[0] for line in str(error.value).splitlines()[1:]] == ["- strange (Strange"]


def test_no_layer_behind_a_refused_layer_is_blamed_for_its_shape(tmp_path):
    strange, same = layer("Strange", "strange", "image"), layer("ReLU", "same", "strange")
    config = functional(image(4, 4, 2), strange, same, layer("Permute", "turn", "same", dims=[2, 1]))
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, config))
    assert [line.split()[1] for line in str(error.value).splitlines()[1:]] == ["strange"]


def test_layers_that_are_refused_alike_share_a_line(tmp_path):
    strange = [layer("Strange", f"strange{i}", "image") for i in range(3)]
    secret = [layer("Lambda", f"secret{i}", "image") for i in range(3)]
    with pytest.raises(ValueError) as error:
        load_model(
            write(tmp_path, functional(image(3), *strange, layer("Odd", "odd", "image"), *secret))
        )
    assert str(error.value).splitlines()[1:] == [
        "- strange0 and 2 more (Strange): it is not known: give custom={'Strange': builder}",
        "- odd (Odd): it is not known: give custom={'Odd': builder}",
        "- secret0 and 2 more (Lambda): its code is in the file and is never run: "
        "give custom={'secret0': builder}, or 'Lambda' for all",
    ]


def test_an_argument_that_is_not_known_is_refused(tmp_path):
    new, shapes = conv("new", "image", surprise=3)
    with pytest.raises(ValueError, match=r"new \(Conv2D\): surprise=3 is not known"):
        load_model(write(tmp_path, functional(image(None, None, 2), new), new=shapes))


@pytest.mark.parametrize("given", [{"training": True}, {"noise": ["image", 0, 0]}, {"scale": 2.0}])
def test_a_call_that_computes_something_else_is_refused(tmp_path, given):
    drop = layer("Dropout", "drop", "image", rate=0.5)
    drop["inbound_nodes"] = [[["image", 0, 0, given]]]
    with pytest.raises(ValueError, match=f"called with {next(iter(given))}="):
        load_model(write(tmp_path, functional(image(3), drop)))


def shared_by_ranks(kind, **config):
    shared = layer(kind, "shared", "image", **config)
    shared["inbound_nodes"].append([["flat", 0, 0, {}]])
    model = functional(image(1, 3), shared, layer("Flatten", "flat", "image"))
    model["config"]["output_layers"] = [["shared", 0, 0], ["shared", 1, 0]]
    return model


def test_a_layer_shared_by_arrays_of_other_ranks_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"shared \(Batch.*: its calls receive inputs with different numb"
    ):
        load_model(write(tmp_path, shared_by_ranks("BatchNormalization", axis=-1)))


@pytest.mark.parametrize("kind, config", [
    ("Dense", dict(units=3, activation="softmax")), ("Activation", dict(activation="softmax")),
    ("Dropout", dict(rate=0.5)), ("LayerNormalization", dict(axis=-1)),
    ("Embedding", dict(input_dim=6, output_dim=2)),
])  # fmt: skip
def test_a_layer_is_shared_by_arrays_of_other_ranks(tmp_path, kind, config):
    roles = dict(Dense={"kernel": (3, 3), "bias": (3,)}, Embedding={"embeddings": (6, 2)})
    roles.update(LayerNormalization={"gamma": (3,), "beta": (3,)})
    shapes = {"shared": roles[kind]} if kind in roles else {}
    net = load_model(write(tmp_path, shared_by_ranks(kind, **config), **shapes), layout="NHWC")
    for _ in range(2):
        one, other = (y.asnumpy() for y in net(mx.nd.array([[[1, 2, 4]], [[0, 5, 3]]])))
        np.testing.assert_allclose(one[:, 0], other, rtol=1e-6)
        net.hybridize()


def test_a_normalization_of_another_axis_of_arrays_of_other_ranks_is_refused(tmp_path):
    model = shared_by_ranks("LayerNormalization", axis=[1])
    model["config"]["layers"][0]["config"]["batch_input_shape"] = [None, 3, 1]
    path = write(tmp_path, model, shared={"gamma": (3,), "beta": (3,)})
    with pytest.raises(ValueError, match="its calls normalize different axes"):
        load_model(path, layout="NHWC")


class Double(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x * 2


def test_custom_layers_are_built_by_the_caller(tmp_path):
    seen = []

    def build(config, arrays):
        seen.append((config["factor"], [array.shape for array in arrays]))
        return Double()

    strange, after = layer("pkg>Strange", "strange", "image", factor=2), conv("conv", "strange")
    config = functional(image(None, None, 2), strange, after[0])
    path = write(tmp_path, config, strange={"w": (2, 3)}, conv=after[1])
    net = load_model(path, custom={"Strange": build})
    assert seen == [(2, [(2, 3)])]
    x = mx.nd.random.uniform(shape=(1, 2, 5, 5))
    np.testing.assert_allclose(net(x).asnumpy(), net.layers["conv"](x * 2).asnumpy(), rtol=1e-5)


class Factor(mx.gluon.HybridBlock):
    def __init__(self, factor):
        super().__init__()
        self.factor = self.params.get("factor", shape=factor.shape, init=mx.init.Constant(factor))

    def hybrid_forward(self, F, x, factor):
        return F.broadcast_mul(x, factor)


def test_all_calls_of_a_shared_custom_layer_receive_its_arrays_and_share_a_block(tmp_path):
    strange, last = layer("Strange", "strange", "image"), layer("Add", "sum", "image", "image")
    strange["inbound_nodes"] *= 2
    last["inbound_nodes"] = [[["strange", 0, 0, {}], ["strange", 1, 0, {}]]]
    path = write(tmp_path, functional(image(3), strange, last), strange={"w": (1, 3)})
    net = load_model(path, custom={"Strange": lambda config, arrays: Factor(mx.nd.array(arrays[0]))})
    (factor,) = net.collect_params().values()
    np.testing.assert_allclose(net(mx.nd.ones((1, 3))).asnumpy(), 2 * factor.data().asnumpy())


def test_what_custom_returns_has_to_be_a_block(tmp_path):
    config = functional(image(3), layer("Strange", "strange", "image"))
    with pytest.raises(ValueError, match="which is not a HybridBlock"):
        load_model(write(tmp_path, config), custom={"Strange": lambda config, arrays: None})


def test_noise_that_is_not_added_is_said(tmp_path):
    config = functional(image(3), layer("GaussianNoise", "noise", "image", stddev=0.1))
    with pytest.warns(UserWarning, match="noise"):
        load_model(write(tmp_path, config))


def test_relu6_is_the_fast_one(tmp_path):
    net = load_model(
        write(tmp_path, functional(image(3), layer("ReLU", "relu", "image", max_value=6.0)))
    )
    assert isinstance(net.layers["relu"], nn.ReLU6)


@pytest.mark.parametrize("strides", [1, 2, 3])
def test_unequal_padding_is_no_operator_of_its_own(tmp_path, strides):
    pad = layer("ZeroPadding2D", "pad", "image", padding=[[0, 1], [1, 0]])
    after, shapes = conv("conv", "pad", strides=strides)
    path = write(tmp_path, functional(image(None, None, 2), pad, after), conv=shapes)
    found = operators(load_model(path))
    assert "Convolution" in found and "Pad" not in found


def test_equal_shapes_are_added_by_the_operator_that_keeps_blocked_memory(tmp_path):
    one, shapes = conv("one", "image", padding="same")
    config = functional(image(None, None, 2), one, layer("Add", "sum", "image", "one"))
    assert "elemwise_add" in operators(load_model(write(tmp_path, config, one=shapes)))


def test_a_reshape_of_known_size_is_one_operator(tmp_path):
    pool = layer("GlobalAveragePooling2D", "pool", "image")
    config = functional(
        image(None, None, 6), pool, layer("Reshape", "r", "pool", target_shape=[1, 1, 6])
    )
    net = load_model(write(tmp_path, config))
    assert operators(net) == ["Pooling", "Flatten", "Reshape"]
    assert net(mx.nd.ones((2, 6, 3, 4))).shape == (2, 6, 1, 1)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("rows", [2, 5])
def test_a_reshape_refuses_a_size_that_it_does_not_fit(hybridize, rows):
    block = Function(functions.reshape, "Reshape", shape=(6, 4))
    if hybridize:
        block.hybridize()
    assert block(mx.nd.ones((2, 1, 4, 6))).shape == (2, 6, 4)
    with pytest.raises(mx.MXNetError):
        block(mx.nd.ones((1, 1, rows, 6))).wait_to_read()


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_batch_normalization_refuses_another_size_of_its_axis(hybridize):
    block = SizedBatchNorm(axis=2, in_channels=4)
    block.initialize()
    if hybridize:
        block.hybridize()
    assert block(mx.nd.ones((2, 3, 4, 5))).shape == (2, 3, 4, 5)
    with pytest.raises(mx.MXNetError, match="Check failed"):
        block(mx.nd.ones((2, 3, 40, 5))).wait_to_read()


@pytest.mark.filterwarnings("ignore:The 1-th input")
@pytest.mark.parametrize("hybridize", [False, True])
def test_an_input_may_have_no_use(tmp_path, hybridize):
    config = functional(
        image(3), image(2, name="other"), layer("ReLU", "relu", "image"), inputs=["image", "other"]
    )
    net = load_model(write(tmp_path, config))
    net.hybridize(hybridize)
    assert net(mx.nd.ones((1, 3)), mx.nd.ones((1, 2))).shape == (1, 3)


@pytest.mark.parametrize("tied", [True, False])
def test_a_reversible_embedding_embeds(tmp_path, tied):
    shapes = {"embeddings": (5, 3), **({} if tied else {"reverse_embeddings": (3, 5)})}
    words = layer("ReversibleEmbedding", "words", "image", input_dim=5, output_dim=3, tie_weights=tied)
    net = load_model(write(tmp_path, functional(image(None), words), words=shapes), layout="NHWC")
    (table,) = (p.data().asnumpy() for p in net.collect_params().values())
    np.testing.assert_array_equal(net(mx.nd.array([[4, 0, 1, 4]])).asnumpy()[0], table[[4, 0, 1, 4]])


@pytest.mark.parametrize("index", [5, -1])
@pytest.mark.parametrize("hybridize", [False, True])
def test_an_index_beyond_an_embedding_is_an_error(tmp_path, hybridize, index):
    words = layer("Embedding", "words", "image", input_dim=5, output_dim=3)
    files = write(tmp_path, functional(image(None), words), words={"embeddings": (5, 3)})
    net = load_model(files, layout="NHWC")
    net.hybridize(hybridize)
    assert net(mx.nd.array([[4, 0]])).shape == (1, 2, 3)
    with pytest.raises(mx.MXNetError, match="indices out of bound"):
        net(mx.nd.array([[4, index]])).asnumpy()


def test_an_embedding_is_deployed_with_data(tmp_path):
    words = layer("Embedding", "words", "image", input_dim=5, output_dim=3)
    files = write(tmp_path, functional(image(None), words), words={"embeddings": (5, 3)})
    net, x = load_model(files, layout="NHWC"), mx.nd.array([[4, 0, 2]])
    block = deploy(net, x.shape, data=[x], tune=False)
    for given in (x, x + 0.25):  # which Keras rounds towards zero
        np.testing.assert_array_equal(block(given).asnumpy(), net(x).asnumpy())


@pytest.mark.parametrize("reversed_first", [False, True])
@pytest.mark.parametrize("tied", [True, False])
def test_a_reversible_embedding_returns_scores(tmp_path, tied, reversed_first):
    shapes = {"embeddings": (5, 3), **({} if tied else {"reverse_embeddings": (3, 5)})}
    config = dict(input_dim=5, output_dim=3, tie_weights=tied, logit_soft_cap=2, mask_zero=True)
    words = layer("ReversibleEmbedding", "words", "image", **config)
    backward = [["hidden", 0, 0, {"reverse": True}]]
    words["inbound_nodes"].insert(not reversed_first, backward)
    words["inbound_nodes"].append(backward)
    names = dict(inputs=["image", "hidden"], outputs=["words"])
    model = functional(image(None), image(None, 3, name="hidden"), words, **names)
    model["config"]["output_layers"] = [["words", i, 0] for i in range(3)]
    files = write(tmp_path, model, words=shapes)
    with h5py.File(files[1]) as weights:
        table, scores = ([*weights["words"]["words"].values()][i][()] for i in (0, -1))
    net = load_model(files, layout="NHWC")
    ids, x = np.array([[4, 0, 1]]), np.random.RandomState(0).normal(size=(1, 2, 3)).astype("float32")
    cap = 2 * np.tanh(x @ (table.T if tied else scores) / 2)
    wanted = [cap, table[ids], cap] if reversed_first else [table[ids], cap, cap]
    for _ in range(2):
        for y, known in zip(net(mx.nd.array(ids), mx.nd.array(x)), wanted):
            np.testing.assert_allclose(y.asnumpy(), known, rtol=1e-6, atol=1e-6)
        net.hybridize()


def test_whole_numbers_behind_a_refused_layer_are_not_blamed(tmp_path):
    ids = layer("InputLayer", "image", batch_input_shape=[None, 3], dtype="int32")
    config = functional(ids, layer("Odd", "odd", "image"), layer("Dropout", "drop", "odd", rate=0.5))
    with pytest.raises(ValueError) as error:
        load_model(write(tmp_path, config))
    assert [line.split()[1] for line in str(error.value).splitlines()[1:]] == ["odd"]
