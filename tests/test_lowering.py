import itertools

import pytest

from gluon_same import lowering
from gluon_same.arguments import Window

SPANS, STRIDES, SIZES = range(1, 7), range(1, 5), range(1, 12)
GEOMETRIES = list(itertools.product(SPANS, STRIDES, SIZES, ["same", "same_lower"]))


def starts(axis, size, window, full=False):
    """Where the windows that are kept start in the input, by the plan of one axis."""
    length = size + axis.front + axis.tail + 2 * axis.own
    reach = length - window.span
    count = (-(-reach // window.stride) if full else reach // window.stride) + 1
    first = -(axis.own + axis.front)
    found = [first + i * window.stride for i in range(count)]
    return found[axis.lead : count - axis.trail]


def wanted(size, window):
    before, _ = window.at(size)
    return [i * window.stride - before for i in range(-(-size // window.stride))]


@pytest.mark.parametrize("channels", [(None, 4), (64, 4), (1, 64)])
def test_convolutions_of_known_size_keep_the_windows_of_same(channels):
    for span, stride, size, mode in GEOMETRIES:
        window = Window(span, stride, mode)
        plan = lowering.plan_convolution((window,), (size,), *channels)
        assert not any(plan.shift)
        assert starts(plan.axes[0], size, window) == wanted(size, window)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("include", [False, True])
def test_poolings_of_known_size_keep_the_windows_of_same(average, include):
    for span, stride, size, mode in GEOMETRIES:
        window = Window(span, stride, mode)
        plan = lowering.plan_pooling((window,), (size,), average, include)
        assert not any(plan.shift) and not any(plan.flip)
        assert plan.axes[0].own < span  # MXNet's condition
        assert starts(plan.axes[0], size, window, plan.full) == wanted(size, window)
        if average and include:
            assert not plan.full  # 'full' would divide by less at the end


def test_graphs_for_every_size_keep_the_windows_of_same():
    for span, stride, size, mode in GEOMETRIES:
        window = Window(span, stride, mode)
        plan = lowering.plan_convolution((window,), (None,), None, 4)
        if not any(plan.shift):
            assert starts(plan.axes[0], size, window) == wanted(size, window)
        plan = lowering.plan_pooling((window,), (None,), False, False)
        if not any(plan.shift) and not any(plan.flip):
            assert starts(plan.axes[0], size, window, plan.full) == wanted(size, window)
        if any(plan.flip):
            seen = starts(plan.axes[0], size, window.mirrored(), plan.full)
            assert [size - start - span for start in seen][::-1] == wanted(size, window)


def test_the_input_is_shifted_only_where_the_size_matters():
    for span, stride, _, mode in GEOMETRIES:
        window = Window(span, stride, mode)
        plan = lowering.plan_convolution((window,), (None,), None, 4)
        assert bool(plan.shift[0]) == (window.at(None) is None)


def test_few_input_channels_are_lengthened_and_many_cropped(cache_of_one_mib):
    windows, sizes = (Window(4, 1, "same", 4),) * 2, (80, 80)
    assert lowering.plan_convolution(windows, sizes, 3, 32).extends
    assert not lowering.plan_convolution(windows, (56, 56), 64, 64).extends
    assert not lowering.plan_convolution(windows, sizes, None, 64).extends


def test_large_maps_are_lengthened_for_the_pool_that_may_follow(cache_of_one_mib):
    windows = (Window(4, 1, "same", 4),) * 2
    assert lowering.plan_convolution(windows, (128, 128), 64, 64).extends


def test_graphs_for_every_size_lengthen_what_has_no_more_channels_than_the_output():
    windows, sizes = (Window(4, 1, "same", 4),) * 2, (None, None)
    assert lowering.plan_convolution(windows, sizes, 64, 64).extends
    assert not lowering.plan_convolution(windows, sizes, 64, 32).extends
    assert not lowering.plan_convolution(windows, sizes, None, 64).extends


@pytest.mark.parametrize("size, batch, padded", [(128, 1, True), (224, 8, False), (224, None, False)])
def test_small_inputs_are_padded_by_one_operator_and_large_ones_joined(size, batch, padded):
    windows = (Window(7, 2, "same", 7),) * 2
    plan = lowering.plan_convolution(windows, (size, size), 3, 64, batch=batch)
    assert plan.extends and plan.padded == padded


def test_an_input_of_few_channels_is_padded_by_one_operator_at_every_size():
    windows = (Window(4, 1, "same", 4),) * 2
    few, many = (lowering.plan_convolution(windows, (None, None), n, 64) for n in (3, 20))
    assert few.extends and few.padded
    assert many.extends and not many.padded


def test_max_pooling_rounds_up_and_averages_are_cropped():
    windows, sizes = (Window(3, 2, "same", 3),) * 2, (112, 112)
    assert lowering.plan_pooling(windows, sizes, False, False).full
    plan = lowering.plan_pooling(windows, sizes, True, False)
    assert not plan.full and [axis.lead for axis in plan.axes] == [1, 1]


@pytest.mark.parametrize("span, stride", list(itertools.product(SPANS, STRIDES)))
@pytest.mark.parametrize("cut", [(0, 0), (0, 1), (1, 0), (2, 0), (0, 3), (4, 1)])
def test_transposed_convolutions_cut_what_is_asked(span, stride, cut):
    for adj in range(stride):
        (axis,) = lowering.plan_deconvolution((stride,), (cut,), (adj,))
        assert axis.adj < stride or axis.adj == adj  # MXNet's condition
        n = 9
        full = (n - 1) * stride + span
        assert axis.own + axis.lead == cut[0]
        length = full - 2 * axis.own + axis.adj - axis.lead - axis.trail
        assert length == full - sum(cut) + adj
