"""Operators that move, join, cut, repeat and pad arrays of imported files, against onnxruntime."""

import mxnet as mx
import numpy as np
import pytest
from imported import compared, numbers, written

from gluon_same.onnx import import_model

CALLS = [numbers(2, 3, 5, 6), numbers(1, 3, 7, 4)]


def model(path, text, weights=None, version=17, rank=4, shape="N, 3, H, W", more="", kind="float"):
    out = f"{kind}[{', '.join('abcdefg'[:rank])}]"
    weights = {name: np.asarray(value) for name, value in (weights or {}).items()}
    graph = f"net ({kind}[{shape}] x{more}) => ({out} y) {{ {text} }}"
    return written(path / "net.onnx", graph, weights, version)


TEXTS = [
    ("y = Transpose<perm: ints = [0, 2, 3, 1]>(x)", {}, 4),
    ("y = Transpose(x)", {}, 4),
    ("y = Concat<axis: int = 1>(x, x)", {}, 4),
    ("y = Concat<axis: int = -1>(x, x, x)", {}, 4),
    ("y = Concat<axis: int = 2>(x)", {}, 4),
    ("a = Unsqueeze(x, s) y = Squeeze(a, s)", {"s": [0, 3]}, 4),
    ("y = Unsqueeze(x, s)", {"s": [-1]}, 5),
    ("y = Unsqueeze(x, s)", {"s": [4, 0]}, 6),
    ("a = ReduceMean<axes: ints = [2, 3]>(x) y = Squeeze(a, s)", {"s": [-1, 2]}, 2),
    ("a = ReduceMean(x) b = Squeeze(a, s) y = Unsqueeze(b, s)", {"s": [0, 1, 2, 3]}, 4),
    ("a, b, c = Split<axis: int = 1>(x) y = Concat<axis: int = 0>(c, a, b)", {}, 4),
    ("a, b = Split<axis: int = 1>(x, s) y = Concat<axis: int = 1>(b, a)", {"s": [2, 1]}, 4),
    ("y = Split<axis: int = 1>(x)", {}, 4),
    (
        "n = Shape<start: int = 3>(x) r = Sub(n, o) p = Concat<axis: int = 0>(o, r) "
        "a, b = Split<axis: int = 3>(x, p) y = Concat<axis: int = 3>(b, a)",
        {"o": [1]},
        4,
    ),
    ("y = Flatten<axis: int = 3>(x)", {}, 2),
    ("y = Flatten<axis: int = 2>(x)", {}, 2),
    ("y = Tile(x, r)", {"r": [1, 2, 1, 3]}, 4),
    ("a = Slice(x, z, o, q) y = Tile(a, r)", {"z": [0], "o": [1], "q": [2], "r": [2, 1, 4, 1]}, 4),
    ("a = Tile(x, r) y = SpaceToDepth<blocksize: int = 2>(a)", {"r": [1, 1, 2, 2]}, 4),
]


@pytest.mark.parametrize("text, weights, rank", TEXTS)
def test_arrays_are_rearranged(tmp_path, text, weights, rank):
    net = compared(model(tmp_path, text, weights, rank=rank), *CALLS)
    assert net.input_sizes == ((None, 3, None, None),)


def test_one_number_may_be_left(tmp_path):
    path = model(tmp_path, "a = Squeeze(x) y = Exp(a)", rank=1, shape="N, 1")
    compared(path, numbers(3, 1), numbers(1, 1))


