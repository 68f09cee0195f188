"""Models with attention, and with Einstein's sums."""

from forms import form
from mask_cases import IDS, embedded, words
from recurrent_cases import HOW, flat


@form([(2, 5, 4), (2, 3, 4), (2, 5, 3)], [(1, 2, 4), (1, 6, 4), (1, 2, 6)], **HOW)
def attention(keras):
    """All kinds of attention: with scores, causal, and with a mask of 0 and other numbers."""
    L = keras.layers
    query, value = L.Input((None, 4), name="query"), L.Input((None, 4), name="value")
    given = L.Input((None, None), name="mask")
    mask = L.ReLU()(given)
    heads = [L.MultiHeadAttention(2, 3)(query, value, attention_mask=mask)]
    heads += [L.MultiHeadAttention(2, 3, dropout=0.1)(query, value, use_causal_mask=True)]
    heads += [L.MultiHeadAttention(2, 3, value_dim=2, use_bias=False, output_shape=5)(query, value)]
    heads += flat(L.MultiHeadAttention(2, 3)(query, value, key=value, return_attention_scores=True))
    plain = flat(L.Attention()([query, value], return_attention_scores=True, use_causal_mask=True))
    plain += [L.Attention(use_scale=True)([query, value])]
    plain += [L.Attention(use_scale=True, score_mode="concat")([query, value, value])]
    plain += [
        L.AdditiveAttention()([query, value]),
        L.AdditiveAttention(use_scale=False)([query, value]),
    ]
    return keras.models.Model([query, value, given], heads + plain)


@form([(2, 3, 4, 2)], [(1, 2, 5, 2)], **HOW)
def attention_axes(keras):
    L, start = keras.layers, keras.layers.Input((None, None, 2), name="steps")
    outputs = []
    for axes in (None, 1, (2,)):
        layer = L.MultiHeadAttention(2, 3, attention_axes=axes)
        outputs += flat(layer(start, start, return_attention_scores=True))
    return keras.models.Model(
        start, [*outputs, L.MultiHeadAttention(1, 2, output_shape=(2, 3))(start, start)]
    )


@form([(2, 3, 5, 4), (2, 3, 6, 4)], [(1, 2, 3, 4), (1, 2, 7, 4)], **HOW)
def attention_in_axes(keras):
    """Attention along the last axis but one, in each place of those before."""
    L, outputs = keras.layers, []
    both = [L.Input((None, None, 4), name=name) for name in ("query", "value")]
    for i, how in enumerate([{}, dict(use_scale=True, score_mode="concat")]):
        layer = L.Attention(name=f"attention{i}", **how)
        outputs += flat(layer(both, return_attention_scores=True, use_causal_mask=True))
    return keras.models.Model(both, [*outputs, L.AdditiveAttention(name="additive")(both)])


@form([(3, 5)], [(2, 7)], **IDS)
def masked_attention(keras):
    """Masks of queries and values, and a Transformer's block with masks."""
    L, start = keras.layers, words(keras)
    plain = L.Embedding(5, 4, name="plain")(start)

    def masked(name):
        return embedded(keras, start, name)

    outputs = [L.MultiHeadAttention(2, 3)(plain, masked("value"))]
    y, scores = L.MultiHeadAttention(2, 3)(masked("query"), plain, return_attention_scores=True)
    outputs += [y, scores, L.LSTM(2)(y)]
    for kind in (L.Attention, L.AdditiveAttention):
        x = masked(kind.__name__)
        y = kind()([x, x])
        outputs += [y, L.GlobalAveragePooling1D()(y), kind()([plain, x], use_causal_mask=True)]
    x = masked("block")
    x = L.LayerNormalization()(x + L.MultiHeadAttention(2, 2)(x, x, use_causal_mask=True))
    x = L.LayerNormalization()(L.Add()([x, L.Dense(4)(L.Dense(6, activation="relu")(x))]))
    return keras.models.Model(start, [*outputs, L.GlobalAveragePooling1D()(x)])


@form([(3, 5)], [(2, 7)], only=3, **IDS)
def grouped_attention(keras):
    """Grouped queries, gates and windows, which only Keras 3 has."""
    L, start = keras.layers, words(keras)
    x, plain = embedded(keras, start), L.Embedding(5, 4, name="plain")(start)
    outputs = [L.GroupQueryAttention(3, 4, 2)(x, plain, use_causal_mask=True)]
    outputs += [L.GroupQueryAttention(3, 4, 1, use_gate=True)(plain, plain), L.LSTM(2)(x)]
    outputs += flat(L.GroupQueryAttention(3, 4, 2)(plain, x, return_attention_scores=True))
    outputs += [L.MultiHeadAttention(2, 2, use_gate=True, sliding_window=2)(plain, plain)]
    return keras.models.Model(start, outputs)


@form([(2, 3, 4)], [(1, 5, 4)], every_kind=True, **HOW)
def einsum_dense(keras):
    L, start = keras.layers, keras.layers.Input((None, 4), name="steps")
    wide = L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de")(start)
    outputs = [wide, L.EinsumDense("abde,dec->abc", output_shape=(None, 5), bias_axes="c")(wide)]
    outputs += [L.EinsumDense("...x,xy->...y", output_shape=6, activation="relu")(start)]
    outputs += [L.EinsumDense("abc,cde->adbe", output_shape=(2, None, 3), bias_axes="d")(start)]
    return keras.models.Model(start, outputs)


@form([(2, 3, 4, 2)], **HOW)
def products(keras):
    """Products along any axes, sums with weights of each step, and normalization along any axes."""
    L, start = keras.layers, keras.layers.Input((3, 4, 2), name="image")
    turned, vector = L.Permute((3, 1, 2))(start), L.Dense(4)(L.Flatten()(start))
    outputs = [L.Dot(axes=(2, 1))([start, vector]), L.Dot(axes=(3, 1))([start, turned])]
    outputs += [L.Dot(axes=(1, 2))([start, turned])]
    outputs += [L.LayerNormalization(axis=axes)(start) for axes in ((1, 3), (1, 2), [2, 3])]
    outputs += [L.EinsumDense("abcd,bce->ade", output_shape=(2, 3), bias_axes="e")(start)]
    return keras.models.Model(start, outputs)
