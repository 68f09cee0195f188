"""User code for type checkers in strict mode; see ``tests/test_typing.py``."""

from typing import Any, Tuple

import mxnet  # type: ignore  # has no type hints

import gluon_same
from gluon_same import functional, nn
from gluon_same.geometry import output_size, same_padding

mx: Any = mxnet

x = mx.nd.random.normal(shape=(1, 3, 416, 416))
net = nn.HybridSequential()
net.add(
    nn.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
    nn.BatchNorm(),
    nn.MaxPool2D(3, strides=2, padding="same"),
    nn.Conv2D(32, (4, 1), padding=((1, 2), (0, 0)), weight_initializer=mx.init.Xavier()),
    nn.Conv2DTranspose(8, 3, 2, "same", prefix="up_"),
    nn.AvgPool2D(2, 1, padding=(1, 0), count_include_pad=False),
    nn.GlobalAvgPool2D(),
    nn.Dense(10),
)
net.initialize(mx.init.Xavier(), ctx=mx.cpu())
net.hybridize(static_alloc=True)
y = net(x)
shape: Tuple[int, ...] = y.shape
net.save_parameters("net.params")
net.export("net")
fixed, every = gluon_same.specialize(net, (1, 3, 416, 416)), gluon_same.specialize(net, graphs=4)
fixed.export("net")
every.hybridize(static_alloc=True)
gluon_same.deploy(net, (1, 3, 416, 416)).export("net")
first = nn.Conv1D(8, 3, padding="causal", in_channels=3)
first.initialize()
first.weight.set_data(mx.nd.ones((8, 3, 3)))
out = functional.convolution(mx.nd, x, mx.nd.ones((8, 3, 3, 3)), kernel=3, num_filter=8, pad="same")
pads, size = same_padding(224, kernel=7, stride=2), output_size(224, kernel=7, stride=2)
before: int = pads[0]
row: Tuple[int, ...] = nn.MaxPool2D(2, padding="SAME")(x).shape
speeds = gluon_same.compare_speed(net, x.shape).rows
milliseconds: float = speeds[0].ms
larger = nn.UpSampling2D(2, interpolation="bilinear"), nn.ReLU(max_value=6), nn.Reshape((3, -1))


class Stem(nn.HybridBlock):  # type: ignore  # MXNet has no type hints
    """A custom block, as in Gluon's tutorials."""

    def __init__(self, channels: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv = nn.Conv2D(channels, 3, padding="same", use_bias=False)
            self.norm = nn.BatchNorm()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.relu(self.norm(self.conv(x)))


class Depthwise(nn.Conv2D):
    """A subclass with another signature."""

    def __init__(self, channels: int, **kwargs: Any) -> None:
        super().__init__(channels, 3, groups=channels, padding="same", **kwargs)


net.add(Stem(8), Depthwise(8, prefix="depthwise_"))
