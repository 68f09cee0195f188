"""The figures of the notebooks: one look, and a function for each kind.

Colors are those of Okabe and Ito, which readers with any kind of color vision can distinguish. Every
function shows its figure. ``description`` is the text for readers who cannot see it. Importing this
module configures matplotlib.
"""

import gluon_same  # noqa: F401  isort: skip  before mxnet: Python 3.12 and later need that

import io
import logging
from typing import Any, NamedTuple, Sequence, Tuple

import matplotlib as mpl
import mxnet as mx
import numpy as np
from IPython import display
from matplotlib import pyplot as plt
from PIL import Image

from gluon_same.picture.svg import draw

INK, GRAY, PAPER = "#24292f", "#6e7781", "#ffffff"
BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = COLORS = (
    *("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7"),
)
CELL, CELL_EDGE = "#dcebf5", "#8aa9bf"
DOTTED = (0, (2, 2))
WIDTH = 7.6  #: Inches of a figure that is as wide as a notebook's text.
DPI, SHOWN = 200, 110  #: Pixels per inch in the file, and on the screen.

logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # the first run writes a cache
mpl.use("agg")  # only show() displays figures
mpl.rcParams.update(
    {
        "axes.edgecolor": GRAY,
        "axes.grid": False,
        "axes.labelcolor": INK,
        "axes.prop_cycle": mpl.cycler(color=COLORS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "figure.constrained_layout.use": True,
        "figure.facecolor": PAPER,
        "font.size": 9.5,
        "image.cmap": "gray",
        "legend.frameon": False,
        "lines.linewidth": 2,
        "text.color": INK,
        "xtick.color": GRAY,
        "ytick.color": GRAY,
    }
)


def show(figure, description, colors=64):
    """Show a figure as a PNG with few colors, which keeps notebooks small."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", pad_inches=0.08)
    plt.close(figure)
    image = Image.open(buffer).convert("RGB").quantize(colors, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    image.save(buffer, format="png", optimize=True)
    width = image.width * SHOWN // DPI
    data, metadata = display.Image(buffer.getvalue(), alt=description, width=width)._repr_mimebundle_()
    data["text/plain"] = description
    display.display(data, metadata=metadata, raw=True)


def windows(panels, description):
    """Draw windows over padded axes side by side: a heading and a picture of ``explain`` for each."""
    svg = draw(list(panels.items()), desc=description, beside=True)
    display.display({"image/svg+xml": svg, "text/plain": description}, raw=True)


class Grid(NamedTuple):
    """A small matrix to draw as a grid of numbers."""

    title: str
    values: Any  #: array of two axes
    orange: Any = None  #: array of the same shape, true for the cells to color
    frame: Any = None  #: (top, left, height, width) of a frame, in cells
    padding: Sequence[Tuple[int, int]] = ()  #: (row, column) of cells of padding
    form: str = "g"


def numbers(grids, description, orange="", frame=""):
    """Draw grids of numbers side by side, with cells of one size, and a key to their marks."""
    words = [format(v, g.form) for g in grids for v in np.asarray(g.values).ravel()]
    wide, high = max(0.37, 0.1 + 0.082 * max(map(len, words))), 0.35
    figure = plt.figure(constrained_layout=False)
    ax = figure.add_axes([0, 0, 1, 1])
    left = bottom = 0
    for grid in grids:
        lines = grid.title.split("\n")
        ax.text(left, -0.12, grid.title, weight="bold", size=10.5, va="bottom")
        right, below = _grid(ax, grid, left, wide, high)
        left = max(right, left + 0.1 * max(map(len, lines))) + 0.35
        bottom = max(bottom, below)
    key = [("orange", orange)] * any(grid.orange is not None for grid in grids)
    key += [("padding", "padding")] * any(len(grid.padding) for grid in grids)
    key += [("frame", frame)] * bool(frame)
    if key:
        bottom += 0.2
        bottom = _key(ax, key, bottom)
    top = -0.12 - 0.2 * max(grid.title.count("\n") + 1 for grid in grids)
    ax.set_xlim(-0.03, left)
    ax.set_ylim(bottom + 0.05, top)
    ax.axis("off")
    figure.set_size_inches(left + 0.03, bottom + 0.05 - top)
    show(figure, description)


def _grid(ax, grid, left, wide, high):
    values = np.asarray(grid.values)
    rows, columns = zip(*grid.padding, (0, 0), tuple(n - 1 for n in values.shape))
    first_row, first_column = min(rows), min(columns)

    def box(row, column, color, edge, height=1, width=1, **kwargs):
        at = left + (column - first_column) * wide, (row - first_row) * high
        size = width * wide, height * high
        ax.add_patch(plt.Rectangle(at, *size, fc=color, ec=edge, **kwargs))
        return at[0] + size[0] / 2, at[1] + size[1] / 2

    for place in grid.padding:
        box(*place, PAPER, GRAY, linestyle=DOTTED)
    for (row, column), value in np.ndenumerate(values):
        hot = grid.orange is not None and grid.orange[row, column]
        at = box(row, column, ORANGE if hot else CELL, CELL_EDGE)
        ax.text(*at, format(value, grid.form), ha="center", va="center_baseline", size=9.5)
    if grid.frame is not None:
        top, at, height, width = grid.frame
        box(top, at, "none", VERMILION, height, width, lw=2.5, zorder=3)
    return left + (max(columns) - first_column + 1) * wide, (max(rows) - first_row + 1) * high


def _key(ax, items, y, size=0.16):
    looks = {
        "orange": dict(fc=ORANGE, ec=CELL_EDGE),
        "padding": dict(fc=PAPER, ec=GRAY, linestyle=DOTTED),
        "frame": dict(fc="none", ec=VERMILION, lw=2),
    }
    x = 0
    for kind, words in items:
        ax.add_patch(plt.Rectangle((x, y), size, size, **looks[kind]))
        ax.text(x + size + 0.08, y + size / 2, words, va="center_baseline", size=9.5)
        x += size + 0.35 + 0.078 * len(words)
    return y + size


def pictures(
    rows,
    description,
    labels=(),
    maps=("gray",),
    difference=None,
    height=1.9,
    heights=None,
    stretch=False,
    frame=None,
):
    """Draw images in rows.

    Parameters
    ----------
    rows : dict, or list of dict or of list
        One row as {title: image}, or several. Images are arrays or NDArrays; axes of one element are
        ignored. Images of three channels, first or last, are in color.
    labels, maps : sequence of str
        A label and a color map for each row. The last map is also used for all further rows.
    difference : (str, array), optional
        Title and values of one more image, whose values are around zero, with a color scale.
    height, heights : float, sequence of float
        Total inches, and the share of each row.
    stretch : bool
        Whether to use each image's own range instead of 0 to 1.
    frame : (top, left, height, width), optional
        A frame around these pixels of every image.
    """
    rows = [rows] if isinstance(rows, dict) else rows
    extra = difference is not None
    columns = max(map(len, rows)) + extra
    shape = (len(rows), columns)
    figure, axes = plt.subplots(
        *shape, figsize=(WIDTH, height), squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for number, (line, row) in enumerate(zip(axes, rows)):
        titled = row.items() if isinstance(row, dict) else (("", image) for image in row)
        for ax, (title, image) in zip(line, titled):
            _picture(ax, image, title, maps[min(number, len(maps) - 1)], stretch)
        if labels:
            line[0].set_ylabel(labels[number])
    if extra:
        title, values = difference
        values = np.squeeze(values.asnumpy() if isinstance(values, mx.nd.NDArray) else values)
        reach = abs(values).max()
        shown = _image(axes[-1, -1], values, title, "PuOr", -reach, reach)
        figure.colorbar(shown, ax=axes[-1, -1], shrink=0.8)
    if frame:
        top, left, high, wide = frame
        for ax in axes.flat:
            place = left - 0.5, top - 0.5
            ax.add_patch(plt.Rectangle(place, wide, high, fc="none", ec=VERMILION, lw=1.5))
    show(figure, description, 256)


def _picture(ax, image, title, cmap, stretch):
    image = np.squeeze(image.asnumpy() if isinstance(image, mx.nd.NDArray) else np.asarray(image))
    if image.ndim == 3 and image.shape[0] == 3:
        image = image.transpose(1, 2, 0)
    low, high = (np.nanmin(image), np.nanmax(image)) if stretch else (0, 1)
    _image(ax, image, title, cmap, low, high)


def _image(ax, image, title, cmap, low, high):
    shown = ax.imshow(image, cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(title, fontsize=9.5)
    return shown


def bars(panels, description, label, form="{:.2f}", gray=(), height=2.5):
    """Draw horizontal bars with their values: {title: {name: value}}. Those in ``gray`` are gray."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(WIDTH, height), sharey=len(panels) > 1, squeeze=False
    )
    for ax, (title, values) in zip(axes[0], panels.items()):
        places = np.arange(len(values))
        colors = [GRAY if name in gray else BLUE for name in values]
        ax.barh(places, list(values.values()), color=colors, height=0.66)
        for place, value in zip(places, values.values()):
            ax.text(value, place, " " + form.format(value), va="center")
        ax.set_yticks(places, list(values))
        ax.tick_params(axis="y", length=0, labelcolor=INK)
        ax.margins(x=0.14)
        ax.set_xlabel(label)
        ax.set_title(title)
    axes[0, 0].invert_yaxis()
    show(figure, description)


