"""Two Keras models, layer by layer, for channels-first data, for the notebooks."""

from typing import Any, Sequence, Tuple, Union

from gluon_same import nn
from gluon_same.arguments import per_axis, whole
from gluon_same.arrays import classic
from gluon_same.model_zoo.base import Net, make


class KerasCNN(Net):
    """The first layers of a Keras model for images of 32x32x3, with ``BatchNormalization(axis=1)``.

    The layers are a 3x3 ``'valid'`` convolution to 64 channels, ``BatchNormalization(axis=1)``, ReLU,
    dropout of 0.3, a 3x3 ``'same'`` convolution to 64 channels, ``BatchNormalization(axis=1)``, ReLU,
    and a 2x2 ``'same'`` max pooling of stride 2. Keras' data are channels-last, so its axis 1 is that
    of the 30 rows, which is axis 2 here. Each normalization therefore has 4 * 30 parameters, as in
    Keras' ``model.summary()``: 1,792 + 120 + 36,928 + 120 = 38,960, of which 38,840 are trainable.
    Epsilon and momentum are those of Keras.

    Parameters
    ----------
    prefix, params
        As for :class:`mxnet.gluon.HybridBlock`.

    Inputs:
        - **data**: shape (batch_size, 3, 32, 32).

    Outputs:
        - **out**: shape (batch_size, 64, 15, 15).

    Raises
    ------
    ValueError
        When the net is called, if the data have another shape.

    Examples
    --------
    >>> import mxnet as mx
    >>> net = KerasCNN()
    >>> net.initialize()
    >>> net(mx.nd.zeros((2, 3, 32, 32))).shape
    (2, 64, 15, 15)
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(
                    nn.Conv2D(64, 3, padding="valid", in_channels=3),
                    RowNorm(30),
                    nn.Activation("relu"),
                    nn.Dropout(0.3),
                    nn.Conv2D(64, 3, padding="same", in_channels=64),
                    RowNorm(30),
                    nn.Activation("relu"),
                    nn.MaxPool2D(2, 2, padding="same"),
                )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.features(x)

    def _check_input(self, shape):
        if shape[1:] != (3, 32, 32):
            raise ValueError(
                f"data for {self.name} of shape {shape} does not fit: give (batch, 3, 32, 32), because "
                "the net has parameters for each row"
            )


class RowNorm(nn.BatchNorm):
    """Batch normalization of each row, Keras' axis 1 of channels-last images.

    The rows are moved to the channel axis. ONNX has no other axis, and MXNet's gradients along another
    axis fail ("Check failed: !is_view") if the input is in oneDNN's blocked layout.
    """

    def __init__(self, rows: int):
        super().__init__(axis=1, epsilon=1e-3, momentum=0.99, in_channels=rows)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        x, restore = classic(x)
        rows = restore(F.transpose(x, axes=(0, 2, 1, 3)))
        out, restore = classic(super().hybrid_forward(F, rows, *args, **kwargs))
        return restore(F.transpose(out, axes=(0, 2, 1, 3)))


def keras_cnn(ctx: Any = None, **kwargs: Any) -> KerasCNN:
    """Create a :class:`KerasCNN`.

    Parameters
    ----------
    ctx : Context or list of Context, optional
        Where to initialize the parameters, with Gluon's default initializer. None does not initialize
        them.
    **kwargs
        Arguments of the class.

    Returns
    -------
    KerasCNN

    Raises
    ------
    TypeError
        If ``pretrained`` or another argument that the class does not have is given.

    Examples
    --------
    >>> len(keras_cnn().features)
    8
    """
    return make(KerasCNN, ctx, kwargs)


class ConvAutoencoder(Net):
    """The convolutional autoencoder of the Keras blog: 28x28 to 4x4x8 and back.

    The encoder has three 3x3 ``'same'`` convolutions, each with a ReLU and a 2x2 ``'same'`` max pooling:
    28, 14, 7, 4. The decoder mirrors it with nearest-neighbor upsampling: 4, 8, 16. One ``'valid'``
    convolution then reduces 16 to 14, so that the last upsampling gives 28. A convolution with a sigmoid
    returns the image. With the default arguments the net has 4,385 parameters, as in the blog.

    Parameters
    ----------
    channels : sequence of three ints, default (16, 8, 8)
        Channels of the encoder's convolutions; the decoder has them in reverse order.
    in_channels : int, default 1
        Number of channels of the images.
    size : int or (int, int), default 28
        Height and width of the images, multiples of 4 from 8 on. Along an axis whose size is a multiple
        of 8, such as the 8x8 of scikit-learn's digits, the ``'valid'`` convolution is ``'same'``.
    prefix, params
        As for :class:`mxnet.gluon.HybridBlock`.

    Attributes
    ----------
    encoder, decoder : HybridSequential

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width), where height and width are ``size``
          or differ from it by multiples of 8. Values from 0 to 1, the range of the sigmoid.

    Outputs:
        - **out**: the shape of the data.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid; when the net is called, if the data have another shape.

    Examples
    --------
    >>> import mxnet as mx
    >>> net = ConvAutoencoder()
    >>> net.initialize()
    >>> x = mx.nd.zeros((2, 1, 28, 28))
    >>> net.encoder(x).shape, net(x).shape
    ((2, 8, 4, 4), (2, 1, 28, 28))
    """

    def __init__(
        self,
        channels: Sequence[int] = (16, 8, 8),
        in_channels: int = 1,
        size: Union[int, Tuple[int, int]] = 28,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._size = _check_size(size)
        self._in_channels = whole("in_channels", in_channels, 1)
        first, second, third = per_axis("channels", channels, 3)
        # 8 * m - 4 elements become m in the encoder and 4 * m in the decoder, but must be 4 * m - 2
        # before the last upsampling. A window of 3 without padding removes 2.
        narrow = tuple((0, 0) if n % 8 else (1, 1) for n in self._size)
        with self.name_scope():
            self.encoder = nn.HybridSequential(prefix="encoder_")
            with self.encoder.name_scope():
                for inputs, outputs in ((self._in_channels, first), (first, second), (second, third)):
                    self.encoder.add(_convolution(inputs, outputs), nn.MaxPool2D(2, padding="same"))
            self.decoder = nn.HybridSequential(prefix="decoder_")
            with self.decoder.name_scope():
                self.decoder.add(
                    _convolution(third, third),
                    Upsample2(),
                    _convolution(third, second),
                    Upsample2(),
                    _convolution(second, first, narrow),
                    Upsample2(),
                    _convolution(first, self._in_channels, activation="sigmoid"),
                )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.decoder(self.encoder(x))

    def _check_input(self, shape):
        fits = all((n - size) % 8 == 0 for n, size in zip(shape[2:], self._size))
        if shape[1] != self._in_channels or not fits:
            height, width = self._size
            raise ValueError(
                f"data for {self.name} of shape {shape} does not fit: give (batch, {self._in_channels}, "
                f"{height}, {width}), or a height and width that differ from these by multiples of 8"
            )


class Upsample2(nn.HybridBlock):
    """Repeat every row and every column of (batch, channels, height, width)."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x, restore = classic(x)
        return restore(F.UpSampling(x, scale=2, sample_type="nearest"))


def conv_autoencoder(ctx: Any = None, **kwargs: Any) -> ConvAutoencoder:
    """Create a :class:`ConvAutoencoder`.

    Parameters
    ----------
    ctx : Context or list of Context, optional
        Where to initialize the parameters, with Gluon's default initializer. None does not initialize
        them.
    **kwargs
        Arguments of the class.

    Returns
    -------
    ConvAutoencoder

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or if ``pretrained`` is given.

    Examples
    --------
    >>> import mxnet as mx
    >>> conv_autoencoder(ctx=mx.cpu(), size=8)(mx.nd.zeros((5, 1, 8, 8))).shape
    (5, 1, 8, 8)
    """
    return make(ConvAutoencoder, ctx, kwargs)


def _convolution(inputs, outputs, padding="same", activation="relu"):
    return nn.Conv2D(outputs, 3, padding=padding, activation=activation, in_channels=inputs)


def _check_size(size):
    height, width = per_axis("size", size, 2, least=8)
    if height % 4 or width % 4:
        raise ValueError(
            f"size={size!r} is not supported, because the output would have another size: give "
            "multiples of 4 from 8 on, such as 28"
        )
    return height, width
