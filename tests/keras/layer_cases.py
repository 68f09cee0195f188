"""The layers of the golden models: by group, each layer with its name, class and arguments.

A group becomes one model, in which all layers of the group read one input, and each has an output. If a
version of Keras does not have a layer or an argument, its file does not contain the layer.
"""

from typing import NamedTuple, Tuple

#: Layers that only one generation has, or that differ between them. Names end with its number.
KERAS_2, KERAS_3 = "_keras2", "_keras3"


class Group(NamedTuple):
    """Layers on one input, with its shape (without the batch) and the shapes of its calls."""

    shape: Tuple
    runs: Tuple
    layers: dict


def layer(kind, *arguments, **named):
    return kind, arguments, named


def on(shape, *sizes, **layers):
    """Make a group. It is called with a batch of two at the first size, and of one at the second."""
    return Group(shape, tuple((batch, *size) for batch, size in zip((2, 1), sizes)), layers)


SAME = dict(padding="same")
OPEN_1D = (None, 4), (7, 4), (10, 4)
OPEN_2D = (None, None, 4), (6, 5, 4), (5, 7, 4)
NARROW_2D = (None, None, 2), (5, 4, 2), (3, 6, 2)
OPEN_3D = (None, None, None, 2), (4, 5, 3, 2), (5, 3, 4, 2)

