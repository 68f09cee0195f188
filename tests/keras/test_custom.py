"""Layers and functions that the caller builds."""

import json
import zipfile

import h5py
import mxnet as mx
import numpy as np
import pytest
from small_models import functional, image, layer, write

from gluon_same.importing import functions
from gluon_same.importing.block import Function
from gluon_same.keras import load_model


class Power(mx.gluon.HybridBlock):
    def __init__(self, power):
        super().__init__()
        self.power = power

    def hybrid_forward(self, F, x, *others):
        return [x**self.power, *others] if others else x**self.power


def called(class_name, name, *inputs, **keywords):
    """Return a layer that is called with keywords."""
    made = layer(class_name, name, *inputs)
    made["inbound_nodes"][0][0][3].update(keywords)
    return made


X = mx.nd.array([[1, 2, 3]])


@pytest.mark.parametrize("key", ["odd", "Strange", "pkg>Strange"])
def test_keys_are_names_of_layers_and_classes(tmp_path, key):
    path = write(tmp_path, functional(image(3), layer("pkg>Strange", "odd", "image")))
    net = load_model(path, custom={key: lambda config, arrays: Power(2)})
    np.testing.assert_array_equal(net(X).asnumpy(), [[1, 4, 9]])


@pytest.mark.parametrize(
    "key, written",
    [
        ("pkg>ReLU", {"class_name": "pkg>ReLU"}),  # .h5 files
        ("pkg>ReLU", {"module": None, "registered_name": "pkg>ReLU"}),
        ("pkg.relu>ReLU", {"module": "pkg.relu", "registered_name": "ReLU"}),
        ("__main__>ReLU", {"module": None, "registered_name": "ReLU"}),
    ],
)
def test_a_class_named_like_that_of_keras_is_built_by_the_caller(tmp_path, key, written):
    path = write(tmp_path, functional(image(3), {**layer("ReLU", "odd", "image"), **written}))
    with pytest.raises(ValueError, match=f"not Keras' own ReLU: give custom={{'{key}': builder}}"):
        load_model(path)
    net = load_model(path, custom={key: lambda config, arrays: Power(2)})
    np.testing.assert_array_equal(net(X).asnumpy(), [[1, 4, 9]])


def test_a_function_of_another_package_is_not_that_of_keras(tmp_path):
    tensor = {"shape": [None, 3], "dtype": "float32", "keras_history": ["image", 0, 0]}
    node = {"args": [{"class_name": "__keras_tensor__", "config": tensor}], "kwargs": {}}
    odd = {**layer("pkg>Square", "odd"), "inbound_nodes": [node]}
    config = {**functional(image(3), odd), "keras_version": "3.15.1"}
    with pytest.raises(ValueError, match=r"odd \(pkg>Square\): it is not known"):
        load_model(write(tmp_path, config))


def test_the_name_of_a_layer_precedes_that_of_its_class(tmp_path):
    odd = [layer("Strange", name, "image") for name in ("one", "two")]
    path = write(tmp_path, functional(image(3), *odd, outputs=["one", "two"]))
    custom = {"Strange": lambda config, arrays: Power(2), "two": lambda config, arrays: Power(3)}
    one, two = load_model(path, custom=custom)(X)
    np.testing.assert_array_equal(
        np.concatenate([one.asnumpy(), two.asnumpy()]), [[1, 4, 9], [1, 8, 27]]
    )


def test_a_lambda_is_built_by_its_name(tmp_path):
    path = write(tmp_path, functional(image(3), layer("Lambda", "squared", "image", function="?")))
    with pytest.raises(ValueError, match=r"give custom=\{'squared': builder\}"):
        load_model(path)
    net = load_model(path, custom={"squared": lambda config, arrays: Power(2)})
    np.testing.assert_array_equal(net(X).asnumpy(), [[1, 4, 9]])


def test_call_keywords_are_handed_to_the_builder(tmp_path):
    path = write(tmp_path, functional(image(3), called("Strange", "odd", "image", scale=3.0, mask=None)))
    net = load_model(path, custom={"Strange": lambda config, arrays, scale: Power(scale)})
    np.testing.assert_array_equal(net(X).asnumpy(), [[1, 8, 27]])


def test_arrays_given_by_keyword_follow_the_others(tmp_path):
    other = layer("ReLU", "other", "image")
    odd = called("Strange", "odd", "image", value=["other", 0, 0])
    path = write(tmp_path, functional(image(3), other, odd))
    net = load_model(
        path,
        custom={
            "Strange": lambda config, arrays: Function(functions.merge, "Sum", kind="add", even=True)
        },
    )
    np.testing.assert_array_equal(net(X).asnumpy(), [[2, 4, 6]])


def test_a_keyword_that_the_builder_does_not_take_is_an_error(tmp_path):
    path = write(tmp_path, functional(image(3), called("Strange", "odd", "image", scale=3.0)))
    with pytest.raises(ValueError, match=r"odd \(Strange\): .*unexpected keyword argument 'scale'"):
        load_model(path, custom={"Strange": lambda config, arrays: Power(1)})


