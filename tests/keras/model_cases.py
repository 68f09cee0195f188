"""Sequential and functional models without inner models. Each function builds one with a given Keras."""

from forms import IMAGE, OTHER_IMAGE, form, image_input, sequential_of


@form([IMAGE], [OTHER_IMAGE], trained=(2, 3), every_kind=True, activations=True)
def sequential(keras):
    L = keras.layers
    return sequential_of(
        keras,
        (None, None, 3),
        [
            L.Conv2D(4, 3, strides=2, padding="same", use_bias=False, name="stem"),
            L.BatchNormalization(momentum=0.9, epsilon=0.01, name="stem_norm"),
            L.ReLU(6.0, name="stem_relu"),
            L.DepthwiseConv2D(3, padding="same", name="depthwise"),
            L.Dropout(0.0, name="dropout"),
            L.GlobalAveragePooling2D(name="pool"),
            L.Dense(3, activation="softmax", name="head"),
        ],
    )


@form([IMAGE], [OTHER_IMAGE])
def sequential_input_shape(keras):
    """The input's shape given to the first layer."""
    L = keras.layers
    first = L.Conv2D(4, 3, padding="same", input_shape=(None, None, 3), name="first")
    return keras.models.Sequential([first, L.MaxPooling2D(2, name="pool"), L.Conv2D(2, 1, name="last")])


@form([IMAGE], since=(2, 3))
def sequential_deferred(keras):
    """A model without an input shape, which is built by its first call."""
    L = keras.layers
    first = L.Conv2D(4, 3, padding="same", activation="relu", name="first")
    model = keras.models.Sequential([first, L.Flatten(name="flatten"), L.Dense(3, name="last")])
    model.build((None, 6, 5, 3))
    return model


@form([(2, 4, 5, 2)])
def flatten_dense(keras):
    """Dense after Flatten, as in VGG: the order of the elements matters."""
    L = keras.layers
    return sequential_of(
        keras,
        (4, 5, 2),
        [
            L.Conv2D(3, 2, padding="same", activation="relu", name="block1_conv1"),
            L.MaxPooling2D(2, name="block1_pool"),
            L.Flatten(name="flatten"),
            L.Dense(4, activation="relu", name="fc1"),
            L.Dense(3, name="predictions"),
        ],
    )


@form([(2, 4, 6)])
def reshape_between(keras):
    """Reshape, Permute and RepeatVector between convolutions of one, two and three dimensions."""
    L = keras.layers
    x = start = L.Input((4, 6))
    x = L.Conv1D(4, 3, padding="same", name="conv1")(x)
    x = L.Reshape((2, 2, 4), name="to_image")(x)
    x = L.Conv2D(3, 2, padding="same", name="conv2")(x)
    x = L.Permute((2, 3, 1), name="turn")(x)
    x = L.Reshape((2, 3, 2, 1), name="to_volume")(x)
    x = L.Conv3D(2, 2, padding="same", name="conv3")(x)
    x = L.Flatten(name="flatten")(x)
    x = L.Dense(3, activation="tanh", name="dense")(x)
    x = L.RepeatVector(2, name="repeat")(x)
    x = L.Conv1D(2, 2, padding="causal", name="last")(x)
    return keras.models.Model(start, x)


@form([IMAGE], [OTHER_IMAGE])
def padded_convolutions(keras):
    """ZeroPadding before 'valid' layers is folded into them, unless another layer reads it."""
    L = keras.layers
    x = start = image_input(keras)
    x = L.ZeroPadding2D(((3, 2), (2, 3)), name="conv1_pad")(x)
    x = L.Conv2D(3, 5, strides=2, name="conv1_conv")(x)
    x = L.ZeroPadding2D(((0, 1), (0, 1)), name="pad_depthwise")(x)
    x = L.DepthwiseConv2D(3, strides=2, name="depthwise")(x)
    x = L.Activation("relu", name="relu")(x)
    x = L.ZeroPadding2D(1, name="pool1_pad")(x)
    x = L.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    x = L.ZeroPadding2D(2, name="twice_pad")(x)
    once, twice = L.Conv2D(2, 3, name="once")(x), L.Conv2D(2, 3, name="twice")(x)
    padded = L.ZeroPadding2D(1, name="pad_same")(twice)
    same = L.Conv2D(2, 3, padding="same", name="same")(padded)
    average = L.AveragePooling2D(2, strides=1, name="average")(L.ZeroPadding2D(1, name="pad_avg")(same))
    negative = L.Activation("sigmoid", name="sigmoid")(L.ZeroPadding2D(1, name="pad_sigmoid")(once))
    # The zeros matter, because they are larger than their neighbors.
    largest = L.MaxPooling2D(3, strides=2, name="largest")(
        L.ZeroPadding2D(((1, 2), (0, 1)), name="pad_max")(once)
    )
    return keras.models.Model(start, [once, padded, average, negative, largest])


