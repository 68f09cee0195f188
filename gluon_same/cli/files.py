"""Files that commands write, and errors that end a command."""

from pathlib import Path


class CommandError(Exception):
    """Ends a command with status 1 and this message in one line."""


def write_figure(option: str, path: str, figure: str) -> None:
    """Write a figure to the file that an option names."""
    try:
        Path(path).write_text(figure, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{option} {path!r}: {error.strerror or error}") from None