def test_an_open_axis_of_size_one_would_be_squeezed_as_well(tmp_path):
    text = "y = Squeeze(x)"
    path = model(tmp_path, text, rank=2, shape="N, 1, H, 1")
    net = compared(path, numbers(2, 1, 3, 1), numbers(3, 1, 5, 1))
    for shape in [(1, 1, 3, 1), (2, 1, 1, 1)]:
        with pytest.raises(ValueError, match="cannot run on data of shape"):
            net(mx.nd.ones(shape))
    compared(
        model(tmp_path, text, rank=1, shape="N, 1, H, 1"), numbers(1, 1, 3, 1), input_shapes=(1, 1, 3, 1)
    )


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_padding_to_a_multiple(tmp_path, mode):
    text = f"""
        s = Shape(x) h = Gather(s, two) w = Gather(s, three)
        m = Neg(h) p = Mod(m, four) n = Neg(w) q = Mod(n, three)
        a = Concat<axis: int = 0>(zeros, p, q) y = Pad<mode: string = "{mode}">(x, a)
    """
    names = dict(two=[2], three=[3], four=[4], zeros=[0] * 6)
    net = compared(model(tmp_path, text, names, version=19), *CALLS)
    assert net.input_sizes == ((None, 3, None, None),)
    # onnxruntime adds at most one element less than there are by reflection, and NumPy any number.
    x = numbers(1, 3, 2, 7)
    want = np.pad(x, [(0, 0), (0, 0), (0, 2), (0, 2)], mode=mode)
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), want)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "float"])
@pytest.mark.parametrize("mode", ["reflect", "wrap"])
def test_places_in_a_long_axis_are_exact(tmp_path, mode, kind):
    text = f"""s = Shape(x) n = Gather(s, last) m = Neg(n) p = Mod(m, size)
        a = Concat<axis: int = 0>(zeros, p) y = Pad<mode: string = "{mode}">(x, a)"""
    weights = {name: np.array(n) for name, n in dict(last=[1], size=[8], zeros=[0] * 3).items()}
    graph = f"net ({kind}[N, L] x) => ({kind}[a, b] y) {{ {text} }}"
    net = import_model(written(tmp_path / "net.onnx", graph, weights, 19))
    for n in (70, 130, 257):
        x = (np.arange(2 * n) % 100).reshape(2, n).astype(kind.replace("float", "float32"))
        want = np.pad(x, [(0, 0), (0, -n % 8)], mode=mode)
        np.testing.assert_array_equal(net(mx.nd.array(x, dtype=x.dtype)).asnumpy(), want)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_padding_around_and_to_a_multiple(tmp_path, mode):
    """Real-CUGAN's."""
    text = f"""s = Shape(x) h = Gather(s, two) m = Neg(h) p = Mod(m, four) q = Add(p, two)
        a = Concat<axis: int = 0>(around, q, one) y = Pad<mode: string = "{mode}">(x, a)"""
    names = dict(two=[2], four=[4], one=[1], around=[0, 0, 1, 0, 0, 0])
    compared(model(tmp_path, text, names, version=19), *(numbers(2, 3, n, 5) for n in (6, 7, 8, 9)))


def test_padding_to_one_of_several_multiples(tmp_path):
    """Behind a stride of 16, usual sizes are padded to 24, as they would be to multiples of 12."""
    text = """p = AveragePool<kernel_shape: ints = [16], strides: ints = [16]>(x)
        s = Shape(p) h = Gather(s, two) m = Neg(h) q = Mod(m, size)
        a = Concat<axis: int = 0>(zeros, q) y = Pad(p, a)"""
    names = dict(two=[2], size=[24], zeros=[0] * 5)
    path = model(tmp_path, text, names, shape="N, 3, L", rank=3)
    compared(path, *(numbers(1, 3, 16 * n) for n in (3, 12, 24, 25, 60)))


def test_windows_of_padded_patches(tmp_path):
    """SAM's. At usual sizes, maps after a stride of 16 have one window of 24, and several of 12."""
    text = """p = AveragePool<kernel_shape: ints = [16], strides: ints = [16]>(x)
        s = Shape(p) h = Gather(s, two) m = Neg(h) q = Mod(m, size) t = Add(h, q) n = Div(t, size)
        a = Concat<axis: int = 0>(zeros, q) b = Pad(p, a)
        c = Concat<axis: int = 0>(front, n, size) y = Reshape(b, c)"""
    names = dict(two=[2], size=[24], zeros=[0] * 5, front=[0, 0])
    path = model(tmp_path, text, names, shape="N, 3, L")
    compared(path, *(numbers(1, 3, 16 * n) for n in (3, 12, 24, 25, 60)))


