"""Models that were saved with a fixed batch, whose functions have its size, against NumPy."""

import mxnet as mx
import numpy as np
import pytest
from small_models import function, functional, layer, write

from gluon_same.keras import load_model

RANDOM = np.random.RandomState(0)


def named(name, before, operation, **arguments):
    made = function(operation, before, **arguments)
    return {**made, "name": name, "config": {**made["config"], "name": name}}


def loaded(folder, batch, *layers):
    start = layer("InputLayer", "image", batch_input_shape=[batch, 4, 6])
    return load_model(write(folder, functional(start, *layers)), layout="NHWC")


@pytest.mark.parametrize(
    "batch, layers, wanted",
    [
        (2, [named("a", "image", "reshape", shape=[2, 24])], lambda x: x.reshape(len(x), 24)),
        (2, [named("a", "image", "reshape", shape=[2, -1, 3])], lambda x: x.reshape(len(x), -1, 3)),
        (1, [named("a", "image", "reshape", shape=[1, 4, 6, 1])], lambda x: x[..., None]),
        (
            2,
            [
                named("a", "image", "reshape", shape=[8, 6]),
                named("b", "a", "math.cumsum", axis=1),
                named("c", "b", "reshape", shape=[2, 4, 6]),
            ],
            lambda x: x.cumsum(2),
        ),
        (
            2,
            [
                named("a", "image", "__operators__.getitem", slice_spec=[
                    dict(start=None, stop=None, step=None), dict(start=0, stop=1, step=None)]),
                named("b", "a", "broadcast_to", shape=[2, 4, 6]),
            ],
            lambda x: np.broadcast_to(x[:, :1], x.shape),
        ),
    ],
)  # fmt: skip
def test_any_batch_is_accepted(tmp_path, batch, layers, wanted):
    net = loaded(tmp_path, batch, *layers)
    for size in (batch, 5):
        x = RANDOM.normal(size=(size, 4, 6)).astype("float32")
        for _ in range(2):
            np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), wanted(x), rtol=1e-6, atol=1e-6)
            net.hybridize()


@pytest.mark.parametrize("batch, shape", [(2, [3, 16]), (None, [2, 24])])
def test_another_first_size_is_refused(tmp_path, batch, shape):
    with pytest.raises(ValueError, match="the first size must be that of the batch or -1"):
        loaded(tmp_path, batch, named("a", "image", "reshape", shape=shape))
