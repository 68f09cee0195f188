"""Layers that change values or the order of elements. Layers with windows are in layer_cases.py."""

from layer_cases import BORDERS, CONVOLUTIONS, NARROW_2D, OPEN_1D, POOLING, layer, on

FIXED_2D = (4, 3, 2), (4, 3, 2)

SHAPES = {
    "reshape": on(
        *FIXED_2D,
        flatten=layer("Flatten"),
        reshape=layer("Reshape", (2, 6, 2)),
        reshape_unknown=layer("Reshape", (3, -1)),
        reshape_flat=layer("Reshape", (24,)),
        reshape_deeper=layer("Reshape", (2, 2, 3, 2)),
        permute=layer("Permute", (2, 1, 3)),
        permute_channels=layer("Permute", (3, 1, 2)),
        permute_last=layer("Permute", (1, 3, 2)),
        dense=layer("Dense", 3),
    ),
    "reshape1d": on(
        (6,),
        (6,),
        repeat=layer("RepeatVector", 3),
        reshape=layer("Reshape", (3, 2)),
        reshape_image=layer("Reshape", (1, 2, 3)),
        flatten=layer("Flatten"),
        dense=layer("Dense", 3),
        dense_no_bias=layer("Dense", 2, use_bias=False, activation="relu"),
        dense_softmax=layer("Dense", 3, activation="softmax"),
    ),
    "sequence": on(
        (4, 3),
        (4, 3),
        flatten=layer("Flatten"),
        reshape=layer("Reshape", (2, 2, 3)),
        permute=layer("Permute", (2, 1)),
        dense=layer("Dense", 2, activation="relu"),
        batch_norm_axis_1=layer("BatchNormalization", axis=1),
    ),
}

NORMALIZATION = {
    "batch_norm": on(
        *NARROW_2D,
        plain=layer("BatchNormalization"),
        no_scale=layer("BatchNormalization", scale=False),
        no_center=layer("BatchNormalization", center=False),
        neither=layer("BatchNormalization", scale=False, center=False),
        epsilon=layer("BatchNormalization", epsilon=0.1, momentum=0.9),
        axis_last=layer("BatchNormalization", axis=3),
        frozen=layer("BatchNormalization", trainable=False),
    ),
    "batch_norm_axis": on(
        *FIXED_2D,
        axis_1=layer("BatchNormalization", axis=1),
        axis_2=layer("BatchNormalization", axis=2, scale=False),
        axis_last=layer("BatchNormalization", axis=-1),
    ),
    "batch_norm1d": on((4,), (4,), plain=layer("BatchNormalization")),
    "layer_norm": on(
        (None, None, 4),
        (3, 4, 4),
        (2, 3, 4),
        plain=layer("LayerNormalization"),
        epsilon=layer("LayerNormalization", epsilon=0.01),
        no_scale=layer("LayerNormalization", scale=False),
        no_center=layer("LayerNormalization", center=False),
        group=layer("GroupNormalization", 2),
        group_each=layer("GroupNormalization", -1),
        group_one=layer("GroupNormalization", 1, epsilon=0.01, scale=False),
        group_no_center=layer("GroupNormalization", 4, center=False),
        unit=layer("UnitNormalization"),
        rms=layer("RMSNormalization"),
    ),
    "layer_norm_axis": on(
        *FIXED_2D,
        axis_1=layer("LayerNormalization", axis=1),
        all_axes=layer("LayerNormalization", axis=(1, 2, 3)),
        last_two=layer("LayerNormalization", axis=[2, 3], scale=False),
        unit_axis_1=layer("UnitNormalization", axis=1),
        unit_all=layer("UnitNormalization", axis=(1, 2, 3)),
    ),
    "normalization": on(
        (None, None, 4),
        (3, 4, 4),
        weights=layer("Normalization"),
        arguments=layer("Normalization", mean=[0.1, -0.5, 2.0, 0.0], variance=[0.5, 1.0, 2.0, 4.0]),
        scalars=layer("Normalization", axis=None, mean=0.5, variance=4.0),
        rescaling=layer("Rescaling", 2.5),
        rescaling_offset=layer("Rescaling", 1 / 127.5, offset=-1),
        rescaling_channels=layer("Rescaling", [1.0, 2.0, 0.5, 4.0], offset=[0.0, 1.0, -1.0, 0.5]),
    ),
    "noise": on(
        *NARROW_2D,
        dropout=layer("Dropout", 0.5),
        dropout_shape=layer("Dropout", 0.5, noise_shape=(None, 1, 1, None)),
        spatial_dropout=layer("SpatialDropout2D", 0.5),
        alpha_dropout=layer("AlphaDropout", 0.5),
        gaussian_dropout=layer("GaussianDropout", 0.5),
        gaussian_noise=layer("GaussianNoise", 0.5),
        activity=layer("ActivityRegularization", l1=0.1),
        identity=layer("Identity"),
        linear=layer("Activation", "linear"),
    ),
    "images": on(
        (None, None, 3),
        (6, 5, 3),
        (4, 7, 3),
        resizing=layer("Resizing", 5, 8),
        flip=layer("RandomFlip"),
        rotation=layer("RandomRotation", 0.1),
        translation=layer("RandomTranslation", 0.1, 0.1),
        zoom=layer("RandomZoom", 0.1),
        contrast=layer("RandomContrast", 0.1),
        brightness=layer("RandomBrightness", 0.1),
        sparsemax_keras3=layer("Activation", "sparsemax"),
    ),
    "noise1d": on((None, 2), (3, 2), spatial_dropout=layer("SpatialDropout1D", 0.5)),
    "noise3d": on((2, 2, 2, 2), (2, 2, 2, 2), spatial_dropout=layer("SpatialDropout3D", 0.5)),
}

