"""Models with functions of tensors, tf of Keras 2 and ops of Keras 3, in archives of their own."""

import numpy as np
from forms import form

TABLE = np.arange(-6, 9).reshape((5, 3)).astype("float32") / 4
KERNEL = (np.arange(3 * 3 * 4 * 2).reshape((3, 3, 4, 2)) % 7 - 3).astype("float32") / 8

in_functions = dict(archive="functions", operations=True)


def inputs(keras, *shapes):
    return [keras.layers.Input(shape, name=f"data{i}") for i, shape in enumerate(shapes)]


@form([(2, 5), (2, 5)], **in_functions, since=(2, 13))
def functions_of_elements(keras):
    """Arithmetic, comparisons and functions of one array."""
    x, y = inputs(keras, (5,), (5,))
    line = np.array([1.0, -2.0, 0.5, 3.0, -1.5], "float32")
    outputs = [x // 0.7, x % 0.7, x // y, x % y, 2.0 // y, x % -1.5, x + line, x * line]
    if keras.__version__ < "3":
        import tensorflow as tf

        m, where, cast = tf.math, tf.where, lambda each: tf.cast(each, tf.float32)
        outputs += [m.floor(x), m.ceil(x), tf.round(x * 2.0), m.log1p(m.abs(x)), m.expm1(x), m.sign(x)]
        outputs += [m.erf(x), m.reciprocal(y), m.squared_difference(x, y), m.atan2(x, y), m.cos(x)]
        outputs += [m.sinh(x), m.asin(m.tanh(x)), m.atan(x), m.xlogy(x, m.abs(y)) if 0 else m.tan(x)]
        outputs += [tf.zeros_like(x), tf.ones_like(x), tf.nn.softsign(x), tf.nn.log_softmax(x)]
        outputs += [tf.nn.relu(x), m.log_sigmoid(x), keras.activations.relu(x, max_value=0.8)]
        outputs += [keras.activations.hard_sigmoid(x), keras.activations.relu(x, alpha=0.1)]
        true = [m.greater(x, y), m.less_equal(x, 0.3), m.logical_and(x > 0, y > 0), m.not_equal(x, x)]
        true += [m.logical_not(x > 0), m.logical_or(x > 1, y < 0), m.is_nan(x), m.equal(x, 0)]
        outputs += [where(x > y, x, -y), where(x > 0, x, tf.zeros_like(x)), where(x > 0, 1.0, y)]
    else:
        m, cast = keras.ops, lambda each: keras.ops.cast(each, "float32")
        outputs += [m.floor(x), m.ceil(x), m.round(x * 2.0), m.log1p(m.abs(x)), m.expm1(x), m.sign(x)]
        outputs += [m.erf(x), m.reciprocal(y), m.arctan2(x, y), m.cos(x), m.logaddexp(x, y)]
        outputs += [m.sinh(x), m.arcsin(m.tanh(x)), m.arctan(x), m.log2(m.abs(x)), m.trunc(x * 3)]
        outputs += [m.zeros_like(x), m.ones_like(x), m.softsign(x), m.log_softmax(x), m.tan(x)]
        outputs += [m.hard_shrink(x), m.hard_tanh(x), m.soft_shrink(x, 0.2), m.sparse_plus(x)]
        outputs += [m.squareplus(x, 3.0), m.threshold(x, 0.1, -2.0), m.tanh_shrink(x), m.celu(x, 0.7)]
        outputs += [m.sparse_sigmoid(x), m.log_sigmoid(x), m.gelu(x, False), m.full_like(x, 3.0)]
        outputs += [keras.activations.relu(x, 0.1, 0.8, 0.0)]
        true = [m.greater(x, y), m.less_equal(x, 0.3), m.logical_and(x > 0, y > 0), x != x, x <= y]
        true += [m.logical_not(x > 0), m.logical_or(x > 1, y < 0), m.isnan(x), m.equal(x, 0)]
        outputs += [m.where(x > y, x, -y), m.where(x > 0, x, 0.0), m.where(x > 0, 1.0, y)]
    return keras.models.Model([x, y], [*outputs, *map(cast, true)])


@form([(2, 4, 6, 4)], **in_functions, since=(2, 13))
def functions_that_move(keras):
    """Functions that pick, repeat, join and reorder elements."""
    (x,) = inputs(keras, (4, 6, 4))
    outputs = [x[:, ::-1], x[:, :, 4:1:-2], x[..., None, :], x[:, -1], x[:, 1, ::2, None]]
    if keras.__version__ < "3":
        import tensorflow as tf

        s = tf.shape(x)
        outputs += [tf.reshape(x, [tf.shape(x)[0], -1, 4]), tf.reshape(x, (s[0], s[1] * s[2], 4))]
        outputs += [tf.reshape(x, (s[0], s[1], s[2], 2, 2)), tf.reshape(x, (-1, s[1], 24))]
        outputs += [tf.reshape(tf.reshape(x, (-1, 4)), (-1, 24, 4)), tf.reshape(x, [-1, 8])]
        depth = tf.cast(s[-1], tf.float32)
        outputs += [tf.reshape(tf.reshape(x, (-1, 4)) * 2.0, s), x / tf.sqrt(depth), x * depth**0.25]
        outputs += [tf.tile(x[:, :1], [1, s[1], 1, 1]), tf.tile(x[:, :, :1], (1, 1, s[1], 1))]
        outputs += [tf.slice(x, [0, 1, 0, 2], [-1, 2, -1, 1]), keras.backend.batch_flatten(x)]
        outputs += [tf.nn.bias_add(x, TABLE[:4, 0]), tf.linalg.matvec(x, x[:, :, 0])]
        outputs += [tf.tile(x, [1, 2, 1, 3]), tf.repeat(x, 3, axis=2), tf.reverse(x, [1, 3])]
        outputs += [tf.roll(x, shift=1, axis=2), tf.roll(x, -2, 1), tf.gather(x, [0, 2, 2], axis=1)]
        outputs += [tf.gather(x, 1, axis=3), *tf.split(x, [1, 3, 2], axis=2), *tf.split(x, 3, 2)]
        outputs += [tf.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "REFLECT"), *tf.unstack(x, axis=1)]
        outputs += [
            tf.pad(x, [[0, 0], [1, 1], [2, 2], [1, 0]], "SYMMETRIC"),
            tf.linalg.band_part(x, -1, 0),
        ]
        outputs += [tf.squeeze(x[:, :, :1]), tf.linalg.matrix_transpose(x), tf.image.flip_up_down(x)]
        outputs += [tf.image.flip_left_right(x), tf.broadcast_to(x[:, :, :1], tf.shape(x)) if 0 else x]
        outputs += [
            tf.stack([x, x * 2.0], axis=-1),
            tf.expand_dims(x, -1),
            tf.transpose(x, (0, 3, 2, 1)),
        ]
    else:
        ops = keras.ops
        outputs += [ops.reshape(ops.reshape(x, (-1, 4)), (-1, 24, 4)), ops.reshape(x, [-1, 8])]
        outputs += [ops.tile(x, [1, 2, 1, 3]), ops.repeat(x, 3, axis=2), ops.flip(x, [1, 3])]
        outputs += [ops.roll(x, 1, axis=2), ops.roll(x, -2, 1), ops.take(x, [0, 2, -1], axis=1)]
        outputs += [ops.take(x, 1, axis=3), *ops.split(x, [1, 4], axis=2), *ops.split(x, 3, 2)]
        outputs += [ops.pad(x, [[0, 0], [1, 1], [2, 0], [0, 0]], "reflect"), *ops.unstack(x, axis=1)]
        outputs += [
            ops.pad(x, [[0, 0], [1, 1], [2, 2], [1, 0]], "symmetric"),
            ops.tril(x),
            ops.triu(x, 1),
        ]
        outputs += [
            ops.squeeze(x[:, :, :1]),
            ops.swapaxes(x, 1, 3),
            ops.moveaxis(x, 1, -1),
            ops.flip(x, 1),
        ]
        outputs += [
            ops.stack([x, x * 2.0], axis=-1),
            ops.expand_dims(x, -1),
            ops.transpose(x, (0, 3, 2, 1)),
        ]
        outputs += [ops.broadcast_to(x[:, :, :1], (None, 4, 6, 4)) if 0 else x]
    return keras.models.Model(x, outputs)


