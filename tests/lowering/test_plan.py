"""Rules of the lowering, in integers."""

import itertools

import pytest

from gluon_same import lowering
from gluon_same.geometry import Window
from gluon_same.lowering.steps import CutToSize, Pad, PadBySize, Slice

SPANS, STRIDES, SIZES = range(1, 7), range(1, 5), range(1, 12)
MODES = ["same", "same_lower"]
GEOMETRIES = list(itertools.product(SPANS, STRIDES, SIZES, MODES))


def starts(plan, size, window):
    """Return where the windows of a plan for one axis start in the input."""
    own, full = plan.operator.pad[0], plan.operator.full
    front, tail = (0, 0) if not plan.pads else plan.before[0].amounts[0]
    reach = size + front + tail + 2 * own - window.span
    count = (-(-reach // window.stride) if full else reach // window.stride) + 1
    found = [i * window.stride - own - front for i in range(count)]
    for step in plan.after:
        if isinstance(step, Slice):
            lead, trail, _ = step.cuts[0]
            found = found[lead : len(found) - trail]
        if isinstance(step, CutToSize):
            found = found[: len(range(size)[step.firsts[0] :: window.stride])]
    if plan.reversed:
        return [size - start - window.span for start in found][::-1]
    return found


def wanted(size, window):
    before, _ = window.at(size)
    return [i * window.stride - before for i in range(-(-size // window.stride))]


def by_size(plan):
    return any(isinstance(step, PadBySize) for step in plan.before)


@pytest.mark.parametrize("channels", [None, (64, 4), (1, 64)])
@pytest.mark.parametrize("depthwise", [False, True])
def test_convolutions_have_the_windows_of_same(channels, depthwise):
    for span, stride, size, mode in GEOMETRIES:
        window = Window(span, stride, mode)
        plan = lowering.plan_convolution((window,), (size,), channels, depthwise)
        assert starts(plan, size, window) == wanted(size, window)
        plan = lowering.plan_convolution((window,), (None,), channels, depthwise)
        if not by_size(plan):
            assert starts(plan, size, window) == wanted(size, window)


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
@pytest.mark.parametrize("whole", [False, True])
def test_poolings_have_the_windows_of_same(kind, whole):
    for span, stride, size, mode in GEOMETRIES:
        window = Window(span, stride, mode)
        for known in (size, None):
            plan = lowering.plan_pooling((window,), (known,), kind, whole)
            if by_size(plan):
                assert known is None
                continue
            assert starts(plan, size, window) == wanted(size, window)
            assert plan.operator.pad[0] < span  # required by MXNet
            if kind == "avg" and whole:
                assert not plan.operator.full  # 'full' would divide by less at the end


def test_unequal_pairs_require_no_pad_at_unknown_sizes():
    for span, stride, size, before, after in itertools.product(
        SPANS, STRIDES, SIZES, range(4), range(4)
    ):
        window = Window(span, stride, (before, after))
        if size + before + after < span:
            continue
        plan = lowering.plan_convolution((window,), (None,))
        assert plan.pads == (stride > 1 and before != after and before + after >= span)
        count = (size + before + after - span) // stride + 1
        assert starts(plan, size, window) == [i * stride - before for i in range(count)]


def test_the_padding_is_computed_only_where_it_depends_on_the_size():
    for span, stride, _, mode in GEOMETRIES:
        window = Window(span, stride, mode)
        plan = lowering.plan_convolution((window,), (None,))
        assert by_size(plan) == (window.at(None) is None)


def steps(plan):
    return len(plan.before), len(plan.after)


@pytest.mark.parametrize("span", range(1, 9))
@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_stride_one_uses_the_operator_padded_by_half_and_at_most_one_slice(span, ndim, mode):
    windows, sizes = (Window(span, 1, mode),) * ndim, (None,) * ndim
    plans = [lowering.plan_convolution(windows, sizes)]
    plans += [lowering.plan_pooling(windows, sizes, kind, False) for kind in ("max", "avg")]
    for plan in plans:
        assert plan.operator.pad == (span // 2,) * ndim and not plan.operator.full
        assert steps(plan) == (0, 1 - span % 2)
        if span % 2 == 0:
            cut = (1, 0, False) if mode == "same" else (0, 1, False)
            assert plan.after[0].cuts == (cut,) * ndim


def test_known_sizes_use_at_most_two_operators():
    for span, stride, size, mode in GEOMETRIES:
        windows, sizes = (Window(span, stride, mode),) * 2, (size, size + 1)
        plans = [lowering.plan_convolution(windows, sizes, c) for c in (None, (1, 9), (9, 1))]
        plans += [lowering.plan_pooling(windows, sizes, kind, False) for kind in ("max", "avg")]
        for plan in plans:
            assert sum(steps(plan)) <= 1


def test_the_smaller_of_input_and_output_is_copied():
    windows, sizes = (Window(4, 1, "same"),) * 2, (80, 80)
    assert lowering.plan_convolution(windows, sizes, (3, 32)).pads
    assert not lowering.plan_convolution(windows, sizes, (64, 64)).pads
    assert not lowering.plan_convolution(windows, sizes).pads
    assert not lowering.plan_convolution(windows[:1], sizes[:1], (3, 32)).pads


def test_max_pooling_rounds_up_and_averages_are_cropped():
    windows, sizes = (Window(3, 2, "same"),) * 2, (112, 112)
    assert lowering.plan_pooling(windows, sizes, "max", False).operator.full
    plan = lowering.plan_pooling(windows, sizes, "avg", False)
    assert not plan.operator.full and plan.after[0].cuts == ((1, 0, False),) * 2


def test_poolings_and_depthwise_convolutions_of_stride_two_run_on_the_reversed_axis():
    windows = Window(3, 2, "same"), Window(2, 1, "same")
    plans = [lowering.plan_pooling(windows, (None,) * 2, kind, False) for kind in ("max", "avg")]
    plans.append(lowering.plan_convolution(windows, (None,) * 2, depthwise=True))
    for plan in plans:
        assert plan.reversed == (0,) and steps(plan) == (1, 1)
        assert plan.after[0].cuts == ((0, 0, True), (1, 0, False))


def test_strided_depth_is_padded_before_a_convolution_whose_gradients_would_be_wrong():
    windows = (Window(3, 2, "same_lower"),) * 3
    for sizes in ((None,) * 3, (7, 7, 7)):
        plan = lowering.plan_convolution(windows, sizes)
        assert plan.operator.pad == (0, 1, 1) and plan.before == (Pad(((1, 1), (0, 0), (0, 0))),)


def test_a_stride_too_large_for_a_graph_for_every_size_is_refused():
    windows = (Window(3, 10**6, (1, 1)), Window(300, 100, "same"))
    with pytest.raises(ValueError, match="stride=100 with a window of 300.*fix the size"):
        lowering.plan_convolution(windows, (None, None))
    assert lowering.plan_convolution(windows, (None, 251)).after


@pytest.mark.parametrize("span, stride", list(itertools.product(SPANS, STRIDES)))
@pytest.mark.parametrize("cut", [(0, 0), (0, 1), (1, 0), (2, 0), (0, 3), (4, 1)])
def test_transposed_convolutions_cut_off_the_given_amounts(span, stride, cut):
    for extra in range(stride):
        window = Window(span, stride, cut)
        plan = lowering.plan_deconvolution((window,), (extra,), (None,))
        (own,), (adj,) = plan.operator.pad, plan.operator.adj
        lead, trail, _ = plan.after[0].cuts[0] if plan.after else (0, 0, False)
        assert adj < stride or adj == extra  # required by MXNet
        full = 8 * stride + span
        assert own + lead == cut[0]
        assert full - 2 * own + adj - lead - trail == full - sum(cut) + extra