EVERYWHERE = ["linear", "elu", "exponential", "hard_sigmoid", "relu", "selu", "sigmoid", "softmax"]
EVERYWHERE += ["softplus", "softsign", "tanh"]
LATER = ["gelu", "mish", "swish"]
IN_KERAS_3 = [
    "celu",
    "hard_shrink",
    "hard_silu",
    "hard_tanh",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
]
IN_KERAS_3 += ["relu6", "silu", "soft_shrink", "sparse_plus", "sparse_sigmoid", "squareplus"]
IN_KERAS_3 += ["tanh_shrink"]

ACTIVATIONS = {
    "activations": on(
        *NARROW_2D, **{name: layer("Activation", name) for name in EVERYWHERE + LATER + IN_KERAS_3}
    ),
    "activation_arguments": on(
        *OPEN_1D, **{name: layer("Conv1D", 2, 1, activation=name) for name in EVERYWHERE + LATER}
    ),
    "activations1d": on(
        (5,), (5,), **{name: layer("Dense", 2, activation=name) for name in EVERYWHERE + LATER}
    ),
    "activation_layers": on(
        *NARROW_2D,
        relu=layer("ReLU"),
        relu_6=layer("ReLU", 6.0),
        relu_max=layer("ReLU", 0.5),
        relu_slope=layer("ReLU", negative_slope=0.2),
        relu_threshold=layer("ReLU", threshold=0.3),
        relu_all=layer("ReLU", max_value=0.8, negative_slope=0.1, threshold=0.2),
        leaky=layer("LeakyReLU"),
        leaky_alpha_keras2=layer("LeakyReLU", alpha=0.2),
        leaky_slope_keras3=layer("LeakyReLU", negative_slope=0.2),
        elu=layer("ELU"),
        elu_alpha=layer("ELU", alpha=0.5),
        thresholded_keras2=layer("ThresholdedReLU", theta=0.5),
        softmax=layer("Softmax"),
        softmax_rows=layer("Softmax", axis=1),
        softmax_columns=layer("Softmax", axis=2),
        prelu_shared=layer("PReLU", shared_axes=[1, 2]),
        prelu_one=layer("PReLU", shared_axes=[1, 2, 3]),
    ),
    "prelu": on(
        *FIXED_2D,
        own=layer("PReLU"),
        rows_shared=layer("PReLU", shared_axes=[1]),
        columns_shared=layer("PReLU", shared_axes=[2]),
        channels_shared=layer("PReLU", shared_axes=[3]),
    ),
    "prelu1d": on((5,), (5,), own=layer("PReLU"), leaky=layer("LeakyReLU"), softmax=layer("Softmax")),
}

