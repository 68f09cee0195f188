"""Rules for windows that pad one end more than the other, or that see little but padding."""

import mxnet as mx
import pytest

from gluon_same import functional
from gluon_same.deployment import windows
from graphs import graph_of, rewritten

F, X = mx.sym, mx.sym.var("data0")


@pytest.mark.parametrize("size", [(9, 9), (8, 11), (12, 7)])
@pytest.mark.parametrize("kernel, stride", [(3, 2), (2, 1), (4, 2), (5, 2), ((4, 1), 1), (5, 3)])
def test_same_windows_are_one_operator(size, kernel, stride):
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    weight = F.var("w", shape=(4, 1, *kernel))
    symbol = functional.convolution(
        *(F, X, weight), kernel=kernel, num_filter=4, num_group=4, stride=stride, in_size=size
    )
    assert rewritten(symbol, [windows.grow_depthwise], (2, 4, *size)) == ["Convolution"]


@pytest.mark.parametrize("shape, before, after", [((2, 4, 9), 2, 0), ((1, 4, 8, 8), 1, 2)])
def test_padded_windows(shape, before, after):
    ndim = len(shape) - 2
    weight = F.var("w", shape=(4, 1, *(3,) * ndim))
    if ndim == 1:
        x = F.reshape(X, shape=(0, 0, 1, -1))
        x = F.Pad(x, mode="constant", pad_width=(0, 0, 0, 0, 0, 0, before, after))
        y = F.Convolution(
            x, F.expand_dims(weight, 2), kernel=(1, 3), num_filter=4, num_group=4, no_bias=True
        )
        assert graph_of(y, shape).rewrite(windows.grow_depthwise) == 0  # its weight is computed
        return
    x = F.Pad(X, mode="constant", pad_width=(0, 0, 0, 0, *(before, after) * ndim))
    y = F.Convolution(x, weight, kernel=(3,) * ndim, num_filter=4, num_group=4, no_bias=True)
    assert rewritten(y, [windows.grow_depthwise], shape) == ["Convolution"]


@pytest.mark.parametrize("change", [dict(mode="edge"), dict(constant_value=1.0)])
def test_other_pads_stay(change):
    given = {**dict(mode="constant", pad_width=(0, 0, 0, 0, 0, 1, 0, 1)), **change}
    symbol = F.Convolution(F.Pad(X, **given), kernel=(3, 3), num_filter=4, num_group=4)
    assert graph_of(symbol, (1, 4, 9, 9)).rewrite(windows.grow_depthwise) == 0


def test_a_slice_of_channels_stays():
    symbol = F.slice(
        F.Convolution(X, kernel=(3, 3), num_filter=4, num_group=4),
        begin=(None, 1, 1, 1),
        end=(None,) * 4,
    )
    assert graph_of(symbol, (1, 4, 9, 9)).rewrite(windows.grow_depthwise) == 0


def test_only_depthwise_kernels_grow():
    def strided(groups):
        weight = F.var("w", shape=(4, 4 // groups, 3, 3))
        return functional.convolution(
            *(F, X, weight), kernel=3, num_filter=4, num_group=groups, stride=2, in_size=(8, 8)
        )

    assert graph_of(strided(4), (1, 4, 8, 8)).rewrite(windows.grow_depthwise) == 1
    assert graph_of(strided(1), (1, 4, 8, 8)).rewrite(windows.grow_depthwise) == 0


@pytest.mark.parametrize(
    "size, kernel, stride, dilate, pad, kept",
    [
        ((24, 24), 3, 1, 24, 24, (1, 1)),  # atrous pooling on a small map
        ((24, 24), 3, 1, 23, 23, (3, 3)),
        ((1, 1), 3, 1, 1, 1, (1, 1)),
        ((1, 1), 3, 2, 1, 1, (1, 1)),
        ((1, 7), 5, 1, 1, 2, (1, 5)),
        ((2, 2), 5, 1, 1, 2, (3, 3)),
        ((2, 3), 4, 1, 1, 2, (4, 4)),
        ((9,), 7, 1, 4, 12, (5,)),
    ],
)
def test_elements_of_kernels_that_meet_only_padding_are_dropped(size, kernel, stride, dilate, pad, kept):
    axes = len(size)
    y = F.Convolution(
        X,
        kernel=(kernel,) * axes,
        stride=(stride,) * axes,
        dilate=(dilate,) * axes,
        pad=(pad,) * axes,
        num_filter=4,
    )
    rewritten(y, [windows.drop_taps], (2, 3, *size))
    graph = graph_of(y, (2, 3, *size))
    graph.rewrite(windows.drop_taps)
    (layer,) = (node for node in graph.nodes() if node.op == "Convolution")
    assert tuple(layer.get("kernel")) == kept


@pytest.mark.parametrize(
    "kernel, channels, wanted",
    [
        ((2, 2), 8, "Convolution"),
        ((4, 1), 16, "Convolution"),
        ((2, 2), 12, "slice"),  # oneDNN does not hold 12 channels in blocks
        ((8, 8), 8, "slice"),  # drops three rows and columns, so its kernel would have 16 elements
    ],
)
def test_a_crop_after_a_convolution_is_one_in_blocks(kernel, channels, wanted):
    symbol = mx.sym.Convolution(
        X, kernel=kernel, num_filter=channels, pad=tuple(k // 2 for k in kernel), name="conv"
    )
    begin = tuple(min(k // 2, 3) * (k % 2 == 0) for k in kernel)
    symbol = F.slice(symbol, begin=(None, None, *begin), end=(None,) * 4)
    operators = rewritten(symbol, [windows.crop_in_blocks], (2, 4, 9, 10))
    assert operators == ["Convolution", wanted]


def test_a_crop_of_plain_memory_stays():
    symbol = F.slice(F.transpose(X, axes=(0, 1, 3, 2)), begin=(None, None, 1, 1), end=(None,) * 4)
    assert graph_of(symbol, (1, 8, 9, 9)).rewrite(windows.crop_in_blocks) == 0