def test_a_function_is_built_by_its_name_with_its_arguments(tmp_path):
    given = layer("TFOpLambda", "odd", "image", function="math.bessel_i0")
    given["inbound_nodes"][0][0][3].update(scale=2, name=None)
    path = write(tmp_path, functional(image(3), given))
    with pytest.raises(ValueError, match=r"give custom=\{'tf.math.bessel_i0': builder\}"):
        load_model(path)
    net = load_model(path, custom={"tf.math.bessel_i0": lambda config, arrays, scale: Power(scale)})
    np.testing.assert_array_equal(net(X).asnumpy(), [[1, 4, 9]])


@pytest.mark.parametrize("given", ["pkg>mine", {"class_name": "function", "config": "mine"}])
def test_activations_that_are_not_of_keras_are_built_by_name(tmp_path, given):
    first = layer("Activation", "first", "image", activation=given)
    second = layer("Dense", "second", "first", units=3, activation=given)
    shapes = {"kernel": (3, 3), "bias": (3,)}
    path = write(tmp_path, functional(image(3), first, second), second=shapes)
    with pytest.raises(ValueError, match=r"give custom=\{'mine': builder\}"):
        load_model(path)
    net = load_model(path, custom={"mine": lambda config, arrays: Power(2)})
    plain, weight, bias = X.asnumpy() ** 2, *(p.data().asnumpy() for p in net.collect_params().values())
    np.testing.assert_allclose(net(X).asnumpy(), (plain @ weight.T + bias) ** 2, rtol=1e-5)


@pytest.mark.parametrize(
    "module, power", [("builtins", 2), ("mine.functions", 2), ("keras.activations", 0)]
)
def test_an_activation_named_like_that_of_keras_may_be_built(tmp_path, module, power):
    given = {"class_name": "function", "config": "relu", "module": module}
    path = write(tmp_path, functional(image(3), layer("Activation", "act", "image", activation=given)))
    net = load_model(path, custom={"relu": lambda config, arrays: Power(2)})
    np.testing.assert_array_equal(net(-X).asnumpy(), X.asnumpy() ** power * (power > 0))


AUTHORS = {"class_name": "function", "config": "relu", "module": "builtins"}


def test_an_activation_of_the_author_may_return_negative_numbers(tmp_path):
    """Max pooling includes the zeros of a padding, which it may leave out behind Keras' own ReLU."""
    act = layer("Activation", "act", "image", activation=AUTHORS)
    pad = layer("ZeroPadding1D", "pad", "act", padding=1)
    pool = layer("MaxPooling1D", "pool", "pad", pool_size=[3], strides=[1])
    path = write(tmp_path, functional(image(4, 1), act, pad, pool))
    net = load_model(path, custom={"relu": lambda config, arrays: Power(3)})
    assert net(mx.nd.array([[[-2, -3, -4, -5]]])).asnumpy().tolist() == [[[0, -8, -27, 0]]]


@pytest.mark.parametrize("kind, parts", [("SimpleRNN", 1), ("LSTM", 4)])
def test_recurrent_layers_have_an_activation_of_the_author(tmp_path, kind, parts):
    made = layer(kind, "made", "image", units=2, activation=AUTHORS, use_bias=False)
    shapes = {"kernel": (3, 2 * parts), "recurrent_kernel": (2, 2 * parts)}
    path = write(tmp_path, functional(image(1, 3), made), made=shapes)
    net = load_model(path, custom={"relu": lambda config, arrays: Power(0)})
    plain = load_model(path, custom={"relu": lambda config, arrays: Power(1)})
    x = mx.nd.ones((1, 3, 1))
    assert (net(x) != plain(x)).asnumpy().all()
    with pytest.warns(UserWarning, match="'relu' is a function of the model's author"):
        load_model(path)