def test_a_rule_that_only_longer_data_show(tmp_path):
    """EnCodec's padding. At usual sizes of images, the number of windows is 1 behind large strides."""
    text = """p = AveragePool<kernel_shape: ints = [64], strides: ints = [64]>(x)
        s = Shape(p) h = Gather(s, two) f = Cast<to = 1>(h) q = Div(f, size) c = Ceil(q) m = Mul(c, size)
        i = Cast<to = 7>(m) r = Sub(i, h) a = Concat<axis: int = 0>(zeros, r) y = Pad(p, a)"""
    path = model(
        tmp_path, text, dict(two=[2], size=np.float32([8]), zeros=[0] * 5), shape="N, 3, L", rank=3
    )
    compared(path, *(numbers(1, 3, 64 * n) for n in (3, 8, 9, 30)))


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_sorting_of_an_open_axis(tmp_path, axis):
    text = f"s = Shape(x) k = Gather(s, at) y, i = TopK<axis: int = {axis}>(x, k)"
    compared(model(tmp_path, text, dict(at=[axis])), *CALLS)


def test_a_bound_that_no_size_reaches_which_is_tried(tmp_path):
    text = "s = Shape(x) n = Gather(s, at) k = Min(n, most) y, i = TopK<axis: int = 2>(x, k)"
    path = model(tmp_path, text, dict(at=[2], most=[100_000]))
    compared(path, *CALLS, numbers(1, *CALLS[0].shape[1:2], 100_003, *CALLS[0].shape[3:]))


def test_attributes_of_older_files(tmp_path):
    texts = [
        ("y = Unsqueeze<axes: ints = [0, 2]>(x)", 6),
        ("a = Unsqueeze<axes: ints = [2]>(x) y = Squeeze<axes: ints = [2]>(a)", 4),
        ("a, b = Split<axis: int = 1, split: ints = [1, 2]>(x) y = Concat<axis: int = 1>(b, a)", 4),
        ("y = Pad<pads: ints = [0, 0, 1, 2, 0, 1, 0, 1], value: float = 3.0>(x)", 4),
    ]
    for text, rank in texts:
        compared(model(tmp_path, text, version=9, rank=rank), *CALLS)


def test_parts_of_an_open_axis(tmp_path):
    path = model(tmp_path, "a, b = Split<axis: int = 3>(x) y = Concat<axis: int = 2>(b, a)")
    compared(path, *CALLS)
    net = import_model(path)
    net.hybridize()
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.array(numbers(1, 3, 4, 5)))


def test_uneven_parts_by_their_number(tmp_path):
    path = model(
        tmp_path, "a, b = Split<axis: int = 1, num_outputs: int = 2>(x) y = Concat<axis: int = 1>(b, a)",
        version=18,
    )  # fmt: skip
    compared(path, *CALLS)


@pytest.mark.parametrize("axis", [0, 2, 3])
def test_halves_of_an_open_axis_that_may_be_odd(tmp_path, axis):
    parts = f"Split<axis: int = {axis}, num_outputs: int = 2>(x)"
    text = f"a, b = {parts} y = Concat<axis: int = {axis}>(b, a)"
    sizes = [(2, 6, 12), (3, 9, 13), (4, 5, 11)]
    path = model(tmp_path, text, version=18)
    net = compared(path, *(numbers(n, 3, h, w) for n, h, w in sizes))
    shape = [4, 3, 4, 4]
    shape[axis] = 1
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones(shape))


