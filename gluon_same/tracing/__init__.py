"""Trace nets with symbols, to specialize, adapt, convert and summarize them."""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet
