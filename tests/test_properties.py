"""Compare eager, hybridized, exported and specialized layers with the reference at random geometries."""

import os
import tempfile

import mxnet as mx
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from mxnet import autograd

import gluon_same
import reference
from gluon_same import geometry, nn

CONV = {1: nn.Conv1D, 2: nn.Conv2D, 3: nn.Conv3D}
DECONV = {1: nn.Conv1DTranspose, 2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}
POOL = {
    "max": {1: nn.MaxPool1D, 2: nn.MaxPool2D, 3: nn.MaxPool3D},
    "avg": {1: nn.AvgPool1D, 2: nn.AvgPool2D, 3: nn.AvgPool3D},
}


@st.composite
def geometries(draw, dilated=True):
    """Return kernel, stride, dilation, the size to check, and another size for the first call."""
    ndim = draw(st.sampled_from([1, 2, 2, 3]))
    most = {1: 17, 2: 12, 3: 6}[ndim]

    def each(least, top):
        return tuple(draw(st.integers(least, top)) for _ in range(ndim))

    dilation = each(1, 3) if dilated else (1,) * ndim
    return each(1, {1: 7, 2: 5, 3: 3}[ndim]), each(1, 4), dilation, each(1, most), each(1, most)


modes = st.sampled_from(["same", "same_lower"])


def close(got, want):
    got = got.asnumpy() if isinstance(got, mx.nd.NDArray) else got
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(want).max()))


