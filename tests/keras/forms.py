"""The registry of the golden models' builders, and parts that several models share."""

#: The builder, the input shapes of each run, and the options of each model, by name.
FORMS = {}

IMAGE, OTHER_IMAGE = (2, 6, 5, 3), (1, 7, 8, 3)


def form(*runs, **how):
    """Register a builder. make_models.py reads the options ``how``."""

    def register(build):
        FORMS[build.__name__] = build, runs, how
        return build

    return register


def image_input(keras, name=None, channels=3):
    return keras.layers.Input((None, None, channels), name=name)


def sequential_of(keras, shape, layers, name=None):
    """Build a Sequential whose input has a shape."""
    if keras.__version__.startswith("2.2."):
        # It cannot read its own files of a Sequential with an InputLayer.
        layers[0].batch_input_shape, layers[0].dtype = (None, *shape), "float32"
        return keras.models.Sequential(layers, name=name)
    key = "shape" if keras.__version__ >= "3" else "input_shape"
    start = keras.layers.InputLayer(**{key: shape}, name=f"{name}_input" if name else None)
    return keras.models.Sequential([start, *layers], name=name)


def small_block(keras, name, layers, channels=3):
    x = start = image_input(keras, name + "_input", channels)
    for each in layers:
        x = each(x)
    return keras.models.Model(start, x, name=name)
