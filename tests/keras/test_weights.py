"""Each array of a file goes to its layer, or the error names both."""

import h5py
import numpy as np
import pytest
from small_models import conv, functional, image, layer, write

from gluon_same.keras import load_model
from gluon_same.keras.graph import role_of, snake_case

NORM = dict(gamma=(2,), beta=(2,), moving_mean=(2,), moving_variance=(2,))


@pytest.mark.parametrize(
    "name, expected",
    [
        ("Conv2D", "conv2d"),
        ("DepthwiseConv2D", "depthwise_conv2d"),
        ("BatchNormalization", "batch_normalization"),
        ("PReLU", "p_re_lu"),
        ("SimpleRNN", "simple_rnn"),
        ("my_package>LayerScale", "layer_scale"),
    ],
)
def test_groups_are_named_as_keras_names_them(name, expected):
    assert snake_case(name) == expected


@pytest.mark.parametrize("name", ["a/b/kernel:0", "kernel", "kernel_1:0", "a/kernel_12"])
def test_the_role_is_the_end_of_a_name(name):
    assert role_of(name) == "kernel"


def nested(tmp_path, order, **trainable):
    """Write a nested model of a convolution and a normalization, with its arrays in another order."""
    first, shapes = conv("conv", "image", padding="same", trainable=trainable.get("conv", True))
    norm = layer("BatchNormalization", "norm", "conv", axis=[3], trainable=trainable.get("norm", True))
    inner = layer("Functional", "inner", "image")
    inner["config"] = functional(image(None, None, 2), first, norm, name="inner")["config"]
    roles = {**{f"conv/{r}": s for r, s in shapes.items()}, **{f"norm/{r}": s for r, s in NORM.items()}}
    path = write(tmp_path, functional(image(None, None, 2), inner), inner=roles)
    with h5py.File(path[1], "r+") as file:
        file["inner"].attrs["weight_names"] = [f"inner/{name}:0".encode() for name in order]
    return path


TRAINED_FIRST = [
    "conv/kernel",
    "conv/bias",
    "norm/gamma",
    "norm/beta",
    "norm/moving_mean",
    "norm/moving_variance",
]
FROZEN_LAST = [
    "norm/gamma",
    "norm/beta",
    "conv/kernel",
    "conv/bias",
    "norm/moving_mean",
    "norm/moving_variance",
]


@pytest.mark.parametrize("order", [TRAINED_FIRST, FROZEN_LAST])
@pytest.mark.parametrize("frozen", [True, False])
def test_the_order_in_a_nested_model_follows_what_was_trained(tmp_path, order, frozen):
    if order is FROZEN_LAST and not frozen:
        pytest.skip("Keras does not write it")
    path = nested(tmp_path, order, conv=not frozen)
    net = load_model(path).layers["inner"].layers
    with h5py.File(path[1]) as file:
        held = {name: file[f"inner/inner/{name}:0"][()] for name in order}
    np.testing.assert_array_equal(net["norm"].gamma.data().asnumpy(), held["norm/gamma"])
    np.testing.assert_array_equal(net["norm"].running_var.data().asnumpy(), held["norm/moving_variance"])
    np.testing.assert_array_equal(
        net["conv"].weight.data().asnumpy(), held["conv/kernel"].transpose(3, 2, 0, 1)
    )


def test_an_order_that_nothing_explains_is_refused(tmp_path):
    order = [*TRAINED_FIRST[:4], TRAINED_FIRST[5], TRAINED_FIRST[4]]
    with pytest.raises(
        ValueError, match="layer 'inner' contains kernel, bias, gamma, beta, moving_variance"
    ):
        load_model(nested(tmp_path, order))


def test_a_shape_that_does_not_fit_is_named_with_both_sides(tmp_path):
    first, shapes = conv("conv", "image")
    path = write(
        tmp_path, functional(image(None, None, 2), first), conv={**shapes, "kernel": (3, 3, 5, 2)}
    )
    words = (
        r"'conv/conv/kernel:0' has shape \(3, 3, 5, 2\), but the kernel of layer conv has \(3, 3, 2, 2\)"
    )
    with pytest.raises(ValueError, match=words):
        load_model(path)


def test_a_layer_without_weights_in_the_file_is_named(tmp_path):
    first, shapes = conv("first", "image")
    second, _ = conv("second", "first")
    with pytest.raises(ValueError, match="there are none for second"):
        load_model(write(tmp_path, functional(image(None, None, 2), first, second), first=shapes))


def test_layers_of_other_names_are_read_in_their_order(tmp_path):
    first, shapes = conv("first", "image")
    second, _ = conv("second", "first")
    config = functional(image(None, None, 2), first, second)
    path = write(tmp_path, config, conv2d_7=shapes, conv2d_8=shapes)
    net = load_model(path)
    with h5py.File(path[1]) as file:
        bias = file["conv2d_8/conv2d_8/bias:0"][()]
    np.testing.assert_array_equal(net.layers["second"].bias.data().asnumpy(), bias)


def test_an_array_too_few_in_a_group_is_named(tmp_path):
    text, weights = write(tmp_path, functional(image(3), layer("Dense", "dense", "image", units=2)))
    with h5py.File(weights, "w") as file:
        file["layers/dense/vars/0"] = np.ones((3, 2))
    words = r"entry 'layers/dense/vars' contains 1 arrays, but layer dense \(Dense\) has 2: kernel, bias"
    with pytest.raises(ValueError, match=words):
        load_model((text, weights))


def test_weights_that_keras_saves_once_for_two_layers_are_reported(tmp_path):
    inner = layer("Dense", "dense", "image", units=2)
    outer = layer("TimeDistributed", "each", "image", layer={**inner, "inbound_nodes": []})
    text, weights = write(tmp_path, functional(image(4, 3), outer, inner, outputs=["each", "dense"]))
    with h5py.File(weights, "w") as file:
        file["layers/time_distributed/layer/vars/0"] = np.ones((3, 2))
        file["layers/time_distributed/layer/vars/1"] = np.ones(2)
        file.create_group("layers/dense/vars")
    with pytest.raises(ValueError, match=r"has 2: kernel, bias. Keras saves .* once: save an .h5 file"):
        load_model((text, weights))


def test_the_matrices_of_lora_are_reported(tmp_path):
    roles = {"bias": (2,), "lora_kernel_a": (3, 1), "lora_kernel_b": (1, 2), "kernel": (3, 2)}
    path = write(tmp_path, functional(image(3), layer("Dense", "dense", "image", units=2)), dense=roles)
    with pytest.raises(ValueError, match="save the model as a .keras file, whose kernels include LoRA"):
        load_model(path)


def test_weights_of_one_name_are_those_of_an_unfinished_file(tmp_path):
    inner = dict(name="inner", layers=[
        layer("Dense", f"dense{i}", units=3, batch_input_shape=[None, 3], use_bias=False) for i in (1, 2)
    ])  # fmt: skip
    nested = {"class_name": "Sequential", "name": "inner", "config": inner,
              "inbound_nodes": [[["image", 0, 0, {}]]]}  # fmt: skip
    path = write(tmp_path, functional(image(3), nested), inner={"dense1/kernel": (3, 3)})
    with h5py.File(path[1], "r+") as file:
        file["inner"].attrs["weight_names"] = [b"inner/dense1/kernel:0"] * 2
    with pytest.raises(ValueError, match="layer 'inner' contains several weights of one name"):
        load_model(path)
