"""Whole numbers: those above 2**24, such as identifiers, which float32 rounds, and those of images."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write

from gluon_same.keras import load_model

X = np.array([[2**24 + 1, 2**26 + 3, 5], [2**25 + 1, 7, 2**24 + 3]], "int32")
SELF = ["image", 0, 0]
LARGE = 2**24 + 2


def start():
    made = image(3)
    made["config"]["dtype"] = "int32"
    return made


def outputs(folder, made):
    net = load_model(write(folder, functional(start(), made)))
    for hybridize in (False, True):
        net.hybridize(hybridize)
        out = net(mx.nd.array(X, dtype="int32"))
        yield (out[0] if isinstance(out, list) else out).asnumpy()


@pytest.mark.parametrize(
    "name, first, arguments, want",
    [
        ("stack", [SELF, SELF], {"axis": 1}, np.stack([X, X], 1).transpose((0, 2, 1))),
        ("where", SELF, {"x": SELF, "y": 2**26 + 1}, np.where(X, X, 2**26 + 1)),
        ("clip_by_value", SELF, {"clip_value_min": 6, "clip_value_max": LARGE}, X.clip(6, LARGE)),
        ("sort", SELF, {"axis": -1}, np.sort(X)),
        ("math.top_k", SELF, {"k": 2}, -np.sort(-X)[:, :2]),
        ("math.cumsum", SELF, {"axis": 1}, np.cumsum(X, 1, "int32")),
        ("math.square", SELF, {}, X * X),
        ("math.pow", SELF, {"y": 3}, X * X * X),
        ("pad", SELF, {"paddings": [[0, 0], [1, 0]]}, np.pad(X, [(0, 0), (1, 0)])),
        ("diff", SELF, {}, np.diff(X)),
    ],
)
def test_functions_keep_every_digit(tmp_path, name, first, arguments, want):
    made = layer("TFOpLambda", "out", function=name)
    calls = first if isinstance(first[0], list) else [first]
    made["inbound_nodes"] = [[[*each, arguments] for each in calls]]
    for got in outputs(tmp_path, made):
        assert got.dtype == want.dtype and got.tolist() == want.tolist()


@pytest.mark.parametrize(
    "kind, want",
    [("Add", X + X), ("Subtract", X - X), ("Multiply", X * X), ("Maximum", X), ("Minimum", X)],
)
def test_layers_keep_every_digit(tmp_path, kind, want):
    made = layer(kind, "out")
    made["inbound_nodes"] = [[[*SELF, {}], [*SELF, {}]]]
    for got in outputs(tmp_path, made):
        assert got.dtype == want.dtype and got.tolist() == want.tolist()


def test_powers_that_are_not_products_are_refused(tmp_path):
    made = layer("TFOpLambda", "out", function="math.pow")
    made["inbound_nodes"] = [[[*SELF, {"y": SELF}]]]
    with pytest.raises(ValueError, match="power of whole numbers, unless by a number from 1 to 63"):
        load_model(write(tmp_path, functional(start(), made)))


@pytest.mark.parametrize("function", ["linalg.band_part", "nn.space_to_depth", "nn.depth_to_space"])
def test_functions_of_planes_keep_every_digit(tmp_path, function):
    begin, made = image(2, 2, 4), layer("TFOpLambda", "out", function=function)
    begin["config"]["dtype"] = "int32"
    given = dict(num_lower=-1, num_upper=0) if "band" in function else dict(block_size=2)
    made["inbound_nodes"] = [[[*SELF, given]]]
    net = load_model(write(tmp_path, functional(begin, made)))
    x = np.arange(2**24 + 1, 2**24 + 17, dtype="int32").reshape((1, 4, 2, 2))
    got = net(mx.nd.array(x, dtype="int32")).asnumpy()
    kept = {*x.ravel()} if "depth" in function else {*np.tril(x.transpose((0, 2, 3, 1))).ravel()}
    assert got.dtype == "int32" and {*got.ravel()} == kept


@pytest.mark.parametrize(
    "function, arguments",
    [("linalg.matmul", {"b": SELF}), ("nn.relu", {}), ("round", {}), ("tensordot", {"b": SELF})],
)
def test_functions_that_would_lose_digits_are_refused(tmp_path, function, arguments):
    made = layer("TFOpLambda", "out", function=function)
    made["inbound_nodes"] = [[[*SELF, arguments]]]
    with pytest.raises(ValueError, match="of int32, which is computed in float32 and would lose digits"):
        load_model(write(tmp_path, functional(start(), made)))


@pytest.mark.parametrize(
    "kind, arguments",
    [
        ("ReLU", {}),
        ("Activation", {"activation": "relu"}),
        ("ZeroPadding2D", {"padding": 1}),
        ("MaxPooling2D", {"pool_size": 1}),
        ("TimeDistributed", {"layer": {"class_name": "MaxPooling1D", "config": {"pool_size": 1}}}),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint8"])
def test_layers_that_would_lose_digits_are_refused(tmp_path, kind, arguments, dtype):
    begin = image(1, 1, 3)
    begin["config"]["dtype"] = dtype
    path = write(tmp_path, functional(begin, layer(kind, "out", "image", **arguments)))
    if dtype == "uint8":  # float32 has all of these numbers
        x = np.array([255, 7, 0], "float32").reshape((1, 3, 1, 1))
        assert load_model(path)(mx.nd.array(x, dtype="uint8")).asnumpy().max() == 255
    else:
        with pytest.raises(ValueError, match=f"of {dtype}, which is computed in float32"):
            load_model(path)


def test_a_linear_activation_keeps_every_digit(tmp_path):
    for got in outputs(tmp_path, layer("Activation", "out", "image", activation="linear")):
        assert got.dtype == X.dtype and got.tolist() == X.tolist()


def test_the_wider_of_two_dtypes_is_that_of_their_sum(tmp_path):
    wide = layer("TFOpLambda", "wide", function="cast")
    wide["inbound_nodes"] = [[[*SELF, {"dtype": "int64"}]]]
    both = [[["wide", 0, 0, {}], [*SELF, {}]]]
    ends = {
        kind: {**layer(kind, kind.lower()), "inbound_nodes": both} for kind in ("Add", "Concatenate")
    }
    names = [made["name"] for made in ends.values()]
    net = load_model(write(tmp_path, functional(start(), wide, *ends.values(), outputs=names)))
    got = [out.asnumpy() for out in net(mx.nd.array(X, dtype="int32"))]
    for found, want in zip(got, (2 * X.astype("int64"), np.concatenate([X, X], 1))):
        assert found.dtype == "int64" and found.tolist() == want.tolist()


REAL = [[0, 2.25, 6.75, 9], [1, 1.75, 3.25, 4]]
UPSAMPLING = layer("UpSampling2D", "up", "image", size=[1, 2], interpolation="bilinear")
FLIP = layer("RandomFlip", "flip", "image", mode="horizontal")
SMALLER = layer("CenterCrop", "crop", "image", height=2, width=4)
RESIZING = layer("Resizing", "resizing", "flip", height=2, width=4)


@pytest.mark.parametrize(
    "layers, want",
    [([UPSAMPLING], np.round(REAL)), ([FLIP, RESIZING], REAL), ([SMALLER], [REAL[0]] * 2)],
)
@pytest.mark.filterwarnings("ignore:In training")
def test_layers_of_keras_3_that_round_whole_numbers(tmp_path, layers, want):
    start = image(2, 2, 1)
    start["config"]["dtype"] = "uint8"
    config = {**functional(start, *layers), "keras_version": "3.15.1"}
    x = mx.nd.array([[[[0, 9], [1, 4]]]], dtype="uint8")
    np.testing.assert_array_equal(load_model(write(tmp_path, config))(x)[0, 0].asnumpy(), want)


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
@pytest.mark.parametrize("kind", ["Layer", "Group", "RMS"])
def test_normalizations_that_keras_3_truncates_are_refused(tmp_path, kind, dtype):
    start = image(4)
    start["config"]["dtype"] = dtype
    given = {"groups": 2} if kind == "Group" else {}
    config = functional(start, layer(f"{kind}Normalization", "odd", "image", **given))
    with pytest.raises(ValueError, match=rf"odd \(\w+\): an input of {dtype}: cast it to float32"):
        load_model(write(tmp_path, {**config, "keras_version": "3.15.1"}))


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("mode", ["one_hot", "multi_hot", "count"])
def test_masked_numbers_have_no_class(tmp_path, count, mode):
    start, keys, x = image(4), [1, 3, 2, 4], np.array([3, 0, 4, 3])
    start["config"]["dtype"] = "int64"
    given = dict(vocabulary=keys, num_oov_indices=count, mask_token=0, output_mode=mode)
    made = layer("IntegerLookup", "ids", "image", **given)
    config = {**functional(start, made), "keras_version": "3.15.1"}
    net = load_model(write(tmp_path, config), layout="NHWC")
    classes = np.pad(x[:, None] == keys, [(0, 0), (count, 0)]).astype("float32")
    want = {"one_hot": classes, "multi_hot": classes.max(0), "count": classes.sum(0)}[mode]
    found = net(mx.nd.array(x[None], dtype="int64"))[0].asnumpy()
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("most, want", [(6.5, [2, 6, 6]), (None, [2, 6, 9])])
def test_limits_of_small_whole_numbers_are_whole(tmp_path, most, want):
    small = image(3)
    small["config"]["dtype"] = "uint8"
    made = layer("ReLU", "out", "image", max_value=most)
    net = load_model(write(tmp_path, functional(small, made)))
    assert net(mx.nd.array([[2, 6, 9]], dtype="int32")).asnumpy().tolist() == [want]


def test_gradients_do_not_pass_whole_numbers(tmp_path):
    made = [function("cast", "image", dtype="int32"), function("cast", "cast", dtype="float32")]
    made[1]["config"]["name"] = made[1]["name"] = "real"
    config = functional(image(3), *made, function("math.add", "real", y=SELF))
    net = load_model(write(tmp_path, config))
    x = mx.nd.array([[1.5, -2.5, 3]])
    x.attach_grad()
    for hybridize in (False, True):
        net.hybridize(hybridize)
        with mx.autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), [[2.5, -4.5, 6]])
        np.testing.assert_array_equal(x.grad.asnumpy(), [[1, 1, 1]])
