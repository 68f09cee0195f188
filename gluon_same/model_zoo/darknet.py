"""TinyDarkNet, the feature extractor of YOLOv3-tiny."""

from typing import Any, Tuple

from .. import nn
from .base import Net, make

CHANNELS = (16, 32, 64, 128, 256, 512, 1024)
STRIDE = 32  #: Pixels from one cell of the last map to the next.

#: Darknet's CPU code divides by ``sqrt(variance) + 0.000001``. MXNet divides by
#: ``sqrt(variance + epsilon)``, as does OpenCV's DNN module, which uses 1e-6 for Darknet's files. These
#: differ by less than 1e-6 of the result if the variance exceeds 1. Gluon's default, 1e-5, would
#: change results where a variance is small.
EPSILON = 1e-6
MOMENTUM = 0.99  #: Darknet's running averages keep .99 of the old value and add .01 of the new one.
SLOPE = 0.1  #: Slope of Darknet's "leaky" activation below 0.


def add_convolution(net: nn.HybridSequential, channels: int, kernel_size: int) -> None:
    """Add a convolutional layer of Darknet: convolution, batch normalization and leaky ReLU."""
    net.add(
        nn.Conv2D(channels, kernel_size, padding="same", use_bias=False),
        nn.BatchNorm(epsilon=EPSILON, momentum=MOMENTUM),
        nn.LeakyReLU(SLOPE),
    )


class TinyDarkNet(Net):
    """The feature extractor of YOLOv3-tiny.

    It has seven 3x3 convolutions with 16, 32, 64, 128, 256, 512 and 1024 channels, each with batch
    normalization and a leaky ReLU. A 2x2 max pooling follows each convolution except the last: five
    halve the map, and one of stride 1 keeps its size. All padding is ``'same'``.

    Parameters
    ----------
    prefix, params
        As for :class:`mxnet.gluon.HybridBlock`.

    Attributes
    ----------
    features : HybridSequential
        All layers in order. ``features[:-3]`` ends with the pooling of stride 1.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width), height and width 32 or more.

    Outputs:
        - **route**: shape (batch_size, 256, ceil(height / 16), ceil(width / 16)), the input of the fifth
          pooling.
        - **out**: shape (batch_size, 1024, ceil(height / 32), ceil(width / 32)).

    Raises
    ------
    ValueError
        When the net is called, if the data have fewer than 32 rows or columns, or not 4 axes.

    Examples
    --------
    >>> import mxnet as mx
    >>> net = TinyDarkNet()
    >>> net.initialize()
    >>> route, out = net(mx.nd.zeros((1, 3, 96, 64)))
    >>> route.shape, out.shape
    ((1, 256, 6, 4), (1, 1024, 3, 2))
    """

    _stride = STRIDE

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                for channels in CHANNELS:
                    add_convolution(self.features, channels, 3)
                    if channels == 256:
                        self._route = len(self.features) - 1
                    if channels < 1024:
                        strides = 1 if channels == 512 else 2
                        self.features.add(nn.MaxPool2D(2, strides, padding="same"))

    def hybrid_forward(self, F: Any, x: Any) -> Tuple[Any, Any]:
        route = None
        for i, layer in enumerate(self.features):
            x = layer(x)
            if i == self._route:
                route = x
        return route, x


def tiny_darknet(ctx: Any = None, **kwargs: Any) -> TinyDarkNet:
    """Create a :class:`TinyDarkNet`.

    Parameters
    ----------
    ctx : Context or list of Context, optional
        Where to initialize the parameters, with Gluon's default initializer. None does not initialize
        them.
    **kwargs
        Arguments of the class.

    Returns
    -------
    TinyDarkNet

    Raises
    ------
    TypeError
        If ``pretrained`` or another argument that the class does not have is given.

    Examples
    --------
    >>> len(tiny_darknet().features)
    27
    """
    return make(TinyDarkNet, ctx, kwargs)
