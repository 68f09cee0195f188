"""The command line, ``python -m gluon_same COMMAND`` or ``gluon-same COMMAND``.

MXNet takes a second to import, so this module does not import it. A command's module is imported only
when that command runs.
"""

import argparse
import os
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distributions, version
from typing import Any, Optional, Sequence

from .. import __version__

PROGRAM = "python -m gluon_same"

#: What each command does. Its module here has ``add_arguments(parser)`` and ``run(args) -> int``,
#: which raises an ImportError, OSError or ValueError for what it cannot do.
COMMANDS = {
    "convert": "convert a Keras or ONNX model to MXNet's format and ONNX",
    "demo": "run a photograph through a net with padding='same', and check and time it",
    "pad": "show which padding a layer needs, and what to write in each framework",
}

EXAMPLES = """\
examples:
  {0} convert model.keras out/ --deploy --size 224x224
  {0} pad --size 224x224 --kernel 3 --stride 2
  {0} demo --image photo.jpg
"""


def main(arguments: Optional[Sequence[str]] = None, program: str = PROGRAM) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its options; ``sys.argv[1:]`` by default.
    program : str
        The name of the program in messages.

    Returns
    -------
    int
        0 on success, 1 after an error, 130 after Ctrl-C, 141 if the reader of the output closed it.

    Raises
    ------
    SystemExit
        With status 2 after bad usage, and 0 after ``--help`` and ``--version``.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if hasattr(sys.stdout, "reconfigure"):  # a file's name may have characters the terminal lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    # No option before the command takes a value, so the first word is the command.
    command = next((word for word in arguments if not word.startswith("-")), "")
    try:
        try:
            args = _parser(program, command).parse_args(arguments)
            return args.run(args)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{f'{program} {command}'.strip()}: interrupted", file=sys.stderr)
        return 130
    except (ImportError, OSError, ValueError) as error:
        closed = isinstance(error, BrokenPipeError)
        if not closed:
            print(f"{f'{program} {command}'.strip()}: {error}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # Send the interpreter's last flush nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141 if closed else 1


def run_script(program: str = "gluon-same") -> int:
    """Run the console script, or the module with :data:`PROGRAM`."""
    sys.unraisablehook = _report_unraisable
    return main(program=program)


def _report_unraisable(unraisable: Any) -> None:
    # If Ctrl-C interrupts the construction of an array, its ``__del__`` finds no handle.
    if not (isinstance(unraisable.exc_value, AttributeError) and "handle" in str(unraisable.exc_value)):
        sys.__unraisablehook__(unraisable)


class _Parser(argparse.ArgumentParser):
    """A parser that prints errors in one line."""

    def __init__(self, **settings):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message):
        self.exit(2, f"{self.prog}: {' '.join(message.split())} (see --help)\n")


def _mxnet():
    """Return the version of MXNet, without importing it."""
    try:
        return f"MXNet {version('mxnet')}"
    except PackageNotFoundError:  # builds for GPUs have other names, such as mxnet-cu112
        found = (d for d in distributions() if str(d.metadata["Name"]).lower().startswith("mxnet"))
        return next((f"MXNet {d.version}" for d in found), "MXNet is not installed")


def _parser(program, chosen):
    parser = _Parser(
        prog=program,
        description="padding='same' for MXNet Gluon, with TensorFlow's and Keras' numbers.",
        epilog=EXAMPLES.format(program),
    )
    versions = f"gluon_same {__version__} ({_mxnet()})"
    parser.add_argument("--version", action="version", version=versions, help="show the versions")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == chosen:
            module = import_module(f".{name}", __package__)
            command.description = module.__doc__
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
