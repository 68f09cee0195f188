"""Compute one net of keras.applications in Keras. keras_models.py runs this in Keras' environment.

    python make_application.py list
    python make_application.py NET {top,body} FOLDER [--train]

writes ``FOLDER/<size>.h5`` or ``.keras`` and ``FOLDER/arrays.npz``: a net with random weights and
statistics, such that values neither vanish nor explode, and its outputs in float32 and float64 at
two sizes.
"""

import argparse
import json
import os
import re
import tempfile
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np

SIZES = 96, 107
#: Nets whose layers fit only the size that they are built for.
FIXED = "NASNetMobile", "NASNetLarge"
BATCH, TRAINING_BATCH, RATE = 2, 8, 0.01
#: Scale of the results of residual branches, and layers without weights at their ends.
DAMPING, PASSING = 0.2, ("Dropout", "StochasticDepth", "Activation", "Multiply")


def import_keras():
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow", CUDA_VISIBLE_DEVICES="-1")
    os.environ["KERAS_HOME"] = tempfile.mkdtemp()
    import keras

    return keras


def names(keras):
    """Return the names of all nets of keras.applications."""
    return [name for name in dir(keras.applications) if name[0].isupper()]


def build(keras, net, top, size):
    """Build a net without weights. With its top, it returns logits and has a fixed size."""
    keras.backend.clear_session()
    make = getattr(keras.applications, net)
    if top:
        return make(weights=None, input_shape=(size, size, 3), classifier_activation=None)
    shape = (size, size, 3) if net in FIXED else (None, None, 3)
    return make(weights=None, include_top=False, input_shape=shape)


def variant(keras, model, size, dtype):
    """Build a model of the same layers for another size, or with another precision.

    The function that built the net would give other layers, because the padding of some nets depends on
    the size.
    """
    keras.backend.clear_session()
    text = model.to_json().replace('"float32"', f'"{dtype}"')
    for shape in ("batch_shape", "batch_input_shape"):
        text = re.sub(rf'"{shape}": \[null, \d+, \d+,', f'"{shape}": [null, null, null,', text)
        text = text.replace(f'"{shape}": [null, null, null, 3]', f'"{shape}": [null, {size}, {size}, 3]')
    built = ("build_config", "build_input_shape")
    config = json.loads(text, object_hook=lambda item: {k: item[k] for k in item if k not in built})
    keras.backend.set_floatx(dtype)
    found = keras.models.model_from_json(json.dumps(config), custom_objects=custom_objects(keras))
    keras.backend.set_floatx("float32")
    return found


def split_groups(model):
    """Compute grouped convolutions group by group. TensorFlow's own take minutes in float64."""
    import tensorflow as tf

    def convolve(layer, x, kernel):
        strides, padding = (1, *layer.strides, 1), layer.padding.upper()
        kernel = tf.convert_to_tensor(kernel)
        if layer.groups == x.shape[-1]:
            kernel = tf.reshape(kernel, (*kernel.shape[:2], layer.groups, -1))
            return tf.nn.depthwise_conv2d(x, kernel, strides, padding)
        parts = zip(tf.split(x, layer.groups, -1), tf.split(kernel, layer.groups, -1))
        return tf.concat([tf.nn.conv2d(*part, strides, padding) for part in parts], -1)

    for layer in layers_of(model):
        if hasattr(layer, "convolution_op") and layer.groups > 1 and layer.dilation_rate == (1, 1):
            layer.convolution_op = layer._jit_compiled_convolution_op = partial(convolve, layer)


def set_weights(model, weights):
    """Set all weights, and update Normalization, which keeps the mean that it was built with."""
    model.set_weights(weights)
    for layer in layers_of(model):
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()


def custom_objects(keras):
    from keras.src.applications import convnext

    return {"LayerScale": convnext.LayerScale, "StochasticDepth": convnext.StochasticDepth}


def layers_of(model):
    for layer in model.layers:
        yield from layers_of(layer) if hasattr(layer, "layers") else [layer]


def ends_of_branches(model):
    """Return the last layer with weights of each residual branch, whose shortcut has no weights.

    Without damping there, random deep nets amplify rounding until nothing of float32 remains.
    """
    found = []
    for layer in layers_of(model):
        if type(layer).__name__ not in ("Add", "CustomScaleLayer"):
            continue
        ends = [last_with_weights(tensor) for tensor in layer.input]
        if None in ends:
            found += filter(None, ends)
    return found


def last_with_weights(tensor):
    """Return the layer that computes a tensor, or None if it has no weights."""
    while True:
        layer = tensor._keras_history[0]
        if layer.weights:
            return layer
        if type(layer).__name__ not in PASSING:
            return None
        tensor = layer.input[0] if isinstance(layer.input, list) else layer.input


def data(model, size, batch):
    """Return images in the net's range, which depends on whether it contains its preprocessing."""
    random = np.random.RandomState(size)
    kinds = {type(layer).__name__ for layer in layers_of(model)}
    low, high = (0, 255) if kinds & {"Rescaling", "Normalization"} else (-1, 1)
    return random.uniform(low, high, (batch, size, size, 3)).astype("float32")