def lines(panels, description, marks=(), height=2.6):
    """Draw curves.

    ``panels`` are dicts of ``title``, ``x``, ``curves`` ({name: values}), and further arguments of
    ``Axes.set``. ``marks`` are dotted levels: (panel, value, words, x).
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, height), squeeze=False)
    for ax, panel in zip(axes[0], panels):
        panel = dict(panel)
        x, curves, marker = panel.pop("x"), panel.pop("curves"), panel.pop("marker", "o")
        for (name, values), color, dash in zip(curves.items(), COLORS, ("-", (0, (3, 3)))):
            ax.plot(x, values, color=color, label=name, linestyle=dash, marker=marker)
        ax.set(**panel)
        if len(curves) > 1:
            ax.legend()
    for number, value, words, at in marks:
        axes[0, number].axhline(value, color=GRAY, ls=":", lw=1.2)
        axes[0, number].text(at, value, words, va="bottom", color=GRAY, size=8.5)
    show(figure, description)


def stacked(x, parts, words, description, **settings):
    """Draw stacked bars, {name: values}, with words above each."""
    figure, ax = plt.subplots(figsize=(WIDTH, 2.4))
    base = np.zeros(len(x))
    for (name, values), color in zip(parts.items(), (BLUE, ORANGE)):
        ax.bar(x, values, bottom=base, color=color, label=name, width=0.6)
        base = base + values
    for at, top, word in zip(x, base, words):
        ax.text(at, top + 0.15, word, ha="center")
    ax.set(**settings)
    ax.legend(loc="upper left")
    show(figure, description)


def heat(tables, rows, columns, description, xlabel, ylabel):
    """Draw {title: array} as tables of integers, with one light color for each number."""
    figure, axes = plt.subplots(1, len(tables), figsize=(WIDTH, 3.3), sharey=True)
    extent = (columns[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5, rows[0] - 0.5)
    most = max(values.max() for values in tables.values())
    for ax, (title, values) in zip(axes, tables.items()):
        ax.imshow(values, cmap="YlGnBu", vmin=0, vmax=2 * most, extent=extent, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            ax.text(column + columns[0], row + rows[0], value, ha="center", va="center_baseline")
        ax.set(xticks=columns, xlabel=xlabel, title=title)
    axes[0].set(yticks=rows, ylabel=ylabel)
    show(figure, description)


def scatter(panels, description, xlabel, ylabel, height=3.1):
    """Draw pairs of numbers, {title: (x, y)}, and the line on which they are equal."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(0.45 * WIDTH * len(panels), height), sharey=True, squeeze=False
    )
    for ax, (title, (x, y)), color in zip(axes[0], panels.items(), (BLUE, VERMILION)):
        x = np.ravel(x)
        ax.plot([x.min(), x.max()], [x.min(), x.max()], color=GRAY, lw=1)
        ax.scatter(x, np.ravel(y), s=5, color=color)
        ax.set(title=title, xlabel=xlabel)
    axes[0, 0].set_ylabel(ylabel)
    show(figure, description)
