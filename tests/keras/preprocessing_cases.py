"""Layers that prepare data, and layers that one generation of Keras has, in archives of their own."""

from forms import form

in_functions = dict(archive="functions", since=(2, 13))


def data(keras, *shape, dtype="float32"):
    return keras.layers.Input(shape, dtype=dtype, name="data")


@form([(2, 4)], **in_functions, integers=5)
def encodings(keras):
    """Encodings of whole numbers."""
    L, x = keras.layers, data(keras, 4, dtype="int64")
    one, outputs = x[:, :1], []
    for mode in ("multi_hot", "count"):
        outputs.append(L.CategoryEncoding(6, output_mode=mode, name=f"category_{mode}")(x))
    outputs.append(L.CategoryEncoding(6, output_mode="one_hot", name="one_hot")(one))
    keys = [3, 1, 7, -2]
    for oov in (1, 2):
        look_up = L.IntegerLookup(vocabulary=keys, num_oov_indices=oov, mask_token=0, name=f"ids{oov}")
        outputs.append(L.Embedding(9, 3, name=f"embedding{oov}")(look_up(x)))
    far = L.IntegerLookup(vocabulary=[2, 10**10, 4], output_mode="multi_hot", name="far")
    outputs.append(far(x))
    if keras.__version__ >= "3":
        idf = dict(output_mode="tf_idf", idf_weights=[0.5, 0.25, 2.0, 1.0])
        outputs.append(L.IntegerLookup(vocabulary=keys, name="tf_idf", **idf)(x))
    padded = dict(max_tokens=8, pad_to_max_tokens=True, output_mode="count")
    outputs.append(L.IntegerLookup(vocabulary=keys, name="padded", **padded)(x))
    return keras.models.Model(x, outputs)


@form([(2, 4)], **in_functions, integers=10**9)
def hashes(keras):
    """Bins of whole numbers by the hashes of their digits."""
    L, x = keras.layers, data(keras, 4, dtype="int64")
    salted = dict(salt=17, mask_value=0, output_mode="multi_hot")
    outputs = [
        L.Hashing(50, mask_value=3, name="masked")(x % 5),
        L.Hashing(9, name="salted", **salted)(x),
    ]
    outputs += [L.Hashing(6, output_mode="one_hot", name="one_hot")(x[:, :1] * -10000)]
    return keras.models.Model(x, outputs)


@form([(3, 4)], **in_functions)
def discretization(keras):
    """Numbers put into bins."""
    L, x = keras.layers, data(keras, 4)
    bounds = [-1.0, -0.2, 0.0, 0.7]
    outputs = [L.Embedding(5, 2, name="embedding")(L.Discretization(bounds, name="bins")(x))]
    for mode in ("multi_hot", "count"):
        outputs.append(L.Discretization(bounds, output_mode=mode, name=mode)(x))
    outputs.append(L.Discretization(bounds, output_mode="one_hot", name="one_hot")(x[:, :1]))
    return keras.models.Model(x, outputs)


@form([(2, 7, 9, 3)], **in_functions)
def image_preprocessing(keras):
    """Crops, sizes and contrasts of images."""
    L, x = keras.layers, data(keras, 7, 9, 3)
    outputs = [L.CenterCrop(4, 5, name="even")(x), L.CenterCrop(5, 4, name="odd")(x)]
    outputs += [L.CenterCrop(8, 8, name="enlarged")(x)]
    for how in ("nearest", "bicubic"):
        outputs += [L.Resizing(5, 12, interpolation=how, name=f"resizing_{how}")(x)]
        outputs += [L.UpSampling2D((2, 3), interpolation=how, name=f"upsampling_{how}")(x)]
    outputs += [L.Softmax(axis=[1, 2], name="softmax")(x) if keras.__version__ < "3" else x]
    if keras.__version__ < "3":
        outputs += [L.RandomCrop(4, 5, name="random_crop")(x), L.RandomCrop(8, 4, name="wide")(x)]
    else:
        outputs += [L.AutoContrast((-3, 3), name="contrast")(x)]
        outputs += [L.Solarization(0.3, value_range=(-3, 3), name="solarization")(x)]
    return keras.models.Model(x, outputs)