def randomize(model, seed):
    """Draw all weights, then set each BatchNormalization's statistics to about those of some data."""
    random = np.random.RandomState(crc32(seed.encode()))
    damped = {id(weight) for layer in ends_of_branches(model) for weight in layer.weights}
    depthwise = {
        id(layer.weights[0])
        for layer in layers_of(model)
        if "Depthwise" in type(layer).__name__ or "Separable" in type(layer).__name__
    }

    def drawn(weight, old):
        name = getattr(weight, "path", weight.name).split("/")[-1]
        scale = DAMPING if id(weight) in damped else 1
        if not np.issubdtype(old.dtype, np.floating):
            return old
        if "variance" in name:
            return random.uniform(0.5, 1.5, old.shape)
        if "gamma" in name:
            return scale * random.uniform(0.5, 1.5, old.shape)
        if old.ndim < 2:
            return scale * random.normal(0, 0.1, old.shape)
        inputs = old.shape[0] * old.shape[1] if id(weight) in depthwise else old[..., 0].size
        return scale * random.normal(0, np.sqrt(2 / inputs), old.shape)

    pairs = zip(model.weights, model.get_weights())
    set_weights(model, [np.asarray(drawn(*pair), pair[1].dtype) for pair in pairs])
    # Statistics of one call without dropout, which would make them random.
    settings = {"momentum": 0.0, "rate": 0.0}
    olds = []
    for layer in layers_of(model):
        for name in settings.keys() & vars(layer).keys():
            olds.append((layer, name, getattr(layer, name)))
            setattr(layer, name, settings[name])
    size = model.input_shape[1] or SIZES[0]
    model(data(model, size, TRAINING_BATCH), training=True)
    for old in olds:
        setattr(*old)
    for layer in layers_of(model):
        if type(layer).__name__ == "BatchNormalization":
            mean, variance = np.asarray(layer.moving_mean), np.asarray(layer.moving_variance)
            shift = 0.1 * np.sqrt(variance) * random.normal(0, 1, mean.shape)
            layer.moving_mean.assign(mean + shift)
            variance = variance * random.uniform(0.8, 1.25, mean.shape)
            layer.moving_variance.assign(variance + 0.1 * variance.mean() + 1e-3)


def saved(keras, model, folder, kind):
    """Save and reload a model, and return it with the kind of its file."""
    path = folder / f"{SIZES[0]}.{kind}"
    model.save(str(path))
    try:
        again = keras.models.load_model(str(path), custom_objects=custom_objects(keras), compile=False)
    except Exception:
        if kind == "keras":
            raise
        path.unlink()  # Keras 3 cannot read all of its own .h5 files
        return saved(keras, model, folder, "keras")
    return again, kind


def trained(keras, model, dtype):
    """Return outputs in training mode, and in inference after a step of SGD on their mean square."""
    import tensorflow as tf

    x = data(model, SIZES[0], TRAINING_BATCH).astype(dtype)
    with tf.GradientTape() as tape:
        outputs = model(x, training=True)
        loss = tf.reduce_mean(outputs**2)
    weights = model.trainable_weights
    variables = weights if keras.__version__ < "3" else [weight.value for weight in weights]
    for weight, gradient in zip(weights, tape.gradient(loss, variables)):
        weight.assign(weight - RATE * gradient)
    return outputs.numpy(), model(x, training=False).numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("net")
    parser.add_argument("part", nargs="?", choices=["top", "body"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--train", action="store_true")
    options = parser.parse_args()
    keras = import_keras()
    if options.net == "list":
        print(keras.__version__, *names(keras))
        return
    net, top = options.net, options.part == "top"
    arrays = {}
    model = build(keras, net, top, SIZES[0])
    randomize(model, f"{net} {options.part}")
    # The parts use different kinds of files, so that both are tested.
    model, kind = saved(
        keras, model, options.folder, "h5" if top == (keras.__version__ < "3") else "keras"
    )
    weights = model.get_weights()
    for size in SIZES:
        new = size != SIZES[0] and net in FIXED
        single = build(keras, net, top, size) if new else variant(keras, model, size, "float32")
        if [w.shape for w in single.get_weights()] != [w.shape for w in weights]:
            new = True
            randomize(single, net)
            weights = single.get_weights()
        set_weights(single, weights)
        if new:
            single.save(str(options.folder / f"{size}.{kind}"))
        double = variant(keras, single, size, "float64")
        set_weights(double, weights)
        split_groups(double)
        x = data(model, size, BATCH)
        arrays[f"data {size}"] = x
        for each, dtype in ((single, "float32"), (double, "float64")):
            arrays[f"{dtype} {size}"] = each(x.astype(dtype), training=False).numpy()
            if options.train and size == SIZES[0]:
                arrays["data trained"] = data(model, size, TRAINING_BATCH)
                outputs = trained(keras, each, dtype)
                arrays[f"{dtype} training"], arrays[f"{dtype} stepped"] = outputs
    np.savez(options.folder / "arrays.npz", **arrays)


if __name__ == "__main__":
    main()