@form([(2, 4, 6, 4)], [(1, 3, 5, 4)], **in_functions, since=(2, 13))
def functions_along_axes(keras):
    """Reductions, extremes, norms and totals."""
    x = keras.layers.Input((None, None, 4), name="image")
    if keras.__version__ < "3":
        import tensorflow as tf

        m = tf.math
        outputs = [m.reduce_std(x, axis=[1, 2]), m.reduce_variance(x, axis=-1, keepdims=True)]
        outputs += [m.reduce_prod(x, -1), m.reduce_min(x, [1, 3]), m.reduce_logsumexp(x, axis=3)]
        outputs += [
            *tf.nn.moments(x, [1, 2]),
            *tf.nn.moments(x, [3], keepdims=True),
            tf.norm(x, axis=-1),
        ]
        outputs += [tf.norm(x, ord=1, axis=2), tf.norm(x, axis=[1, 2], keepdims=True)]
        outputs += [tf.math.l2_normalize(x, axis=-1), tf.linalg.l2_normalize(x, axis=[1, 2])]
        outputs += [
            m.cumsum(x, axis=1),
            m.cumsum(x, axis=2, exclusive=True),
            m.cumsum(x, -1, reverse=True),
        ]
        outputs += [tf.cast(m.argmax(x, axis=-1), tf.float32), tf.cast(tf.argmin(x, axis=1), tf.float32)]
        outputs += [m.top_k(x, k=2)[0], tf.cast(m.top_k(x, 3)[1], "float32"), tf.sort(x, axis=1)]
        outputs += [tf.cast(m.reduce_any(x > 1.0, axis=-1), "float32"), tf.nn.softmax(x, axis=1)]
        outputs += [tf.cast(tf.argsort(x, axis=-1, direction="DESCENDING"), "float32")]
        outputs += [keras.backend.l2_normalize(x, axis=-1), keras.backend.mean(x, axis=(1, 2))]
    else:
        m = keras.ops
        outputs = [
            m.std(x, axis=[1, 2]),
            m.var(x, axis=-1, keepdims=True),
            m.prod(x, -1),
            m.min(x, [1, 3]),
        ]
        outputs += [m.logsumexp(x, axis=3), *m.moments(x, [1, 2]), *m.moments(x, [3], keepdims=True)]
        outputs += [m.norm(x, axis=-1), m.norm(x, ord=1, axis=2), m.norm(x, axis=(1, 2), keepdims=True)]
        outputs += [
            m.normalize(x, axis=-1),
            m.cumsum(x, axis=1),
            m.cumsum(x, axis=-1),
            m.average(x, axis=1),
        ]
        outputs += [m.cast(m.argmax(x, axis=-1), "float32"), m.cast(m.argmin(x, axis=1), "float32")]
        outputs += [m.top_k(x, 2)[0], m.cast(m.top_k(x, 3)[1], "float32"), m.sort(x, axis=1)]
        outputs += [m.cast(m.any(x > 1.0, axis=-1), "float32"), m.softmax(x, axis=1)]
        outputs += [
            m.cast(m.argsort(x, axis=-1), "float32"),
            m.cast(m.count_nonzero(x, axis=1), "float32"),
        ]
    return keras.models.Model(x, outputs)


