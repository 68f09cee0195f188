"""Run a photograph through TinyDarkNet, the backbone of YOLOv3-tiny, with padding='same' throughout.

Shows how each layer changes the size, and that one net, hybridized or exported, serves several input
sizes and matches the same net padded by hand. Downloads nothing, and takes a few seconds.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
import warnings
from typing import Any, Dict, List

import mxnet as mx
from mxnet.gluon import HybridBlock, SymbolBlock
from mxnet.gluon import nn as stock

from .. import __version__, nn
from ..geometry import ceil_div, same_padding
from ..model_zoo import darknet, tiny_darknet
from ..nn.base import operator_arguments
from .figure import figure
from .files import write_text
from .images import muted, read_image  # noqa: F401  the notebooks mute MXNet, too

PHOTO = os.path.join(os.path.dirname(__file__), os.pardir, "data", "astronaut.jpg")
SIZES = (416, 320, 417)
CHANNELS = darknet.CHANNELS[:-1]  #: Convolutions up to the pool that keeps its size.
TOLERANCE = 1e-4  #: Largest difference that passes, as a share of the output's largest number.
ROUNDS = 7
LOWEST = -3e38  #: Padding that is never the maximum.


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


class Pad(HybridBlock):
    """Pad height and width by ``before`` and ``after`` elements of ``value``, with ``F.pad``."""

    def __init__(self, before: int, after: int, value: float):
        super().__init__()
        self._width = (0, 0, 0, 0, before, after, before, after)
        self._value = value

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.pad(x, mode="constant", pad_width=self._width, constant_value=self._value)


def build_padded_net(size: int, throughout: bool) -> stock.HybridSequential:
    """Build TinyDarkNet in stock Gluon, with ``F.pad`` for one input size.

    Parameters
    ----------
    size : int
        The only height and width of the input for which the net is right.
    throughout : bool
        Whether ``F.pad`` goes before the convolutions too, where stock Gluon's ``padding=1`` suffices.

    Returns
    -------
    HybridSequential
        Not initialized. Its parameters are those of :func:`build_net`, in the same order.
    """
    net = stock.HybridSequential(prefix="padded_")
    with net.name_scope():
        for channels in CHANNELS:
            if throughout:
                net.add(Pad(1, 1, 0))
            net.add(stock.Conv2D(channels, 3, padding=0 if throughout else 1, use_bias=False))
            net.add(stock.BatchNorm(epsilon=darknet.EPSILON), stock.LeakyReLU(darknet.SLOPE))
            strides = 1 if channels == 512 else 2
            if strides == 1 or size % 2:
                net.add(Pad(0, 1, LOWEST))
            net.add(stock.MaxPool2D(2, strides=strides))
            size = ceil_div(size, strides)
    return net


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on its parser."""

    def image(path):
        try:
            return path, read_image(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            return parser.exit(2, f"{parser.prog}: --image {path!r}: {reason}\n")

    parser.add_argument(
        "--image",
        type=image,
        default=PHOTO,
        metavar="PATH",
        help="a JPEG or PNG of any size (default: a portrait by NASA that comes with the package)",
    )
    parser.add_argument(
        "--out",
        type=_figure_name,
        metavar="FILE.svg",
        help="also write a picture of the net's maps",
    )
    parser.set_defaults(program=parser.prog)


def _figure_name(path):
    if not path.lower().endswith(".svg") and not os.path.exists(path):
        raise argparse.ArgumentTypeError(f"{path!r} is not the name of an SVG file: end it with .svg")
    return path


def run(args: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    args : argparse.Namespace
        ``image``, the photograph's path and its array, and ``out``, the path of the figure or None.

    Returns
    -------
    int
        0, or 1 if a difference exceeds ``TOLERANCE`` or the figure cannot be written.
    """
    path, image = args.image
    _say(f"gluon_same {__version__} on MXNet {mx.__version__}")
    _say(f"Photograph: {os.path.basename(path)}, {image.shape[1]}x{image.shape[0]}")
    _say("Net:        TinyDarkNet, the backbone of YOLOv3-tiny, with random weights;")
    _say("            every layer has padding='same', with the same meaning as in Keras")
    x = _picture(image, SIZES[0])
    mx.random.seed(0)
    net = build_net()
    net.initialize(mx.init.Xavier())
    _print_layers(net, x)
    if args.out is not None:
        try:
            write_text(args.out, figure(net, x))
        except OSError as error:
            reason = error.strerror or error
            print(f"{args.program}: --out {args.out!r}: {reason}", file=sys.stderr)
            return 1
    hybrid = _with_weights_of(net, build_net(), x, hybridize=True)
    loaded = _export_and_load(hybrid)
    ways = {"eager": net, "hybridized": hybrid, "exported, loaded": loaded}
    _say("\nTimes are medians in milliseconds. The last two columns are the same net with")
    _say("F.pad: only where stock Gluon needs it, or before every layer that SAME pads.")
    _say("In parentheses: the time of padding='same' over theirs; below 1 is faster.")
    worst = max(_print_size(ways, _picture(image, size)) for size in SIZES)
    verdict = "passed" if worst <= TOLERANCE else "FAILED"
    _say(f"\nCheck {verdict}: results differ by at most {worst:.1e} of the largest output value")
    _say(f"(allowed for rounding: {TOLERANCE:.0e}).")
    return 0 if worst <= TOLERANCE else 1


def _print_layers(net, x):
    _say(f"\n{'layer':<26}{'window':<9}{'SAME pads':<12}{'input':<14}output")
    for layer in net:
        before, x = x, layer(x)
        if not isinstance(layer, (nn.Conv2D, nn.MaxPool2D)):
            continue
        known = operator_arguments(layer)
        (kernel, _), (stride, _) = known["kernel"], known["stride"]
        start, end = same_padding(before.shape[2], kernel, stride)
        pads = f"{start} and {end}" if end else "none"
        name = f"conv {x.shape[1]}, BN, leaky 0.1" if isinstance(layer, nn.Conv2D) else "max pool"
        sizes = [f"{y.shape[1]}x{_map(y)}" for y in (before, x)]
        _say(f"{name:<26}{f'{kernel}x{kernel} /{stride}':<9}{pads:<12}{sizes[0]:<14}{sizes[1]}")
    small, large = (_map(stock.MaxPool2D(kernel, stride, p)(before)) for p in (0, 1))
    _say(f"\nThe last pool keeps {_map(before)}. Stock Gluon pads both ends equally, which gives")
    _say(f"{small} (padding=0) or {large} (padding=1).")


def _print_size(ways, x):
    """Print the rows of one input size, and return the largest difference over the largest output."""
    nets = dict(ways)
    for throughout in (False, True):
        for hybridize in (False, True):
            padded = build_padded_net(x.shape[2], throughout)
            nets[throughout, hybridize] = _with_weights_of(ways["eager"], padded, x, hybridize)
    results = {name: net(x).asnumpy() for name, net in nets.items()}
    expected = results["eager"]
    differences = {name: _difference(result, expected) for name, result in results.items()}
    times = _times(nets, x)
    title = f"{_map(x)} to {_map(expected)}"
    _say(f"\n{title:<18}{'difference':<12}{'time':<8}{'F.pad where needed':<22}F.pad throughout")
    for name in ways:
        by_hand = [times[throughout, name != "eager"] for throughout in (False, True)]
        needed, all_ = [f"{t:.1f} ({times[name] / t:.2f})" for t in by_hand]
        _say(f"{name:<18}{differences[name]:<12.1e}{times[name]:<8.1f}{needed:<22}{all_}")
    _say(f"{'with F.pad':<18}{max(differences[name] for name in nets if name not in ways):.1e}")
    worst = max(differences.values())
    return worst if math.isinf(worst) else worst / (abs(expected).max() or 1)


def _picture(image, size):
    x = mx.image.imresize(image, size, size).astype("float32") / 255
    return x.transpose((2, 0, 1)).expand_dims(0)


def _with_weights_of(source, net, x, hybridize):
    net.initialize()
    if hybridize:
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
    if result.shape != expected.shape:
        return math.inf
    largest = float(abs(result - expected).max())
    return math.inf if math.isnan(largest) else largest


def _times(nets, x):
    """Return median times in milliseconds. Nets take turns, so changes of the machine affect all."""
    times: Dict[Any, List[float]] = {name: [] for name in nets}
    for _ in range(ROUNDS):
        for name, net in nets.items():
            mx.nd.waitall()
            start = time.perf_counter()
            net(x)
            mx.nd.waitall()
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(taken) for name, taken in times.items()}


def _map(x):
    return f"{x.shape[2]}x{x.shape[3]}"


def _say(line):
    print(line, flush=True)