def test_uneven_thirds_of_an_open_axis(tmp_path):
    text = "a, b, c = Split<axis: int = 2, num_outputs: int = 3>(x) y = Concat<axis: int = 2>(c, a)"
    path = model(tmp_path, text, version=18)
    net = compared(path, *(numbers(2, 3, n, 4) for n in (5, 6, 7, 11, 600)))
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.ones((2, 3, 4, 4)))
    compared(path, numbers(2, 3, 5, 4), input_shapes=(2, 3, 5, 4))


def test_parts_that_do_not_fit_are_refused(tmp_path):
    for sizes, words in ([2, 2], "do not fit"), ([3, 0], "no elements, which"):
        path = model(tmp_path, "a, b = Split<axis: int = 1>(x, s) y = Relu(b)", {"s": sizes})
        with pytest.raises(ValueError, match=words):
            import_model(path)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize(
    "pads", [[0, 0, 1, 2, 0, 0, 0, 3], [0, 2, 1, 0, 0, 1, 2, 2], [0, 0, 0, 0, 0, 0, 0, 1]]
)
def test_pads(tmp_path, mode, pads):
    text = f'y = Pad<mode: string = "{mode}">(x, p, v)'
    compared(model(tmp_path, text, {"p": pads, "v": np.float32(2.5)}), *CALLS)
    weights = {"p": pads[2:4] + pads[6:], "v": np.int64(7)}
    path = model(tmp_path, text, weights, shape="H, W", rank=2, kind="int64")
    compared(path, np.arange(20).reshape(4, 5), np.arange(24).reshape(6, 4) ** 2)


def test_pads_crop_and_fill_with_infinity(tmp_path):
    weights = {"p": [0, 0, -1, 2, 0, 0, 1, -2], "v": np.float32(-np.inf)}
    compared(model(tmp_path, "y = Pad(x, p, v)", weights), *CALLS)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize(
    "pads", [[0, 0, -1, 1, 0, 0, 1, -2], [0, -3, 0, 1, 0, 1, -1, -1], [0, 2, -2, 0, 0, -9, 0, 0]]
)
def test_pads_crop_before_they_repeat(tmp_path, mode, pads):
    weights = {"p": pads, "w": numbers(16, 3, 3, 3)}
    code = f'c = Conv<pads: ints = [1, 1, 1, 1]>(x, w) y = Pad<mode: string = "{mode}">(c, p)'
    compared(model(tmp_path, code, weights), *CALLS)


def test_pads_reflect_what_is_left(tmp_path):
    code = 'y = Pad<mode: string = "reflect">(x, p)'
    path = model(tmp_path, code, {"p": [0, 0, 0, -4, 0, 0, 0, 2]}, shape="1, 3, 5, 6")
    with pytest.raises(ValueError, match=r"pads \(-4, 2\) with mode='reflect' need more than 6"):
        import_model(path)


def test_pads_of_some_axes(tmp_path):
    weights = {"p": [1, 0, 0, 2], "axes": [-1, 1]}
    compared(model(tmp_path, "y = Pad(x, p, , axes)", weights, 18), *CALLS)


def test_pads_wrap(tmp_path):
    # onnxruntime has this mode from a later version on.
    path = model(tmp_path, 'y = Pad<mode: string = "wrap">(x, p)', {"p": [0, 0, 1, 0, 0, 0, 0, 2]}, 19)
    got = import_model(path)(mx.nd.array(CALLS[0])).asnumpy()
    np.testing.assert_array_equal(got, np.pad(CALLS[0], [(0, 0), (0, 0), (1, 0), (0, 2)], "wrap"))


def test_pads_that_an_image_cannot_reflect_are_errors(tmp_path):
    net = import_model(
        model(tmp_path, 'y = Pad<mode: string = "reflect">(x, p)', {"p": [0, 0, 4, 0] + [0] * 4})
    )
    with pytest.raises(ValueError, match="cannot run on data of shape"):
        net(mx.nd.array(numbers(1, 3, 4, 4)))
        mx.nd.waitall()
    path = model(tmp_path, 'y = Pad<mode: string = "reflect">(x, p)', {"p": [0, 3] + [0] * 6})
    with pytest.raises(ValueError, match="need more than 3 elements"):
        import_model(path)


