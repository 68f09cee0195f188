"""Well-known nets, built from stock Gluon's or gluon_same's layers.

A builder takes ``nn``, a module of layers, and ``pad``, which returns a layer's padding for a kernel:
``lambda kernel: kernel // 2`` pads both ends equally, ``lambda kernel: 'same'`` pads as TensorFlow does.
Nets have their original blocks, widths and activations, and :data:`CLASSES` outputs. Four short nets of
even kernels follow, because their convolutions are the only ones at stride 1 that SAME pads unequally.
"""

import gluon_same  # noqa: F401  isort: skip  first, because it prepares NumPy for MXNet

from mxnet.gluon import HybridBlock

CLASSES = 100


class Swish(HybridBlock):
    """x * sigmoid(x)."""

    def hybrid_forward(self, F, x):
        return x * F.sigmoid(x)


class Relu6(HybridBlock):
    """ReLU with an upper limit of 6."""

    def hybrid_forward(self, F, x):
        return F.clip(x, 0, 6)


class Together(HybridBlock):
    """Branches of one input, concatenated along the channels."""

    def __init__(self, *branches):
        super().__init__()
        for branch in branches:
            self.register_child(branch)

    def hybrid_forward(self, F, x):
        return F.concat(*[branch(x) for branch in self._children.values()], dim=1)


class Sum(HybridBlock):
    """The sum of a body and of its input or a shortcut of the input, with or without a ReLU."""

    def __init__(self, body, shortcut=None, relu=False):
        super().__init__()
        self.body, self.shortcut, self._relu = body, shortcut, relu

    def hybrid_forward(self, F, x):
        x = self.body(x) + (x if self.shortcut is None else self.shortcut(x))
        return F.relu(x) if self._relu else x


class SqueezeExcite(HybridBlock):
    """Channels scaled by two small layers of their averages."""

    def __init__(self, nn, channels, squeezed):
        super().__init__()
        self.gate = _chain(
            nn,
            nn.GlobalAvgPool2D(),
            nn.Conv2D(squeezed, 1),
            Swish(),
            nn.Conv2D(channels, 1, activation="sigmoid"),
        )

    def hybrid_forward(self, F, x):
        return F.broadcast_mul(x, self.gate(x))


def _chain(nn, *blocks):
    net = nn.HybridSequential()
    for block in blocks:
        net.add(*(block if isinstance(block, list) else [block]))
    return net


def conv(nn, pad, channels, kernel, stride=1, groups=1, act="relu", padding=None):
    """Add a convolution without bias, a normalization, and optionally an activation."""
    if padding is None:
        padding = tuple(map(pad, kernel)) if isinstance(kernel, tuple) else pad(kernel)
        padding = padding[0] if isinstance(padding, tuple) and "same" in padding else padding
    blocks = [
        nn.Conv2D(channels, kernel, stride, padding, groups=groups, use_bias=False),
        nn.BatchNorm(epsilon=1e-3),
    ]
    if act is not None:
        known = {"relu6": Relu6, "swish": Swish, "leaky": lambda: nn.LeakyReLU(0.1)}
        blocks.append(known[act]() if act in known else nn.Activation(act))
    return blocks


def tiny_darknet(nn, pad):
    """YOLOv3-tiny's backbone, whose last pool keeps its size."""
    net = nn.HybridSequential()
    for channels, stride in zip((16, 32, 64, 128, 256, 512), (2, 2, 2, 2, 2, 1)):
        net.add(*conv(nn, pad, channels, 3, act="leaky"))
        net.add(nn.MaxPool2D(2, stride, pad(2) if stride == 1 else pad(1)))
    net.add(*conv(nn, pad, 1024, 3, act="leaky"))
    return net


def yolov3_tiny(nn, pad):
    """The raw maps of YOLOv3-tiny, at a 32nd and a 16th of the input."""

    class YOLOv3Tiny(HybridBlock):
        def __init__(self):
            super().__init__()
            self.fine, self.coarse = nn.HybridSequential(), nn.HybridSequential()
            for channels in (16, 32, 64, 128):
                self.fine.add(*conv(nn, pad, channels, 3, act="leaky"), nn.MaxPool2D(2, 2, pad(1)))
            self.fine.add(*conv(nn, pad, 256, 3, act="leaky"))
            self.coarse.add(nn.MaxPool2D(2, 2, pad(1)), *conv(nn, pad, 512, 3, act="leaky"))
            self.coarse.add(nn.MaxPool2D(2, 1, pad(2)) if pad(2) == "same" else nn.MaxPool2D(3, 1, 1))
            self.coarse.add(*conv(nn, pad, 1024, 3, act="leaky"), *conv(nn, pad, 256, 1, act="leaky"))
            self.first = _chain(nn, conv(nn, pad, 512, 3, act="leaky"), nn.Conv2D(255, 1))
            self.grow = _chain(nn, conv(nn, pad, 128, 1, act="leaky"))
            self.second = _chain(nn, conv(nn, pad, 256, 3, act="leaky"), nn.Conv2D(255, 1))

        def hybrid_forward(self, F, x):
            fine = self.fine(x)
            coarse = self.coarse(fine)
            grown = F.UpSampling(self.grow(coarse), scale=2, sample_type="nearest")
            return self.first(coarse), self.second(F.concat(grown, fine, dim=1))

    return YOLOv3Tiny()