CONVOLUTIONS = {
    "conv1d": on(
        *OPEN_1D,
        valid=layer("Conv1D", 2, 3),
        same=layer("Conv1D", 2, 3, **SAME),
        same_even=layer("Conv1D", 2, 4, **SAME),
        same_strided=layer("Conv1D", 2, 3, strides=2, **SAME),
        same_dilated=layer("Conv1D", 2, 2, dilation_rate=2, **SAME),
        causal=layer("Conv1D", 2, 3, padding="causal"),
        causal_strided=layer("Conv1D", 2, 3, strides=2, padding="causal"),
        causal_dilated=layer("Conv1D", 2, 3, dilation_rate=2, padding="causal"),
        groups=layer("Conv1D", 4, 3, groups=2, **SAME),
        no_bias=layer("Conv1D", 2, 1, use_bias=False, activation="tanh"),
    ),
    "conv2d": on(
        *OPEN_2D,
        valid=layer("Conv2D", 2, 3),
        valid_strided=layer("Conv2D", 2, (2, 3), strides=(2, 1)),
        same=layer("Conv2D", 2, 3, **SAME),
        same_even=layer("Conv2D", 2, 2, **SAME),
        same_4x1=layer("Conv2D", 2, (4, 1), **SAME),
        same_strided=layer("Conv2D", 2, 3, strides=2, **SAME),
        same_1x1_strided=layer("Conv2D", 2, 1, strides=2, **SAME),
        same_strides_apart=layer("Conv2D", 2, (3, 2), strides=(1, 3), **SAME),
        same_dilated=layer("Conv2D", 2, 3, dilation_rate=2, **SAME),
        same_dilated_apart=layer("Conv2D", 2, 2, dilation_rate=(3, 1), **SAME),
        groups=layer("Conv2D", 4, 3, groups=2, **SAME),
        groups_strided=layer("Conv2D", 2, 3, groups=2, strides=2),
        no_bias=layer("Conv2D", 2, 1, use_bias=False),
        relu=layer("Conv2D", 2, 3, activation="relu", **SAME),
        softmax=layer("Conv2D", 3, 1, activation="softmax"),
    ),
    "conv3d": on(
        *OPEN_3D,
        valid=layer("Conv3D", 2, (2, 3, 1)),
        same=layer("Conv3D", 2, 2, **SAME),
        same_strided=layer("Conv3D", 2, 3, strides=(2, 1, 2), **SAME),
        same_dilated=layer("Conv3D", 2, 2, dilation_rate=2, **SAME),
        groups=layer("Conv3D", 2, 2, groups=2, activation="sigmoid"),
        no_bias=layer("Conv3D", 1, 1, use_bias=False),
    ),
    "conv_transpose": on(
        (None, None, 2),
        (3, 2, 2),
        (2, 3, 2),
        valid=layer("Conv2DTranspose", 2, 3),
        valid_strided=layer("Conv2DTranspose", 2, (3, 2), strides=2),
        valid_small=layer("Conv2DTranspose", 2, 1, strides=2),
        valid_output_padding=layer("Conv2DTranspose", 2, 3, strides=2, output_padding=1),
        valid_dilated=layer("Conv2DTranspose", 2, 2, dilation_rate=2),
        same=layer("Conv2DTranspose", 2, 3, **SAME),
        same_even=layer("Conv2DTranspose", 2, 4, strides=2, **SAME),
        same_strided=layer("Conv2DTranspose", 2, 3, strides=2, **SAME),
        same_2x2=layer("Conv2DTranspose", 2, 2, strides=2, **SAME),
        same_small=layer("Conv2DTranspose", 2, 2, strides=3, **SAME),
        same_output_padding=layer("Conv2DTranspose", 2, 3, strides=2, output_padding=(0, 1), **SAME),
        same_dilated=layer("Conv2DTranspose", 2, 3, dilation_rate=2, **SAME),
        no_bias=layer("Conv2DTranspose", 2, 2, use_bias=False, activation="relu"),
    ),
    "conv1d_transpose": on(
        *OPEN_1D,
        valid=layer("Conv1DTranspose", 2, 3, strides=2),
        valid_output_padding=layer("Conv1DTranspose", 2, 4, strides=3, output_padding=2),
        same=layer("Conv1DTranspose", 2, 3, strides=2, **SAME),
        same_even=layer("Conv1DTranspose", 2, 4, **SAME),
        same_output_padding=layer("Conv1DTranspose", 2, 3, strides=2, output_padding=0, **SAME),
        no_bias=layer("Conv1DTranspose", 2, 2, use_bias=False, activation="tanh"),
    ),
    "conv3d_transpose": on(
        (None, None, None, 2),
        (2, 3, 2, 2),
        valid=layer("Conv3DTranspose", 2, (2, 1, 3), strides=(2, 1, 1)),
        same=layer("Conv3DTranspose", 2, 3, strides=(2, 1, 2), **SAME),
        same_output_padding=layer("Conv3DTranspose", 2, 3, strides=2, output_padding=1, **SAME),
    ),
    "depthwise": on(
        *OPEN_2D,
        valid=layer("DepthwiseConv2D", 3),
        valid_strided=layer("DepthwiseConv2D", (2, 3), strides=2),
        same=layer("DepthwiseConv2D", 3, activation="relu", **SAME),
        same_even=layer("DepthwiseConv2D", 4, **SAME),
        same_strided=layer("DepthwiseConv2D", 3, strides=2, **SAME),
        multiplier=layer("DepthwiseConv2D", 3, depth_multiplier=2, **SAME),
        dilated=layer("DepthwiseConv2D", 3, dilation_rate=2, **SAME),
        no_bias=layer("DepthwiseConv2D", 2, use_bias=False),
        separable=layer("SeparableConv2D", 2, 3, **SAME),
        separable_valid=layer("SeparableConv2D", 2, (3, 2), activation="relu"),
        separable_strided=layer("SeparableConv2D", 2, 3, strides=2, **SAME),
        separable_multiplier=layer("SeparableConv2D", 3, 2, depth_multiplier=2, use_bias=False, **SAME),
        separable_dilated=layer("SeparableConv2D", 2, 3, dilation_rate=2, **SAME),
    ),
    "depthwise1d": on(
        *OPEN_1D,
        valid=layer("DepthwiseConv1D", 3),
        same_strided=layer("DepthwiseConv1D", 4, strides=2, **SAME),
        multiplier=layer("DepthwiseConv1D", 3, depth_multiplier=2, use_bias=False, **SAME),
        dilated=layer("DepthwiseConv1D", 2, dilation_rate=2, **SAME),
        separable=layer("SeparableConv1D", 2, 3, **SAME),
        separable_strided=layer("SeparableConv1D", 2, 4, strides=2, **SAME),
        separable_multiplier=layer("SeparableConv1D", 3, 2, depth_multiplier=3, use_bias=False),
        separable_causal=layer("SeparableConv1D", 2, 3, padding="causal", dilation_rate=2),
    ),
}