def test_a_block_that_does_not_read_its_input_is_called(tmp_path):
    class Token(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.token = self.params.get_constant("token", np.ones((1, 3), "float32"))
            self.token.initialize()

        def hybrid_forward(self, F, x, token):
            return F.identity(token)

    odd, last = layer("Strange", "odd", "image"), layer("Add", "last", "image", "odd")
    last["inbound_nodes"] = [[["image", 0, 0, {}], ["odd", 0, 0, {}]]]
    path = write(tmp_path, functional(image(3), odd, last))
    net = load_model(path, custom={"Strange": lambda config, arrays: Token()})
    for _ in range(2):
        np.testing.assert_array_equal(net(X).asnumpy(), X.asnumpy() + 1)
        net.hybridize()


def test_custom_layers_have_several_outputs(tmp_path):
    odd, last = layer("Strange", "odd", "image", "image"), layer("ReLU", "last", "odd")
    odd["inbound_nodes"] = [[["image", 0, 0, {}], ["image", 0, 0, {}]]]
    last["inbound_nodes"] = [[["odd", 0, 1, {}]]]
    path = write(tmp_path, functional(image(3), odd, last, outputs=["odd", "last"]))
    squares, same = load_model(path, custom={"odd": lambda config, arrays: Power(2)})(X)
    np.testing.assert_array_equal(squares.asnumpy(), [[1, 4, 9]])
    np.testing.assert_array_equal(same.asnumpy(), X.asnumpy())


def test_a_block_for_another_number_of_inputs_is_an_error(tmp_path):
    odd = layer("Strange", "odd", "image")
    odd["inbound_nodes"] = [[["image", 0, 0, {}], ["image", 0, 0, {}]]]
    path = write(tmp_path, functional(image(3), odd))
    with pytest.raises(ValueError, match="from custom= cannot be called with 2 inputs"):
        load_model(path, custom={"odd": lambda config, arrays: mx.gluon.nn.Dense(2)})


def test_arrays_of_sublayers_are_found_in_both_kinds_of_files(tmp_path):
    config = functional(image(3), layer("Strange", "odd", "image"))
    arrays = [np.full((3, 2), n, "float32") for n in range(3)]
    with zipfile.ZipFile(tmp_path / "new.keras", "w") as packed:
        packed.writestr("config.json", json.dumps(config))
        packed.writestr("metadata.json", '{"keras_version": "3.0.0"}')
        with h5py.File(tmp_path / "inner.h5", "w") as file:
            for group, array in zip(("vars", "dense/vars", "dense/norm/vars"), arrays):
                file[f"layers/strange/{group}/0"] = array
        packed.write(tmp_path / "inner.h5", "model.weights.h5")
    old = write(tmp_path, config, odd={"w": (3, 2), "dense/kernel": (3, 2), "dense/norm/gamma": (3, 2)})
    found = {}

    def build(config, arrays):
        found[len(found)] = arrays
        return Power(1)

    for path in (str(tmp_path / "new.keras"), old):
        load_model(path, custom={"Strange": build})
    assert [array[0, 0] for array in found[0]] == [0, 1, 2]
    assert [array.shape for array in found[1]] == [(3, 2)] * 3


@pytest.mark.parametrize(
    "class_name, words",
    [
        ("LSTMCell", "a cell is supported only in an RNN: give custom={'LSTMCell': builder}"),
        ("Nonsense", "it is not known: give custom={'Nonsense': builder}"),
        ("TextVectorization", "strings are not supported: turn them into numbers"),
    ],
)
def test_advice_depends_on_the_layer(tmp_path, class_name, words):
    path = write(tmp_path, functional(image(3), layer(class_name, "odd", "image")))
    with pytest.raises(ValueError) as error:
        load_model(path)
    assert words in str(error.value)
    assert ("custom=" in str(error.value)) == ("custom=" in words)


def test_a_custom_layer_whose_calls_differ_is_refused(tmp_path):
    odd = called("Strange", "odd", "image", scale=2.0)
    odd["inbound_nodes"].append([["image", 0, 0, {"scale": 3.0}]])
    last = layer("Add", "sum")
    last["inbound_nodes"] = [[["odd", 0, 0, {}], ["odd", 1, 0, {}]]]
    path = write(tmp_path, functional(image(3), odd, last))
    with pytest.raises(ValueError, match="its calls have different arguments"):
        load_model(path, custom={"Strange": lambda config, arrays, scale: Power(scale)})


class Positions(mx.gluon.HybridBlock):
    """Adds a table, or as much of it as there are positions."""

    def __init__(self, count, cuts):
        super().__init__()
        self.cuts = cuts
        table = np.arange(3 * count, dtype="float32").reshape(1, 3, count)
        self.table = self.params.get_constant("table", table)
        self.table.initialize()

    def hybrid_forward(self, F, x, table):
        return F.broadcast_add(x, F.slice_like(table, x, axes=2) if self.cuts else table)


@pytest.mark.parametrize("count, cuts, sizes", [(5, False, [5]), (50, True, [5, 7])])
def test_blocks_limit_the_sizes_to_those_of_their_tables(tmp_path, count, cuts, sizes):
    flat = layer("Flatten", "flat", "odd")
    path = write(tmp_path, functional(image(5, 3), layer("Strange", "odd", "image"), flat))
    net = load_model(path, layout="NHWC", custom={"Strange": lambda *given: Positions(count, cuts)})
    for size in sizes:
        wanted = np.arange(3 * count, dtype="float32").reshape(3, count)[:, :size].T.reshape(1, -1)
        np.testing.assert_array_equal(net(mx.nd.zeros((1, size, 3))).asnumpy(), wanted)


@pytest.mark.parametrize("key", ["Strange", "pkg>Strange"])
def test_the_layer_in_a_time_distributed_is_built_by_the_caller(tmp_path, key):
    inner = {"class_name": "pkg>Strange", "config": {"name": "inner", "power": 2}}
    outer = layer("TimeDistributed", "steps", "image", layer=inner)
    path = write(tmp_path, functional(image(5, 4, 3), outer), steps={"scale": (3,)})
    with pytest.raises(ValueError, match="class 'pkg>Strange': give custom={'pkg>Strange': builder}"):
        load_model(path)
    received = []

    def build(config, arrays):
        received.extend(arrays)
        return Power(config["power"])

    net = load_model(path, custom={key: build}, layout="NHWC")
    x = np.random.RandomState(0).normal(size=(2, 5, 4, 3)).astype("float32")
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), x**2, rtol=1e-6)
    assert [array.shape for array in received] == [(3,)]
