"""One look for the figures of the notebooks, and the drawings that several of them share.

The colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart.
Importing this sets matplotlib up.
"""

import gluon_same  # isort: skip  before mxnet: Python 3.12 and later need that

import contextlib
import io
import logging
import os
import warnings
from random import Random
from statistics import median
from time import perf_counter

import matplotlib as mpl
import mxnet as mx
import numpy as np
from IPython import display
from matplotlib import pyplot as plt
from PIL import Image

from gluon_same.demo import muted

INK, GREY, PAPER = "#24292f", "#6e7781", "#ffffff"
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7"),
)
CELL, CELL_EDGE = "#dcebf5", "#8aa9bf"
WIDTH = 7.6  #: Inches, for a figure as wide as a notebook's text.
PHOTO = os.path.join(os.path.dirname(gluon_same.__file__), "data", "astronaut.jpg")

# MXNet's, whenever a graph is loaded that does not tell the type of its data.
warnings.filterwarnings("ignore", "Cannot decide type", UserWarning)
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # a first run makes a cache
mpl.use("agg")  # figures are shown by show() alone
mpl.rcParams.update(
    {
        "axes.edgecolor": GREY,
        "axes.grid": False,
        "axes.labelcolor": INK,
        "axes.prop_cycle": mpl.cycler(color=COLOURS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "figure.constrained_layout.use": True,
        "figure.dpi": 110,
        "figure.facecolor": PAPER,
        "font.size": 9.5,
        "image.cmap": "gray",
        "legend.frameon": False,
        "lines.linewidth": 2,
        "text.color": INK,
        "xtick.color": GREY,
        "ytick.color": GREY,
    }
)


def show(figure, told, colours=64):
    """Show a figure as a small PNG, with words for readers who do not see it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", pad_inches=0.08)
    plt.close(figure)
    image = Image.open(buffer).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    image.save(buffer, format="png", optimize=True)
    picture = display.Image(buffer.getvalue(), alt=told)
    data, metadata = picture._repr_mimebundle_()
    data["text/plain"] = told
    display.display(data, metadata=metadata, raw=True)


def table(header, *rows):
    """Show a table. Numbers go to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    right = [all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(header))]
    pads = [str.rjust if r else str.ljust for r in right]
    plain = ["  ".join(pad(c, w) for pad, c, w in zip(pads, row, widths)).rstrip() for row in cells]
    rule = ["---:" if r else "---" for r in right]
    marked = ["| " + " | ".join(row) + " |" for row in (cells[0], rule, *cells[1:])]
    data = {"text/markdown": "\n".join(marked), "text/plain": "\n".join(plain)}
    display.display(data, raw=True)


def markdown(lines):
    """Show lines of Markdown, such as a table that a script prints."""
    text = "\n".join(lines)
    display.display({"text/markdown": text, "text/plain": text}, raw=True)


@contextlib.contextmanager
def quiet():
    """Hide warnings, and what libraries print."""
    nowhere = io.StringIO()
    streams = contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere)
    with warnings.catch_warnings(), streams[0], streams[1], muted():
        warnings.simplefilter("ignore")
        yield


def close(a, b, share=1e-5):
    """Whether two arrays have one shape and differ by rounding only, measured by the largest number."""
    a, b = (x.asnumpy() if isinstance(x, mx.nd.NDArray) else np.asarray(x) for x in (a, b))
    return a.shape == b.shape and abs(a - b).max() <= share * abs(b).max()


def photo(size, grey=True):
    """NASA's portrait of Eileen Collins, which comes with the package: (1, channels, size, size)."""
    image = mx.image.imresize(mx.image.imread(PHOTO), size, size).astype("float32") / 255
    x = image.transpose((2, 0, 1)).expand_dims(0)
    return x.mean(axis=1, keepdims=True) if grey else x


