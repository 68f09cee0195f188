"""Run a photograph through TinyDarkNet, the backbone of YOLOv3-tiny, with padding='same' throughout.

Shows how each layer changes the size, and that one net, hybridized or exported, serves several input
sizes and matches the same net padded by hand. Downloads nothing, and takes a few seconds.
"""

import argparse
import functools
import math
import os
import statistics
import tempfile
import timeit
import warnings

import mxnet as mx
from mxnet.gluon import SymbolBlock
from mxnet.gluon import nn as stock

from .. import __version__, nn, summary
from ..geometry import ceil_div
from ..model_zoo import darknet, tiny_darknet
from .common import write_figure
from .figure import figure, size_of
from .images import muted, read_image  # noqa: F401  the notebooks mute MXNet, too

PHOTO = os.path.join(os.path.dirname(__file__), os.pardir, "data", "astronaut.jpg")
SIZES = (416, 320, 417)
TOLERANCE = 1e-4  #: Largest difference that passes, as a share of the output's largest number.
ROUNDS = 7
LOWEST = -3e38  #: Padding that is never the maximum.

_say = functools.partial(print, flush=True)


def build_net() -> nn.HybridSequential:
    """Build TinyDarkNet: six convolutions, five poolings that halve the map, one that keeps its size.

    It is the model zoo's net without its last convolution, for which stock padding suffices.

    Returns
    -------
    HybridSequential
        Not initialized. Maps (batch, 3, height, width) to (batch, 512, ceil(height / 32),
        ceil(width / 32)).
    """
    return tiny_darknet().features[:-3]


def build_padded_net(size: int) -> stock.HybridSequential:
    """Build TinyDarkNet in stock Gluon, with ``F.pad`` where it is needed for one input size.

    Parameters
    ----------
    size : int
        The only height and width of the input for which the net is right.

    Returns
    -------
    HybridSequential
        Not initialized. Its parameters are those of :func:`build_net`, in the same order.
    """
    net = stock.HybridSequential(prefix="padded_")
    with net.name_scope():
        for channels in darknet.CHANNELS[:-1]:
            net.add(stock.Conv2D(channels, 3, padding=1, use_bias=False))
            net.add(stock.BatchNorm(epsilon=darknet.EPSILON), stock.LeakyReLU(darknet.SLOPE))
            strides = 1 if channels == 512 else 2
            if strides == 1 or size % 2:
                net.add(stock.HybridLambda(_pad_end))
            net.add(stock.MaxPool2D(2, strides=strides))
            size = ceil_div(size, strides)
    return net


def _pad_end(F, x):
    return F.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 0, 1, 0, 1), constant_value=LOWEST)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on its parser."""

    def image(path):
        try:
            return path, read_image(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            return parser.exit(2, f"{parser.prog}: --image {path!r}: {reason}\n")

    def svg(path):
        if not path.lower().endswith(".svg") and not os.path.exists(path):
            raise argparse.ArgumentTypeError(
                f"{path!r} is not the name of an SVG file: end it with .svg"
            )
        return path

    photo = "a JPEG or PNG of any size (default: a portrait by NASA that comes with the package)"
    parser.add_argument("--image", type=image, default=PHOTO, metavar="PATH", help=photo)
    picture = "also write a picture of the net's maps"
    parser.add_argument("--out", type=svg, metavar="FILE.svg", help=picture)


def run(args: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    args : argparse.Namespace
        ``image``, the photograph's path and its array, and ``out``, the path of the figure or None.

    Returns
    -------
    int
        0, or 1 if a difference exceeds ``TOLERANCE``.
    """
    path, image = args.image
    _say(f"gluon_same {__version__} on MXNet {mx.__version__}")
    _say(f"Photograph: {os.path.basename(path)}, {image.shape[1]}x{image.shape[0]}")
    _say("Net:        TinyDarkNet, the backbone of YOLOv3-tiny, with random weights;")
    _say("            every layer has padding='same', with the same meaning as in Keras\n")
    x = _picture(image, SIZES[0])
    mx.random.seed(0)
    net = build_net()
    net.initialize(mx.init.Xavier())
    _say(summary(net, x.shape))
    before = net[:-1](x)
    small, large = (size_of(stock.MaxPool2D(2, 1, padding)(before)) for padding in (0, 1))
    _say(f"\nThe last pool keeps {size_of(before)}. Stock Gluon pads both ends equally, which gives")
    _say(f"{small} (padding=0) or {large} (padding=1).")
    if args.out is not None:
        write_figure("--out", args.out, figure(net, x))
    hybrid = _with_weights_of(net, build_net(), x)
    ways = {"eager": net, "hybridized": hybrid, "exported, loaded": _export_and_load(hybrid)}
    _say("\nThe same net padded by hand has F.pad where stock Gluon needs it for the size.")
    worst = 0.0
    for size in SIZES:
        x = _picture(image, size)
        expected = net(x).asnumpy()
        by_hand = _with_weights_of(net, build_padded_net(size), x)
        title = f"{size_of(x)} to {size_of(expected)}"
        _say(f"\n{title:<20}{'difference':<12}median milliseconds")
        for name, other in {**ways, "padded by hand": by_hand}.items():
            difference = _difference(other(x).asnumpy(), expected)
            worst = max(worst, difference)
            _say(f"{name:<20}{difference:<12.1e}{_milliseconds(other, x):.1f}")
    verdict = "passed" if worst <= TOLERANCE else "FAILED"
    _say(f"\nCheck {verdict}: results differ by at most {worst:.1e} of the largest output value")
    _say(f"(allowed for rounding: {TOLERANCE:.0e}).")
    return 0 if worst <= TOLERANCE else 1


def _picture(image, size):
    x = mx.image.imresize(image, size, size).astype("float32") / 255
    return x.transpose((2, 0, 1)).expand_dims(0)


def _with_weights_of(source, net, x):
    """Return the net, hybridized and with the parameters of another one."""
    net.initialize()
    net.hybridize()
    net(x)  # settles the shapes
    for have, want in zip(source.collect_params().values(), net.collect_params().values()):
        want.set_data(have.data())
    return net


def _export_and_load(net):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MXNet warns that the input is not among the parameters
        stem = os.path.join(folder, "net")
        net.export(stem)
        return SymbolBlock.imports(f"{stem}-symbol.json", ["data"], f"{stem}-0000.params")


def _difference(result, expected):
    """Return the largest difference as a share of the largest expected number."""
    if result.shape != expected.shape:
        return math.inf
    share = float(abs(result - expected).max() / (abs(expected).max() or 1))
    return math.inf if math.isnan(share) else share


def _milliseconds(net, x):
    seconds = timeit.repeat(lambda: net(x).wait_to_read(), number=1, repeat=ROUNDS)
    return 1000 * statistics.median(seconds)
