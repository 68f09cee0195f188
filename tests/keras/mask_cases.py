"""Models with masks: made by Embedding and Masking, or given by name, and handed on by other layers."""

from forms import form
from recurrent_cases import flat

IDS = dict(integers=5, archive="sequences", since=(2, 13))
STEPS = dict(blank=True, archive="sequences", since=(2, 13))


def embedded(keras, start, name="embedding", size=4):
    return keras.layers.Embedding(5, size, mask_zero=True, name=name)(start)


def words(keras, name="words"):
    return keras.layers.Input((None,), dtype="int32", name=name)


@form([(3, 5)], [(2, 7)], **IDS)
def masked_recurrent(keras):
    """Unidirectional layers, whose states are held, with the output before or zeros for masked steps."""
    L, start = keras.layers, words(keras)
    x = embedded(keras, start)
    outputs = []
    for kind in (L.LSTM, L.GRU, L.SimpleRNN):
        outputs += [kind(2)(x), kind(2, return_sequences=True)(x)]
        outputs += [kind(2, return_sequences=True, go_backwards=True)(x)]
        outputs += [
            kind(2, zero_output_for_mask=True, return_sequences=each)(x) for each in (True, False)
        ]
    cells = L.StackedRNNCells([L.LSTMCell(2), L.GRUCell(3), L.SimpleRNNCell(2)])
    outputs += flat(L.RNN(cells, return_sequences=True, return_state=True, go_backwards=True)(x))
    return keras.models.Model(start, outputs)


@form([(3, 5)], [(2, 7)], **IDS)
def masked_bidirectional(keras):
    L, start = keras.layers, words(keras)
    x = embedded(keras, start)
    outputs = []
    for mode in ("concat", "sum", None):
        for sequences in (False, True):
            gru = L.GRU(2, return_sequences=sequences, return_state=mode is None)
            outputs += flat(L.Bidirectional(gru, merge_mode=mode)(x))
    return keras.models.Model(start, [*outputs, L.LSTM(2)(outputs[1])])


@form([(3, 5)], [(2, 7)], **IDS)
def masked_states(keras):
    """Initial states and masks: Keras 3 finds no mask then, unless the call names it."""
    L, start = keras.layers, words(keras)
    x, mask = embedded(keras, start), L.Embedding(5, 2, mask_zero=True).compute_mask(start)
    y, *states = flat(L.LSTM(3, return_sequences=True, return_state=True)(x))
    outputs = [L.LSTM(3, return_sequences=True)(x, initial_state=states)]
    outputs += [L.LSTM(3, return_sequences=True)(x, initial_state=states, mask=mask)]
    outputs += [L.LSTM(3)(y, initial_state=states, mask=mask)]
    outputs += [L.Bidirectional(L.GRU(3, return_sequences=True))(x, initial_state=states)]
    return keras.models.Model(start, [*outputs, L.GRU(2)(outputs[0])])


@form([(3, 5, 4)], [(2, 7, 4)], trained=(2, 3), **STEPS)
def masked_layers(keras):
    """Layers that hand the mask on, up to an LSTM with one output."""
    L, start = keras.layers, keras.layers.Input((None, 4), name="steps")
    x = L.Masking(name="masking")(start)
    for each in (L.Dense(3), L.LayerNormalization(), L.Activation("tanh"), L.Dropout(0.0), L.ReLU()):
        x = each(x)
    x = L.PReLU(shared_axes=[1])(L.TimeDistributed(L.Dense(3))(x))
    return keras.models.Model(start, L.LSTM(2, activation="relu")(x))


@form([(3, 5, 4)], [(2, 7, 4)], **STEPS)
def masked_ends(keras):
    """Layers that use the mask, and layers that stop it."""
    L, start = keras.layers, keras.layers.Input((None, 4), name="steps")
    x = L.Masking(name="masking")(start)
    outputs = [L.GlobalAveragePooling1D()(x), L.GlobalAveragePooling1D(keepdims=True)(x)]
    outputs += [L.LSTM(2)(L.Conv1D(3, 2)(x)), L.GRU(2)(L.Identity()(x)), L.GRU(2)(x + 1.0)]
    outputs += [L.GRU(2)(L.UpSampling1D(2)(x)), L.LSTM(2)(L.BatchNormalization()(x))]
    return keras.models.Model(start, outputs)


