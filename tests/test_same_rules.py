"""Operators that pad as SAME does are those with SAME's windows at every size."""

import mxnet as mx
import pytest

from gluon_same.geometry import Window
from gluon_same.graph import Graph
from gluon_same.same_rules import meant_as_same, of_node, pads_as_same

KERNELS, STRIDES, PADS = (1, 2, 3, 4, 5), (1, 2, 3), (0, 1, 2)


def known(kernel, stride, pad, **more):
    return {"kernel": (kernel,), "stride": (stride,), "pad": (pad,), **more}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("rounding", ["valid", "full"])
def test_windows_are_compared_at_many_sizes(kernel, stride, pad, rounding):
    """A window is that of SAME if it starts where SAME's starts and there are as many."""
    window, equal = Window(kernel, stride, "same"), True
    for n in range(kernel + stride, 40):
        rest = n + 2 * pad - kernel
        outputs = (rest if rounding == "valid" else rest + stride - 1) // stride + 1
        before, _ = window.at(n)
        equal &= before == pad and outputs == -(-n // stride)
    assert pads_as_same(known(kernel, stride, pad, pooling_convention=rounding)) == equal


@pytest.mark.parametrize(
    "arguments, meant",
    [
        (known(7, 2, 3), True),
        (known(4, 1, 1), True),
        (known(4, 1, 2), True),
        (known(3, 1, 0), False),
        (known(11, 4, 2), False),
        (known(1, 2, 0), False),
        (known(3, 2, 2, dilate=(2,)), True),
        (known(3, 2, 1, adj=(1,)), True),
        (known(3, 2, 1, adj=(0,)), False),
    ],
)
def test_whether_an_author_meant_same(arguments, meant):
    assert meant_as_same(arguments) == meant


def test_averages_that_count_the_padding_are_not_those_of_same():
    assert pads_as_same(known(3, 1, 1, count_include_pad=False))
    assert not pads_as_same(known(3, 1, 1, count_include_pad=True))


@pytest.mark.parametrize("padding, same", [("same", True), ("same_lower", False), ("valid", False)])
def test_words(padding, same):
    assert pads_as_same(known(4, 2, 0), (Window(4, 2, padding),)) == same


def test_arguments_of_nodes_have_the_defaults_of_operators():
    F, x = mx.sym, mx.sym.var("data")

    def of(symbol):
        return of_node(Graph(symbol).heads[0].node)

    found = of(F.Pooling(x, kernel=(2, 2), pool_type="avg"))
    assert (found["stride"], found["pad"], found["count_include_pad"]) == ((1, 1), (0, 0), True)
    assert of(F.Deconvolution(x, kernel=(3, 3), num_filter=2))["adj"] == (0, 0)
    assert of(F.Convolution(x, kernel=(3,), num_filter=2, pad=(1,)))["pad"] == (1,)
    assert of(F.relu(x)) is None
    assert of(F.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="max")) is None
