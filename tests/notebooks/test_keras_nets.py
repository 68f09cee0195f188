import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon

from gluon_same import nn, specialize
from keras_nets import ConvAutoencoder, KerasCNN, conv_autoencoder, keras_cnn


def counts(block, trained=None):
    return [
        int(np.prod(p.shape))
        for p in block.collect_params().values()
        if trained is None or (p.grad_req != "null") == trained
    ]


@pytest.fixture
def cnn():
    net = KerasCNN()
    net.initialize(mx.init.Xavier())
    return net


def test_keras_cnn_has_the_parameters_of_its_keras_summary(cnn):
    layers = [sum(counts(layer)) for layer in cnn.features]
    assert layers == [1792, 120, 0, 0, 36928, 120, 0, 0]
    assert sum(counts(cnn)) == 38960
    assert (sum(counts(cnn, True)), sum(counts(cnn, False))) == (38840, 120)


def test_keras_cnn_has_the_sizes_of_its_keras_summary(cnn):
    x, sizes = mx.nd.random.uniform(shape=(2, 3, 32, 32)), []
    for layer in cnn.features:
        x = layer(x)
        sizes.append(x.shape[1:])
    assert sizes == [(64, 30, 30)] * 7 + [(64, 15, 15)]


def test_keras_cnn_normalizes_rows(cnn):
    norm = cnn.features[1]
    rows = mx.nd.arange(30)
    norm.running_mean.set_data(rows)
    x = mx.nd.broadcast_to(rows.reshape((1, 1, 30, 1)), shape=(2, 64, 30, 30))
    assert abs(norm(x)).max().asscalar() < 1e-5
    one_more = norm(x + 1).asnumpy()
    np.testing.assert_allclose(one_more, 1 / np.sqrt(1 + 1e-3), rtol=1e-5)


def test_keras_cnn_has_keras_momentum(cnn):
    norm = cnn.features[1]
    norm.running_mean.set_data(mx.nd.ones(30))
    x = mx.nd.zeros((2, 64, 30, 30))
    x.attach_grad()
    with autograd.record():
        out = norm(x)
    out.backward()
    mx.nd.waitall()
    np.testing.assert_allclose(norm.running_mean.data().asnumpy(), 0.99, rtol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_keras_cnn_has_the_gradients_of_float64(cnn, hybridize):
    # float64 does not use oneDNN, in whose blocked layout gradients may reach the normalization.
    cnn.features[3]._rate = 0  # dropout would differ
    x = mx.nd.random.uniform(shape=(2, 3, 32, 32))
    gradients = []
    for dtype in ("float32", "float64"):
        cnn.cast(dtype)
        cnn.hybridize(hybridize)
        with autograd.record():
            loss = (cnn(x.astype(dtype)) ** 2).sum()
        loss.backward()
        trainable = [p for p in cnn.collect_params().values() if p.grad_req != "null"]
        gradients.append([p.grad().asnumpy() for p in trainable])
    for got, want in zip(*gradients):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * abs(want).max())


def test_keras_cnn_drops_in_training_only(cnn):
    x = mx.nd.random.uniform(shape=(2, 3, 32, 32))
    want = cnn(x).asnumpy()
    cnn.hybridize()
    np.testing.assert_allclose(cnn(x).asnumpy(), want, rtol=1e-4, atol=1e-5)
    dropout = cnn.features[3]
    with autograd.record():
        kept = dropout(mx.nd.ones((100, 100)))
    assert (kept.asnumpy() == 0).mean() == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("shape", [(1, 3, 33, 32), (1, 3, 32, 31), (1, 1, 32, 32), (1, 32, 32, 3)])
def test_keras_cnn_refuses_other_images(cnn, shape):
    with pytest.raises(ValueError, match=r"give \(batch, 3, 32, 32\)"):
        cnn(mx.nd.ones(shape))