def test_images_are_cropped_and_padded_around_the_center(tmp_path):
    for shape, axes in ([4, 9], "2, 3"), ([5, 2], "-2, 1"):
        text = f"y = CenterCropPad<axes: ints = [{axes}]>(x, s)"
        path = model(tmp_path, text, {"s": shape}, 18, shape="N, 3, 5, 6")
        x = numbers(2, 3, 5, 6)
        got = import_model(path)(mx.nd.array(x)).asnumpy()
        from onnx.reference import ReferenceEvaluator

        np.testing.assert_array_equal(got, ReferenceEvaluator(path).run(None, {"x": x})[0])


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_channels_become_pixels(tmp_path, mode):
    text = f'y = DepthToSpace<blocksize: int = 2, mode: string = "{mode}">(x)'
    compared(model(tmp_path, text, shape="N, 12, H, W"), numbers(2, 12, 3, 5), numbers(1, 12, 2, 1))


SWIN = [0, 1, 3, 5, 2, 4, 6, 7]


@pytest.mark.parametrize(
    "perm",
    [SWIN, [7, 6, 5, 4, 3, 2, 1, 0], [1, 0, 3, 2, 5, 4, 7, 6], [4, 0, 5, 1, 6, 2, 7, 3],
     [0, 2, 4, 6, 1, 3, 5, 7], [6, 1, 4, 3, 0, 7, 2, 5], [0, 1, 2, 3, 4, 5, 6, 7]],
)  # fmt: skip
@pytest.mark.parametrize("opened", [False, True])
def test_transposes_of_eight_axes_between_reshapes(perm, opened, tmp_path):
    """As Swin's windows of videos are written."""
    first = [-1, 2, 2, 3, 2, 2, 3, 2]
    text = f"a = Reshape(x, s) b = Transpose<perm = {perm}>(a) y = Reshape(b, t)"
    wanted = np.arange(8)[perm].tolist().index(0)
    last = [2, 3, 4, 6, 2] if wanted == 7 else [2, -1, 6]
    shape = "n, 4, 6, 4, 3, 2" if opened else "2, 4, 6, 4, 3, 2"
    weights = {"s": first, "t": last}
    path = model(tmp_path, text, weights, rank=len(last), shape=shape)
    for n in (2, 4) if opened else (2,):
        if wanted == 7:
            weights["t"] = [2, 3, 4, 6, -1]
            path = model(tmp_path, text, weights, rank=5, shape=shape)
        compared(path, numbers(n, 4, 6, 4, 3, 2))


def test_two_transposes_and_a_transpose_back(tmp_path):
    text = """a = Reshape(x, s) b = Transpose<perm = [0, 1, 3, 5, 2, 4, 6, 7]>(a) c = Transpose(b)
        y = Reshape(c, t)"""
    weights = {"s": [1, 2, 2, 3, 2, 2, 3, 2], "t": [6, -1]}
    compared(model(tmp_path, text, weights, rank=2, shape="4, 6, 4, 3"), numbers(4, 6, 4, 3))


def test_other_operators_on_eight_axes_are_refused(tmp_path):
    weights = {"s": [1, 2, 2, 3, 2, 2, 3, 2], "t": [6, -1]}
    path = model(tmp_path, "a = Reshape(x, s) b = Relu(a) y = Reshape(b, t)", weights, rank=2)
    with pytest.raises(ValueError, match="has 8 axes, and MXNet supports 6.*input_shapes|has 8 axes"):
        import_model(path, input_shapes=(4, 3, 4, 6))
    path = model(tmp_path, "y = Reshape(x, s)", weights, rank=8)
    with pytest.raises(ValueError, match="8 axes"):
        import_model(path, input_shapes=(4, 3, 4, 6))


