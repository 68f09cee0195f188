"""Nets traced with symbols: fixed to their sizes, adapted to each, and summed up in a table."""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet
