"""TinyDarkNet, the part of YOLOv3-tiny that extracts features."""

from typing import Any, Tuple

from .. import nn
from .base import Net, check_extent, make

CHANNELS = (16, 32, 64, 128, 256, 512, 1024)
STRIDE = 32  #: Pixels from one cell of the last map to the next.

#: Darknet's batch normalization divides by ``sqrt(variance) + 0.000001`` in its CPU code. MXNet has
#: ``sqrt(variance + epsilon)``, as has OpenCV's DNN module, which reads Darknet's files with 1e-6: the
#: two differ by less than 1e-6 of the result where the variance exceeds 1. The default of Gluon, 1e-5
#: (which Darknet's first GPU code had too), shows where a variance is small.
EPSILON = 1e-6
MOMENTUM = 0.99  #: Of the running averages: Darknet keeps .99 of the old and adds .01 of the new.
SLOPE = 0.1  #: Of Darknet's "leaky" activation, below 0.


def add_convolution(net: nn.HybridSequential, channels: int, kernel_size: int) -> None:
    """Add what Darknet calls a convolutional layer: convolution, batch normalization, leaky ReLU."""
    net.add(
        nn.Conv2D(channels, kernel_size, padding="same", use_bias=False),
        nn.BatchNorm(epsilon=EPSILON, momentum=MOMENTUM),
        nn.LeakyReLU(SLOPE),
    )


class TinyDarkNet(Net):
    """The feature extractor of YOLOv3-tiny.

    Seven 3x3 convolutions of 16, 32, 64, 128, 256, 512 and 1024 channels, each with batch
    normalization and a leaky ReLU. A 2x2 max pool follows each but the last: five that halve the map,
    and one of stride 1 that keeps its size. All padding is ``'same'``.

    Parameters
    ----------
    prefix, params
        As :class:`mxnet.gluon.HybridBlock`'s.

    Attributes
    ----------
    features : HybridSequential
        All layers in order. ``features[:-3]`` ends with the pool of stride 1.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width), height and width 32 or more.

    Outputs:
        - **route**: shape (batch_size, 256, ceil(height / 16), ceil(width / 16)), what goes into the
          fifth pool.
        - **out**: shape (batch_size, 1024, ceil(height / 32), ceil(width / 32)).

    Raises
    ------
    ValueError
        When called, for data of less than 32 rows or columns, or of a rank that is not 4.

    Examples
    --------
    >>> import mxnet as mx
    >>> net = TinyDarkNet()
    >>> net.initialize()
    >>> route, out = net(mx.nd.zeros((1, 3, 96, 64)))
    >>> route.shape, out.shape
    ((1, 256, 6, 4), (1, 1024, 3, 2))
    """

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

    def _check_input(self, shape):
        check_extent(self.name, shape, STRIDE)


def tiny_darknet(ctx: Any = None, **kwargs: Any) -> TinyDarkNet:
    """Make a :class:`TinyDarkNet`.

    Parameters
    ----------
    ctx : Context or list of Context, optional
        Where to initialize the parameters, with Gluon's default initializer. None leaves that to
        ``net.initialize``.
    **kwargs
        Of the class.

    Returns
    -------
    TinyDarkNet

    Raises
    ------
    TypeError
        For ``pretrained``, since no weights ship, or an argument that the class does not have.

    Examples
    --------
    >>> len(tiny_darknet().features)
    27
    """
    return make(TinyDarkNet, ctx, kwargs)
