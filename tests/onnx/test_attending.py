"""ONNX's Attention, whose definitions differ between releases of onnx, against NumPy query by query."""

import mxnet as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import written

from gluon_same.onnx import import_model


def attended(q, k, v, mask=None, lengths=None, before=0, causal=0, left=-1, right=-1, scale=None, cap=0):
    """Return attention as the specification of operator set 25 has it. All arrays have four axes."""
    batch, heads, queries, width = q.shape
    keys, share = k.shape[2], heads // k.shape[1]
    bias = np.zeros((batch, heads, queries, keys))
    if mask is not None:
        mask = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
        missing = [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])]
        bias += np.pad(mask, missing, constant_values=-np.inf)
    y = np.zeros((batch, heads, queries, v.shape[3]))
    for b, h, i in np.ndindex(batch, heads, queries):
        place = i + (before if lengths is None else lengths[b] - queries)
        products = k[b, h // share] @ q[b, h, i] * (width**-0.5 if scale is None else scale)
        products = cap * np.tanh(products / cap) if cap else products
        for j in range(keys):
            outside = (causal and j > place) or (lengths is not None and j >= lengths[b])
            outside = outside or (0 <= left < place - j) or (0 <= right < j - place)
            products[j] += -np.inf if outside else bias[b, h, i, j]
        if products.max() > -np.inf:
            weights = np.exp(products - products.max())
            y[b, h, i] = weights / weights.sum() @ v[b, h // share]
    return y


def merged(x):
    """Return an array with the heads behind the steps, in one axis."""
    return x.transpose(0, 2, 1, 3).reshape(len(x), x.shape[2], -1)


NAMES = dict(causal="is_causal", cap="softcap", left="left_window_size", right="right_window_size")
KINDS = {
    np.dtype("f"): "float",
    np.dtype("d"): "double",
    np.dtype(bool): "bool",
    np.dtype("int64"): "int64",
}


def imported(path, inputs, how):
    """Return the net of a model with one node, whose inputs have the names q, k, v, m, p, r and n."""
    words = {NAMES.get(name, name): n for name, n in how.items() if n is not None}
    told = "<" + ", ".join(f"{name} = {n}" for name, n in words.items()) + ">" if words else ""
    heads = ", ".join(f"{KINDS[x.dtype]}{[*x.shape]} {name}" for name, x in inputs.items())
    order = ", ".join(name if name in inputs else "" for name in "qkvmprn").rstrip(", ")
    result = f"float[a, b, c{', d' * (inputs['q'].ndim == 4)}] y"
    text = f"net ({heads}) => ({result}) {{ y = Attention{told}({order}) }}"
    return import_model(written(path / "net.onnx", text, version=25))


def arrays_of(*inputs):
    return [mx.nd.array(x, dtype="f" if x.dtype == bool else x.dtype) for x in inputs]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_attention(tmp_path_factory, data):
    flat, groups, share = (data.draw(st.integers(low, 2)) for low in (0, 1, 1))
    cache = data.draw(st.sampled_from(["", "past", "lengths"]))
    kind = data.draw(st.sampled_from(["", "bool", "float"]))
    how = {name: data.draw(st.integers(-1, 2)) for name in ("left", "right")}
    how.update(causal=data.draw(st.integers(0, 1)), cap=data.draw(st.sampled_from([0.0, 1.5])))
    how["scale"] = data.draw(st.sampled_from([None, 0.3, 0.0]))
    queries, new, rank = (data.draw(st.integers(low, 4)) for low in (1, 2, 2))
    random = np.random.RandomState(data.draw(st.integers(0, 999)))

    heads, before = share * groups, 3 if cache == "past" else 0
    sizes = [(heads, queries, 4), (groups, new, 4), (groups, new, 6)]
    q, k, v = arrays = [random.randn(2, *size).astype("f") for size in sizes]
    inputs = dict(zip("qkv", map(merged, arrays) if flat else arrays))
    shape = (2, heads, queries, new + before - (cache != ""))[4 - rank :]
    if kind:
        inputs["m"] = random.rand(*shape) > 0.4 if kind == "bool" else random.randn(*shape).astype("f")
    if before:
        inputs.update(
            (name, random.randn(2, groups, 3, n).astype("f")) for name, n in (("p", 4), ("r", 6))
        )
        k, v = (np.concatenate([inputs[name], x], 2) for name, x in zip("pr", (k, v)))
    if cache == "lengths":
        inputs["n"] = random.randint(1, new, 2)
    wanted = attended(q, k, v, inputs.get("m"), inputs.get("n"), before, **how)

    counts = dict(q_num_heads=heads, kv_num_heads=groups) if flat else {}
    net = imported(tmp_path_factory.mktemp("attention"), inputs, {**how, **counts})
    for active in (False, True):
        net.hybridize(active)
        y = net(*arrays_of(*inputs.values())).asnumpy()
        np.testing.assert_allclose(y, merged(wanted) if flat else wanted, rtol=1e-4, atol=1e-5)


def test_open_sizes_and_gradients_of_queries_that_see_no_key(tmp_path):
    text = """net (float[N, T, 8] x, bool[N, 1, T, T] m) => (float[N, T, 8] y) {
        y = Attention<q_num_heads = 2, kv_num_heads = 2>(x, x, x, m) }"""
    net = import_model(written(tmp_path / "net.onnx", text, version=23))
    for batch, steps in ((2, 5), (1, 3)):
        x = np.random.RandomState(0).randn(batch, steps, 8).astype("f")
        mask = np.tri(steps, k=-1).astype(bool)[None, None].repeat(batch, 0)  # the first sees none
        heads = x.reshape(batch, steps, 2, 4).transpose(0, 2, 1, 3)
        given = arrays_of(x, mask)
        given[0].attach_grad()
        with mx.autograd.record():
            y = net(*given)
        y.backward()
        np.testing.assert_allclose(y.asnumpy(), merged(attended(heads, heads, heads, mask)), rtol=1e-4)
        assert not y.asnumpy()[:, 0].any() and np.isfinite(given[0].grad.asnumpy()).all()


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (1, 2, 3, 5), (2, 1, 1, 5)])
def test_a_mask_that_is_added_and_nothing_else(tmp_path, shape, kind):
    random = np.random.RandomState(0)
    q, k, mask = (random.randn(*sizes).astype(kind) for sizes in ((2, 2, 3, 4), (2, 2, 5, 4), shape))
    mask[..., :2] = -np.inf
    got = imported(tmp_path, dict(q=q, k=k, v=k, m=mask), {})(*arrays_of(q, k, k, mask)).asnumpy()
    np.testing.assert_allclose(got, attended(q, k, k, mask), rtol=1e-4, atol=1e-6)


