"""Functions of arrays whose batch is not the first axis, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, image, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


def named(name, made):
    """Return a layer with another name."""
    return {**made, "name": name, "config": {**made["config"], "name": name}}


def of_list(name, inputs, **arguments):
    """Return a call of a function of a list of arrays."""
    made = layer("TFOpLambda", name, function=name)
    return {**made, "inbound_nodes": [[[each, 0, 0, arguments] for each in inputs]]}


def check(tmp_path, wanted, shape, *layers, inputs=((2, 5, 4), (3, 5, 4))):
    net = load_model(write(tmp_path, functional(image(*shape), *layers)), layout="NHWC")
    for size in inputs:
        x = RANDOM.normal(size=size).astype("float32")
        for _ in range(2):
            found = net(mx.nd.array(x)).asnumpy()
            np.testing.assert_allclose(found, wanted(x), rtol=1e-5, atol=1e-6)
            net.hybridize()


STACK = [function("math.square", "image"), of_list("stack", ["image", "math_square", "image"], axis=0)]


@pytest.mark.parametrize(
    "last, wanted",
    [
        (function("transpose", "stack", perm=[1, 2, 3, 0]), lambda s: s.transpose((1, 2, 3, 0))),
        (function("math.reduce_max", "stack", axis=[0]), lambda s: s.max(0)),
        (function("math.reduce_mean", "stack", axis=[0, 2]), lambda s: s.mean((0, 2))),
        (function("__operators__.getitem", "stack", slice_spec=[1]), lambda s: s[1]),
        (function("unstack", "stack", num=3, axis=0), lambda s: s[0]),
    ],
)
def test_arrays_are_stacked_in_front_of_the_batch(tmp_path, last, wanted):
    check(tmp_path, lambda x: wanted(np.stack([x, x * x, x])), (None, 4), *STACK, last)


def test_values_of_attention_in_one_product_are_separated(tmp_path):
    """The heads of ``reshape(x, (-1, steps, 3, heads, size))`` in the order (3, batch, heads, ...)."""
    split = function("reshape", "image", shape=[-1, 5, 3, 2, 4])
    moved = function("transpose", "reshape", perm=[2, 0, 3, 1, 4])
    parts = [
        named(n, function("__operators__.getitem", "transpose", slice_spec=[i]))
        for i, n in enumerate("qkv")
    ]
    scores = function("linalg.matmul", "q", b=["k", 0, 0], transpose_b=True)
    weights = function("nn.softmax", "linalg_matmul")
    last = named("last", function("linalg.matmul", "nn_softmax", b=["v", 0, 0]))

    def wanted(x):
        q, k, v = x.reshape((-1, 5, 3, 2, 4)).transpose((2, 0, 3, 1, 4))
        scores = np.exp(q @ k.transpose((0, 1, 3, 2)))
        return scores / scores.sum(-1, keepdims=True) @ v

    layers = (split, moved, *parts, scores, weights, last)
    check(tmp_path, wanted, (5, 24), *layers, inputs=[(2, 5, 24), (1, 5, 24)])


def test_arithmetic_with_the_steps_first(tmp_path):
    turned = function("transpose", "image", perm=[1, 0, 2])
    total = function("math.cumsum", "transpose", axis=0)
    added = named("added", function("math.add", "math_cumsum", y=[0.5, -1.0, 2.0, 0.0]))
    other = named("other", function("math.multiply", "added", y=["transpose", 0, 0]))
    final = named("final", function("__operators__.getitem", "other", slice_spec=[-1]))

    def wanted(x):
        steps = x.transpose((1, 0, 2))
        return ((steps.cumsum(0) + np.array([0.5, -1, 2, 0])) * steps)[-1]

    check(tmp_path, wanted, (None, 4), turned, total, added, other, final)


def test_constants_along_the_first_axis(tmp_path):
    turned, bias = function("transpose", "image", perm=[1, 0, 2]), RANDOM.normal(size=(5, 1, 1))
    added = named("added", function("math.add", "transpose", y=bias.tolist()))
    reverse = named("reverse", function("transpose", "added"))
    back = named("back", function("transpose", "reverse", perm=[1, 0, 2]))
    wanted = lambda x: (x.transpose((1, 0, 2)) + bias).T.transpose((1, 0, 2))  # noqa: E731
    check(tmp_path, wanted, (5, 4), turned, added, reverse, back)
    added["inbound_nodes"][0][3]["y"] = RANDOM.normal(size=(3, 4)).tolist()
    with pytest.raises(ValueError, match=r"add of shapes \(5, None, 4\) and \(3, 4\)"):
        load_model(write(tmp_path, functional(image(5, 4), turned, added, reverse, back)))


def test_a_product_moves_the_batch(tmp_path):
    table = RANDOM.normal(size=(4, 3)).astype("float32")
    turned = function("transpose", "image", perm=[1, 0, 2])
    product = function("linalg.matmul", "transpose", b=table.tolist())
    back = named("back", function("transpose", "linalg_matmul", perm=[1, 2, 0]))
    check(tmp_path, lambda x: (x @ table).transpose((0, 2, 1)), (None, 4), turned, product, back)


def test_elements_of_tables_are_not_picked_by_such_arrays(tmp_path):
    turned = function("transpose", "image", perm=[1, 0, 2])
    rows = named("rows", function("cast", "transpose", dtype="int32"))
    picked = function("gather", "rows", axis=0)
    picked["inbound_nodes"] = [["_CONSTANT_VALUE", -1, [[1.0], [2.0]], {"indices": ["rows", 0, 0]}]]
    back = named("back", function("transpose", "gather", perm=[1, 0, 2, 3]))
    with pytest.raises(ValueError, match="the batch is not the first axis of its inputs"):
        load_model(write(tmp_path, functional(image(2, 4), turned, rows, picked, back)))


def test_arrays_with_their_batches_on_different_axes_are_refused(tmp_path):
    turned = function("transpose", "image", perm=[1, 0, 2])
    both = function("math.add", "transpose", y=["image", 0, 0])
    with pytest.raises(ValueError, match="the batch is not the first axis of its inputs"):
        load_model(write(tmp_path, functional(image(2, 4), turned, both)))
