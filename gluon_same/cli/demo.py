"""Run a photograph through TinyDarkNet, the backbone of YOLOv3-tiny, with padding='same' throughout.

Shows how each layer changes the size, checks that one hybridized net serves several input sizes, and
times it against stock Gluon. Downloads nothing, and takes a few seconds.
"""

import argparse
import functools
import os
import timeit

import mxnet as mx
from mxnet.gluon import nn as stock

from .. import __version__, nn
from ..geometry import ceil_div
from ..model_zoo import darknet, tiny_darknet
from ..summaries import summarize
from ..tables import by_axis
from .images import muted, read_image  # noqa: F401  the notebooks mute MXNet, too

PHOTO = os.path.join(os.path.dirname(__file__), os.pardir, "data", "astronaut.jpg")
SIZES = (416, 320, 417)
ROUNDS = 7

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


def build_stock_net() -> stock.HybridSequential:
    """Build the same layers in stock Gluon, whose poolings drop elements that SAME keeps."""
    net = stock.HybridSequential()
    for channels in darknet.CHANNELS[:-1]:
        net.add(stock.Conv2D(channels, 3, padding=1, use_bias=False))
        net.add(stock.BatchNorm(epsilon=darknet.EPSILON), stock.LeakyReLU(darknet.SLOPE))
        net.add(stock.MaxPool2D(2, strides=1 if channels == 512 else 2))
    return net


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
        0, or 1 if an output has another size than SAME's.
    """
    image = read_image(args.image)
    _say(f"gluon_same {__version__} on MXNet {mx.__version__}")
    _say(f"Photograph: {os.path.basename(args.image)}, {image.shape[1]}x{image.shape[0]}")
    _say("Net:        TinyDarkNet, the backbone of YOLOv3-tiny, with random weights\n")
    pictures = [_picture(image, size) for size in SIZES]
    mx.random.seed(0)
    nets = build_net(), build_stock_net()
    for each in nets:
        each.initialize(mx.init.Xavier())
        each.hybridize()
    _say(summarize(nets[0], pictures[0].shape))
    passed = True
    _say(f"\n{'hybridized, at':<16}{'SAME':<10}{'gluon_same':<14}{'stock Gluon'}")
    for x in pictures:
        sizes = x.shape[2:]
        same = tuple(ceil_div(n, darknet.STRIDE) for n in sizes)
        ours, theirs = (each(x).shape[2:] for each in nets)
        passed = passed and ours == same
        _say(f"{by_axis(sizes):<16}{by_axis(same):<10}{by_axis(ours):<14}{by_axis(theirs)}")
    calls = [lambda each=each: each(pictures[0]).wait_to_read() for each in nets]
    ours, theirs = (1000 * min(timeit.repeat(call, number=1, repeat=ROUNDS)) for call in calls)
    _say(f"\nTime at {SIZES[0]}x{SIZES[0]}: {ours:.1f} ms; stock Gluon: {theirs:.1f} ms")
    _say(f"\nCheck {'passed' if passed else 'FAILED'}: one net gives SAME's size at each input size")
    return int(not passed)


def _picture(image, size):
    x = mx.image.imresize(image, size, size).astype("float32") / 255
    return x.transpose((2, 0, 1)).expand_dims(0)