def test_autoencoder_has_the_blogs_sizes_and_parameters():
    net = conv_autoencoder(ctx=mx.cpu())
    assert sum(counts(net)) == 4385
    x, sizes, channels = mx.nd.random.uniform(shape=(2, 1, 28, 28)), [], []
    for layer in [*net.encoder, *net.decoder]:
        x = layer(x)
        sizes.append(x.shape[2])
        channels.append(x.shape[1])
    assert sizes == [28, 14, 14, 7, 7, 4, 4, 8, 8, 16, 14, 28, 28]
    assert channels == [16, 16, 8, 8, 8, 8, 8, 8, 8, 8, 16, 16, 1]


@pytest.mark.parametrize("size", [28, 8, 12, 32, (28, 8), (12, 40)])
def test_autoencoder_returns_images_of_the_input_size(size):
    net = conv_autoencoder(ctx=mx.cpu(), size=size, in_channels=3, channels=(4, 3, 2))
    net.hybridize()
    height, width = size if isinstance(size, tuple) else (size, size)
    for shape in ((2, 3, height, width), (1, 3, height + 8, width + 16)):
        out = net(mx.nd.random.uniform(shape=shape))
        assert out.shape == shape
        assert out.min().asscalar() > 0 and out.max().asscalar() < 1


def test_autoencoder_learns():
    side = np.arange(8)
    at = np.random.uniform(1, 7, size=(64, 2, 1))
    rows, columns = (np.exp(-((side - at[:, i]) ** 2)) for i in range(2))
    x = mx.nd.array((rows[:, :, None] * columns[:, None, :])[:, None])
    net = ConvAutoencoder(size=8)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    measure = gluon.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)
    losses = []
    for _ in range(60):
        with autograd.record():
            loss = measure(net(x), x)
        loss.backward()
        trainer.step(len(x))
        losses.append(loss.mean().asscalar())
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize("shape", [(1, 1, 27, 28), (1, 1, 28, 32), (1, 3, 28, 28)])
def test_autoencoder_refuses_sizes_that_it_cannot_return(shape):
    with pytest.raises(ValueError, match=r"give \(batch, 1, 28, 28\).*multiples of 8"):
        conv_autoencoder(ctx=mx.cpu())(mx.nd.ones(shape))


@pytest.mark.parametrize(
    "argument, value, error",
    [
        ("size", 30, ValueError),
        ("size", 4, ValueError),
        ("size", "28", TypeError),
        ("size", (28, 28, 28), ValueError),
        ("channels", (16, 8), ValueError),
        ("channels", (16, 8, 0), ValueError),
        ("in_channels", 0, ValueError),
        ("in_channels", 1.5, TypeError),
    ],
)
def test_autoencoder_names_an_invalid_argument(argument, value, error):
    with pytest.raises(error, match=f"{argument}="):
        ConvAutoencoder(**{argument: value})


@pytest.mark.parametrize("make", [keras_cnn, conv_autoencoder])
def test_pretrained_and_other_contexts_are_refused(make):
    with pytest.raises(TypeError, match="contains no weights"):
        make(pretrained=True)
    with pytest.raises(TypeError, match="ctx='cpu' is not a context"):
        make(ctx="cpu")


def test_all_layers_are_those_of_gluon_same():
    windows = [b for b in [*ConvAutoencoder().encoder, *KerasCNN().features] if hasattr(b, "_padding")]
    assert len(windows) == 9 and all(isinstance(b, (nn.Conv2D, nn.MaxPool2D)) for b in windows)


@pytest.mark.parametrize("kind, shape", [(ConvAutoencoder, (2, 1, 28, 28)), (KerasCNN, (2, 3, 32, 32))])
def test_numpy_mode(kind, shape, numpy_mode):
    net = kind()
    net.initialize(mx.init.Xavier())
    x = mx.np.random.uniform(size=shape)
    want = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_specialize_refuses_sizes_that_the_net_refuses(cnn):
    with pytest.raises(ValueError, match="for each row"):
        specialize(cnn, (1, 3, 48, 48))
