"""Names of other frameworks are answered with the right ones."""

import pytest

from gluon_same import nn


@pytest.mark.parametrize(
    "name, meant",
    [
        ("Conv2d", "Conv2D"),
        ("Convolution2D", "Conv2D"),
        ("MaxPooling2D", "MaxPool2D"),
        ("AveragePooling1D", "AvgPool1D"),
        ("GlobalAveragePooling2D", "GlobalAvgPool2D"),
        ("AdaptiveAvgPool2d", "GlobalAvgPool2D"),
        ("BatchNormalization", "BatchNorm"),
        ("BatchNorm2d", "BatchNorm"),
        ("ConvTranspose2d", "Conv2DTranspose"),
        ("Upsample", "UpSampling2D"),
        ("UpSampling2d", "UpSampling2D"),
        ("Linear", "Dense"),
        ("Relu", "ReLU"),
    ],
)
def test_a_name_of_another_framework_is_answered_with_the_right_one(name, meant):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': use '{meant}'"):
        getattr(nn, name)


def test_an_unknown_name_is_answered_with_the_list():
    with pytest.raises(AttributeError, match=r"'Xyzzy': dir\(gluon_same.nn\) lists the names"):
        nn.Xyzzy  # noqa: B018


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: nn.Conv2D(filters=8), "Conv2D has no argument 'filters': use 'channels'"),
        (lambda: nn.Conv2D(8, kernel=3), "Conv2D has no argument 'kernel': use 'kernel_size'"),
        (lambda: nn.SeparableConv2D(filters=8), "no argument 'filters': use 'channels'"),
        (lambda: nn.DepthwiseConv2D(pool_size=3), "no argument 'pool_size': use 'kernel_size'"),
        (lambda: nn.Conv2DTranspose(filters=8), "no argument 'filters': use 'channels'"),
        (lambda: nn.MaxPool2D(stride=2), "no argument 'stride': use 'strides'"),
        (lambda: nn.ZeroPadding2D(pad=1), "no argument 'pad': use 'padding'"),
        (lambda: nn.UpSampling2D(data_format="NHWC"), "no argument 'data_format': use 'layout'"),
        (lambda: nn.Reshape(shape=(3, 4)), r"no argument 'shape': help\(Reshape\) lists"),
    ],
)
def test_an_argument_of_another_framework_is_answered_before_missing_ones(make, words):
    with pytest.raises(TypeError, match=words):
        make()
