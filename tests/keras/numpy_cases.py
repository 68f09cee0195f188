"""Models with more functions of tensors: of two arrays, of the shape, of windows, and of attention."""

import numpy as np
from forms import form
from operation_cases import TABLE, in_functions, inputs

VECTOR = np.array([0.5, -1.0, 2.0, 0.25], "float32")


@form([(3, 4), (3, 4)], **in_functions, only=3)
def functions_of_two(keras):
    """Functions of the elements of two arrays, and of one."""
    ops, (x, y) = keras.ops, inputs(keras, (4,), (4,))
    a, b = (ops.cast(each * 4, "int32") for each in (x, y))
    zero = ops.where(ops.greater(y, 0.0), y, 0.0)
    outputs = [ops.hypot(x, y), ops.hypot(x * 1e30, y * 1e30), ops.logaddexp2(x, y), ops.fmod(x, y)]
    outputs += [ops.heaviside(zero, x), ops.divide_no_nan(x, zero), ops.cbrt(x), ops.exp2(x)]
    outputs += [ops.sinc(x), ops.sinc(zero), ops.deg2rad(x), ops.rad2deg(y)]
    whole = [ops.fmod(a, b * 2 + 1)]
    true = [ops.isclose(x, x + 1e-6), ops.isclose(x, y, 0.5, 0.1), ops.isposinf(1.0 / zero)]
    true += [ops.all(zero * 3.0, axis=1), ops.any(zero * 3.0, axis=1), ops.all(a, 1), ops.any(b, 1)]
    outputs += [ops.cast(each, "float32") for each in [*whole, *true, ops.isneginf(-1.0 / zero)]]
    return keras.models.Model([x, y], outputs)


@form([(2, 5, 6, 4)], [(1, 7, 5, 4)], **in_functions, only=3)
def functions_along_open_axes(keras):
    """Functions along axes of unknown size."""
    ops, x = keras.ops, keras.layers.Input((None, None, 4), name="image")
    outputs = [ops.ptp(x, axis=1), ops.ptp(x, axis=(1, 2), keepdims=True), ops.fliplr(x)]
    outputs += [ops.diff(x, axis=1), ops.diff(x, n=2, axis=-1)]
    outputs += [ops.hstack([x, x[:, :1]]), ops.dstack([x, x[:, :, :1]]), ops.fabs(x)]
    outputs += [ops.rms_normalization(x), ops.rms_normalization(x, VECTOR, epsilon=0.1)]
    outputs += [ops.layer_normalization(x), ops.layer_normalization(x, VECTOR, -VECTOR, epsilon=0.1)]
    patches = ops.image.extract_patches
    outputs += [patches(x, 2), patches(x, (3, 2), strides=1, padding="same")]
    return keras.models.Model(x, outputs)


@form([(2, 4, 6)], **in_functions, only=3)
def functions_along_sized_axes(keras):
    """Functions along axes of known size."""
    ops, (x,) = keras.ops, inputs(keras, (4, 6))
    outputs = [*ops.hsplit(x, 2), *ops.hsplit(x, [1]), *ops.dsplit(x, [2]), ops.argmax(-ops.relu(x), 1)]
    outputs += [ops.argmin(ops.relu(-x) * -1.0, axis=2), ops.argmax(-ops.relu(x), -1)]
    outputs += [ops.append(x, x * 2.0, axis=2)]
    return keras.models.Model(x, [ops.cast(y, "float32") for y in outputs])


@form([(2, 5, 4, 3), (2, 7, 2, 3)], [(1, 6, 4, 3), (1, 5, 2, 3)], **in_functions, only=3)
def functions_of_attention(keras):
    """Attention with several heads, with biases, masks, scales and shared keys."""
    ops, attention = keras.ops, keras.ops.dot_product_attention
    query, key = inputs(keras, (None, 4, 3), (None, 2, 3))
    scores = ops.einsum("btnh,bsh->bnts", query, key[:, :, 0])
    outputs = [attention(query, key, key * 2.0), attention(query, query, query, is_causal=True)]
    outputs += [attention(query, key, key, bias=scores, scale=0.3)]
    outputs += [attention(query, key, key, mask=ops.greater(scores, 0.2))]
    outputs += [attention(query, key, key, scores, ops.less(scores, 0.2))]
    return keras.models.Model([query, key], outputs)


@form([(2, 5, 6, 4)], [(1, 7, 5, 4)], **in_functions, only=2, since=(2, 13))
def functions_of_places(keras):
    """Parts at places along several axes, and patches."""
    import tensorflow as tf

    x = keras.layers.Input((None, None, 4), name="image")
    places = tf.cast(tf.abs(x[:, :, :2, :2]) > 0.5, tf.int32)
    outputs = [tf.gather_nd(x, places, batch_dims=1), tf.gather_nd(x, places[..., :1], batch_dims=1)]
    outputs += [tf.gather_nd(TABLE, places), tf.gather_nd(x[:, :, :2], places, batch_dims=2)]
    patches = tf.image.extract_patches
    outputs += [patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")]
    outputs += [patches(x, [1, 3, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")]
    return keras.models.Model(x, outputs)