def test_a_slice_without_elements_is_placed_nowhere(tmp_path):
    """As exporters write the masks of Swin's windows that are not shifted."""
    text = """a = Slice(x, none, none, axis) b = Add(a, one) c = Slice(places, none, none, axis)
        y = ScatterND(x, c, b)"""
    weights = {"none": [0], "axis": [0], "one": np.float32([1]), "places": [[0], [1]]}
    compared(model(tmp_path, text, weights, shape="2, 3, 5, 6"), numbers(2, 3, 5, 6))


@pytest.mark.parametrize("opened", [False, True])
def test_slices_of_six_axes(tmp_path, opened):
    text = """a = Reshape(x, s) b = Slice(a, first, last, axes, by) y = Reshape(b, t)"""
    weights = {"s": [0, 2, 2, 3, 2, 2], "t": [0, -1], "first": [1, 5, 1], "last": [2, 0, 2]}
    weights.update(axes=[2, 3, 5], by=[1, -2, 1])
    shape = "n, 4, 6, 2" if opened else "2, 4, 6, 2"
    path = model(tmp_path, text, weights, rank=2, shape=shape)
    for n in (2, 4) if opened else (2,):
        compared(path, numbers(n, 4, 6, 2))


def test_booleans_are_padded_with_true(tmp_path):
    graph = """net (float[2, 3] x) => (bool[2, 5] y)
        <float none = {0}, int64[4] pads = {0, 1, 0, 1}, bool fill = {1}>
        { mask = Greater(x, none)  y = Pad(mask, pads, fill) }"""
    path = written(tmp_path / "net.onnx", graph)
    x = numbers(2, 3)
    want = np.pad(x > 0, ((0, 0), (1, 1)), constant_values=True)
    for active in (False, True):
        net = import_model(path)
        net.hybridize(active)
        np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), want)


@pytest.mark.parametrize("text", ["y = Slice(x, zero, one, axis)", "y = Unsqueeze(x, axis)"])
def test_an_axis_that_the_data_lack_is_refused(tmp_path, text):
    path = model(tmp_path, text, {"zero": [0], "one": [1], "axis": [7]})
    with pytest.raises(ValueError, match="its axis 7 does not fit data with"):
        import_model(path)


def test_an_embedding_of_no_tokens_is_joined(tmp_path):
    """The first step of PARSeq's decoder embeds the tokens before it, of which there are none."""
    text = "f = Slice(tokens, zero, zero, one) e = Gather(w, f) y = Concat<axis: int = 1>(x, e)"
    names = dict(tokens=[[3, 4]], zero=[0], one=[1], w=numbers(5, 3))
    compared(model(tmp_path, text, names, shape="1, N, 3", rank=3), numbers(1, 2, 3))


def test_constants_beside_one_without_elements_are_joined(tmp_path):
    """The masks of TorchAudio's Emformer."""
    text = "net (float[2, 3] x) => (float[2, 3] y) { k = Concat<axis = 0>(none, c, c) y = Add(x, k) }"
    weights = {"none": np.zeros((0, 1), "f"), "c": numbers(1, 3)}
    x = numbers(2, 3)
    net = import_model(written(tmp_path / "net.onnx", text, weights))
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy(), x + weights["c"], rtol=1e-6)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks_of_pixels_become_channels_in_either_order(tmp_path, mode):
    """Operator set 28, which onnxruntime lacks: the reverse of DepthToSpace."""
    text = f"""net (float[N, 12, H, W] x) => (float[a, b, c, d] y) {{
        wide = DepthToSpace<blocksize: int = 2, mode: string = "{mode}">(x)
        y = SpaceToDepth<blocksize: int = 2, mode: string = "{mode}">(wide) }}"""
    net, x = import_model(written(tmp_path / "net.onnx", text, version=28)), numbers(2, 12, 3, 5)
    np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), x)