def test_attention_of_constants(tmp_path):
    """The reference of some releases limits the mask, too, so that keys are seen that it leaves out."""
    x, mask = np.random.RandomState(0).randn(1, 1, 3, 4).astype("f"), np.tri(3).astype("f") - 1
    mask[mask < 0] = -np.inf
    text = """net (float[1, 1, 3, 4] x) => (float[a, b, c, d] y) {
        z = Attention<softcap = 1.5>(k, k, k, m) y = Add(x, z) }"""
    net = import_model(written(tmp_path / "net.onnx", text, dict(k=x, m=mask), 23))
    wanted = attended(x, x, x, mask, cap=1.5)
    np.testing.assert_allclose(net(mx.nd.array(x)).asnumpy() - x, wanted, rtol=1e-4, atol=1e-5)


def test_more_queries_than_keys_that_count(tmp_path):
    x, lengths = np.random.RandomState(0).randn(2, 1, 4, 3).astype("f"), np.array([2, 4])
    y = imported(tmp_path, dict(q=x, k=x, v=x, n=lengths), dict(causal=1))(*arrays_of(x, x, x, lengths))
    np.testing.assert_allclose(y.asnumpy(), attended(x, x, x, None, lengths, causal=1), rtol=1e-4)


@pytest.mark.parametrize(
    "shape, how, words",
    [
        ((2, 2, 3, 4), dict(qk_matmul_output_mode=1, is_causal=1), "qk_matmul_output_mode=1"),
        ((2, 3, 8), dict(is_causal=0), "numbers of its heads"),
        ((2, 3, 8), dict(q_num_heads=3, kv_num_heads=2), "numbers of its heads"),
        ((2, 2, 3, 4), dict(unknown=1), "its attributes unknown"),
    ],
)
def test_what_is_not_defined_is_refused(tmp_path, shape, how, words):
    x = np.zeros(shape, "f")
    with pytest.raises(ValueError, match=words):
        imported(tmp_path, dict(q=x, k=x, v=x), how)