def mobilenet(nn, pad):
    """MobileNet, version 1."""
    net = _chain(nn, conv(nn, pad, 32, 3, 2, act="relu6"))
    before = 32
    for channels, stride in (
        [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
        + [(512, 1)] * 5
        + [(1024, 2), (1024, 1)]
    ):
        net.add(*conv(nn, pad, before, 3, stride, groups=before, act="relu6"))
        net.add(*conv(nn, pad, channels, 1, act="relu6"))
        before = channels
    net.add(nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def mobilenet_v2(nn, pad):
    """MobileNet, version 2."""
    net, before = _chain(nn, conv(nn, pad, 32, 3, 2, act="relu6")), 32
    for factor, channels, count, stride in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
    ] + [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(count):
            wide, step = factor * before, stride if i == 0 else 1
            body = _chain(
                nn,
                conv(nn, pad, wide, 1, act="relu6") if factor > 1 else [],
                conv(nn, pad, wide, 3, step, groups=wide, act="relu6"),
                conv(nn, pad, channels, 1, act=None),
            )
            net.add(body if i == 0 else Sum(body))
            before = channels
    net.add(*conv(nn, pad, 1280, 1, act="relu6"), nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def resnet50(nn, pad):
    """ResNet of 50 layers, whose 3x3 convolutions have the strides."""
    net = _chain(nn, conv(nn, pad, 64, 7, 2), nn.MaxPool2D(3, 2, pad(3)))
    for channels, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for i in range(count):
            step = stride if i == 0 else 1
            body = _chain(
                nn,
                conv(nn, pad, channels, 1),
                conv(nn, pad, channels, 3, step),
                conv(nn, pad, 4 * channels, 1, act=None),
            )
            shortcut = _chain(nn, conv(nn, pad, 4 * channels, 1, step, act=None)) if i == 0 else None
            net.add(Sum(body, shortcut, relu=True))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def inception_v3(nn, pad):
    """Inception, version 3."""

    def c(channels, kernel, stride=1, padding=None):
        return conv(nn, pad, channels, kernel, stride, padding=padding)

    def chain(*blocks):
        return _chain(nn, *blocks)

    def pooled(channels):
        return chain(nn.AvgPool2D(3, 1, pad(3), count_include_pad=False), c(channels, 1))

    net = chain(c(32, 3, 2, 0), c(32, 3, 1, 0), c(64, 3), nn.MaxPool2D(3, 2))
    net.add(*c(80, 1), *c(192, 3, 1, 0), nn.MaxPool2D(3, 2))
    for channels in (32, 64, 64):
        net.add(
            Together(
                chain(c(64, 1)),
                chain(c(48, 1), c(64, 5)),
                chain(c(64, 1), c(96, 3), c(96, 3)),
                pooled(channels),
            )
        )
    shrink = chain(c(64, 1), c(96, 3), c(96, 3, 2, 0))
    net.add(Together(chain(c(384, 3, 2, 0)), shrink, nn.MaxPool2D(3, 2)))
    for n in (128, 160, 160, 192):
        long = chain(c(n, 1), c(n, (7, 1)), c(n, (1, 7)), c(n, (7, 1)), c(192, (1, 7)))
        net.add(
            Together(chain(c(192, 1)), chain(c(n, 1), c(n, (1, 7)), c(192, (7, 1))), long, pooled(192))
        )
    shrink = chain(c(192, 1), c(192, (1, 7)), c(192, (7, 1)), c(192, 3, 2, 0))
    net.add(Together(chain(c(192, 1), c(320, 3, 2, 0)), shrink, nn.MaxPool2D(3, 2)))
    for _ in range(2):
        split = [Together(chain(c(384, (1, 3))), chain(c(384, (3, 1)))) for _ in range(2)]
        net.add(
            Together(
                chain(c(320, 1)),
                chain(c(384, 1), split[0]),
                chain(c(448, 1), c(384, 3), split[1]),
                pooled(192),
            )
        )
    net.add(nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def efficientnet_b0(nn, pad):
    """EfficientNet-B0."""
    net, before = _chain(nn, conv(nn, pad, 32, 3, 2, act="swish")), 32
    for factor, channels, count, stride, kernel in [
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
    ] + [(6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]:
        for i in range(count):
            wide, step = factor * before, stride if i == 0 else 1
            body = _chain(
                nn,
                conv(nn, pad, wide, 1, act="swish") if factor > 1 else [],
                conv(nn, pad, wide, kernel, step, groups=wide, act="swish"),
                SqueezeExcite(nn, wide, before // 4),
                conv(nn, pad, channels, 1, act=None),
            )
            net.add(body if i == 0 else Sum(body))
            before = channels
    net.add(*conv(nn, pad, 1280, 1, act="swish"), nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def densenet121(nn, pad):
    """DenseNet of 121 layers."""

    class Dense(HybridBlock):
        def __init__(self):
            super().__init__()
            self.body = _chain(
                nn,
                nn.BatchNorm(),
                nn.Activation("relu"),
                conv(nn, pad, 128, 1),
                nn.Conv2D(32, 3, padding=pad(3), use_bias=False),
            )

        def hybrid_forward(self, F, x):
            return F.concat(x, self.body(x), dim=1)

    net, channels = _chain(nn, conv(nn, pad, 64, 7, 2), nn.MaxPool2D(3, 2, pad(3))), 64
    for i, count in enumerate((6, 12, 24, 16)):
        if i:
            channels //= 2
            net.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(channels, 1, use_bias=False))
            net.add(nn.AvgPool2D(2))
        net.add(*[Dense() for _ in range(count)])
        channels += 32 * count
    net.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def unet(nn, pad):
    """U-Net of four levels."""

    class UNet(HybridBlock):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.HybridSequential(), nn.HybridSequential()
            self.grow, self.pool = nn.HybridSequential(), nn.MaxPool2D(2, 2, pad(1))
            for channels in (16, 32, 64, 128):
                self.down.add(self.level(channels))
            for channels in (64, 32, 16):
                self.grow.add(nn.Conv2DTranspose(channels, 2, 2, pad(1)))
                self.up.add(self.level(channels))
            self.head = nn.Conv2D(4, 1)

        def level(self, channels):
            return _chain(nn, conv(nn, pad, channels, 3), conv(nn, pad, channels, 3))

        def hybrid_forward(self, F, x):
            kept = []
            for i, level in enumerate(self.down):
                x = level(x if i == 0 else self.pool(x))
                kept.append(x)
            for grow, level, skip in zip(self.grow, self.up, kept[-2::-1]):
                x = level(F.concat(grow(x), skip, dim=1))
            return self.head(x)

    return UNet()


def conv_autoencoder(nn, pad):
    """The convolutional autoencoder of the Keras blog."""

    class Double(HybridBlock):
        def hybrid_forward(self, F, x):
            return F.UpSampling(x, scale=2, sample_type="nearest")

    def layer(channels, padding=None, act="relu"):
        return nn.Conv2D(channels, 3, padding=pad(3) if padding is None else padding, activation=act)

    def halve():
        if pad(3) == "same":
            return nn.MaxPool2D(2, 2, "same")
        return nn.MaxPool2D(2, 2, ceil_mode=True)

    encoder = [layer(16), halve(), layer(8), halve(), layer(8), halve()]
    decoder = [layer(8), Double(), layer(8), Double(), layer(16, 0), Double(), layer(1, act="sigmoid")]
    return _chain(nn, encoder, decoder)


def conv2x2_pooled(nn, pad):
    """Three 2x2 convolutions, each in front of a pooling."""
    levels = [
        [nn.Conv2D(channels, 2, padding=pad(2), activation="relu"), nn.MaxPool2D(2, 2)]
        for channels in (32, 64, 128)
    ]
    return _chain(nn, *levels)


def conv4x1_pooled(nn, pad):
    """Three convolutions over four rows, each with a normalization and in front of a pooling."""
    return _chain(nn, *[[*conv(nn, pad, c, (4, 1)), nn.MaxPool2D(2, 2)] for c in (32, 64, 128)])


def conv4x4_chain(nn, pad):
    """Four 4x4 convolutions."""
    return _chain(nn, *[nn.Conv2D(64, 4, padding=pad(4), activation="relu") for _ in range(4)])


def conv2x2_chain(nn, pad):
    """Four 2x2 convolutions with normalizations."""
    return _chain(nn, *[conv(nn, pad, 64, 2) for _ in range(4)])


#: Builder and shape of one image, by name: nets that others designed.
KNOWN = {
    "TinyDarkNet": (tiny_darknet, (3, 416, 416)),
    "YOLOv3Tiny": (yolov3_tiny, (3, 416, 416)),
    "MobileNet": (mobilenet, (3, 224, 224)),
    "MobileNetV2": (mobilenet_v2, (3, 224, 224)),
    "ResNet50": (resnet50, (3, 224, 224)),
    "InceptionV3": (inception_v3, (3, 299, 299)),
    "EfficientNetB0": (efficientnet_b0, (3, 224, 224)),
    "DenseNet121": (densenet121, (3, 224, 224)),
    "U-Net": (unet, (3, 224, 224)),
    "ConvAutoencoder": (conv_autoencoder, (1, 28, 28)),
}

#: The same for the nets of even kernels.
EVEN = {
    "Conv2x2Pooled": (conv2x2_pooled, (3, 128, 128)),
    "Conv4x1Pooled": (conv4x1_pooled, (1, 128, 128)),
    "Conv4x4Chain": (conv4x4_chain, (64, 56, 56)),
    "Conv2x2Chain": (conv2x2_chain, (64, 56, 56)),
}

NETS = {**KNOWN, **EVEN}
