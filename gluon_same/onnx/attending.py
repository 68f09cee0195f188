"""Definitions of operators for attention and embeddings, as :mod:`.contributed` has them.

Each function receives the attributes, of which it removes those that the definition does not read, and
the inputs.
"""

from functools import reduce
from typing import Any, Dict, Sequence

import numpy as np

from .values import Known, Unsupported, numbers

LAST_AXIS = "axis=-1, epsilon=epsilon or 1e-12"


def has(inputs: Sequence[Any], place: int) -> bool:
    """Return whether a node has an input."""
    return len(inputs) > place and inputs[place] is not None


def embedding(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    given.pop("mask_index_type", None)
    place = "Gather(i3, i8)" if has(inputs, 8) else "Slice(i3, [0], Shape(i0, start=1, end=2))"
    total = f"Add(Gather(i2, i0), {place})"
    total = f"Add({total}, Gather(i4, i1))" if has(inputs, 1) else total
    kept = f"ReduceSum({'i7' if has(inputs, 7) else 'Sub(i0, i0)'}, [1], keepdims=0)"  # by the mask
    return f"o2 = {total}; o1 = {kept}; o0 = LayerNormalization(o2, i5, i6, {LAST_AXIS})"


def attention(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    sizes = list(given.pop("qkv_hidden_sizes", None) or [inputs[1].shape[1] // 3] * 3)
    parts = f"q, k, v = Split(Add(MatMul(i0, i1), i2), {sizes}, axis=-1)"
    return f"{parts}; {_attended(given, inputs, sizes[0], 3, 5)}"


def quantized_attention(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    width = inputs[1].shape[1] // 3
    product = "Mul(Cast(MatMulInteger(i0, i1, i6, i7), to=1), Mul(i3, i4))"
    parts = f"q, k, v = Split(Add({product}, i2), {[width] * 3}, axis=-1)"
    return f"{parts}; {_attended(given, inputs, width, 5)}"


def multi_head(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    ranks = [getattr(x, "ndim", 0) for x in inputs[:3]]
    sizes = [x and x.shape[-1] for x in inputs[:3]]
    if ranks != [3, 3, 3] or None in sizes:
        raise Unsupported("its queries, keys and values are not three arrays of known width")
    parts = "q = Identity(i0); k = Identity(i1); v = Identity(i2)"
    if has(inputs, 3):
        parts = f"a, b, c = Split(i3, {sizes}, axis=0); q = Add(i0, a); k = Add(i1, b); v = Add(i2, c)"
    return f"{parts}; {_attended(given, inputs, sizes[0], 4, 5)}"


def _attended(given: Dict[str, Any], inputs: Sequence[Any], width: int, mask: int, bias: int = 0) -> str:
    """Return the statements behind the projections to queries, keys and values, which are q, k and v.

    ``mask`` and ``bias`` are the numbers of inputs: which keys count, and what is added to the products,
    unless it is 0.
    A mask with one axis has the number of keys.
    """
    heads = given.pop("num_heads")
    q, k, v = (
        f"Transpose(Reshape({x}, [0, 0, {heads}, -1]), perm={order})"
        for x, order in zip("qkv", ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    )
    scores = f"Mul(MatMul({q}, {k}), {given.pop('scale', 0.0) or (width // heads) ** -0.5})"
    low = max(given.pop("mask_filter_value", -10000.0), -3e38)
    if has(inputs, mask):
        rank, kept = inputs[mask].ndim, f"Cast(i{mask}, to=9)"
        if rank not in (1, 2, 3):
            raise Unsupported(f"its mask with {rank} axes")
        if rank == 1:
            places = "Range(0, Squeeze(Shape(k, start=1, end=2)), 1)"
            kept = f"Less({places}, Cast(Unsqueeze(i{mask}, [1]), to=7))"
        axes = [1] if rank == 3 else [1, 2]
        scores = f"Add({scores}, Where(Unsqueeze({kept}, {axes}), 0.0, {low}))"
    causal = (
        "Add(s, Trilu(Expand(-3e38, Shape(s)), 1, upper=1))" if given.pop("unidirectional", 0) else "s"
    )
    y = f"Transpose(MatMul(Softmax({causal}, axis=-1), {v}), perm=[0, 2, 1, 3])"
    scores = f"Add({scores}, i{bias})" if bias else scores
    return f"s = {scores}; o0 = Reshape({y}, [0, 0, -1])"


def grouped(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    """Return attention whose keys and values have fewer heads, and follow those of steps in the past.

    New steps are placed behind the past ones of each sample, which follow from its length.
    """
    heads, groups, past = given.pop("num_heads"), given.pop("kv_num_heads"), has(inputs, 3)
    if not has(inputs, 5):
        raise Unsupported("its lengths of sequences are missing")
    body, unit = "q = Identity(i0); k = Identity(i1); v = Identity(i2)", inputs[0].shape[2] // heads
    if not has(inputs, 1):
        unit = inputs[0].shape[2] // (heads + 2 * groups)
        body = f"q, k, v = Split(i0, {[heads * unit, groups * unit, groups * unit]}, axis=-1)"
    if has(inputs, 6):
        for trial, shape in enumerate(inputs[0].trials):
            length = shape[1] + (inputs[3].trials[trial][2] if past else 0)
            if numbers(inputs[6], "total length", 0).at(trial).item() != length:
                raise ValueError(f"its total length is not {length}, that of the past and of new steps")
        body += "; whole = Identity(i6)"
    body += "; n = Shape(q, start=1, end=2); length = Add(Cast(Reshape(i5, [-1, 1]), to=7), 1)"
    body += f"; start = Sub(length, {'n' if past else 'length'})"
    body += "; places = Add(start, Unsqueeze(Range(0, Squeeze(n), 1), [0]))"
    turned = given.pop("do_rotary", 0)
    for x, count in (("q", heads), ("k", groups), ("v", groups)):
        y = x
        if turned and x != "v":
            y = f"RotaryEmbedding({x}, i7, i8, {'i9' if has(inputs, 9) else 'places'}, num_heads={count}"
            y += ", interleaved=rotary_interleaved)"
        body += f"; {x}1 = Transpose(Reshape({y}, [0, 0, {count}, -1]), perm=[0, 2, 1, 3])"
    if past:
        body += (
            "; k2 = Concat(i3, k1, axis=2); v2 = Concat(i4, v1, axis=2); all = Shape(k2, start=2, end=3)"
        )
        behind = "Min(Add(Sub(line, start), Shape(i3, start=2, end=3)), Sub(all, 1))"
        body += f"; line = Range(0, Squeeze(all), 1); at = Where(Less(line, start), line, {behind})"
        for x in "kv":
            index = f"Expand(Unsqueeze(at, [1, 3]), Shape({x}2))"
            body += f"; o{'kv'.index(x) + 1} = GatherElements({x}2, {index}, axis=2)"
    else:
        body += (
            "; o1 = Identity(k1); o2 = Identity(v1); all = Identity(n); line = Range(0, Squeeze(n), 1)"
        )
    body += "; row = Unsqueeze(places, [1, 3]); seen = LessOrEqual(line, row)"
    window = given.pop("local_window_size", -1)
    seen = f"And(seen, Greater(line, Sub(row, {window})))" if window > 0 else "seen"
    rows = f"Reshape(q1, [0, {groups}, -1, {unit}])"  # of all heads that share keys
    scores = (
        f"Mul(MatMul({rows}, Transpose(o1, perm=[0, 1, 3, 2])), {given.pop('scale', 0) or unit**-0.5})"
    )
    cap = given.pop("softcap", 0)
    scores = f"Mul(Tanh(Mul({scores}, {1 / cap})), {cap})" if cap else scores
    scores = f"Reshape({scores}, Concat([0], [{heads}], n, all, axis=0))"
    share = f"Softmax(Where({seen}, {scores}, -3e38), axis=-1)"
    y = f"MatMul(Reshape({share}, Concat([0], [{groups}], [-1], all, axis=0)), o2)"
    y = f"Transpose(Reshape({y}, [0, {heads}, -1, {unit}]), perm=[0, 2, 1, 3])"
    return f"{body}; o0 = Reshape({y}, [0, 0, -1])"


def standard(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    """Return the definition of ONNX's own operator: those in its package differ from release to release.

    Keys that a query does not see have a bias of -inf. A query that sees none has the result 0.
    """
    given.pop("softmax_precision", None)
    heads, groups = (given.pop(f"{x}_num_heads", None) for x in ("q", "kv"))
    rank, width = inputs[0].ndim, inputs[0].shape[-1]
    if rank == 4:
        heads, groups = inputs[0].shape[1], inputs[1].shape[1]
    if not heads or not groups or heads % groups or not width:
        raise Unsupported("the numbers of its heads or their width are not known")
    width = width // heads if rank == 3 else width
    q, k, v = (
        f"Transpose(Reshape(i{i}, [0, 0, {n}, -1]), perm=[0, 2, 1, 3])"
        if rank == 3
        else f"Identity(i{i})"
        for i, n in enumerate((heads, groups, groups))
    )
    if has(inputs, 4):
        k, v = f"Concat(i4, {k}, axis=2)", f"Concat(i5, {v}, axis=2)"
    body = f"q = {q}; o1 = {k}; o2 = {v}; n = Shape(q, start=2, end=3); all = Shape(o1, start=2, end=3)"
    # Queries of heads that share keys are rows of one product.
    rows, apart = (
        f"Reshape({{}}, [0, {n}, -1, 0])" if heads > groups else "{}" for n in (groups, heads)
    )
    number = "Cast({}, to=11)" if inputs[0].dtype == np.float64 else "{}"
    scale = number.format(given.pop("scale", width**-0.5))
    products = apart.format(f"MatMul({rows.format('q')}, Transpose(o1, perm=[0, 1, 3, 2]))")
    cap = given.pop("softcap", 0)
    capped = (
        f"Mul(Tanh(Div(s0, {number.format(cap)})), {number.format(cap)})" if cap > 0 else "Identity(s0)"
    )
    body += f"; s0 = Mul({products}, {scale}); s1 = {capped}"
    zero, low = number.format(0.0), number.format("-1e999")
    every = not (has(inputs, 3) or has(inputs, 6) or given.get("left_window_size", -1) >= 0)
    bias = _bias(given, inputs, zero, low)
    share = f"Softmax(Add(s1, {bias}), axis=-1)" if bias else "Softmax(s1, axis=-1)"
    if not every:  # of the queries sees a key
        body += f"; b = {bias}; sees = Greater(ReduceMax(b, [-1]), {low})"
        share = f"Where(sees, Softmax(Add(s1, Where(sees, b, {zero})), axis=-1), {zero})"
    mode = given.pop("qk_matmul_output_mode", 0)
    if mode in (1, 2) and (cap > 0 or bias):
        raise Unsupported(f"its qk_matmul_output_mode={mode}, which releases of onnx define differently")
    body += f"; s3 = {share}; o3 = Identity({'s3' if mode == 3 else 's0'})"
    y = apart.format(f"MatMul({rows.format('s3')}, o2)")
    y = f"Reshape(Transpose({y}, perm=[0, 2, 1, 3]), [0, 0, -1])" if rank == 3 else y
    return f"{body}; o0 = {y}"


def _bias(given: Dict[str, Any], inputs: Sequence[Any], zero: str, low: str) -> str:
    """Return what is added to the products of ``n`` queries and ``all`` keys; nothing if that is 0."""
    parts, seen, row = [], [], "Unsqueeze(Range(0, Squeeze(n), 1), [1])"
    key, lengths = "Range(0, Squeeze(all), 1)", "Reshape(i6, [-1, 1, 1, 1])"
    if has(inputs, 3):
        mask = f"Where(i3, {zero}, {low})" if inputs[3].dtype == bool else "Identity(i3)"
        if _is_short(inputs):
            sides = f"Concat({[0] * (2 * inputs[3].ndim - 1)}, Sub(all, Shape(i3, start=-1)), axis=0)"
            mask = f"Pad({mask}, {sides}, {low})"
        parts.append(mask)
    if has(inputs, 4):
        row = f"Add({row}, Shape(i4, start=2, end=3))"
    elif has(inputs, 6):
        row = f"Add({row}, Sub({lengths}, n))"
        seen.append(f"Less({key}, {lengths})")
    left, right = (given.pop(f"{side}_window_size", -1) for side in ("left", "right"))
    if given.pop("is_causal", 0):
        right = 0
    if right >= 0:
        seen.append(f"LessOrEqual({key}, Add({row}, {right}))")
    if left >= 0:
        seen.append(f"LessOrEqual({row}, Add({key}, {left}))")
    if seen:
        parts.append(f"Where({reduce('And({}, {})'.format, seen)}, {zero}, {low})")
    return reduce("Add({}, {})".format, parts) if parts else ""


def _is_short(inputs: Sequence[Any]) -> bool:
    """Return whether a mask lacks the last keys, which are not seen."""
    given = [inputs[i] for i in (3, 1, 4) if has(inputs, i)]
    count = len(inputs[0].trials)
    shapes = zip(*([x.shape] * count if isinstance(x, Known) else x.trials for x in given))
    axis = inputs[1].ndim // 2  # of the keys
    return any(mask[-1] < new[axis] + sum(shape[2] for shape in past) for mask, new, *past in shapes)


def quantized_embedding(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    """Return the definition by the one for floats, whose tables and normalization are dequantized."""
    tables = {2: "w", 3: "p", 4: "t", 5: "g", 6: "b"}
    parts = [
        f"{name} = DequantizeLinear(i{i}, i{i + 6}, i{i + 11})"
        for i, name in tables.items()
        if has(inputs, i)
    ]
    body = embedding(given, [*inputs[:8], None])
    for i, name in tables.items():
        body = body.replace(f"i{i}", name)
    return "; ".join([*parts, body])


def rotation(given: Dict[str, Any], inputs: Sequence[Any]) -> str:
    """Return the definition by ONNX's operator, which takes places for each token and each sample."""
    if given.pop("scale", 1.0) != 1:
        raise Unsupported("its scale is not 1")
    axis, heads = inputs[0].ndim - 2, given.pop("num_heads", 0)
    if not heads and axis == 1:
        heads = inputs[0].shape[2] // (2 * inputs[2].shape[1])
    places = "i1"
    if inputs[1].ndim == 1:  # of the first token
        line = f"Add(i1, Range(0, Squeeze(Shape(i0, start={axis}, end={axis + 1})), 1))"
        shape = "Concat(Shape(i0, start=0, end=1), [1], axis=0)"
        places = f"Expand(Unsqueeze({line}, [0]), {shape})"
    how = "interleaved=interleaved, rotary_embedding_dim=rotary_embedding_dim"
    return f"o0 = RotaryEmbedding(i0, i2, i3, {places}, num_heads={heads}, {how})"