@form([(2, 6, 9, 3)], **in_functions)
def resizing_methods(keras):
    """Resizing by weights, to smaller, larger and equal sizes."""
    L, x = keras.layers, data(keras, 6, 9, 3)
    methods, sizes, outputs = ["lanczos3", "lanczos5", "area"], [(4, 3), (11, 20), (13, 5), (6, 9)], []
    if keras.__version__ < "3":
        from tensorflow import image

        methods += ["gaussian", "mitchellcubic"]
        resize = lambda x, size, method, antialias: image.resize(  # noqa: E731
            x, size, method, antialias=antialias
        )
    else:
        resize = keras.ops.image.resize
    for method in methods:
        outputs += [
            L.Resizing(*size, interpolation=method, name=f"{method}{size[0]}")(x) for size in sizes
        ]
        outputs += [resize(x, size, method, antialias=True) for size in sizes]
    return keras.models.Model(x, outputs)


@form([(2, 6, 9, 3)], **in_functions)
def aspect_ratios(keras):
    """Resizing after a crop to the new aspect ratio, or padding."""
    L, x, outputs = keras.layers, data(keras, 6, 9, 3), []
    for i, size in enumerate([(4, 9), (7, 3), (12, 18), (1, 5)]):
        outputs += [L.Resizing(*size, crop_to_aspect_ratio=True, name=f"cropped{i}")(x)]
        if keras.__version__ >= "3":
            how = dict(pad_to_aspect_ratio=True, fill_value=2.0)
            outputs += [L.Resizing(*size, interpolation="nearest", name=f"padded{i}", **how)(x)]
            outputs += [keras.ops.image.resize(x, size, antialias=True, **how)]
            outputs += [keras.ops.image.resize(x, size, "bicubic", crop_to_aspect_ratio=True)]
    return keras.models.Model(x, outputs)


@form([(2, 4, 3, 1)], **in_functions, only=3, integers=255)
def resized_numbers(keras):
    """Resizing of whole numbers, which Keras 3 rounds."""
    L, x, resize = keras.layers, data(keras, 4, 3, 1, dtype="int32"), keras.ops.image.resize
    outputs = [resize(x, (8, 6)), resize(x, (3, 7), "nearest"), L.Resizing(16, 3, name="layer")(x)]
    return keras.models.Model(x, [keras.ops.cast(y, "float32") for y in outputs])


@form([(2, 5, 7, 3)], **in_functions, only=3)
def adaptive_pooling(keras):
    """Poolings with an output size."""
    L, x = keras.layers, data(keras, 5, 7, 3)
    line, cube = L.Reshape((35, 3), name="line")(x), L.Reshape((5, 7, 3, 1), name="cube")(x)
    outputs = []
    for kind in ("Average", "Max"):
        outputs += [getattr(L, f"Adaptive{kind}Pooling1D")(4)(line)]
        outputs += [getattr(L, f"Adaptive{kind}Pooling2D")(each)(x) for each in ((2, 3), (4, 3))]
        outputs += [getattr(L, f"Adaptive{kind}Pooling3D")((2, 3, 2))(cube)]
    return keras.models.Model(x, outputs)


@form([(2, 4, 5, 2)], **in_functions, only=2)
def locally_connected(keras):
    """Convolutions with another kernel at each position."""
    L, x = keras.layers, data(keras, 4, 5, 2)
    line = L.Reshape((10, 4), name="line")(x)
    outputs = [L.LocallyConnected2D(2, (3, 2), name="plain")(x)]
    outputs += [L.LocallyConnected2D(2, 3, strides=(1, 2), activation="relu", name="strided")(x)]
    outputs += [L.LocallyConnected2D(2, 2, implementation=2, name="pairs", use_bias=False)(x)]
    outputs += [L.LocallyConnected2D(2, 3, padding="same", implementation=2, name="same")(x)]
    outputs += [L.LocallyConnected1D(4, 3, name="line_plain")(line)]
    outputs += [L.LocallyConnected1D(4, 4, padding="same", implementation=2, name="line_same")(line)]
    return keras.models.Model(x, outputs)