@form([(2, 4, 6), (2, 6, 3)], [(1, 4, 6), (1, 6, 3)], **in_functions, since=(2, 13))
def functions_of_products(keras):
    """Products of arrays, and of arrays and constants."""
    x, y = inputs(keras, (4, 6), (6, 3))
    matrix = np.tile(TABLE, (2, 1))[:6]
    if keras.__version__ < "3":
        import tensorflow as tf

        outputs = [tf.matmul(x, y), x @ y, tf.matmul(x, x, transpose_b=True), tf.matmul(x, matrix)]
        outputs += [tf.matmul(y, x, transpose_a=True, transpose_b=True), tf.tensordot(x, matrix, axes=1)]
        outputs += [tf.tensordot(x, matrix, [[2], [0]])]
    else:
        ops = keras.ops
        outputs = [ops.matmul(x, y), x @ y, ops.matmul(x, matrix), ops.einsum("bij,bjk->bki", x, y)]
        outputs += [ops.einsum("bij,jk->bik", x, matrix), ops.einsum("bij->bi", x), ops.dot(x, matrix)]
        outputs += [ops.tensordot(x, matrix, axes=1), ops.einsum("...ij,...jk->...ik", x, y)]
    return keras.models.Model([x, y], outputs)


@form([(2, 3), (2, 3, 4)], **in_functions, since=(2, 13), integers=3)
def functions_of_indices(keras):
    """Whole numbers as indices and in arithmetic."""
    L = keras.layers
    n, x = L.Input((3,), dtype="int32", name="n"), L.Input((3, 4), dtype="int32", name="x")
    if keras.__version__ < "3":
        import tensorflow as tf

        real = tf.cast(x, tf.float32)
        outputs = [tf.one_hot(n, 4), tf.gather(real, n, axis=1, batch_dims=1), tf.one_hot(n - 1, 2)]
        outputs += [tf.cast(n // 2 + n % 2 * 5, tf.float32), tf.cast(tf.equal(n, 1), tf.float32)]
        outputs += [
            tf.cast(tf.cast(real * 0.7 - 0.5, tf.int32), tf.float32),
            tf.cast(n * n - 3, "float32"),
        ]
    else:
        ops = keras.ops
        real = ops.cast(x, "float32")
        outputs = [ops.one_hot(n, 4), ops.take_along_axis(real, ops.stack([n] * 4, -1), axis=1)]
        outputs += [ops.cast(n // 2 + n % 2 * 5, "float32"), ops.cast(ops.equal(n, 1), "float32")]
        outputs += [
            ops.one_hot(n - 1, 2),
            n * 0.5,
            ops.mean(n, axis=1),
            ops.cast(real * 0.7, "int32") * 1.0,
        ]
        outputs += [ops.sqrt(n), ops.true_divide(n, 2), ops.cast(ops.sum(n, axis=1), "float32")]
    outputs.append(L.Embedding(5, 3, name="embedding")(n))
    return keras.models.Model([n, x], outputs)


@form([(2, 6, 8, 4)], [(1, 7, 5, 4)], **in_functions, since=(2, 13))
def functions_of_images(keras):
    """Resizing, convolutions, poolings and colors."""
    x = keras.layers.Input((None, None, 4), name="image")
    if keras.__version__ < "3":
        import tensorflow as tf

        resize = tf.image.resize
        outputs = [resize(x, (8, 3)), resize(x, (5, 9), method="nearest"), resize(x, (4, 7), "bicubic")]
        outputs += [
            resize(x, tf.shape(x)[1:3] * 2),
            resize(x, (1, 4)),
            resize(x, (2, 2), method="bicubic"),
        ]
        outputs += [
            resize(x, [tf.shape(x)[1] * 2, tf.shape(x)[2]], "nearest"),
            tf.nn.depth_to_space(x, 2),
        ]
        outputs += [tf.nn.conv2d(x, KERNEL, 1, "SAME"), tf.nn.conv2d(x, KERNEL, [1, 2, 2, 1], "VALID")]
        outputs += [
            tf.nn.depthwise_conv2d(x, KERNEL, [1, 1, 1, 1], "SAME"),
            tf.nn.max_pool2d(x, 2, 2, "SAME"),
        ]
        outputs += [tf.nn.avg_pool2d(x, 3, 1, "SAME"), tf.nn.max_pool(x, 2, 1, "VALID")]
        outputs += [tf.image.rgb_to_grayscale(x[..., :3]), tf.image.per_image_standardization(x)]
        outputs += [tf.image.adjust_brightness(x, 0.2), tf.image.adjust_contrast(x, 0.7)]
    else:
        ops, resize = keras.ops, keras.ops.image.resize
        outputs = [resize(x, (8, 3)), resize(x, (5, 9), interpolation="nearest")]
        outputs += [resize(x, (4, 7), interpolation="bicubic"), resize(x, (1, 4))]
        outputs += [ops.conv(x, KERNEL, 1, "same"), ops.conv(x, KERNEL, 2, "valid")]
        outputs += [ops.depthwise_conv(x, KERNEL, 1, "same"), ops.max_pool(x, 2, 2, "same")]
        outputs += [ops.average_pool(x, 3, 1, "same"), ops.max_pool(x, 2, 1, "valid")]
        outputs += [ops.image.rgb_to_grayscale(x[..., :3])]
        if hasattr(ops, "depth_to_space"):
            outputs += [ops.depth_to_space(x, 2)]
    return keras.models.Model(x, outputs)


@form([(2, 6, 8, 3)], **in_functions, since=(2, 13))
def functions_of_sized_images(keras):
    """Filters that depend on the size."""
    (x,) = inputs(keras, (6, 8, 3))
    if keras.__version__ < "3":
        import tensorflow as tf

        resize = tf.image.resize
        outputs = [resize(x, (3, 5), antialias=True), resize(x, (4, 12), "bicubic", antialias=True)]
    else:
        resize = keras.ops.image.resize
        outputs = [resize(x, (3, 5), antialias=True)]
        outputs += [resize(x, (4, 12), interpolation="bicubic", antialias=True)]
    return keras.models.Model(x, outputs)


@form([(2, 8, 6, 4), (2, 5)], **in_functions, since=(2, 13), integers=5)
def functions_of_windows(keras):
    """Transposed convolutions to sizes, slices by masks, poolings, crops and one-hot vectors."""
    L = keras.layers
    whole, n = L.Input((8, 6, 4), dtype="int32", name="image"), L.Input((5,), dtype="int32", name="n")
    if keras.__version__ < "3":
        import tensorflow as tf

        x, kernel = tf.cast(whole, tf.float32), np.swapaxes(KERNEL, 2, 3)
        s = tf.shape(x)
        sizes = [2, 16, 12, 2], [s[0], s[1] * 2, s[2] * 2, 2], tf.stack([s[0], 15, 11, 2])
        outputs = [tf.nn.conv2d_transpose(x, kernel, size, 2) for size in sizes]
        outputs += [tf.nn.conv2d_transpose(x, kernel, [2, 18, 14, 2], 2, "VALID")]
        outputs += [tf.nn.conv1d_transpose(x[:, :, 0], KERNEL[0].swapaxes(1, 2), [2, 24, 2], 3)]
        outputs += [tf.strided_slice(x, [0, 1, 5], [0, 7, 0], [1, 2, -2], begin_mask=1, end_mask=5)]
        outputs += [tf.nn.pool(x, [2, 3], "MAX", [2, 1], "SAME"), tf.nn.pool(x, [2, 2], "AVG")]
        outputs += [tf.image.resize_with_crop_or_pad(x, *size) for size in ((5, 9), (11, 3))]
        outputs += [
            tf.one_hot(n, 4, 0.9, 0.1),
            tf.cast(tf.one_hot(n, 4, axis=1, dtype="int32"), "float32"),
        ]
    else:
        ops, x = keras.ops, keras.ops.cast(whole, "float32") * 3.217
        outputs = [ops.round(x, 1), ops.round(x, -1), ops.one_hot(n, 4, axis=1)]
        outputs += [ops.cast(ops.one_hot(n, 4, dtype="int32"), "float32")]
    return keras.models.Model([whole, n], outputs)
