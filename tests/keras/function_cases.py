"""Models that contain functions of tensors, and models that are refused."""

import numpy as np
from forms import IMAGE, OTHER_IMAGE, form, image_input, small_block


@form([IMAGE], [OTHER_IMAGE], since=(2, 13))
def activation_layer_argument(keras):
    """Activations given as layers."""
    L = keras.layers
    slope = {"alpha": 0.2} if keras.__version__ < "3" else {"negative_slope": 0.2}
    x = start = image_input(keras)
    x = L.Conv2D(3, 3, padding="same", activation=L.LeakyReLU(**slope), name="leaky")(x)
    x = L.Conv2D(2, 1, activation=L.ReLU(6.0), name="relu6")(x)
    return keras.models.Model(start, x)


@form([IMAGE], [OTHER_IMAGE], since=(2, 13), every_kind=True, operations=True)
def squeeze_excite(keras):
    """MobileNetV3's block: hard sigmoid as ReLU(6)(x + 3) / 6, global pooling, a product."""
    L = keras.layers
    x = start = image_input(keras)
    x = L.Conv2D(4, 3, strides=2, padding="same", name="conv")(x)
    x = L.Multiply(name="hard_swish")([x, L.ReLU(6.0, name="gate")(x + 3.0) * (1.0 / 6.0)])
    s = L.GlobalAveragePooling2D(keepdims=True, name="squeeze")(x)
    s = L.Conv2D(2, 1, activation="relu", name="reduce")(s)
    s = L.Conv2D(4, 1, name="expand")(s)
    s = L.ReLU(6.0, name="gate2")(s + 3.0) * (1.0 / 6.0)
    return keras.models.Model(start, L.Multiply(name="excite")([x, s]))


@form(
    [(2, 2, 3, 3), (2, 1, 1, 3)],
    [(1, 3, 2, 3), (1, 1, 1, 3)],
    since=(2, 3),
    every_kind=True,
    operations=True,
)
def arithmetic(keras):
    """Python's operators on tensors, with scalars on either side."""
    image, scale = image_input(keras, "image"), keras.layers.Input((1, 1, 3), name="scale")
    positive = keras.layers.Activation("exponential", name="positive")(image)
    outputs = [image + 1, 1 + image, image - 2, 2 - image, image * 3, 0.5 * image, image / 4]
    outputs += [1.0 / positive, -image, image**2, positive**0.5, 2**image]
    outputs += [image + scale, scale + image, image - scale, scale - image, image * scale]
    outputs += [scale / positive, abs(image), image + np.array([1.0, 2.0, 3.0], "float32")]
    return keras.models.Model([image, scale], outputs)


@form([(2, 2, 3, 3)], [(1, 3, 2, 3)], only=2, since=(2, 13))
def functions(keras):
    """TensorFlow's functions on Keras' tensors, which Keras 2 turns into TFOpLambda layers."""
    import tensorflow as tf

    x = image_input(keras, "image")
    y = tf.math.exp(x)
    outputs = [tf.nn.relu(x), tf.nn.relu6(x * 4.0), tf.nn.sigmoid(x), tf.tanh(x), tf.nn.softmax(x)]
    outputs += [tf.nn.silu(x), tf.nn.leaky_relu(x, alpha=0.3), tf.nn.elu(x), tf.nn.softplus(x)]
    outputs += [tf.concat([x, y], -1), tf.concat([x, y], axis=1), tf.maximum(x, y), tf.minimum(x, 0.5)]
    outputs += [tf.reduce_mean(x, [1, 2]), tf.reduce_mean(x, axis=[1, 2], keepdims=True)]
    outputs += [tf.reduce_max(x, axis=-1), tf.reduce_sum(x, 3, keepdims=True), tf.reduce_mean(x, -1)]
    outputs += [tf.abs(x), tf.sqrt(y), tf.square(x), tf.math.log(y), tf.clip_by_value(x, -0.5, 0.7)]
    outputs += [tf.add(x, y), tf.subtract(1.0, x), tf.multiply(x, y), tf.divide(x, y), tf.pow(y, 0.5)]
    outputs += [tf.math.rsqrt(y), tf.negative(x), tf.identity(x), tf.add_n([x, y, x])]
    outputs += [tf.cast(x, "float32"), tf.nn.gelu(x), tf.nn.selu(x), tf.math.sin(x)]
    return keras.models.Model(x, outputs)


