"""A trained net reads handwritten digits equally well when it is deployed in each dtype."""

import mxnet as mx
import numpy as np
import pytest
from mxnet import gluon

import gluon_same
from gluon_same import nn

BATCH = 128


@pytest.fixture(scope="module")
def trained():
    """Return a trained net, its training images, and other images."""
    from sklearn.datasets import load_digits

    mx.random.seed(0)
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    images = (images[order] / 16).reshape(-1, 1, 8, 8).astype("float32")
    images, labels = mx.nd.array(images), mx.nd.array(labels[order])
    net = nn.HybridSequential()
    for channels, strides in ((16, 1), (32, 2), (32, 2)):
        net.add(nn.Conv2D(channels, 3, strides, "same"), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(15):
        for i in range(0, 1280, BATCH):
            with mx.autograd.record():
                loss = loss_of(net(images[i : i + BATCH]), labels[i : i + BATCH])
            loss.backward()
            trainer.step(BATCH)
    return net, images[:1280], images[1280 : 1280 + 4 * BATCH], labels[1280 : 1280 + 4 * BATCH]


def read(net, images):
    parts = [net(images[i : i + BATCH]).asnumpy() for i in range(0, len(images), BATCH)]
    return np.concatenate(parts).argmax(axis=1)


@pytest.mark.parametrize("dtype, least", [("float32", 1.0), ("bfloat16", 0.99), ("int8", 0.99)])
def test_digits_are_read_alike(trained, dtype, least, request):
    if dtype != "float32":
        request.getfixturevalue(dtype)
    net, seen, images, labels = trained
    block = gluon_same.deploy(net, (BATCH, 1, 8, 8), dtype=dtype, data=seen, tune=False)
    want = read(net, images)
    assert np.mean(want == labels.asnumpy()) > 0.95
    assert np.mean(read(block, images) == want) >= least
