"""What the commands share: sizes on the command line, figures, and errors that end a command."""

import argparse
import re
from pathlib import Path
from typing import Callable, Tuple

#: What an option with numbers for each axis may contain: its pattern for one axis, and its name.
SIZE = "[0-9]{1,12}", "a size: give one to three whole numbers, such as 13 or 100x20"
PADDING = f"{SIZE[0]}(,{SIZE[0]})?", "a padding: give before,after for each axis, such as 1,0x2,2"


class CommandError(Exception):
    """Ends a command with status 1 and this message in one line."""


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


def written(axes: Tuple[Tuple[int, ...], ...]) -> str:
    """Return a value as on the command line: 13x13, or 1,0x2,2."""
    return "x".join(",".join(map(str, numbers)) for numbers in axes)


def write_figure(option: str, path: str, figure: str) -> None:
    """Write a figure to the file that an option names."""
    try:
        Path(path).write_text(figure, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{option} {path!r}: {error.strerror or error}") from None