@form([(2, 2, 3, 3)], [(1, 3, 2, 3)], only=3)
def operations(keras):
    """Keras 3's operations on tensors."""
    ops, x = keras.ops, image_input(keras, "image")
    y = ops.exp(x)
    outputs = [ops.relu(x), ops.relu6(x * 4.0), ops.sigmoid(x), ops.tanh(x), ops.softmax(x)]
    outputs += [ops.silu(x), ops.leaky_relu(x, 0.3), ops.elu(x), ops.softplus(x), ops.gelu(x)]
    outputs += [ops.concatenate([x, y], -1), ops.concatenate([x, y], axis=1)]
    outputs += [ops.mean(x, [1, 2]), ops.mean(x, axis=[1, 2], keepdims=True), ops.max(x, axis=-1)]
    outputs += [ops.sum(x, 3, keepdims=True), ops.mean(x, -1), ops.maximum(x, y), ops.minimum(x, 0.5)]
    outputs += [ops.abs(x), ops.sqrt(y), ops.square(x), ops.log(y), ops.clip(x, -0.5, 0.7)]
    outputs += [ops.add(x, y), ops.subtract(1.0, x), ops.multiply(x, y), ops.divide(x, y)]
    outputs += [ops.power(y, 0.5), ops.rsqrt(y), ops.negative(x), ops.identity(x) if 0 else ops.sin(x)]
    outputs += [ops.hard_sigmoid(x), ops.hard_silu(x), ops.selu(x), ops.add(x, 2), ops.multiply(3, x)]
    return keras.models.Model(x, outputs)


@form([(1, 4, 6, 4)], only=2, since=(2, 13))
def functions_of_shape(keras):
    """Slices and functions that move elements."""
    import tensorflow as tf

    x = keras.layers.Input((4, 6, 4), name="image")
    outputs = [x[:, 1:], x[:, :, 1:-1], x[..., :2], x[:, ::2, ::2], x[..., 1], x[:, 0]]
    outputs += [tf.reshape(x, (-1, 24, 4)), tf.transpose(x, [0, 2, 1, 3]), tf.transpose(x, [0, 3, 1, 2])]
    outputs += [
        tf.expand_dims(x, 1),
        tf.squeeze(x[:, :1], axis=1),
        tf.pad(x, [[0, 0], [1, 0], [0, 2], [0, 0]]),
    ]
    outputs += [*tf.split(x, 2, axis=-1), tf.stack([x, x + 1.0], axis=1)]
    outputs += [tf.nn.depth_to_space(x, 2), tf.nn.space_to_depth(x, 2)]
    return keras.models.Model(x, outputs)


@form([(1, 4, 6, 4)], only=3)
def operations_of_shape(keras):
    """Slices and operations that move elements."""
    ops, x = keras.ops, keras.layers.Input((4, 6, 4), name="image")
    outputs = [x[:, 1:], x[:, :, 1:-1], x[..., :2], x[:, ::2, ::2], x[..., 1], x[:, 0]]
    outputs += [
        ops.reshape(x, (-1, 24, 4)),
        ops.transpose(x, [0, 2, 1, 3]),
        ops.transpose(x, [0, 3, 1, 2]),
    ]
    outputs += [ops.expand_dims(x, 1), ops.squeeze(x[:, :1], axis=1)]
    outputs += [ops.pad(x, [[0, 0], [1, 0], [0, 2], [0, 0]]), ops.stack([x, x + 1.0], axis=1)]
    outputs += [*ops.split(x, 2, axis=-1)]
    return keras.models.Model(x, outputs)


