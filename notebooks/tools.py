"""Tables, comparisons, a photograph and times for the notebooks."""

import gluon_same  # isort: skip  before mxnet: Python 3.12 and later need that

import contextlib
import io
import os
import warnings
from random import Random
from time import process_time

import mxnet as mx
import numpy as np
from IPython import display

from gluon_same.cli.demo import muted

PHOTO = os.path.join(os.path.dirname(gluon_same.__file__), "data", "astronaut.jpg")

# MXNet gives this warning when it loads a graph that does not contain the type of its data.
warnings.filterwarnings("ignore", "Cannot decide type", UserWarning)


def table(header, *rows):
    """Show a table, with numbers aligned to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    right = [all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(header))]
    pads = [str.rjust if r else str.ljust for r in right]
    plain = ["  ".join(pad(c, w) for pad, c, w in zip(pads, row, widths)).rstrip() for row in cells]
    rule = ["---:" if r else "---" for r in right]
    marked = ["| " + " | ".join(row) + " |" for row in (cells[0], rule, *cells[1:])]
    display.display({"text/markdown": "\n".join(marked), "text/plain": "\n".join(plain)}, raw=True)


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
    """Return whether two arrays have one shape and differ by at most ``share`` of the largest value."""
    a, b = (x.asnumpy() if isinstance(x, mx.nd.NDArray) else np.asarray(x) for x in (a, b))
    return a.shape == b.shape and abs(a - b).max() <= share * abs(b).max()


def photo(size, gray=True):
    """Return NASA's portrait of Eileen Collins, from the package: (1, channels, size, size)."""
    image = mx.image.imresize(mx.image.imread(PHOTO), size, size).astype("float32") / 255
    x = image.transpose((2, 0, 1)).expand_dims(0)
    return x.mean(axis=1, keepdims=True) if gray else x


def face():
    """Return the face of the portrait in gray: (1, 1, 64, 64)."""
    return photo(128)[:, :, 0:64, 24:88]


def ratios(ways, base, rounds=9):
    """Return the CPU time of each function over that of ``base``. They take turns in random order.

    The variable ``ROUNDS`` of the environment replaces ``rounds``.
    """
    times = {name: [] for name in ways}
    order = Random(0)
    for turn in range(int(os.environ.get("ROUNDS", rounds)) + 1):
        for name in order.sample(list(ways), len(ways)):
            mx.nd.waitall()
            start = process_time()
            ways[name]()
            mx.nd.waitall()
            if turn:  # the first one allocates memory and prepares kernels
                times[name].append(process_time() - start)
    # Other load on the machine hardly changes CPU time, and only adds to it.
    return {name: min(taken) / min(times[base]) for name, taken in times.items()}


with muted():  # MXNet prints which memory pool it chose, at the first array
    mx.nd.zeros(1).wait_to_read()