def exported(net, *inputs):
    """Return the output of a new SymbolBlock of the exported net."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net")
        net.export(path)
        parameters = f"{path}-0000.params" if net.collect_params() else None
        block = mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], parameters)
        out = block(*inputs)
        out.wait_to_read()
        return out


def forward_backward(net, x, head):
    """Return the output, and the gradients with respect to the data and each parameter."""
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward(head)
    gradients = [p.grad().asnumpy().copy() for p in net.collect_params().values()]
    return y, [x.grad.asnumpy().copy(), *gradients]


def check_all_ways(net, x, first, want, gradients_of):
    """Compare every way to run ``net`` at ``x`` with the reference, after a call at ``first``."""
    head = mx.nd.random.normal(shape=want.shape)
    y, eager = forward_backward(net, x, head)
    close(y, want)
    for got, gradient in zip(eager, gradients_of(head)):
        close(got, gradient)

    net.hybridize()
    net(mx.nd.random.normal(shape=(1, *x.shape[1:2], *first))).wait_to_read()
    y, hybridized = forward_backward(net, x, head)
    close(y, want)
    close(exported(net, x), want)

    block = gluon_same.specialize(net, x.shape)
    y, specialized = forward_backward(block, x, head)
    close(y, want)
    close(exported(block, x), want)
    for a, b, c in zip(eager, hybridized, specialized):
        close(b, a)
        close(c, a)


def pad_first(x, pads, value=0.0):
    """Apply ``F.pad`` to one to three axes."""
    if x.ndim == 3:
        return pad_first(x.expand_dims(2), [(0, 0), *pads], value).squeeze(axis=2)
    width = (0, 0, 0, 0, *(n for pair in pads for n in pair))
    return mx.nd.pad(x, mode="constant", pad_width=width, constant_value=value)


def gradients_through(function, *arrays):
    """Return a function from the head gradient to the gradients with respect to the arrays."""

    def gradients(head):
        for a in arrays:
            a.attach_grad()
        with autograd.record():
            y = function(*arrays)
        y.backward(head)
        return [a.grad.asnumpy().copy() for a in arrays]

    return gradients


@given(geometries(), modes, st.sampled_from([1, 2]), st.booleans())
def test_convolution(geometry_, mode, groups, use_bias):
    kernel, stride, dilation, size, first = geometry_
    net = CONV[len(size)](
        4,
        kernel,
        strides=stride,
        padding=mode,
        dilation=dilation,
        groups=groups,
        use_bias=use_bias,
        bias_initializer="normal",
        in_channels=2,
    )
    net.initialize(mx.init.Normal(1.0))
    x = mx.nd.random.normal(shape=(2, 2, *size))
    weight = net.weight.data()
    bias = net.bias.data() if use_bias else None
    pads = reference.same_pads(size, kernel, stride, dilation, mode)
    want = reference.convolution(
        x.asnumpy(),
        weight.asnumpy(),
        stride,
        dilation,
        pads,
        groups,
        bias.asnumpy() if use_bias else None,
    )

    def padded(data, w, b=None):
        arrays = [pad_first(data, pads), w] + ([] if b is None else [b])
        return mx.nd.Convolution(
            *arrays,
            kernel=kernel,
            stride=stride,
            dilate=dilation,
            num_filter=4,
            num_group=groups,
            no_bias=b is None,
        )

    arrays = [x.copy(), weight.copy()] + ([bias.copy()] if use_bias else [])
    check_all_ways(net, x, first, want, gradients_through(padded, *arrays))


@given(geometries(dilated=False), modes, st.sampled_from(["max", "avg"]), st.sampled_from([None, True]))
def test_pooling(geometry_, mode, kind, include):
    kernel, stride, _, size, first = geometry_
    for sizes in (size, first):
        assume(all(map(graph_serves, sizes, kernel, stride, [mode] * len(size))))
    arguments = {} if kind == "max" else {"count_include_pad": include}
    net = POOL[kind][len(size)](kernel, strides=stride, padding=mode, **arguments)
    x = mx.nd.random.normal(shape=(2, 2, *size))
    pads = reference.same_pads(size, kernel, stride, (1,) * len(size), mode)
    want = reference.pooling(x.asnumpy(), kernel, stride, pads, kind, bool(include))

    def padded(data):
        data = pad_first(data, pads, -1e30 if kind == "max" else 0.0)
        out = mx.nd.Pooling(
            data, kernel=kernel, stride=stride, pool_type="max" if kind == "max" else "sum"
        )
        if kind == "max":
            return out
        ones = np.ones((1, 1, *size))
        counts = reference.pooling(ones, kernel, stride, pads, "sum")
        return out / mx.nd.array(np.full_like(counts, np.prod(kernel)) if include else counts)

    check_all_ways(net, x, first, want, gradients_through(padded, x.copy()))


def graph_serves(n, kernel, stride, mode):
    """Return whether the graph for every size of a pooling supports an axis of n elements."""
    return n > 1 or kernel % 2 or stride == 1


@given(geometries(), modes, st.sampled_from([1, 2]))
def test_transposed_convolution(geometry_, mode, groups):
    kernel, stride, dilation, size, first = geometry_
    if len(size) == 3:
        dilation = (1, 1, 1)  # MXNet supports no other
    net = DECONV[len(size)](
        2 * groups, kernel, stride, mode, dilation=dilation, groups=groups, in_channels=2
    )
    net.initialize(mx.init.Normal(1.0))
    x = mx.nd.random.normal(shape=(2, 2, *size))
    weight = net.weight.data().asnumpy()
    same = [geometry.transposed_padding(*w, padding=mode) for w in zip(kernel, stride, dilation)]
    cuts, extras = zip(*same)
    share = 2 // groups
    want = np.concatenate(
        [
            reference.deconvolution(
                x.asnumpy()[:, g * share : (g + 1) * share],
                weight[g * share : (g + 1) * share],
                stride,
                dilation,
                cuts,
                extras,
            )
            for g in range(groups)
        ],
        axis=1,
    )
    assert want.shape[2:] == tuple(n * s for n, s in zip(size, stride))
    # The transposed convolution is linear in its data and in its weight. <y, head> therefore equals
    # <gradient, data> and <gradient, weight>, which checks the gradients without another implementation.
    head = mx.nd.random.normal(shape=want.shape)
    y, (data_gradient, weight_gradient, bias_gradient) = forward_backward(net, x, head)
    close(y, want)
    inner = float((want * head.asnumpy()).sum())
    np.testing.assert_allclose((data_gradient * x.asnumpy()).sum(), inner, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose((weight_gradient * weight).sum(), inner, rtol=1e-3, atol=1e-2)
    close(bias_gradient, head.asnumpy().sum(axis=(0, *range(2, want.ndim))))
    net.hybridize()
    net(mx.nd.random.normal(shape=(1, 2, *first))).wait_to_read()
    y, gradients = forward_backward(net, x, head)
    close(y, want)
    close(gradients[0], data_gradient)
    close(exported(net, x), want)


@st.composite
def padded_geometries(draw):
    kernel, stride, dilation, size, _ = draw(geometries())
    pads = tuple((draw(st.integers(0, 4)), draw(st.integers(0, 4))) for _ in kernel)
    for n, k, d, pair in zip(size, kernel, dilation, pads):
        assume(n + sum(pair) >= d * (k - 1) + 1)
    return kernel, stride, dilation, size, pads


@given(padded_geometries())
def test_convolution_with_pairs(geometry_):
    kernel, stride, dilation, size, pads = geometry_
    net = CONV[len(size)](3, kernel, strides=stride, padding=pads, dilation=dilation, in_channels=2)
    net.initialize(mx.init.Normal(1.0))
    x = mx.nd.random.normal(shape=(1, 2, *size))
    want = reference.convolution(x.asnumpy(), net.weight.data().asnumpy(), stride, dilation, pads)
    close(net(x), want)
    net.hybridize()
    close(net(x), want)


@given(padded_geometries(), st.sampled_from(["max", "avg"]), st.sampled_from([None, False]))
def test_pooling_with_pairs(geometry_, kind, include):
    kernel, stride, _, size, pads = geometry_
    assume(all(max(pair) < k <= n + sum(pair) for pair, k, n in zip(pads, kernel, size)))
    arguments = {} if kind == "max" else {"count_include_pad": include}
    net = POOL[kind][len(size)](kernel, strides=stride, padding=pads, **arguments)
    x = mx.nd.random.normal(shape=(1, 2, *size))
    want = reference.pooling(x.asnumpy(), kernel, stride, pads, kind, include is None)
    close(net(x), want)
    assume(all(n + 2 * min(pair) >= k for pair, k, n in zip(pads, kernel, size)))
    net.hybridize()
    close(net(x), want)
