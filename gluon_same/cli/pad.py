"""Say what padding a layer needs: the sizes, what each framework is told, what it costs, a picture.

A window such as 3x3 is one number for each axis, first to last; one number serves all of them.
"""

import argparse
import json
import os
import re
import stat
import sys
import tempfile

from ..advice.frameworks import OPS, Case, times
from ..advice.report import Report
from ..geometry import MODES

SUMMARY = "say what padding a layer needs, what each framework is told, and what it costs"
#: More would not be drawn any other way, and takes time to count.
MOST_SIZE, MOST = 99999, 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on its parser."""

    def sizes(most):
        def read(text):
            if not re.fullmatch(r"[0-9]{1,12}(x[0-9]{1,12}){0,2}", text):
                raise argparse.ArgumentTypeError(
                    f"{text!r} is no size: give one to three whole numbers, such as 13 or 100x20"
                )
            numbers = tuple(map(int, text.split("x")))
            if min(numbers) < 1 or max(numbers) > most:
                raise argparse.ArgumentTypeError(
                    f"{text!r} is out of range: give 1 to {most} for each axis"
                )
            return numbers

        return read

    def count(text):
        numbers = sizes(10**6)(text)
        if len(numbers) > 1:
            raise argparse.ArgumentTypeError(f"{text!r} has several numbers: give one")
        return numbers[0]

    window = dict(type=sizes(MOST), metavar="KxK")
    parser.add_argument(
        "--size", type=sizes(MOST_SIZE), metavar="HxW", required=True, help="of the input: 100x20"
    )
    parser.add_argument("--kernel", required=True, help="taps of the window: 4x1, or 3", **window)
    parser.add_argument("--stride", default=(1,), help="its steps (default: 1)", **window)
    parser.add_argument("--dilation", default=(1,), help="distance of its taps (default: 1)", **window)
    parser.add_argument("--mode", choices=MODES, default="same", help="the padding (default: same)")
    parser.add_argument("--op", choices=OPS, default="conv", help="the layer (default: conv)")
    parser.add_argument("--average", action="store_true", help="of --op pool: not the maximum")
    parser.add_argument(
        "--channels", type=count, default=64, metavar="N", help="of the input (default: 64)"
    )
    parser.add_argument(
        "--filters", type=count, default=64, metavar="N", help="channels of the output (default: 64)"
    )
    parser.add_argument(
        "--batch", type=count, default=1, metavar="N", help="samples to measure with (default: 1)"
    )
    parser.add_argument(
        "--measure", action="store_true", help="run the layer on this machine in all its ways, too"
    )
    parser.add_argument("--svg", metavar="FILE", help="write the picture as a figure, too")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print all of it for programs (its keys: gluon_same.advice.report.Report.facts)",
    )
    parser.set_defaults(refuse=parser.error, program=parser.prog)


def run(args: argparse.Namespace) -> int:
    """Print the answer.

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
        report = Report(_case(args), args.measure)
    except (TypeError, ValueError) as error:
        return args.refuse(str(error))
    if args.svg is not None:
        try:
            _write(args.svg, report.svg())
        except OSError as error:
            reason = error.strerror or error
            print(f"{args.program}: --svg {args.svg!r}: {reason}", file=sys.stderr)
            return 1
    print(json.dumps(report.facts(), indent=2) if args.json else report)
    return 0


def _case(args):
    given = {name: getattr(args, name) for name in ("size", "kernel", "stride", "dilation")}
    ndim = max(map(len, given.values()))
    for name, value in given.items():
        if len(value) not in (1, ndim):
            longest = next(other for other in given if len(given[other]) == ndim)
            raise ValueError(
                f"--{name} {times(value)} has {len(value)} axes and --{longest} "
                f"{times(given[longest])} has {ndim}: give as many, or one number for all"
            )
    sizes, kernel, stride, dilation = (v * (ndim // len(v)) for v in given.values())
    if args.op == "pool" and max(dilation) > 1:
        raise ValueError(
            f"--dilation {times(dilation)} is not for --op pool: MXNet has no such operator"
        )
    if args.op == "transpose" and ndim == 3 and max(dilation) > 1:
        raise ValueError(
            f"--dilation {times(dilation)} is not for --op transpose over 3 axes: MXNet has no such "
            "operator"
        )
    if args.average and args.op != "pool":
        raise ValueError(f"--average is not for --op {args.op}: it chooses the kind of a pooling")
    work = args.channels, args.filters, args.batch
    return Case(sizes, kernel, stride, dilation, args.mode, args.op, args.average, *work)


def _write(path, text):
    """Write a file whole or not at all; what is no ordinary file is written to."""
    try:
        ordinary = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        ordinary = True
    if not ordinary:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory(prefix=".pad-", dir=folder) as scratch:
        part = os.path.join(scratch, "figure.svg")
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)