@form([(2, 7, 3)])
def padded_volumes(keras):
    L = keras.layers
    x = start = L.Input((None, 3))
    x = L.ZeroPadding1D((2, 1), name="pad1")(x)
    x = L.Conv1D(2, 4, strides=2, name="conv1")(x)
    x = L.ZeroPadding1D(1, name="pad2")(x)
    x = L.SeparableConv1D(2, 3, name="separable")(x)
    return keras.models.Model(start, x)


@form([IMAGE], [OTHER_IMAGE], trained=(2, 3))
def residual(keras):
    L = keras.layers
    start = image_input(keras, "image")
    x = L.Conv2D(4, 3, padding="same", name="conv_a")(start)
    x = L.BatchNormalization(name="norm_a", trainable=False)(x)
    y = L.Conv2D(4, 3, padding="same", activation="relu", name="conv_b")(x)
    y = L.BatchNormalization(axis=3, scale=False, name="norm_b")(y)
    x = L.Add(name="add")([x, y])
    z = L.Reshape((1, 1, 4), name="as_image")(L.GlobalAveragePooling2D(name="squeeze")(x))
    z = L.Multiply(name="scale")([x, L.Dense(4, activation="sigmoid", name="excite")(z)])
    x = L.Concatenate(name="join")([x, z])
    x = L.GlobalMaxPooling2D(name="pool")(x)
    return keras.models.Model(start, L.Dense(2, name="head")(x))


@form([(2, 4, 3), (2, 4, 3), (2, 4, 3)])
def merges(keras):
    L = keras.layers
    inputs = [L.Input((4, 3), name=name) for name in ("first", "second", "third")]
    a, b, _ = inputs
    outputs = [
        L.Add(name="add")(inputs),
        L.Subtract(name="subtract")([a, b]),
        L.Multiply(name="multiply")(inputs),
        L.Average(name="average")(inputs),
        L.Maximum(name="maximum")(inputs),
        L.Minimum(name="minimum")(inputs),
        L.Concatenate(name="concatenate")(inputs),
        L.Concatenate(axis=1, name="concatenate_rows")([b, a]),
        L.Dot(axes=1, name="dot")([a, b]),
        L.Dot(axes=(2, 2), name="dot_last")([a, b]),
        L.Dot(axes=2, normalize=True, name="dot_normalized")([a, b]),
    ]
    return keras.models.Model(inputs, outputs)


@form([(2, 5, 4, 3), (2, 1, 1, 3), (2, 5, 4, 1)])
def merges_broadcast(keras):
    L = keras.layers
    image, scale, mask = L.Input((None, None, 3)), L.Input((1, 1, 3)), L.Input((None, None, 1))
    outputs = [
        L.Multiply(name="scaled")([image, scale]),
        L.Add(name="shifted")([scale, image]),
        L.Multiply(name="masked")([image, mask]),
        L.Maximum(name="maximum")([image, mask]),
        L.Concatenate(axis=3, name="joined")([image, mask]),
        L.Concatenate(axis=2, name="columns")([image, image]),
    ]
    return keras.models.Model([image, scale, mask], outputs)


@form([(2, 3), (2, 3)])
def merges_vectors(keras):
    L = keras.layers
    a, b = inputs = [L.Input((3,)), L.Input((3,))]
    outputs = [
        L.Dot(axes=1, name="dot")(inputs),
        L.Dot(axes=-1, normalize=True, name="cosine")(inputs),
        L.Concatenate(name="join")([b, a]),
        L.Average(name="mean")(inputs),
    ]
    return keras.models.Model(inputs, outputs)


@form([(2, 3)], since=(2, 3))
def several_outputs_of_one(keras):
    """The input is an output, one tensor is an output twice, and one layer is unused."""
    L = keras.layers
    start = L.Input((3,), name="start")
    x = L.Dense(2, name="dense")(start)
    return keras.models.Model(start, [x, start, L.ReLU(name="relu")(x), x])


@form([(2, 4), (2, 4)], since=(2, 3), inputs=["left", "right"])
def dictionaries(keras):
    """Inputs and outputs by name."""
    L = keras.layers
    right, left = L.Input((4,), name="right"), L.Input((4,), name="left")
    x = L.Subtract(name="difference")([left, right])
    outputs = {"score": L.Dense(1, name="score")(x), "code": L.Dense(3, name="code")(x)}
    return keras.models.Model({"right": right, "left": left}, outputs)


@form([(2, 5)], [(1, 3)], integers=6)
def embedding(keras):
    L = keras.layers
    x = start = L.Input((None,), dtype="int32", name="words")
    x = L.Embedding(6, 4, name="embedding")(x)
    convolved = L.Conv1D(3, 3, padding="causal", activation="relu", name="conv")(x)
    return keras.models.Model(start, [x, L.GlobalMaxPooling1D(name="pool")(convolved)])