def numbers(ax, values, title="", shade=None, mark=None, form="g", ghosts=()):
    """Draw a small matrix as a grid of its numbers.

    ``shade`` (an array of the same shape, true where a cell is coloured), ``mark`` (top, left, height,
    width of a frame) and ``ghosts`` (cells of padding, as (row, column)) are optional.
    """
    values = np.asarray(values)
    for (row, column), value in np.ndenumerate(values):
        hot = shade is not None and shade[row, column]
        _cell(ax, row, column, ORANGE if hot else CELL, CELL_EDGE)
        word = format(value, form)
        ax.text(column, row, word, ha="center", va="center", fontsize=9 if len(word) < 5 else 7)
    for row, column in ghosts:
        _cell(ax, row, column, PAPER, GREY, linestyle=(0, (2, 2)))
    if mark is not None:
        top, left, height, width = mark
        ax.add_patch(
            plt.Rectangle((left - 0.5, top - 0.5), width, height, fill=False, ec=VERMILION, lw=2.5)
        )
    rows, columns = zip(*ghosts, (0, 0), (values.shape[0] - 1, values.shape[1] - 1))
    ax.set_xlim(min(columns) - 0.6, max(columns) + 0.6)
    ax.set_ylim(max(rows) + 0.6, min(rows) - 0.6)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title)


def _cell(ax, row, column, colour, edge, **kwargs):
    ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fc=colour, ec=edge, **kwargs))


def windows(ax, in_size, kernel, stride, padding, title="", wanted=None):
    """Draw the windows over one padded axis, each on a line of its own.

    Windows whose start is not in ``wanted`` (starts, counted from the first element) are shown hollow.
    """
    before, after = padding
    for position in range(-before, in_size + after):
        real = 0 <= position < in_size
        style = {} if real else {"linestyle": (0, (2, 2))}
        _cell(ax, 0, position, CELL if real else PAPER, CELL_EDGE if real else GREY, **style)
        if real:
            ax.text(position, 0, position, ha="center", va="center", fontsize=8, color=GREY)
    starts = range(-before, in_size + after - kernel + 1, stride)
    for line, start in enumerate(starts, 1):
        kept = wanted is None or start in wanted
        colour = BLUE if kept else VERMILION
        y = 0.35 + 0.62 * line
        ax.plot([start, start + kernel - 1], [y, y], color=colour, ls="-" if kept else ":", lw=2)
        fill = colour if kept else PAPER
        taps = range(start, start + kernel)
        ax.scatter(taps, [y] * kernel, s=34, marker="s", color=fill, edgecolor=colour, zorder=3)
    ax.set_ylim(0.35 + 0.62 * (len(starts) + 1), -0.7)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title)


def picture(ax, image, title="", low=0, high=1, cmap="gray"):
    """Draw an image: (height, width), (height, width, 3), or an NDArray with axes of one element."""
    image = image.asnumpy() if isinstance(image, mx.nd.NDArray) else np.asarray(image)
    shown = ax.imshow(np.squeeze(image), cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(title)
    return shown


def bars(ax, names, values, form="{:.2f}", colours=None, label=""):
    """Draw lying bars with their values written beside them, first on top."""
    places = np.arange(len(values))
    ax.barh(places, values, color=colours or BLUE, height=0.66)
    for place, value in zip(places, values):
        ax.text(value, place, " " + form.format(value), va="center", fontsize=9)
    ax.set_yticks(places)
    ax.set_yticklabels(names)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set_xlabel(label)


def median_times(ways, rounds=9):
    """Median milliseconds of each of some functions, which take turns in random order."""
    times = {name: [] for name in ways}
    order = Random(0)
    for turn in range(rounds + 1):
        for name in order.sample(list(ways), len(ways)):
            mx.nd.waitall()
            start = perf_counter()
            ways[name]()
            mx.nd.waitall()
            if turn:  # the first readies memory and kernels
                times[name].append(1000 * (perf_counter() - start))
    return {name: median(taken) for name, taken in times.items()}


with muted():  # MXNet says which memory pool it chose, at the first array
    mx.nd.zeros(1).wait_to_read()
