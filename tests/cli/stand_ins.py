"""The layers and functions of PyTorch, Keras and TensorFlow that ``pad`` names, as NumPy loops.

They place their windows as the frameworks document it, so the lines run without the frameworks.
"""

from types import SimpleNamespace

import numpy as np

import reference


def axes(value, ndim):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * ndim


def torch_of(weight):
    """Return ``nn``, ``F`` and ``torch``, whose convolutions have the given weight."""

    def conv(ndim):
        def make(channels, filters, kernel, stride=1, padding=0, dilation=1, groups=1):
            kernel, stride, dilation = (axes(v, ndim) for v in (kernel, stride, dilation))
            assert weight.shape == (filters, channels // groups, *kernel)

            def layer(x):
                if padding == "same":
                    assert set(stride) == {1}
                    pads = reference.same_pads(x.shape[2:], kernel, stride, dilation)
                else:
                    pads = [(p, p) for p in axes(padding, ndim)]
                return reference.convolution(x, weight, stride, dilation, pads, groups)

            return layer

        return make

    def transposed(ndim):
        def make(channels, filters, kernel, stride=1, padding=0, output_padding=0, dilation=1):
            assert weight.shape == (channels, filters, *axes(kernel, ndim))
            stride, dilation, padding, extra = (
                axes(v, ndim) for v in (stride, dilation, padding, output_padding)
            )
            assert all(e < max(s, d) for e, s, d in zip(extra, stride, dilation))
            pads = [(p, p - e) for p, e in zip(padding, extra)]
            more = [max(-after, 0) for _, after in pads]
            pads = [(before, max(after, 0)) for before, after in pads]
            return lambda x: reference.deconvolution(x, weight, stride, dilation, pads, more)

        return make

    def pool(ndim, kind):
        def make(kernel, stride, padding=0, count_include_pad=True):
            kernel, stride, padding = (axes(v, ndim) for v in (kernel, stride, padding))
            assert all(2 * p <= k for p, k in zip(padding, kernel))

            def layer(x):
                assert kind == "max" or not any(padding) or not count_include_pad
                return reference.pooling(x, kernel, stride, [(p, p) for p in padding], kind)

            return layer

        return make

    nn = {}
    for n in (1, 2, 3):
        nn.update({f"Conv{n}d": conv(n), f"ConvTranspose{n}d": transposed(n)})
        nn.update({f"MaxPool{n}d": pool(n, "max"), f"AvgPool{n}d": pool(n, "avg")})
    return {"nn": SimpleNamespace(**nn)}


def last(function):
    """Apply a function for channels-first data to channels-last data."""
    return lambda x: np.moveaxis(function(np.moveaxis(x, -1, 1)), 1, -1)


def keras_of(weight):
    """Return ``keras`` and ``tf`` for channels-last data. The weight is in PyTorch's order."""

    def pads_of(x, kernel, stride, dilation, padding):
        if padding.lower() == "same":
            return reference.same_pads(x.shape[2:], kernel, stride, dilation)
        if padding == "causal":
            return [((kernel[0] - 1) * dilation[0], 0)]
        assert padding.lower() == "valid"
        return [(0, 0)] * len(kernel)

    def convolve(x, kernel, strides=1, padding="valid", dilation_rate=1, groups=1):
        n = weight.ndim - 2
        kernel, stride, dilation = (axes(v, n) for v in (kernel, strides, dilation_rate))
        pads = pads_of(x, kernel, stride, dilation, padding)
        return reference.convolution(x, weight, stride, dilation, pads, groups)

    def transpose(x, kernel, strides=1, padding="valid", dilation_rate=1):
        n = weight.ndim - 2
        kernel, stride, dilation = (axes(v, n) for v in (kernel, strides, dilation_rate))
        spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
        pads, extra = [(0, 0)] * n, [max(s - k, 0) for s, k in zip(stride, spans)]
        if padding.lower() == "same":
            pads = reference.same_pads(stride, kernel, stride, dilation)
        return reference.deconvolution(x, weight, stride, dilation, pads, extra)

    def pool(x, kernel, strides, padding, kind, n):
        kernel, stride = axes(kernel, n), axes(strides, n)
        pads = pads_of(x, kernel, stride, (1,) * n, padding)
        return reference.pooling(x, kernel, stride, pads, kind)

    def layer(function, **fixed):
        return lambda *given, **named: last(
            lambda x: function(x, given[-1], **named, **fixed)  # filters come first, if any
        )

    def convolved(x, w, padding, strides=1, stride=None, dilations=1):
        assert w is weight
        if weight.ndim == 5:
            assert len(strides) == 5
            strides, dilations = (v[1:-1] if v != 1 else v for v in (strides, dilations))
        groups = x.shape[-1] // weight.shape[1]
        kernel, strides = weight.shape[2:], stride or strides
        return last(lambda x: convolve(x, kernel, strides, padding, dilations, groups))(x)

    def transposed(x, w, output_shape, padding, strides=1, dilations=1):
        assert w is weight
        y = last(lambda x: transpose(x, weight.shape[2:], strides, padding, dilations))(x)
        assert y.shape[1:] == output_shape[1:]
        return y

    layers, ops = {}, {}
    for n in (1, 2, 3):
        layers[f"Conv{n}D"], layers[f"Conv{n}DTranspose"] = layer(convolve), layer(transpose)
        ops[f"conv{n}d"], ops[f"conv{n}d_transpose"] = convolved, transposed
        for name, op, kind in (("Max", "max", "max"), ("Average", "avg", "avg")):
            layers[f"{name}Pooling{n}D"] = layer(pool, kind=kind, n=n)
            ops[f"{op}_pool{n}d"] = lambda x, *a, kind=kind, n=n, **k: last(
                lambda x: pool(x, *a, kind=kind, n=n, **k)
            )(x)

    return {
        "keras": SimpleNamespace(layers=SimpleNamespace(**layers)),
        "tf": SimpleNamespace(nn=SimpleNamespace(**ops)),
        "w": weight,
    }


def run(call, x, names):
    """Return the value of a call on ``x``."""
    return eval(call, {**names, "x": x})
