"""Nested models, and layers and models that are used more than once."""

from forms import IMAGE, OTHER_IMAGE, form, image_input, sequential_of, small_block


def nested_as(keras, outer, inner, head):
    """A functional model and Sequential ones inside a functional one, two levels deep."""
    L = keras.layers
    convolution = L.Conv2D(4, 3, padding="same", name=inner)
    inside = sequential_of(keras, (None, None, 4), [convolution], "inside")
    backbone = small_block(
        keras, "backbone", [L.Conv2D(4, 1, name=outer), inside, L.BatchNormalization(name="norm")]
    )
    top = [L.GlobalAveragePooling2D(name="pool"), L.Dense(2, name=head)]
    top = sequential_of(keras, (None, None, 4), top, "top")
    start = image_input(keras)
    x = backbone(L.Activation("tanh", name="squash")(start))
    return keras.models.Model(start, [top(x), L.ReLU(name="relu")(x)])


@form([IMAGE], [OTHER_IMAGE], every_kind=True, activations=True)
def nested(keras):
    return nested_as(keras, "outer_conv", "inner_conv", "dense")


@form([IMAGE], [OTHER_IMAGE], since=(2, 13), kinds=["keras", "weights.h5"])
def nested_same_names(keras):
    """Layers with equal names in several inner models, which old files cannot contain."""
    return nested_as(keras, "layer", "layer", "layer")


@form([IMAGE], [OTHER_IMAGE], every_kind=True, since=(2, 3))
def nested_sequential(keras):
    """Sequential in Sequential, where the inner ones have no input layer."""
    L = keras.layers
    norm = [L.BatchNormalization(name="norm"), L.Activation("relu", name="relu")]
    block = keras.models.Sequential([L.Conv2D(4, 3, padding="same", name="conv"), *norm], name="block")
    last = L.Conv2D(2, 2, padding="same", name="last")
    deeper = keras.models.Sequential([block, last], name="deeper")
    first = L.Conv2D(3, 1, name="first")
    return sequential_of(
        keras, (None, None, 3), [first, deeper, L.GlobalMaxPooling2D(name="pool")], "whole"
    )


@form([IMAGE], [OTHER_IMAGE], every_kind=True, activations=True)
def nested_sequential_inside(keras):
    """A deferred Sequential used in a functional model: its node indices start at 1 in Keras 2."""
    L = keras.layers
    conv = L.Conv2D(3, 3, padding="same", name="conv")
    block = keras.models.Sequential([conv, L.BatchNormalization(name="norm")], name="block")
    start = image_input(keras)
    once = block(start)
    twice = block(once)
    return keras.models.Model(start, L.Add(name="add")([once, twice, start]))


@form([IMAGE], [OTHER_IMAGE], trained=(2, 3), every_kind=True, activations=True)
def nested_frozen(keras):
    """Frozen layers and a frozen inner model, whose weights move to the end of the group."""
    L = keras.layers
    frozen = L.Conv2D(4, 1, name="frozen")
    frozen.trainable = False
    free = [L.Conv2D(4, 3, padding="same", name="free"), L.BatchNormalization(name="norm")]
    partly = small_block(keras, "partly", [frozen, *free])
    wholly = small_block(
        keras,
        "wholly",
        [L.Conv2D(2, 3, name="conv"), L.BatchNormalization(name="norm"), L.Conv2D(2, 1, name="last")],
        channels=4,
    )
    wholly.trainable = False
    x = start = image_input(keras)
    x = wholly(partly(x))
    x = L.GlobalAveragePooling2D(name="pool")(x)
    return keras.models.Model(start, L.Dense(2, name="head")(x))


@form([(2, 4), (2, 4)])
def shared_layers(keras):
    """One layer that is called several times, with only one copy of its weights."""
    L = keras.layers
    a, b = L.Input((4,), name="a"), L.Input((4,), name="b")
    shared, again = L.Dense(4, activation="tanh", name="shared"), L.Dense(4, name="again")
    left, right = shared(a), shared(b)
    joined = L.Concatenate(name="join")([right, left, shared(again(left))])
    return keras.models.Model([a, b], [L.Dense(2, name="head")(joined), again(right), left])


