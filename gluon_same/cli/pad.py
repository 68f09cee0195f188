"""Show which padding a layer needs: sizes, a line for each framework, and a picture.

Sizes and windows such as 3x3 have one number for each axis, first to last. A single number
applies to all axes; if all options have a single number, the layer is 1-D.
"""

import argparse
import json
import os
import re
import textwrap
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

from ..files import replacing
from ..geometry import MODES
from ..picture import svg
from ..picture.explain import Picture, explain
from .frameworks import Layer, lines

#: Larger numbers would not change the picture, and take long to count.
MOST_SIZE, MOST = 99999, 1000

#: What --padding accepts in addition to numbers. Letter case is ignored.
WORDS = (*MODES, "causal")

#: What an option with numbers for each axis may contain: its pattern for one axis, and its name.
SIZE = "[0-9]{1,12}", "a size: give one to three whole numbers, such as 13 or 100x20"
PADDING = f"{SIZE[0]}(,{SIZE[0]})?", "a padding: give before,after for each axis, such as 1,0x2,2"

WIDTH = 80  #: Columns of the answer.
AXES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}
OPS = {"conv": "Conv{1}D", "pool": "{0}Pool{1}D", "transpose": "Conv{1}DTranspose"}


def reader(form: Tuple[str, str], least: int, most: int) -> Callable:
    """Return the type of an option: a function that returns a tuple of numbers for each axis."""
    axis, name = form

    def read(text):
        if not re.fullmatch(f"{axis}(x{axis}){{0,2}}", text):
            raise argparse.ArgumentTypeError(f"{text!r} is not {name}")
        axes = tuple(tuple(map(int, part.split(","))) for part in text.split("x"))
        if not all(least <= n <= most for numbers in axes for n in numbers):
            raise argparse.ArgumentTypeError(f"{text!r} is out of range: give {least} to {most}")
        return axes

    return read


def _padding(text: str) -> Any:
    """Return a padding: a word in lower case, or a tuple of numbers for each axis."""
    word = text.lower()
    if word in WORDS:
        return word
    if not text[:1].isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(WORDS)}, and has no numbers")
    return reader(PADDING, 0, MOST * MOST)(text)


def written(axes: Tuple[Tuple[int, ...], ...]) -> str:
    """Return a value as on the command line: 13x13, or 1,0x2,2."""
    return "x".join(",".join(map(str, numbers)) for numbers in axes)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on its parser."""
    window: Dict[str, Any] = dict(type=reader(SIZE, 1, MOST), metavar="KxK")
    size = reader(SIZE, 1, MOST_SIZE)
    add = parser.add_argument
    add("--size", type=size, metavar="HxW", required=True, help="input size: 100x20; 100 for 1-D")
    add("--kernel", required=True, help="kernel size: 4x1, or 3", **window)
    add("--stride", default=((1,),), help="stride (default: 1)", **window)
    add("--dilation", default=((1,),), help="dilation (default: 1)", **window)
    padding: Dict[str, Any] = dict(type=_padding, metavar="PADDING")
    words = (
        "same (default), same_lower, valid, or causal for 1-D; or numbers: before,after for each axis, "
        "such as 1,0x2,2; one number is for both ends, and one pair for all axes (with --op transpose: "
        "what to cut off)"
    )
    add("--padding", default="same", help=words, **padding)
    add("--mode", "--pad", dest="padding", default=argparse.SUPPRESS, help=argparse.SUPPRESS, **padding)
    add("--op", choices=OPS, default="conv", help="the layer (default: conv)")
    add("--average", action="store_true", help="with --op pool: average pooling instead of max")
    add("--svg", metavar="FILE", help="also write the picture to an SVG file")
    add("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command, and return 0.

    Parameters
    ----------
    args : argparse.Namespace
        With the options that :func:`add_arguments` declares.

    Raises
    ------
    OSError, ValueError
        If the figure cannot be written, or the options do not fit each other.
    """
    layer = _layer(args)
    if args.svg is not None:
        written_as_it_is = os.path.exists(args.svg) and not os.path.isfile(args.svg)  # such as a pipe
        with nullcontext(args.svg) if written_as_it_is else replacing(args.svg) as part:
            Path(part).write_text(svg.draw([*_panels(layer)], _headline(layer)), encoding="utf-8")
    print(json.dumps(_facts(layer), indent=2) if args.json else "\n\n".join(_report(layer, args.size)))
    return 0


