"""Operators of onnxruntime's own domain, and models that it optimized, against onnxruntime."""

import mxnet as mx
import numpy as np
import onnx.parser
import onnxruntime
import pytest
from imported import compared, numbers, recent_runtime, reference
from onnx import numpy_helper

from gluon_same.onnx import import_model

HEADER = '<ir_version: 8, opset_import: ["" : {}, "com.microsoft": 1]>'


def written(path, text, weights, version=17):
    model = onnx.parser.parse_model(HEADER.format(version) + text)
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    onnx.save(model, str(path / "net.onnx"))
    return str(path / "net.onnx")


FLOATS = [
    "Gelu(x)",
    "BiasGelu(x, row)",
    "FastGelu(x)",
    "FastGelu(x, row)",
    "QuickGelu<alpha: float = 1.5>(x)",
    "FusedMatMul(x, square)",
    "FusedMatMul<alpha: float = 0.5, transB: int = 1>(x, square)",
    "FusedMatMul<transA: int = 1>(x, x)",
    "FusedMatMul<transBatchA: int = 1, transBatchB: int = 1, transB: int = 1>(x, x)",
    "SkipLayerNormalization(x, x, row, row)",
    "SkipLayerNormalization<epsilon: float = 0.1>(x, x, row, row, row)",
    "SkipSimplifiedLayerNormalization<epsilon: float = 0.1>(x, x, row)",
]


@pytest.mark.parametrize("node", FLOATS)
def test_fused_operators(tmp_path, node):
    text = f"net (float[N, T, 6] x) => (float[a, b, c] y) {{ y = com.microsoft.{node} }}"
    path = written(tmp_path, text, {"row": numbers(6), "square": numbers(6, 6)})
    compared(path, numbers(2, 5, 6), numbers(1, 3, 6))


def test_the_sum_that_is_normalized(tmp_path):
    node = "com.microsoft.SkipLayerNormalization(x, x, row, row)"
    text = f"net (float[N, T, 6] x) => (float[a, b, c] y, float[a, b, c] s) {{ y, , , s = {node} }}"
    compared(written(tmp_path, text, {"row": numbers(6)}), numbers(2, 5, 6))