@form([IMAGE, IMAGE], [OTHER_IMAGE, (1, 5, 3, 3)], every_kind=True, activations=True)
def shared_models(keras):
    """Siamese: one inner model on two images, its outputs subtracted, and BatchNorm shared as well."""
    L = keras.layers
    first = L.Conv2D(4, 3, strides=2, padding="same", name="conv")
    inner = [first, L.BatchNormalization(name="norm"), L.GlobalAveragePooling2D(name="pool")]
    tower = small_block(keras, "tower", inner)
    left, right = image_input(keras, "left"), image_input(keras, "right")
    far = L.Subtract(name="difference")([tower(left), tower(right)])
    return keras.models.Model([left, right], [L.Dense(1, activation="sigmoid", name="same")(far), far])


@form([(2, 4), IMAGE], [(1, 4), OTHER_IMAGE])
def several(keras):
    """Two inputs of different rank; an inner model of two inputs and two outputs."""
    L = keras.layers
    image, vector = image_input(keras, "inner_image"), L.Input((4,), name="inner_vector")
    pooled = L.GlobalAveragePooling2D(name="pool")(L.Conv2D(4, 3, name="conv")(image))
    added = L.Add(name="add")([pooled, vector])
    inner = keras.models.Model([image, vector], [added, pooled], name="inner")
    image, vector = image_input(keras, "image"), L.Input((4,), name="vector")
    one, two = inner([image, L.Dense(4, name="embed")(vector)])
    return keras.models.Model([vector, image], [L.Dense(2, name="b")(two), L.Dense(3, name="a")(one)])


@form([IMAGE], [OTHER_IMAGE], only=2, every_kind=True, since=(2, 3))
def names_with_slashes(keras):
    """Layer names with ``/``, as from scopes, which become nested groups in legacy files."""
    L = keras.layers
    x = start = keras.layers.Input((None, None, 3), name="image")
    x = L.Conv2D(4, 3, padding="same", name="block1/conv")(x)
    x = L.BatchNormalization(name="block1/conv/norm")(x)
    x = L.Conv2D(4, 1, name="block1")(x)
    x = L.Conv2D(2, 3, name="block2/conv")(x)
    return keras.models.Model(start, L.ReLU(name="block2/relu")(x))


@form([IMAGE], [OTHER_IMAGE], trained=(2,), since=(2, 3))
def inference_inside(keras):
    """A backbone and a BatchNormalization called with ``training=False``, as for transfer learning.

    Keras 3.15 trains them with the outer model anyway, so the test does not train it there.
    """
    L = keras.layers
    layers = [L.Conv2D(4, 3, padding="same", name="conv"), L.BatchNormalization(name="norm")]
    backbone = small_block(keras, "backbone", layers)
    start = image_input(keras)
    x = backbone(start, training=False)
    x = L.BatchNormalization(name="outer_norm")(x, training=False)
    x = L.GlobalAveragePooling2D(name="pool")(x)
    return keras.models.Model(start, L.Dense(2, name="head")(L.Dropout(0.0, name="dropout")(x)))


@form([(2, 3, 6, 5, 3)], [(1, 4, 7, 8, 3)], every_kind=True, since=(2, 3))
def time_distributed_models(keras):
    """A functional model on each image of a sequence, and a Sequential on each vector behind it."""
    L = keras.layers
    frozen = L.Conv2D(4, 1, name="frozen")
    frozen.trainable = False
    free = [L.Conv2D(2, 3, padding="same", strides=2, name="free"), L.BatchNormalization(name="norm")]
    images = small_block(keras, "images", [frozen, *free])
    top = [L.GlobalAveragePooling2D(name="pool"), L.Dense(3, activation="tanh", name="dense")]
    vectors = sequential_of(keras, (None, None, 2), top, "vectors")
    start = L.Input((None, None, None, 3), name="data")
    x = L.TimeDistributed(images, name="each_image")(start)
    y = L.TimeDistributed(vectors, name="each_vector")(L.ReLU(name="relu")(x))
    return keras.models.Model(start, [L.LSTM(2, name="lstm")(y), x])


@form([(2, 3), (2, 4)], [(3, 3), (3, 4)], since=(2, 13))
def models_by_name(keras):
    """Inner models that receive and return dicts, whose order is not that of the names."""
    L = keras.layers
    given = {"z": L.Input((3,), name="z"), "a": L.Input((4,), name="a")}
    y, b = L.Dense(2, name="of_z")(given["z"]), L.Dense(2, name="of_a")(given["a"])
    inner = keras.models.Model(given, {"y": y, "b": b}, name="inner")
    first, second = L.Input((3,), name="first"), L.Input((4,), name="second")
    found = inner({"a": second, "z": first})
    outputs = [found["y"], L.Subtract(name="difference")([found["b"], found["y"]])]
    return keras.models.Model([first, second], outputs)