@form([(3, 5, 2), (3, 5, 2)], [(2, 7, 2), (2, 7, 2)], **STEPS)
def masked_merges(keras):
    L = keras.layers
    starts = [L.Input((None, 2), name=name) for name in ("one", "other")]
    a, b = (
        L.Masking()(x) for x in (starts[0], L.Cropping1D((1, 0))(L.ZeroPadding1D((0, 1))(starts[1])))
    )
    outputs = []
    for kind in (L.Add, L.Average, L.Multiply, L.Maximum, L.Concatenate):
        for inputs in ([a, b], [a, starts[1]], [starts[1], a, b]):
            outputs.append(L.SimpleRNN(2, return_sequences=True)(kind()(inputs)))
    outputs.append(L.SimpleRNN(2, return_sequences=True)(L.Concatenate(axis=1)([a, b])))
    outputs.append(L.GRU(2)(L.Subtract()([a, b])))
    return keras.models.Model(starts, outputs)


@form([(3, 5)], [(2, 7)], **IDS)
def masked_models(keras):
    """Masks into, out of and through inner models, and one model and one layer on two inputs."""
    L = keras.layers
    inner_words, inner_steps = words(keras, "inner"), L.Input((None, 3))
    first = keras.models.Model(inner_words, L.Dense(3)(embedded(keras, inner_words)), name="first")
    body = L.LSTM(3, return_sequences=True)(inner_steps)
    body = keras.models.Model(inner_steps, L.Dropout(0.1)(body), name="body")
    start = words(keras)
    x = body(first(start))
    twice, shared = body(x), L.GRU(2)
    pooled = L.GlobalAveragePooling1D()(first(start))
    return keras.models.Model(start, [x, twice, shared(x), shared(twice), pooled])


@form([(2, 3, 4)], [(1, 4, 6)], **IDS)
def masked_documents(keras):
    """A model of words, with a mask, for each sentence of a document."""
    L, inner = keras.layers, words(keras, "inner")
    encoder = L.Bidirectional(L.GRU(2))(embedded(keras, inner))
    encoder = keras.models.Model(inner, encoder, name="encoder")
    start = L.Input((None, None), dtype="int32", name="sentences")
    x = L.TimeDistributed(encoder)(start)
    return keras.models.Model(start, [x, L.LSTM(2)(x)])


@form([(3, 5)], [(2, 7)], **IDS)
def masked_by_name(keras):
    """Masks that calls name, among them one of a softmax."""
    L, start = keras.layers, words(keras)
    x, mask = L.Embedding(5, 3)(start), L.Embedding(5, 2, mask_zero=True).compute_mask(start)
    outputs = [L.LSTM(2)(x, mask=mask), L.Bidirectional(L.GRU(2, return_sequences=True))(x, mask=mask)]
    y = L.SimpleRNN(2, return_sequences=True)(x, mask=mask)
    outputs += [L.LSTM(2)(y), L.GlobalAveragePooling1D()(x, mask=mask)]
    outputs += [L.Softmax()(x[:, :, 0], mask=mask), L.GlobalAveragePooling1D()(x, mask)]
    return keras.models.Model(start, outputs)


@form([(2, 3, 4)], [(1, 4, 6)], **IDS)
def masked_steps(keras):
    """Masks that layers compute for each step of a sequence of sequences."""
    L = keras.layers
    start = L.Input((None, None), dtype="int32", name="sentences")
    x = L.TimeDistributed(L.Embedding(5, 4, mask_zero=True))(start)
    blank = L.TimeDistributed(L.Masking(-1.0))(L.TimeDistributed(L.Embedding(5, 3))(start) // 9.0)
    outputs = [L.TimeDistributed(L.GRU(2))(each) for each in (x, L.TimeDistributed(L.Dense(2))(x))]
    outputs += [blank, L.TimeDistributed(L.GRU(2))(blank), L.LSTM(2)(outputs[0])]
    return keras.models.Model(start, outputs)
