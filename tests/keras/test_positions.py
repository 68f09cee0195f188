"""Arrays that are not made of samples: positions, masks and constants of computed sizes."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write
from test_computed_parts import computed
from test_functions import BATCH, STEPS, sized, sizes_of
from test_moved_batch import named, of_list

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)
WHOLE = {"class_name": "__slice__", "config": {"start": None, "stop": None, "step": None}}
LINE = computed("line", "s1", "range", dtype="float32")
COLUMN = computed("column", "line", "expand_dims", axis=-1)
ROW = computed("row", "line", "expand_dims", axis=0)
IMAGE = ["image", 0, 0]


def sum_of(before):
    return computed("sum", before, "math.add", y=IMAGE)


@pytest.mark.parametrize(
    "layers, wanted",
    [
        ([LINE, COLUMN, sum_of("column")], lambda x, at: x + at[:, None]),
        ([LINE, computed("share", "line", "math.divide", y=STEPS),
          computed("column", "share", "expand_dims", axis=-1), sum_of("column")],
         lambda x, at: x + at[:, None] / len(at)),
        ([computed("line", "s1", "range", limit=None, delta=1), COLUMN,
          computed("real", "column", "cast", dtype="float32"), sum_of("real")],
         lambda x, at: x + at[:, None]),
        ([LINE, computed("all", "line", "__operators__.getitem", slice_spec=[None, WHOLE, None]),
          sum_of("all")], lambda x, at: x + at[:, None]),
        ([LINE, ROW, computed("tile", "row", "tile", multiples=[BATCH, 1]),
          computed("column", "tile", "expand_dims", axis=-1), sum_of("column")],
         lambda x, at: x + at[:, None]),
        ([named("ones", sized("ones", 1, STEPS, 3)), sum_of("ones")], lambda x, at: x + 1),
        ([named("ones", sized("ones", STEPS, 3)), sum_of("ones")], lambda x, at: x + 1),
    ],
)  # fmt: skip
def test_positions_are_combined_with_samples(tmp_path, layers, wanted):
    config = functional(image(None, 3), *sizes_of("image", 0, 1), *layers)
    net = load_model(write(tmp_path, config), layout="NHWC")
    for n in (4, 7):
        x = RANDOM.normal(size=(2, n, 3)).astype("float32")
        for _ in range(2):
            found = net(mx.nd.array(x)).asnumpy()
            np.testing.assert_allclose(found, wanted(x, np.arange(n)), rtol=1e-5)
            net.hybridize()


@pytest.mark.parametrize("name, argument", [("tile", "multiples"), ("broadcast_to", "shape")])
def test_positions_are_repeated_along_several_axes(tmp_path, name, argument):
    line = computed("line", "s2", "range", dtype="float32")
    added = dict(slice_spec=[None, None, WHOLE, None])
    row = computed("row", "line", "__operators__.getitem", **added)
    sizes = [BATCH, STEPS, 1 if name == "tile" else ["s2", 0, 0], 1]
    made = computed("made", "row", name, **{argument: sizes})
    config = functional(image(None, None, 1), *sizes_of("image", 0, 1, 2), line, row, made)
    net = load_model(write(tmp_path, config), layout="NHWC")
    for shape in ((2, 3, 4, 1), (1, 5, 2, 1)):
        for _ in range(2):
            wanted = np.broadcast_to(np.arange(shape[2])[:, None], shape)
            np.testing.assert_array_equal(net(mx.nd.zeros(shape)).asnumpy(), wanted)
            net.hybridize()


@pytest.mark.parametrize(
    "layers",
    [
        [LINE, COLUMN, computed("mask", "column", "math.greater_equal", y=["line", 0, 0])],
        [named("ones", sized("ones", STEPS, STEPS)),
         computed("mask", "ones", "linalg.band_part", num_lower=-1, num_upper=0)],
        [LINE, COLUMN, computed("flat", "column", "math.greater_equal", y=["line", 0, 0]),
         computed("mask", "flat", "reshape", shape=[1, STEPS, STEPS])],
    ],
)  # fmt: skip
def test_steps_see_those_before_them(tmp_path, layers):
    scores = computed("scores", "image", "linalg.matmul", b=IMAGE, transpose_b=True)
    seen = [computed("real", "mask", "cast", dtype="float32")]
    seen += [computed("kept", "scores", "math.multiply", y=["real", 0, 0])]
    config = functional(image(None, 3), *sizes_of("image", 0, 1), scores, *layers, *seen)
    net = load_model(write(tmp_path, config), layout="NHWC")
    for n in (4, 7):
        x = RANDOM.normal(size=(2, n, 3)).astype("float32")
        wanted = np.tril(x @ x.transpose((0, 2, 1)))
        for _ in range(2):
            np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
            net.hybridize()


def test_lengths_become_a_mask_of_a_computed_length(tmp_path):
    made = computed("mask", "image", "sequence_mask", maxlen=["s1", 0, 0])
    config = functional(
        image(), image(None, 3, name="x"), *sizes_of("x", 1), made, inputs=["image", "x"]
    )
    net = load_model(write(tmp_path, config), layout="NHWC")
    for n in (3, 5):
        found = net(mx.nd.array([2, 3]), mx.nd.zeros((2, n, 3))).asnumpy()
        np.testing.assert_array_equal(found, np.arange(n) < [[2], [3]])


def test_a_range_up_to_a_size_that_does_not_change(tmp_path):
    line = computed("line", "s2", "range", dtype="float32")
    row = computed("row", "line", "__operators__.getitem", slice_spec=[None, None, WHOLE])
    config = functional(image(None, 3), *sizes_of("image", 2), line, row, sum_of("row"))
    x = RANDOM.normal(size=(2, 4, 3)).astype("float32")
    found = load_model(write(tmp_path, config), layout="NHWC")(mx.nd.array(x)).asnumpy()
    np.testing.assert_array_equal(found, x + np.arange(3, dtype="f"))


def test_ranges_with_a_step(tmp_path):
    made = computed("line", "s1", "range", limit=None, delta=1, dtype="float32")
    made["inbound_nodes"][0] = ["_CONSTANT_VALUE", -1, 1, dict(limit=STEPS, delta=2, dtype="float32")]
    config = functional(image(None, 3), *sizes_of("image", 1), made)
    net = load_model(write(tmp_path, config))
    for n in (3, 6):
        found = net(mx.nd.zeros((2, 3, n))).asnumpy()
        np.testing.assert_array_equal(found, np.arange(1, n, 2))


@pytest.mark.parametrize(
    "arguments", [dict(delta=-1), dict(limit=3), dict(delta=1.5), dict(dtype="int8")]
)
def test_ranges_that_are_refused(tmp_path, arguments):
    made = function("range", "s1", **arguments)
    config = functional(image(None, 3), *sizes_of("image", 1), made)
    with pytest.raises(ValueError, match=r"range \(TFOpLambda\): range (from|of)"):
        load_model(write(tmp_path, config))


def test_a_reshape_to_other_computed_sizes_is_no_new_axis(tmp_path):
    layers = [
        computed("four", "s1", "math.multiply", y=4),
        computed("two", "s1", "math.multiply", y=2),
        named("ones", sized("ones", ["four", 0, 0], STEPS)),
        computed("square", "ones", "reshape", shape=[1, ["two", 0, 0], ["two", 0, 0]]),
        computed("last", "square", "expand_dims", axis=-1),
        sum_of("last"),
    ]
    path = write(tmp_path, functional(image(None, 3), *sizes_of("image", 0, 1), *layers))
    with pytest.raises(ValueError, match="two sizes of it are computed"):
        load_model(path, layout="NHWC")


def test_positions_of_ids_whose_length_the_model_fixes_are_of_any_length(tmp_path):
    table = layer("Embedding", "table", "image", input_dim=9, output_dim=2)
    places = layer("Embedding", "places", "line", input_dim=9, output_dim=2)
    steps = computed("line", "s1", "range")
    both = function("math.add", "table", y=["places", 0, 0])
    config = functional(image(4), *sizes_of("image", 1), steps, table, places, both)
    arrays = {name: {"embeddings": (9, 2)} for name in ("table", "places")}
    net = load_model(write(tmp_path, config, **arrays), layout="NHWC")
    one, other = (net.layers[name].weight.data().asnumpy() for name in arrays)
    for n in (4, 6):
        np.testing.assert_array_equal(net(mx.nd.zeros((1, n)))[0].asnumpy(), one[0] + other[:n])


def test_samples_of_two_inputs_are_joined_and_taken_apart(tmp_path):
    both = of_list("concat", ["image", "other"], axis=0)
    whole = computed("whole", "concat", "math.multiply", y=2.0)
    halves = computed("halves", "whole", "split", num_or_size_splits=2, axis=0)
    first = {"start": None, "stop": ["s0", 0, 0]}
    part = computed("part", "whole", "__operators__.getitem", slice_spec=[first])
    layers = image(3), image(3, name="other"), *sizes_of("image", 0), both, whole, halves, part
    config = functional(*layers, inputs=("image", "other"))
    config["config"]["output_layers"] = [["halves", 0, 0], ["halves", 0, 1], ["part", 0, 0]]
    net = load_model(write(tmp_path, config))
    for _ in range(2):
        for count in (1, 3):
            x, y = (RANDOM.normal(size=(count, 3)).astype("float32") for _ in range(2))
            for found, wanted in zip(net(mx.nd.array(x), mx.nd.array(y)), (x, y, x)):
                np.testing.assert_array_equal(found.asnumpy(), 2 * wanted)
        with pytest.raises(ValueError, match="cannot run on data"):
            net(mx.nd.ones((1, 3)), mx.nd.ones((2, 3)))[0].wait_to_read()
        net.hybridize()


def test_samples_are_not_joined_with_positions(tmp_path):
    ones = named("ones", sized("ones", STEPS, STEPS, 3))
    layers = image(None, 3), *sizes_of("image", 1), ones, of_list("concat", ["ones", "image"], axis=0)
    with pytest.raises(ValueError, match="it joins samples with what is not made of samples"):
        load_model(write(tmp_path, functional(*layers)))
