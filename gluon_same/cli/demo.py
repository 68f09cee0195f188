"""Run a photograph through TinyDarkNet, the backbone of YOLOv3-tiny, with padding='same' throughout.

Shows how each layer changes the size, and that one net, hybridized or exported, serves several input
sizes and matches the same net padded by hand. Downloads nothing, and takes a few seconds.
"""

import argparse
import functools
import os
import statistics
import tempfile
import timeit
import warnings

import mxnet as mx
import numpy as np
from mxnet.gluon import SymbolBlock
from mxnet.gluon import nn as stock

from .. import __version__, nn, summary
from ..geometry import ceil_div
from ..model_zoo import darknet, tiny_darknet
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
    photo = "a JPEG or PNG of any size (default: a portrait by NASA that comes with the package)"
    parser.add_argument("--image", default=PHOTO, metavar="PATH", help=photo)


def run(args: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    args : argparse.Namespace
        With ``image``, the photograph's path.

    Returns
    -------
    int
        0, or 1 if a difference exceeds ``TOLERANCE``.
    """
    image = read_image(args.image)
    _say(f"gluon_same {__version__} on MXNet {mx.__version__}")
    _say(f"Photograph: {os.path.basename(args.image)}, {image.shape[1]}x{image.shape[0]}")
    _say("Net:        TinyDarkNet, the backbone of YOLOv3-tiny, with random weights;")
    _say("            every layer has padding='same', with the same meaning as in Keras\n")
    x = _picture(image, SIZES[0])
    mx.random.seed(0)
    net = build_net()
    net.initialize(mx.init.Xavier())
    _say(summary(net, x.shape))
    before = net[:-1](x)
    small, large = (_size_of(stock.MaxPool2D(2, 1, padding)(before)) for padding in (0, 1))
    _say(f"\nThe last pool keeps {_size_of(before)}. Stock Gluon pads both ends equally, which gives")
    _say(f"{small} (padding=0) or {large} (padding=1).")
    hybrid = _with_weights_of(net, build_net(), x)
    ways = {"eager": net, "hybridized": hybrid, "exported, loaded": _export_and_load(hybrid)}
    _say("\nThe same net padded by hand has F.pad where stock Gluon needs it for the size.")
    differences = []
    for size in SIZES:
        x = _picture(image, size)
        expected = net(x).asnumpy()
        by_hand = _with_weights_of(net, build_padded_net(size), x)
        title = f"{_size_of(x)} to {_size_of(expected)}"
        _say(f"\n{title:<20}{'difference':<12}median milliseconds")
        for name, other in {**ways, "padded by hand": by_hand}.items():
            difference = abs(other(x).asnumpy() - expected).max() / abs(expected).max()
            differences.append(difference)
            run_once, names = "net(x).wait_to_read()", {"net": other, "x": x}
            seconds = timeit.repeat(run_once, number=1, repeat=ROUNDS, globals=names)
            _say(f"{name:<20}{difference:<12.1e}{1000 * statistics.median(seconds):.1f}")
    worst = np.max(differences)  # not a number if one of them is not
    verdict = "passed" if worst <= TOLERANCE else "FAILED"
    _say(f"\nCheck {verdict}: results differ by at most {worst:.1e} of the largest output value")
    _say(f"(allowed for rounding: {TOLERANCE:.0e}).")
    return int(verdict != "passed")


def _size_of(x):
    return f"{x.shape[2]}x{x.shape[3]}"


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