@form([(2, 4, 6, 4)], only=2, since=(2, 3), until=(2, 3))
def nodes(keras):
    """Functions that TensorFlow 2.2 saved as nodes, whose attributes are arguments."""
    import tensorflow as tf

    x = keras.layers.Input((4, 6, 4), name="image")
    nn, m, s, grid = tf.nn, tf.math, tf.shape(x), np.arange(72).reshape((3, 3, 4, 2)).astype("float32")
    kernel, line, flat = (grid % 7 - 3) / 8, np.float32([0.5, -1.0, 2.0, 1.5]), x[:, :, 0]
    outputs = [tf.reduce_mean(x, [1, 2], keepdims=True), tf.reduce_sum(x, -1, keepdims=True), x % 2.0]
    outputs += [x[:, 0], x[:, 1:, ::2, :2], x[..., 1:3], x[:, -1:, :, None], x[:, ::-1], x[..., 2]]
    outputs += [tf.matmul(flat, flat, transpose_b=True), tf.squeeze(x[:, :1, :1], [1]), tf.argmax(x, 1)]
    outputs += [nn.leaky_relu(x, 0.3), tf.cumsum(x, 1, exclusive=True), tf.cumsum(x, 2, reverse=True)]
    outputs += [tf.stack([x, x * 2.0], 1), tf.unstack(x, axis=1)[0], *tf.split(x, 2, -1)]
    outputs += [*tf.split(x, [1, 3], -1), tf.concat([x, x + 1.0], 1), nn.depth_to_space(x, 2)]
    outputs += [nn.conv2d(x, kernel, 2, "SAME"), nn.conv2d(x, kernel, 1, "VALID"), nn.relu6(x)]
    outputs += [nn.conv2d(x, kernel, 1, "SAME", dilations=2), nn.max_pool2d(x, 3, 2, "SAME")]
    outputs += [nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME"), nn.avg_pool2d(x, 2, 2, "VALID")]
    outputs += [nn.conv2d_transpose(x, np.swapaxes(kernel, 2, 3), [2, 8, 12, 2], 2), nn.lrn(x, 2)]
    outputs += [tf.image.resize(x, [7, 9]), tf.image.resize(x, s[1:3] * 2), m.top_k(x, 2)[0]]
    outputs += [
        tf.compat.v1.image.resize_bilinear(x, [7, 9], align_corners=True),
        tf.gather(x, [0, 2], axis=3),
    ]
    outputs += [tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")]
    outputs += [tf.pad(x, [[0, 0], [1, 1], [2, 2], [0, 0]], "REFLECT"), tf.reshape(x, [s[0], -1, 4])]
    outputs += [
        tf.image.adjust_saturation(tf.sigmoid(x[..., :3]), 2.0),
        tf.image.adjust_contrast(x, 2.0),
    ]
    outputs += [tf.pad(x, [[0, 0], [1, 1], [0, 2], [0, 0]], constant_values=3.0)]
    outputs += [tf.one_hot(tf.argmax(x, -1), 4, 0.9, 0.1), tf.einsum("bhwc,cd->bhwd", x, kernel[0, 0])]
    outputs += [nn.batch_normalization(x, line, line**2, line, line, 0.1), tf.where(x > 0.0, x, x * 0.1)]
    return keras.models.Model(x, [tf.cast(y, tf.float32) for y in outputs])


@form([IMAGE], refused=True, since=(2, 13))
def refused(keras):
    """Layers that are unsafe or not supported. One error must list all of them."""
    L = keras.layers
    inside = small_block(keras, "inside", [L.Lambda(lambda x: x * 2, name="secret")])
    x = start = image_input(keras)
    x = L.RandomFlip(name="flip")(inside(x))
    x = L.Conv2D(2, 3, name="conv")(x)
    steps = L.Reshape((1, 3, 3, 2), name="steps")(
        L.Resizing(3, 3, interpolation="lanczos5", name="resize")(x)
    )
    return keras.models.Model(start, L.ConvLSTM2D(2, 1, name="conv_lstm")(steps))


@form([(2, 4)], refused=True)
def refused_mask(keras):
    """A mask changes what the recurrent layer computes."""
    L = keras.layers
    start = L.Input((None,), dtype="int32")
    x = L.Embedding(5, 3, mask_zero=True, name="embedding")(start)
    return keras.models.Model(start, L.LSTM(2, name="lstm")(x))


def scale_class(keras):
    """A user-defined layer with two weights and an argument."""

    class Scale(keras.layers.Layer):
        def __init__(self, power=1, **how):
            super().__init__(**how)
            self.power = power

        def build(self, shape):
            size = (shape[-1],)
            self.factor = self.add_weight(name="factor", shape=size, initializer="ones")
            self.offset = self.add_weight(name="offset", shape=size, initializer="zeros")

        def call(self, x):
            return self.factor * x**self.power + self.offset

        def get_config(self):
            return {**super().get_config(), "power": self.power}

    return Scale


@form([IMAGE], [OTHER_IMAGE], since=(2, 13), every_kind=True, custom={"Scale": scale_class})
def custom(keras):
    """Layers of a user-defined class, one of them in an inner model."""
    Scale, L = scale_class(keras), keras.layers
    inside = small_block(keras, "inside", [Scale(name="inner_scale"), L.Conv2D(3, 2, name="conv")])
    start = image_input(keras)
    return keras.models.Model(start, Scale(power=2, name="outer_scale")(inside(start)))
