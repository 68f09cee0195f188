"""Train random chains of layers and compare eager, hybridized and specialized nets.

With up to 32 channels, oneDNN keeps arrays in its blocked layout between layers. Operators that ignore
the layout would return wrong numbers.
"""

import random

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

from gluon_same import nn, specialize


def random_chain(choose, ndim):
    """Return a net, the channels of its input, and a description of its layers."""
    # These nets avoid faults of MXNet in the blocked layout: wrong weight gradients of 3-D convolutions
    # on tiny maps, no gradients of 1-D convolutions after a BatchNorm, and errors of transposed
    # convolutions with one channel.
    many = [3, 8, 16, 24, 32] if ndim < 3 else [2, 3, 4]
    channels = first = choose.choice(many)
    net, made_of = nn.HybridSequential(), []
    for _ in range(choose.randint(1, 4)):
        kinds = ["conv", "conv", "depthwise", "transposed", "max", "avg"]
        kind = choose.choice(kinds + (["norm"] if ndim == 2 else []))
        kernel = tuple(choose.randint(1, 4) for _ in range(ndim))
        strides = tuple(choose.choice([1, 1, 2, 2, 3]) for _ in range(ndim))
        padding = choose.choice(["same", "same", "same_lower"])
        made_of.append((kind, kernel, strides, padding))

        def layer(name, *args, ndim=ndim, **kwargs):
            return getattr(nn, name.format(ndim))(*args, **kwargs)

        window = (kernel, strides, padding)
        if kind == "norm":
            net.add(nn.BatchNorm())
        elif kind == "max":
            net.add(layer("MaxPool{}D", *window))
        elif kind == "avg":
            net.add(layer("AvgPool{}D", *window))
        elif kind == "depthwise":
            net.add(layer("Conv{}D", channels, *window, groups=channels, in_channels=channels))
        else:
            name = "Conv{}D" if kind == "conv" else "Conv{}DTranspose"
            out = choose.choice(many)
            net.add(layer(name, out, *window, in_channels=channels))
            channels = out
    net.initialize(mx.init.Normal(0.5))
    return net, first, made_of


def forward_backward(net, x):
    x.attach_grad()
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    for p in parameters:
        p.zero_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    return [a.asnumpy().copy() for a in (y, x.grad, *(p.grad() for p in parameters))]


def close(got, want, made_of):
    for a, b in zip(got, want):
        scale = max(1.0, np.abs(b).max())
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * scale, err_msg=str(made_of))


@pytest.mark.parametrize("seed", range(80))
def test_chains_train_alike_eager_hybridized_and_specialized(seed):
    choose = random.Random(seed)
    ndim = choose.choice([1, 2, 2, 3])
    net, channels, made_of = random_chain(choose, ndim)

    def shape(batch):
        # The graph for every size of a strided, even pooling does not support a single element.
        return (batch, channels, *(choose.randint(2, 13 if ndim < 3 else 6) for _ in range(ndim)))

    x = mx.nd.random.normal(shape=shape(choose.choice([1, 3])))
    eager = forward_backward(net, x)
    static = choose.random() < 0.5
    net.hybridize(static_alloc=static, static_shape=static)
    try:
        net(mx.nd.random.normal(shape=shape(2))).wait_to_read()
        close(forward_backward(net, x), eager, made_of)
    except mx.MXNetError as error:  # a map inside of the net may have a single element
        assert "exceeds input" in str(error)
    block = specialize(net, x.shape)
    close(forward_backward(block, x), eager, made_of)
    for p in net.collect_params().values():
        p.grad_req = "add" if p.grad_req != "null" else "null"
    close(forward_backward(block, x), eager, made_of)