@pytest.mark.parametrize(
    "words",
    [
        "", 'activation: string = "Relu", ', 'activation: string = "LeakyRelu", {}',
        'activation: string = "Clip", activation_params: floats = [-0.5, 6.0], ',
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", ["", pytest.param(", z", marks=recent_runtime)])
def test_fused_convolutions(tmp_path, words, more):
    words = words.format("activation_params: floats = [0.3], ") + "pads: ints = [1, 0, 1, 0]"
    text = f"""net (float[N, 3, H, W] x) => (float[N, 4, a, c] y) {{
        z = Conv<pads: ints = [1, 0, 1, 0]>(x, w) y = com.microsoft.FusedConv<{words}>(x, w, b{more})
    }}"""
    path = written(tmp_path, text, {"w": numbers(4, 3, 3, 3), "b": numbers(4)})
    compared(path, numbers(2, 3, 5, 6), numbers(1, 3, 7, 4))


def test_fused_dense_layers(tmp_path):
    words = 'activation: string = "LeakyRelu", activation_alpha: float = 0.3, transB: int = 1'
    text = f"net (float[N, 3] x) => (float[N, 4] y) {{ y = com.microsoft.FusedGemm<{words}>(x, w, b) }}"
    compared(written(tmp_path, text, {"w": numbers(4, 3), "b": numbers(4)}), numbers(2, 3))


def test_normalizations_in_the_domain_of_onnx(tmp_path):
    text = """net (float[N, T, 6] x) => (float[a, b, c] y) {
        z = SimplifiedLayerNormalization<axis: int = -1, epsilon: float = 0.1>(x, row)
        y = LayerNormalization(z, row, row)
    }"""
    compared(written(tmp_path, text, {"row": numbers(6)}, 14), numbers(2, 5, 6))


QUANTIZED = [
    "QLinearAdd(q, s, z, q, t, z, u, z)",
    "QLinearMul(q, s, z, p, t, z, u, z)",
    "QLinearSigmoid(q, s, z, t, z)",
    "QLinearLeakyRelu<alpha: float = 0.3>(q, s, z, t, z)",
    "QLinearGlobalAveragePool(q, s, z, t, z)",
    "QLinearAveragePool<kernel_shape: ints = [2, 2], strides: ints = [2, 1]>(q, s, z, t, z)",
    "QLinearSoftmax<axis: int = -1, opset: int = 13>(q, s, z, t, z)",
    "QLinearConcat<axis: int = 1>(u, z, q, s, z, p, t, z)",
    "QLinearWhere(c, q, s, z, p, t, z, u, z)",
]


def steps_apart(path, *inputs):
    """Return how far quantized results are from those of onnxruntime."""
    net = import_model(path)
    for active in (False, True):
        net.hybridize(active)
        got = net(*(mx.nd.array(x, dtype=x.dtype) for x in inputs)).asnumpy()
        (wanted,) = reference(path, *inputs)
        assert got.shape == wanted.shape and got.dtype == wanted.dtype
        yield abs(got.astype(float) - wanted)


@pytest.mark.parametrize("node", QUANTIZED)
def test_quantized_arrays(tmp_path, node):
    text = f"""net (float[N, 3, H, W] x) => (uint8[a, b, c, d] y) {{
        q = QuantizeLinear(x, s, z) p = com.microsoft.QuantizeLinear(x, t, z) c = Less(x, s)
        y = com.microsoft.{node}
    }}"""
    scales = {"s": np.float32(0.03), "t": np.float32(0.04), "u": np.float32(0.05), "z": np.uint8(120)}
    for apart in steps_apart(written(tmp_path, text, scales), numbers(2, 3, 5, 6)):
        assert apart.max() <= 1 and apart.mean() < 0.05


CHANNELS_LAST = [
    "NhwcMaxPool<kernel_shape: ints = [2, 2], pads: ints = [1, 0, 0, 0]>(q)",
    "QLinearAveragePool<channels_last: int = 1, kernel_shape: ints = [2, 2]>(q, s, z, t, z)",
    "QLinearConv<channels_last: int = 1, pads: ints = [1, 0, 0, 0]>(q, s, z, w, t, v, u, z)",
    "QLinearConv<channels_last: int = 1>(q, s, z, w, t, v, u, z, b)",
    "QLinearGlobalAveragePool<channels_last: int = 1>(q, s, z, t, z)",
]


@pytest.mark.parametrize("node", CHANNELS_LAST)
def test_quantized_arrays_with_channels_last(tmp_path, node):
    text = f"""net (float[N, H, W, 3] x) => (uint8[a, b, c, d] y) {{
        q = QuantizeLinear(x, s, z) y = com.microsoft.{node}
    }}"""
    weights = {"s": np.float32(0.03), "t": np.float32(0.04), "u": np.float32(5), "z": np.uint8(120)}
    weights.update(v=np.int8(3), b=np.int32([1000, -9000, 5, 70]))
    weights["w"] = np.random.RandomState(0).randint(-90, 90, (4, 3, 2, 3)).astype("i1")
    for apart in steps_apart(written(tmp_path, text, weights), numbers(2, 5, 6, 3)):
        assert apart.max() <= 1 and apart.mean() < 0.05


def test_operators_for_one_kind_of_processor_are_refused(tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc": 1]>
        net (float[2, 8, 3, 3] x) => (float[a, b, c, d] y) { y = com.microsoft.nchwc.ReorderInput(x) }"""
    model = onnx.parser.parse_model(text)
    with pytest.raises(ValueError, match="ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL"):
        import_model(model)


@pytest.mark.parametrize("scale", [np.float32(0.02), np.float32([0.02, 0.01, 0.03, 0.05])])
@pytest.mark.parametrize("transposed", [0, 1])
def test_quantized_dense_layers(tmp_path, scale, transposed):
    node = f"QGemm<transB: int = {transposed}, alpha: float = 0.5>(q, s, z, w, t, v, c, u, z)"
    text = f"""net (float[N, 3] x) => (uint8[N, 4] y) {{
        q = QuantizeLinear(x, s, z) y = com.microsoft.{node}
    }}"""
    weights = {"s": np.float32(0.03), "t": scale, "u": np.float32(0.05), "z": np.uint8(120)}
    weights["v"] = np.zeros(scale.shape, np.int8)
    weights["w"] = (
        np.random.RandomState(0).randint(-90, 90, (4, 3) if transposed else (3, 4)).astype("i1")
    )
    weights["c"] = np.array([100, -2000, 300, 4000], np.int32)
    for apart in steps_apart(written(tmp_path, text, weights), numbers(5, 3)):
        assert apart.max() <= 1 and apart.mean() < 0.1


def test_a_model_that_onnxruntime_optimized(tmp_path):
    text = """net (float[N, 3, H, W] x) => (float[a, b, c] y) {
        f = Conv<pads: ints = [1, 1, 1, 1]>(x, w) g = Relu(f) s = Shape(g) r = Reshape(g, rows)
        t = Transpose<perm: ints = [0, 2, 1]>(r) m = MatMul(r, t) e = Erf(m) y = Mul(e, half)
    }"""
    weights = {"w": numbers(4, 3, 3, 3), "rows": np.array([0, 4, -1]), "half": np.float32(0.5)}
    source = written(tmp_path, text, weights)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = path = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    assert any(node.domain == "com.microsoft" for node in onnx.load(path).graph.node)
    compared(path, numbers(2, 3, 5, 6), numbers(1, 3, 7, 4))


@pytest.mark.parametrize(
    "node, words",
    [
        ("Unique(x)", r"custom=\{'com.microsoft::Unique': builder\}"),
        ('FusedConv<activation: string = "Step">(x, x)', "its activation 'Step' is not supported"),
        ("FusedMatMul<beta: float = 1.0>(x, x)", "its attributes beta are not supported"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path, node, words):
    text = f"net (float[2, 2, 3, 3] x) => (float[a, b, c, d] y) {{ y = com.microsoft.{node} }}"
    with pytest.raises(ValueError, match=words):
        import_model(written(tmp_path, text, {}))


ATTENTION = [
    ("Attention<num_heads: int = 2>(x, w, b)", None),
    ("Attention<num_heads: int = 2>(x, w, b, m)", ("N", "T")),
    ("Attention<num_heads: int = 2, unidirectional: int = 1, scale: float = 0.3>(x, w, b, m)", ("N",)),
    ("Attention<num_heads: int = 2, mask_filter_value: float = -3.4e38>(x, w, b, m)", ("N", "T")),
    ("Attention<num_heads: int = 3, mask_filter_value: float = -2.0>(x, w, b, m)", ("N", "T", "T")),
    ("Attention<num_heads: int = 2, qkv_hidden_sizes: ints = [4, 4, 10]>(x, w, b)", None),
    ("MultiHeadAttention<num_heads: int = 2>(x, x, x)", None),
    ("MultiHeadAttention<num_heads: int = 3>(x, x, x, c, m)", ("N", "T")),
    ("MultiHeadAttention<num_heads: int = 2, unidirectional: int = 1>(x, x, x, c)", None),
]


@pytest.mark.parametrize("zero", [None, np.uint8(130)])
def test_attention_of_integers(tmp_path, zero):
    node = "QAttention<num_heads: int = 2, unidirectional: int = 1>(q, w, b, s, s, m, z, v)"
    text = f"""net (float[N, T, 6] x, int32[N, T] m) => (float[a, b, c] y) {{
        q = QuantizeLinear(x, s, z) y = com.microsoft.{node if zero else node[:-6] + ")"}
    }}"""
    weights = {"s": np.float32(0.02), "z": zero or np.uint8(0), "v": np.int8(3), "b": numbers(18)}
    weights["w"] = np.random.RandomState(0).randint(-90, 90, (6, 18)).astype("i1")
    kept = np.random.RandomState(1).randint(0, 2, (2, 5)).astype(np.int32)
    compared(written(tmp_path, text, weights), (numbers(2, 5, 6), kept), (numbers(2, 4, 6), kept[:, :4]))


ROTATIONS = [
    ("N, T, 12", "N, T", "RotaryEmbedding(x, p, c, s)"),
    ("N, T, 12", "1", "RotaryEmbedding<interleaved: int = 1>(x, p, c, s)"),
    ("N, 3, T, 4", "N, T", "RotaryEmbedding(x, p, c, s)"),
    (
        "N, 2, T, 6",
        "1",
        "RotaryEmbedding<num_heads: int = 2, rotary_embedding_dim: int = 4>(x, p, c, s)",
    ),
]


@recent_runtime
@pytest.mark.parametrize("shape, places, node", ROTATIONS)
def test_rotations_of_places(tmp_path, shape, places, node):
    out = ", ".join("abcd"[: shape.count(",") + 1])
    text = (
        f"net (float[{shape}] x, int64[{places}] p) => (float[{out}] y) {{ y = com.microsoft.{node} }}"
    )
    angles = numbers(9, 2)
    path = written(tmp_path, text, {"c": np.cos(angles), "s": np.sin(angles)})

    def inputs(**sizes):
        shapes = [[sizes.get(n) or int(n) for n in each.split(", ")] for each in (shape, places)]
        return numbers(*shapes[0]), np.random.RandomState(0).randint(0, 4, shapes[1])

    compared(path, inputs(N=2, T=5), inputs(N=1, T=3))


@pytest.mark.parametrize("node, mask", ATTENTION)
def test_attention(tmp_path, node, mask):
    more = f", int32[{', '.join(mask)}] m" if mask else ""
    text = f"net (float[N, T, 6] x{more}) => (float[a, b, c] y) {{ y = com.microsoft.{node} }}"
    path = written(tmp_path, text, {"w": numbers(6, 18), "b": numbers(18), "c": numbers(18)})

    def inputs(count, size):
        sizes = [{"N": count, "T": size}[name] for name in mask or ()]
        kept = np.random.RandomState(1).randint(0, 2, sizes)
        kept = np.arange(1, count + 1) if len(sizes) == 1 else np.maximum(kept, np.arange(size) == 0)
        return (numbers(count, size, 6), *([kept.astype(np.int32)] if mask else ()))

    compared(path, inputs(2, 5), inputs(3, 4))


def test_attention_with_more_inputs_is_refused(tmp_path):
    node = "MultiHeadAttention<num_heads: int = 2>(x, x, x, , , , p, p)"
    text = f"""net (float[N, T, 6] x, float[N, 2, L, 3] p) => (float[a, b, c] y) {{
        y = com.microsoft.{node}
    }}"""
    with pytest.raises(ValueError, match="its input number 6 is not supported"):
        import_model(written(tmp_path, text, {}))


EMBEDDINGS = [
    "y, k = com.microsoft.EmbedLayerNormalization(i, , w, p, , r, r)",
    "y, k = com.microsoft.EmbedLayerNormalization<epsilon: float = 0.01>(i, s, w, p, t, r, r, s)",
    "y, k, z = com.microsoft.EmbedLayerNormalization(i, s, w, p, t, r, r, s, s)",
]


@pytest.mark.parametrize("node", EMBEDDINGS)
def test_embeddings(tmp_path, node):
    names = {"y": "float[a, b, c] y", "k": "int32[d] k", "z": "float[e, f, g] z"}
    outputs = ", ".join(names[name.strip()] for name in node.split("=")[0].split(","))
    text = f"net (int32[N, T] i, int32[N, T] s) => ({outputs}) {{ {node} }}"
    weights = {"w": numbers(9, 6), "p": numbers(7, 6), "t": numbers(2, 6), "r": numbers(6)}
    places = np.random.RandomState(0).randint(0, 9, (2, 5)).astype(np.int32)
    kept = (np.arange(5) < [[3], [5]]).astype(np.int32)
    compared(written(tmp_path, text, weights), (places, kept), (places[:, :4], kept[:, :4]))


def test_embeddings_of_integers(tmp_path):
    node = "QEmbedLayerNormalization(i, s, w, p, t, g, g, s, a, a, a, a, a, z, z, z, z, z)"
    text = f"""net (int32[N, T] i, int32[N, T] s) => (float[a, b, c] y, int32[d] k) {{
        y, k = com.microsoft.{node}
    }}"""
    random = np.random.RandomState(0)
    shapes = {"w": (9, 6), "p": (7, 6), "t": (2, 6), "g": 6, "z": ()}
    weights = {name: random.randint(0, 256, s).astype(np.uint8) for name, s in shapes.items()}
    path = written(tmp_path, text, {**weights, "a": np.float32(0.01)})
    places, kept = random.randint(0, 9, (2, 5)).astype(np.int32), (np.arange(5) < [[3], [5]]).astype("i")
    compared(path, (places, kept), (places[:, :4], kept[:, :4]))


@recent_runtime
@pytest.mark.parametrize(
    "bits, zeros", [(4, None), (4, "packed"), (4, "floats"), (8, None), (8, "packed")]
)
def test_weights_of_few_bits(tmp_path, bits, zeros):
    words = f"K: int = 40, N: int = 5, bits: int = {bits}, block_size: int = 16"
    text = f"""net (float[N, T, 40] x) => (float[a, b, c] y) {{
        y = com.microsoft.MatMulNBits<{words}>(x, w, s{", z" if zeros else ""})
    }}"""
    random, weights = np.random.RandomState(0), {"s": abs(numbers(15))}
    weights["w"] = random.randint(0, 256, (5, 3, 2 * bits)).astype(np.uint8)
    packed = random.randint(0, 256, 5 * ((3 * bits + 7) // 8)).astype(np.uint8)
    weights["z"] = packed if zeros == "packed" else random.uniform(0, 9, (5, 3)).astype("f")
    compared(written(tmp_path, text, weights), numbers(2, 5, 40))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_distances(tmp_path, metric):
    text = f"""net (float[N, 4] x) => (float[a, b] y) {{
        y = com.microsoft.CDist<metric: string = "{metric}">(x, w)
    }}"""
    compared(written(tmp_path, text, {"w": numbers(5, 4, seed=1)}), numbers(3, 4), numbers(1, 4))


SHARED = [
    ("Inverse(x)", {}),
    ("Pad(x, p)", {"p": np.array([0, 0, 1, 0, 0, 2])}),
    ("TransposeMatMul<transA: int = 1>(x, x)", {}),
    ("Trilu<upper: int = 0>(x)", {}),
]


@pytest.mark.parametrize("node, weights", SHARED)
def test_operators_that_onnx_has_too(tmp_path, node, weights):
    text = f"net (float[N, 3, 3] x) => (float[a, b, c] y) {{ y = com.microsoft.{node} }}"
    compared(written(tmp_path, text, weights), numbers(2, 3, 3), numbers(1, 3, 3))


DYNAMIC = [
    "DynamicQuantizeMatMul(x, w, s, z)",
    "DynamicQuantizeMatMul(x, w, t, , b)",
    "MatMulIntegerToFloat(q, w, s, t, y0, z)",
    "MatMulIntegerToFloat(q, w, s, t, y0, , b)",
]


@pytest.mark.parametrize("node", DYNAMIC)
def test_products_of_integers_in_floats(tmp_path, node):
    text = f"""net (float[N, T, 6] x) => (float[a, b, c] y) {{
        q = QuantizeLinear(x, s, y0) y = com.microsoft.{node}
    }}"""
    weights = {"s": np.float32(0.03), "z": np.uint8(120), "y0": np.uint8(100), "b": numbers(4)}
    weights["t"] = np.float32([0.02, 0.01, 0.03, 0.05])
    weights["w"] = np.random.RandomState(0).randint(0, 256, (6, 4)).astype(np.uint8)
    compared(written(tmp_path, text, weights), numbers(2, 5, 6))


FIRST = [
    "Affine<alpha: float = 2.0, beta: float = 0.5>(x)",
    "ImageScaler<bias: floats = [1.0, 2.0, 3.0], scale: float = 0.5>(x)",
    "ParametricSoftplus<alpha: float = 2.0, beta: float = 0.5>(x)",
    "ScaledTanh<alpha: float = 2.0, beta: float = 0.5>(x)",
]


@pytest.mark.parametrize("node", FIRST)
def test_operators_of_the_first_files(tmp_path, node):
    text = f"net (float[N, 3, H, W] x) => (float[a, b, c, d] y) {{ y = {node} }}"
    compared(written(tmp_path, text, {}, 7), numbers(2, 3, 5, 6), numbers(1, 3, 4, 2))


def test_ranges_without_a_step(tmp_path):
    text = """net (float[N, T] x) => (int64[a] y) {
        s = Shape(x) n = Gather<axis: int = 0>(s, one) y = com.microsoft.Range(one, n) }"""
    compared(written(tmp_path, text, {"one": np.int64(1)}), numbers(2, 5), numbers(1, 9))


@recent_runtime
@pytest.mark.parametrize(
    "words, inputs, size",
    [
        ("", "x, , , , , lengths, total", 128),
        ("do_rotary: int = 1, local_window_size: int = 2, ", "x, , , , , lengths, total, c, s", 128),
        ("scale: float = 0.3, softcap: float = 2.0, ", "x, h, h, , , lengths, total", 64),
        ("do_rotary: int = 1, rotary_interleaved: int = 1, ",
         "x, h, h, past, past, lengths, total, c, s", 64),
    ],
)  # fmt: skip
def test_attention_with_groups_of_heads(tmp_path, words, inputs, size):
    past, keys, steps = "past" in inputs, "h" in inputs.split(", "), 1 if "past" in inputs else 3
    before = "p = Shape<start: int = 2, end: int = 3>(past) all = Add(p, steps)" if past else ""
    text = f"""net (float[N, T, {size}] x, int32[N] lengths
            {", float[N, T, 32] h" * keys} {", float[N, 2, P, 16] past" * past})
        => (float[a, b, d] y{", float[e, f, g, i] k, float[j, l, m, n] v" * (not past)}) {{
        steps = Shape<start: int = 1, end: int = 2>(x) {before}
        one = Squeeze({"all" if past else "steps"}) total = Cast<to: int = 6>(one)
        y, k, v = com.microsoft.GroupQueryAttention<{words}num_heads: int = 4, kv_num_heads: int = 2>(
            {inputs}) }}"""
    path = written(tmp_path, text, {"c": numbers(20, 8), "s": numbers(20, 8, seed=1)})
    given = [numbers(2, steps, size), np.int32([5, 3] if past else [2, 2])]
    given += [numbers(2, steps, 32)] * keys + [numbers(2, 2, 5, 16)] * past
    compared(path, tuple(given))
