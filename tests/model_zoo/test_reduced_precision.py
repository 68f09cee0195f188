"""Convert a TinyDarkNet trained on real images to int8 and bfloat16 with MXNet's passes."""

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon
from mxnet.contrib import amp, quantization
from mxnet.gluon.data import ArrayDataset, DataLoader
from sklearn.datasets import load_digits

from gluon_same import model_zoo, nn

TRAINED_ON = 1500
BATCH = 50


class Classifier(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.features = model_zoo.TinyDarkNet()
            self.pool, self.out = nn.GlobalAvgPool2D(), nn.Dense(10)

    def hybrid_forward(self, F, x):
        return self.out(self.pool(self.features(x)[1]))


@pytest.fixture(scope="module")
def digits():
    """Return scikit-learn's digits in random order, at 64x64 with three equal channels."""
    found = load_digits()
    order = np.random.RandomState(0).permutation(len(found.target))
    images = mx.nd.array(found.images[order] / 16).expand_dims(axis=1)
    images = mx.nd.contrib.BilinearResize2D(images, height=64, width=64).repeat(3, axis=1)
    return images, mx.nd.array(found.target[order])


@pytest.fixture(scope="module")
def trained(digits):
    images, labels = digits
    mx.random.seed(0)
    net = Classifier()
    # Darknet's running averages would require more than this one epoch.
    net.apply(lambda block: isinstance(block, nn.BatchNorm) and block._kwargs.update(momentum=0.8))
    net.initialize(mx.init.Xavier(magnitude=2))
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
    loss_of = gluon.loss.SoftmaxCELoss()
    for start in range(0, TRAINED_ON, BATCH):
        chosen = slice(start, start + BATCH)
        with autograd.record():
            loss = loss_of(net(images[chosen]), labels[chosen])
        loss.backward()
        trainer.step(BATCH)
    return net


def compare(net, reduced, digits, record):
    """Return the share of equal classes and the relative mean error for images of the test set."""
    images, labels = (array[TRAINED_ON:] for array in digits)
    want, got = (each(images).astype("float32").asnumpy() for each in (net, reduced))
    assert (want.argmax(axis=1) == labels.asnumpy()).mean() > 0.9
    agreement = float((got.argmax(axis=1) == want.argmax(axis=1)).mean())
    error = float(abs(got - want).mean() / abs(want).mean())
    record("top-1 agreement", agreement)
    record("mean relative error", error)
    print(f"top-1 agreement {agreement:.3f}, mean relative error {error:.4f}")
    return agreement, error


@pytest.mark.usefixtures("exact_int8")
@pytest.mark.filterwarnings("ignore")  # deprecation warnings of MXNet
def test_int8(trained, digits, record_property):
    images = digits[0][:100]
    calibration = DataLoader(ArrayDataset(images, mx.nd.zeros(len(images))), batch_size=BATCH)
    quantized = quantization.quantize_net(
        trained, calib_mode="naive", calib_data=calibration, ctx=mx.cpu()
    )
    agreement, error = compare(trained, quantized, digits, record_property)
    assert agreement >= 0.98 and error <= 0.04


@pytest.mark.usefixtures("bfloat16")
def test_bfloat16(trained, digits, record_property):
    converted = amp.convert_hybrid_block(trained, target_dtype="bfloat16", ctx=mx.cpu())
    agreement, error = compare(trained, converted, digits, record_property)
    assert agreement >= 0.99 and error <= 0.015
