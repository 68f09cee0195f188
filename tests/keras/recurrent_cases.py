"""Models with recurrent cells, convolutional LSTMs, kept states and initial states."""

from forms import form

HOW = dict(archive="sequences", since=(2, 13))


def flat(outputs):
    """Return outputs in nested lists as one list."""
    if not isinstance(outputs, (list, tuple)):
        return [outputs]
    return [each for output in outputs for each in flat(output)]


@form([(2, 4, 3)], [(1, 6, 3)], every_kind=True, **HOW)
def cells(keras):
    L, start = keras.layers, keras.layers.Input((None, 3), name="steps")
    stack = L.StackedRNNCells([L.GRUCell(2), L.LSTMCell(3), L.GRUCell(2, reset_after=False)])
    outputs = [L.RNN(L.LSTMCell(2))(start), L.RNN(L.SimpleRNNCell(2), return_sequences=True)(start)]
    outputs += flat(L.RNN(stack, return_sequences=True, return_state=True)(start))
    outputs += [L.RNN([L.SimpleRNNCell(2), L.SimpleRNNCell(2)], go_backwards=True)(start)]
    outputs += [L.Bidirectional(L.RNN(L.GRUCell(2), return_sequences=True))(start)]
    return keras.models.Model(start, outputs)


@form([(2, 4, 3)], [(1, 6, 3)], **HOW)
def bidirectional_states(keras):
    L, start = keras.layers, keras.layers.Input((None, 3), name="steps")
    outputs = []
    for mode in ("concat", "ave", "mul", None):
        lstm = L.LSTM(2, return_state=True, return_sequences=mode == "ave")
        outputs += flat(L.Bidirectional(lstm, merge_mode=mode)(start))
    back = L.LSTM(2, return_sequences=True, go_backwards=True, activation="relu")
    both = L.Bidirectional(L.LSTM(2, return_sequences=True), backward_layer=back)
    outputs += [both(start, initial_state=outputs[1:5])]
    return keras.models.Model(start, outputs)


@form([(2, 4, 3), (2, 5, 3)], [(1, 6, 3), (1, 2, 3)], **HOW)
def encoder_decoder(keras):
    """Sequence to sequence: the states of the encoder start the decoder."""
    L = keras.layers
    source, target = L.Input((None, 3), name="source"), L.Input((None, 3), name="target")
    encoded, *states = flat(L.LSTM(4, return_sequences=True, return_state=True)(source))
    decoded = flat(L.LSTM(4, return_sequences=True, return_state=True)(target, initial_state=states))
    context = L.Attention()([decoded[0], encoded])
    y = L.Dense(3, activation="softmax")(L.Concatenate()([decoded[0], context]))
    return keras.models.Model([source, target], [y, *decoded[1:]])


@form([(2, 3, 5, 4, 2)], [(2, 4, 5, 4, 2)], **HOW)
def conv_lstm2d(keras):
    L, start = keras.layers, keras.layers.Input((None, 5, 4, 2), name="frames")
    y, *states = flat(L.ConvLSTM2D(2, 3, padding="same", return_state=True)(start))
    outputs = [y, *states, L.ConvLSTM2D(3, (3, 2))(start)]
    outputs += [L.ConvLSTM2D(2, 3, padding="same", return_sequences=True)(start, initial_state=states)]
    strided = L.ConvLSTM2D(2, 2, strides=2, padding="same", go_backwards=True, use_bias=False)
    outputs += [strided(start), L.Bidirectional(L.ConvLSTM2D(2, 2, return_sequences=True))(start)]
    outputs += [L.ConvLSTM2D(2, 2, dilation_rate=2, activation="relu")(start)]
    return keras.models.Model(start, outputs)


@form([(2, 3, 5, 2), (2, 2, 3, 2, 3, 1)], **HOW)
def conv_lstm(keras):
    L = keras.layers
    line, volume = L.Input((3, 5, 2), name="lines"), L.Input((2, 3, 2, 3, 1), name="volumes")
    outputs = [L.ConvLSTM1D(2, 3, return_sequences=True)(line)]
    outputs += [L.ConvLSTM1D(2, 2, padding="same", recurrent_activation="sigmoid")(line)]
    outputs += [L.ConvLSTM3D(1, 2, padding="same", return_sequences=True)(volume)]
    return keras.models.Model([line, volume], outputs)


def steps_of_two(keras, *shape):
    """Return an input with a batch of two, which layers that keep states require."""
    key = "batch_shape" if keras.__version__ >= "3" else "batch_input_shape"
    return keras.layers.Input(**{key.replace("_input", ""): (2, *shape)}, name="steps")


@form([(2, 4, 3)], [(2, 4, 3)], [(2, 4, 3)], stateful=True, **HOW)
def stateful(keras):
    """States that each call hands on to the next one."""
    L, start = keras.layers, steps_of_two(keras, 4, 3)
    x = L.LSTM(3, stateful=True, return_sequences=True)(start)
    both = L.Bidirectional(L.GRU(2, stateful=True))(x)
    y, state = L.SimpleRNN(2, stateful=True, return_state=True)(x)
    return keras.models.Model(start, [x, both, y, state])
