"""The command line, ``python -m gluon_same COMMAND``."""

import argparse
import os
import sys
from typing import Optional, Sequence

import mxnet as mx

from . import __version__, demo, pad
from .keras import convert

PROGRAM = "python -m gluon_same"

#: Each command is a module with ``SUMMARY``, ``add_arguments(parser)`` and ``run(args) -> int``.
COMMANDS = {"convert": convert, "demo": demo, "pad": pad}


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {' '.join(message.split())} (see --help)\n")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``python -m gluon_same``; ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        0 if all went well, 1 if a command found something wrong or could not write, 130 after
        Ctrl-C, 141 if the reader of the output went away.

    Raises
    ------
    SystemExit
        With status 2 after bad usage, and 0 after ``--help`` and ``--version``.
    """
    if hasattr(sys.stdout, "reconfigure"):  # a file's name may hold what the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            args = _parser().parse_args(arguments)
            return args.run(args)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # the output cannot be written
        # The interpreter flushes once more as it ends: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 1


def _report_unraisable(unraisable):
    # Ctrl-C may stop MXNet in the making of an array, whose end then complains of what it lacks.
    if not (isinstance(unraisable.exc_value, AttributeError) and "handle" in str(unraisable.exc_value)):
        sys.__unraisablehook__(unraisable)


def _parser():
    parser = _Parser(
        prog=PROGRAM,
        description="TensorFlow-exact SAME padding for Gluon's convolution and pooling layers.",
    )
    version = f"gluon_same {__version__} (MXNet {mx.__version__})"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.SUMMARY, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


if __name__ == "__main__":
    sys.unraisablehook = _report_unraisable
    sys.exit(main())
