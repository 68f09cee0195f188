"""Names that Keras uses in its files."""

import re


def snake_case(name: str) -> str:
    """Return a class name in Keras' snake case."""
    name = re.sub(r"\W+", "", name.rpartition(">")[2])
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def role_of(name: str) -> str:
    """Return the role in an array's name, such as 'kernel' from 'block/conv/kernel:0'."""
    return re.sub(r"(_\d+)?(:\d+)?$", "", name.rpartition("/")[2])