def _layer(args) -> Layer:
    """Return the layer that the options describe."""
    given = {name: getattr(args, name) for name in ("size", "kernel", "stride", "dilation", "padding")}
    given = {name: axes for name, axes in given.items() if not isinstance(axes, str)}
    longest = max(given, key=lambda name: len(given[name]))
    ndim = len(given[longest])
    for name, axes in given.items():
        if len(axes) not in (1, ndim):
            raise ValueError(
                f"--{name} {written(axes)} has {len(axes)} axes and --{longest} "
                f"{written(given[longest])} has {ndim}: give {ndim}, or one number for all axes"
            )
    wide = {name: axes * (ndim // len(axes)) for name, axes in given.items()}
    window = [[n for (n,) in wide[name]] for name in ("size", "kernel", "stride", "dilation")]
    op, padding, dilated = args.op, args.padding, max(window[3]) > 1
    paddings: Any = [padding] * ndim
    if "padding" in wide:
        padding = paddings = tuple((pair[0], pair[-1]) for pair in wide["padding"])
    elif padding == "causal":
        paddings = [(dilation * (kernel - 1), 0) for _, kernel, _, dilation in zip(*window)]
    if dilated and (op == "pool" or op == "transpose" and ndim == 3):
        where = "pool" if op == "pool" else "transpose over 3 axes"
        raise ValueError(
            f"--dilation {written(wide['dilation'])} is not for --op {where}: MXNet has no such operator"
        )
    if padding == "causal" and (ndim > 1 or op != "conv"):
        raise ValueError(
            "--padding causal is for --op conv over one axis: give one size, as in --size 100"
        )
    if args.average and op != "pool":
        raise ValueError(f"--average is not for --op {op}: it chooses the kind of pooling")
    axes = [explain(*axis, transposed=op == "transpose") for axis in zip(*window, paddings)]
    if op == "pool" and any(max(a.before, a.after) >= a.kernel for a in axes):
        raise ValueError(
            f"a padding of {[(a.before, a.after) for a in axes]} contains whole windows of "
            f"{written(wide['kernel'])}: give less than the kernel"
        )
    return Layer(op, padding, args.average, axes)


def _facts(layer) -> Dict[str, Any]:
    """Return the whole answer as data for programs.

    ``before`` and ``after`` are the padding, or what a transposed convolution cuts off; ``extra`` is
    what that one adds at the end.
    """
    numbers = "in_size", "kernel", "stride", "dilation", "span", "before", "after", "extra", "out_size"
    axes = [{name: getattr(a, name) for name in numbers} for a in layer.axes]
    return {**layer._asdict(), "axes": axes, "frameworks": lines(layer)}


def _report(layer, size) -> Iterator[str]:
    """Yield the paragraphs of the answer."""
    n, sizes = size[0][0], _sizes(layer, "in_size")
    hint = "" if len(size) > 1 else f"--size {n} is used on all {len(layer.axes)} axes."
    if len(layer.axes) == 1:
        hint = f"One axis (1-D). For two, such as an image's, give both: --size {n}x{n}"
    yield "\n".join([*textwrap.wrap(_headline(layer), WIDTH), hint]).rstrip()
    every = layer.padding in ("same", "same_lower")
    serves = f" (padding={layer.padding!r} works at every size)" if every else ""
    wrapped = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * 18, break_long_words=False)
    answers = [wrapped.fill(f"  {name:<14}{line}") for name, line in lines(layer).items()]
    yield "\n".join([f"What to write at {sizes}{serves}", *answers])
    for heading, picture in _panels(layer):
        yield f"{heading}\n\n{picture}"


def _headline(layer):
    name = OPS[layer.op].format("Avg" if layer.average else "Max", len(layer.axes))
    dilated = any(a.dilation > 1 for a in layer.axes)
    dilation = f", dilation {_sizes(layer, 'dilation')}" if dilated else ""
    return (
        f"{name} {_sizes(layer, 'kernel')}, stride {_sizes(layer, 'stride')}{dilation}, "
        f"padding={layer.padding!r}: {_sizes(layer, 'in_size')} -> {_sizes(layer, 'out_size')}"
    )


def _panels(layer) -> Iterator[Tuple[str, Picture]]:
    """Yield each picture once, with a heading that names its axes."""
    names = AXES[len(layer.axes)]
    for name, a in zip(names, layer.axes):
        alike = [other for other, b in zip(names, layer.axes) if vars(a) == vars(b)]
        if name == alike[0]:
            joined = " and ".join(", ".join(alike).rsplit(", ", 1))
            yield f"{joined}: {a.in_size} -> {a.out_size}, {a.ends}", a


def _sizes(layer, name):
    return "x".join(str(getattr(axis, name)) for axis in layer.axes)
