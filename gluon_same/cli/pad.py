"""Show which padding a layer needs: sizes, code for each framework, the cost, and a picture.

Sizes and windows such as 3x3 have one number for each axis, first to last. A single number
applies to all axes; if all options have a single number, the layer is 1-D.
"""

import argparse
import json
import re
import sys
from typing import Any, Dict

from ..advice.case import MODES, OPS, Case, times
from ..advice.report import Report
from .files import write_text

#: Larger numbers would not change the picture, and take long to count.
MOST_SIZE, MOST = 99999, 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on its parser."""

    sizes = _sizes(MOST_SIZE)
    window: Dict[str, Any] = dict(type=_sizes(MOST), metavar="KxK")
    count: Dict[str, Any] = dict(type=_count, metavar="N")
    add = parser.add_argument
    add("--size", type=sizes, metavar="HxW", required=True, help="input size: 100x20; 100 for 1-D")
    add("--kernel", required=True, help="kernel size: 4x1, or 3", **window)
    add("--stride", default=(1,), help="stride (default: 1)", **window)
    add("--dilation", default=(1,), help="dilation (default: 1)", **window)
    padding = parser.add_mutually_exclusive_group()
    padding.add_argument(
        "--mode", choices=MODES, default="same", help="the padding (default: same); causal is for 1-D"
    )
    padding.add_argument(
        "--pad",
        type=_pairs,
        metavar="B,AxB,A",
        help="explicit padding instead of --mode: before,after for each axis, such as 1,0x2,2; "
        "one number is for both ends, and one pair for all axes (with --op transpose: what to cut off)",
    )
    add("--op", choices=OPS, default="conv", help="the layer (default: conv)")
    add("--average", action="store_true", help="with --op pool: average pooling instead of max")
    add("--channels", default=64, help="input channels (default: 64)", **count)
    add("--filters", default=64, help="output channels (default: 64)", **count)
    add("--groups", default=1, help="groups of a convolution (default: 1)", **count)
    add("--batch", default=1, help="batch size for --measure (default: 1)", **count)
    add("--verbose", action="store_true", help="also count the operators of the graphs")
    add("--measure", action="store_true", help="also time each way to compute the layer")
    add("--svg", metavar="FILE", help="also write the picture to an SVG file")
    add(
        "--json",
        action="store_true",
        help="print the answer as JSON (its keys: help(gluon_same.advice.report.Report.facts))",
    )
    parser.set_defaults(refuse=parser.error, program=parser.prog)


def _sizes(most):
    def read(text):
        if not re.fullmatch(r"[0-9]{1,12}(x[0-9]{1,12}){0,2}", text):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a size: give one to three whole numbers, such as 13 or 100x20"
            )
        numbers = tuple(map(int, text.split("x")))
        if min(numbers) < 1 or max(numbers) > most:
            raise argparse.ArgumentTypeError(f"{text!r} is out of range: give 1 to {most} for each axis")
        return numbers

    return read


def _count(text):
    numbers = _sizes(10**6)(text)
    if len(numbers) > 1:
        raise argparse.ArgumentTypeError(f"{text!r} has several numbers: give one")
    return numbers[0]


def _pairs(text):
    axis = "[0-9]{1,12}(,[0-9]{1,12})?"
    if not re.fullmatch(f"{axis}(x{axis}){{0,2}}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a padding: give before,after for each axis, such as 1,0x2,2"
        )
    pairs = [tuple(map(int, part.split(","))) for part in text.split("x")]
    if max(map(max, pairs)) > MOST * MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is out of range: give 0 to {MOST * MOST}")
    return tuple(pair if len(pair) == 2 else pair * 2 for pair in pairs)


def run(args: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    args : argparse.Namespace
        With the options that :func:`add_arguments` declares.

    Returns
    -------
    int
        0, or 1 if the figure cannot be written.

    Raises
    ------
    SystemExit
        With status 2 if the options do not fit each other.
    """
    try:
        case = _case(args)
        report = Report(case, args.measure, args.verbose, _hint(args, case))
    except (TypeError, ValueError) as error:
        return args.refuse(str(error))
    if args.svg is not None:
        try:
            write_text(args.svg, report.svg())
        except OSError as error:
            reason = error.strerror or error
            print(f"{args.program}: --svg {args.svg!r}: {reason}", file=sys.stderr)
            return 1
    print(json.dumps(report.facts(), indent=2) if args.json else report)
    return 0


def _windows(args):
    """Return the options that have a number for each axis, by name."""
    given = {name: getattr(args, name) for name in ("size", "kernel", "stride", "dilation", "pad")}
    return {name: value for name, value in given.items() if value is not None}


def _hint(args, case):
    """Return a note on the number of axes if --size is a single number."""
    if len(args.size) > 1:
        return ""
    n, ndim = args.size[0], case.ndim
    if ndim == 1:
        return f"One axis (1-D). For two, such as an image's, give both: --size {n}x{n}"
    name, value = next((k, v) for k, v in _windows(args).items() if len(v) == ndim)
    axes, count = {2: ("both", "two"), 3: ("all three", "three")}[ndim]
    return f"--size {n} is used on {axes} axes, because --{name} {_written(value)} has {count}."


def _case(args):
    """Return the question that the options ask."""
    given = _windows(args)
    ndim = max(map(len, given.values()))
    for name, value in given.items():
        if len(value) not in (1, ndim):
            longest = next(other for other in given if len(given[other]) == ndim)
            raise ValueError(
                f"--{name} {_written(value)} has {len(value)} axes and --{longest} "
                f"{_written(given[longest])} has {ndim}: give {ndim}, or one number for all axes"
            )
    sizes, kernel, stride, dilation, *pads = (v * (ndim // len(v)) for v in given.values())
    if args.op == "pool" and max(dilation) > 1:
        raise ValueError(
            f"--dilation {times(dilation)} is not for --op pool: MXNet has no such operator"
        )
    if args.op == "transpose" and ndim == 3 and max(dilation) > 1:
        raise ValueError(
            f"--dilation {times(dilation)} is not for --op transpose over 3 axes: MXNet has no such "
            "operator"
        )
    if args.groups > 1 and args.op == "pool":
        raise ValueError(f"--groups {args.groups} is not for --op pool: it has no weight")
    if args.mode == "causal" and (ndim > 1 or args.op != "conv"):
        raise ValueError(
            "--mode causal is for --op conv over one axis: give one size, such as --size 100"
        )
    if args.average and args.op != "pool":
        raise ValueError(f"--average is not for --op {args.op}: it chooses the kind of pooling")
    mode = pads[0] if pads else args.mode
    work = args.channels, args.filters, args.batch, args.groups
    return Case(sizes, kernel, stride, dilation, mode, args.op, args.average, *work)


def _written(value):
    """Write a value as on the command line: 13x13, or 1,0x2,2."""
    return times(v if isinstance(v, int) else ",".join(map(str, v)) for v in value)