@form([IMAGE], [OTHER_IMAGE], compiled=True, every_kind=True)
def compiled(keras):
    """A file with regularizers, constraints, initializers, a loss, and an optimizer with its state."""
    L = keras.layers
    penalty = keras.regularizers.l2(0.001)
    first = L.Conv2D(
        4,
        3,
        padding="same",
        kernel_initializer="he_normal",
        bias_initializer=keras.initializers.Constant(0.5),
        kernel_regularizer=penalty,
        kernel_constraint=keras.constraints.MaxNorm(2.0),
        name="first",
    )
    norm = L.BatchNormalization(gamma_regularizer=penalty, name="norm")
    pool, head = L.GlobalAveragePooling2D(name="pool"), L.Dense(2, name="head")
    return sequential_of(keras, (None, None, 3), [first, norm, pool, head], "whole")


@form([(2, 4, 2)], [(2, 3, 2)])
def recurrent_states(keras):
    """An encoder passes its states to a decoder."""
    L = keras.layers
    start = L.Input((None, 2), name="words")
    _, hidden, cell = L.LSTM(3, return_state=True, name="encoder")(start)
    decoded = L.LSTM(3, return_sequences=True, name="decoder")(start, initial_state=[hidden, cell])
    gru, state = L.GRU(2, return_state=True, reset_after=True, name="gru")(decoded)
    return keras.models.Model(start, [L.Dense(2, name="head")(decoded), gru, state])


def cudnn_layer(name):
    """A layer of TensorFlow 1, which TensorFlow 2 computes on GPUs only."""

    def get(keras):
        import tensorflow

        return getattr(tensorflow.compat.v1.keras.layers, name)

    return get


CUDNN = {name: cudnn_layer(name) for name in ("CuDNNLSTM", "CuDNNGRU")}


@form(
    *([(2, 5, 3)], [(1, 7, 3)]),
    **dict(only=2, since=(2, 13), kinds=["h5"], custom=CUDNN, twin={"cudnn": False}),
)
def cudnn(keras, cudnn=True):
    L = keras.layers
    lstm, gru = (CUDNN[name](keras) for name in CUDNN) if cudnn else (L.LSTM, L.GRU)
    x = start = L.Input((None, 3))
    x = lstm(4, return_sequences=True, name="lstm")(x)
    x = gru(2, return_sequences=True, go_backwards=True, name="gru")(x)
    return keras.models.Model(start, L.Bidirectional(lstm(2, name="both"), name="bidirectional")(x))


@form([(2, 3, 6, 5)], [(1, 3, 7, 8)], twin={"data_format": "channels_last"})
def channels_first(keras, data_format="channels_first"):
    """A Keras model with channels first, most of which TensorFlow computes only on GPUs."""
    L, how = keras.layers, dict(data_format=data_format)
    axis = 1 if data_format == "channels_first" else 3
    x = start = L.Input((3, None, None) if axis == 1 else (None, None, 3))
    x = L.ZeroPadding2D(((0, 1), (0, 1)), name="pad", **how)(x)
    x = L.Conv2D(4, 3, strides=2, name="conv", **how)(x)
    x = L.BatchNormalization(axis=axis, name="norm")(x)
    x = L.DepthwiseConv2D(2, padding="same", name="depthwise", **how)(x)
    y = L.AveragePooling2D(2, strides=1, padding="same", name="average", **how)(x)
    x = L.Concatenate(axis=axis, name="join")([x, y])
    x = L.PReLU(shared_axes=[2, 3] if axis == 1 else [1, 2], name="prelu")(x)
    return keras.models.Model(start, [x, L.GlobalMaxPooling2D(name="pool", **how)(x)])


@form([(2, 3, 4, 5)], twin={"data_format": "channels_last"})
def channels_first_flatten(keras, data_format="channels_first"):
    L, how = keras.layers, dict(data_format=data_format)
    first = data_format == "channels_first"
    x = start = L.Input((3, 4, 5) if first else (4, 5, 3))
    x = L.Conv2D(2, 3, padding="same", name="conv", **how)(x)
    x = L.MaxPooling2D(2, name="pool", **how)(x)
    flat = L.Flatten(name="flatten", **how)(x)
    return keras.models.Model(start, L.Dense(3, name="dense")(flat))


@form([IMAGE], [OTHER_IMAGE], since=(2, 13), every_kind=True, twin={"policy": "float32"})
def mixed_precision(keras, policy="mixed_float16"):
    """A model for GPUs, whose weights are float32 and whose layers compute in float16."""
    L, how = keras.layers, dict(dtype=policy)
    x = start = image_input(keras)
    x = L.Conv2D(4, 3, padding="same", name="conv", **how)(x)
    x = L.BatchNormalization(name="norm", **how)(x)
    x = L.Activation("relu", name="relu", **how)(x)
    x = L.GlobalAveragePooling2D(name="pool", **how)(x)
    return keras.models.Model(start, L.Dense(2, dtype="float32", name="head")(x))