@form([(2, 5, 6, 3)], **in_functions, only=3, every_kind=True)
def spectral_normalization(keras):
    """Layers whose kernels were divided by their norm."""
    L, start = keras.layers, data(keras, 5, 6, 3)
    x = L.SpectralNormalization(L.Conv2D(4, 3, activation="relu"), name="first")(start)
    x = L.Flatten(name="flat")(x)
    return keras.models.Model(start, L.SpectralNormalization(L.Dense(3), 2, name="last")(x))


@form([(2, 5, 6, 3)], **in_functions, only=3)
def low_rank_updates(keras):
    """Layers with LoRA, whose kernels Keras saves with the updates."""
    L, start = keras.layers, data(keras, 5, 6, 3)
    layers = [L.Conv2D(4, 3, name="conv"), L.EinsumDense("abcd,de->abce", (None, None, 5), name="sum")]
    layers += [L.Dense(4, name="dense")]
    x = start
    for layer in layers:
        x = layer(x)
        layer.enable_lora(2)
    return keras.models.Model(start, x)


@form([(2, 4, 5, 3), (2, 5, 3), (2, 3)], **in_functions)
def ranks(keras):
    """Arrays with fewer axes receive new ones after the batch."""
    L, shapes = keras.layers, [(4, 5, 3), (5, 3), (3,)]
    starts = x, y, z = [L.Input(shape, name=f"x{i}") for i, shape in enumerate(shapes)]
    outputs = [L.Multiply(name="product")([x, y]), L.Add(name="sum")([z, y, x])]
    outputs += [L.Maximum(name="largest")([y, z]), L.Average(name="mean")([y, x])]
    outputs += [L.Multiply(name="after")([L.Conv2D(3, 1, name="conv")(x), y])]
    return keras.models.Model(starts, outputs)


@form([(2, 96)], archive="functions", since=(3, 13))
def mel_spectrograms(keras):
    """Short-time Fourier transforms, and their bands on the mel scale."""
    L, x = keras.layers, data(keras, 96)
    fast = dict(sampling_rate=8000, min_freq=100.0, max_freq=3900.0, num_mel_bins=6)
    outputs = [
        L.MelSpectrogram(fft_length=32, sequence_stride=8, **fast, name="decibels")(x),
        L.MelSpectrogram(
            fft_length=33,
            sequence_length=20,
            sequence_stride=16,
            window="hamming",
            **fast,
            mag_exp=1.0,
            power_to_db=False,
            name="magnitudes",
        )(x),
        L.MelSpectrogram(
            fft_length=16,
            sequence_stride=4,
            window=None,
            num_mel_bins=3,
            sampling_rate=8000,
            top_db=3.0,
            ref_power=-2.0,
            name="clipped",
        )(x),
        *keras.ops.stft(x, 20, 7, 32),
        *keras.ops.stft(x, 16, 16, 16, window=None, center=False),
    ]
    return keras.models.Model(x, outputs)


@form([(2, 40, 3)], [(1, 64, 3)], archive="functions", since=(3, 13))
def stft_spectrograms(keras):
    """Spectrograms by kernels that are weights, with every mode of the result."""
    x = keras.layers.Input((None, 3), name="data")
    outputs = []
    for i, mode in enumerate(("log", "magnitude", "psd", "real", "imag", "angle", "stft")):
        how = dict(frame_length=10, frame_step=4, padding="same") if i % 2 else dict(frame_length=12)
        how.update(expand_dims=i > 3, window=None, name=f"spectrogram_{mode}")
        outputs.append(keras.layers.STFTSpectrogram(mode=mode, **how)(x))
    return keras.models.Model(x, outputs)