POOLING = {
    "pool2d": on(
        *NARROW_2D,
        max_valid=layer("MaxPooling2D", 2),
        max_same=layer("MaxPooling2D", 2, **SAME),
        max_same_dense=layer("MaxPooling2D", 2, strides=1, **SAME),
        max_same_3_strided=layer("MaxPooling2D", 3, strides=2, **SAME),
        max_same_apart=layer("MaxPooling2D", (3, 2), strides=(1, 2), **SAME),
        average_valid=layer("AveragePooling2D", (2, 3), strides=1),
        average_same=layer("AveragePooling2D", 3, strides=1, **SAME),
        average_same_even=layer("AveragePooling2D", 2, strides=1, **SAME),
        average_same_strided=layer("AveragePooling2D", 3, strides=2, **SAME),
        global_average=layer("GlobalAveragePooling2D"),
        global_average_kept=layer("GlobalAveragePooling2D", keepdims=True),
        global_max=layer("GlobalMaxPooling2D"),
        global_max_kept=layer("GlobalMaxPooling2D", keepdims=True),
    ),
    "pool1d": on(
        *OPEN_1D,
        max_valid=layer("MaxPooling1D", 3),
        max_same=layer("MaxPooling1D", 2, strides=1, **SAME),
        max_same_strided=layer("MaxPooling1D", 3, strides=2, **SAME),
        average_valid=layer("AveragePooling1D", 2),
        average_same=layer("AveragePooling1D", 4, strides=3, **SAME),
        global_average=layer("GlobalAveragePooling1D"),
        global_average_kept=layer("GlobalAveragePooling1D", keepdims=True),
        global_max=layer("GlobalMaxPooling1D"),
        global_max_kept=layer("GlobalMaxPooling1D", keepdims=True),
    ),
    "pool3d": on(
        *OPEN_3D,
        max_valid=layer("MaxPooling3D", (2, 1, 2)),
        max_same=layer("MaxPooling3D", 2, strides=1, **SAME),
        average_valid=layer("AveragePooling3D", 2, strides=1),
        average_same=layer("AveragePooling3D", 3, strides=2, **SAME),
        global_average=layer("GlobalAveragePooling3D"),
        global_average_kept=layer("GlobalAveragePooling3D", keepdims=True),
        global_max=layer("GlobalMaxPooling3D"),
        global_max_kept=layer("GlobalMaxPooling3D", keepdims=True),
    ),
}

BORDERS = {
    "borders2d": on(
        *NARROW_2D,
        pad_one=layer("ZeroPadding2D", 1),
        pad_axes=layer("ZeroPadding2D", (0, 2)),
        pad_sides=layer("ZeroPadding2D", ((0, 1), (2, 3))),
        crop_one=layer("Cropping2D", 1),
        crop_axes=layer("Cropping2D", (1, 0)),
        crop_sides=layer("Cropping2D", ((0, 1), (2, 0))),
        nearest=layer("UpSampling2D", 2),
        nearest_apart=layer("UpSampling2D", (3, 1)),
        bilinear=layer("UpSampling2D", 2, interpolation="bilinear"),
        bilinear_apart=layer("UpSampling2D", (1, 3), interpolation="bilinear"),
    ),
    "borders1d": on(
        *OPEN_1D,
        pad_one=layer("ZeroPadding1D", 1),
        pad_sides=layer("ZeroPadding1D", (0, 2)),
        crop_one=layer("Cropping1D", 1),
        crop_sides=layer("Cropping1D", (2, 0)),
        upsampling=layer("UpSampling1D", 3),
    ),
    "borders3d": on(
        *OPEN_3D,
        pad_one=layer("ZeroPadding3D", 1),
        pad_sides=layer("ZeroPadding3D", ((0, 1), (1, 0), (2, 0))),
        crop_one=layer("Cropping3D", 1),
        crop_sides=layer("Cropping3D", ((1, 0), (0, 2), (0, 1))),
        upsampling=layer("UpSampling3D", (1, 2, 3)),
    ),
}