SEQUENCES = {
    "rnn": on(
        (None, 3),
        (5, 3),
        (3, 3),
        simple=layer("SimpleRNN", 2),
        simple_relu=layer("SimpleRNN", 2, activation="relu", return_sequences=True),
        simple_no_bias=layer("SimpleRNN", 2, use_bias=False, go_backwards=True),
        lstm=layer("LSTM", 2),
        lstm_sequences=layer("LSTM", 2, return_sequences=True),
        lstm_backwards=layer("LSTM", 2, go_backwards=True, return_sequences=True),
        lstm_activations=layer("LSTM", 2, activation="relu", recurrent_activation="hard_sigmoid"),
        lstm_no_bias=layer("LSTM", 2, use_bias=False),
        gru=layer("GRU", 2, reset_after=True),
        gru_before=layer("GRU", 2, reset_after=False),
        gru_sequences=layer("GRU", 2, return_sequences=True, reset_after=True),
        gru_no_bias=layer("GRU", 2, use_bias=False, reset_after=True),
    ),
    "rnn_dropout": on(
        (None, 3),
        (5, 3),
        (3, 3),
        simple=layer("SimpleRNN", 2, dropout=0.2, recurrent_dropout=0.3),
        lstm=layer("LSTM", 2, dropout=0.2, recurrent_dropout=0.3),
        gru=layer("GRU", 2, reset_after=True, recurrent_dropout=0.3),
    ),
}


def wrapped(wrapper, inner, **named):
    """Return a wrapper around a layer. make_models.py builds the inner layer first."""
    return wrapper, (inner,), named


WRAPPERS = {
    "bidirectional": on(
        (None, 3),
        (5, 3),
        (3, 3),
        concat=wrapped("Bidirectional", layer("LSTM", 2)),
        sequences=wrapped("Bidirectional", layer("LSTM", 2, return_sequences=True)),
        summed=wrapped("Bidirectional", layer("GRU", 2, reset_after=True), merge_mode="sum"),
        averaged=wrapped("Bidirectional", layer("SimpleRNN", 2), merge_mode="ave"),
        multiplied=wrapped("Bidirectional", layer("LSTM", 2, return_sequences=True), merge_mode="mul"),
    ),
    "time_distributed": on(
        (2, None, None, 2),
        (2, 3, 4, 2),
        (2, 4, 3, 2),
        conv=wrapped("TimeDistributed", layer("Conv2D", 2, 3, padding="same", strides=2)),
        depthwise=wrapped("TimeDistributed", layer("DepthwiseConv2D", 2, padding="same")),
        pool=wrapped("TimeDistributed", layer("MaxPooling2D", 2, padding="same")),
        global_pool=wrapped("TimeDistributed", layer("GlobalAveragePooling2D")),
        batch_norm=wrapped("TimeDistributed", layer("BatchNormalization")),
        relu=wrapped("TimeDistributed", layer("ReLU", 6.0)),
        dense=wrapped("TimeDistributed", layer("Dense", 2)),
    ),
    "time_distributed_fixed": on(
        (3, 2, 4),
        (3, 2, 4),
        flatten=wrapped("TimeDistributed", layer("Flatten")),
        dense=wrapped("TimeDistributed", layer("Dense", 2, activation="relu")),
        conv=wrapped("TimeDistributed", layer("Conv1D", 2, 2)),
        lstm=wrapped("TimeDistributed", layer("LSTM", 2)),
    ),
}

GROUPS = {
    **CONVOLUTIONS,
    **POOLING,
    **BORDERS,
    **SHAPES,
    **NORMALIZATION,
    **ACTIVATIONS,
    **SEQUENCES,
    **WRAPPERS,
}
