"""Imported before MXNet by each subpackage that requires it: an error says what to install."""

from ._compat import import_mxnet

import_mxnet()
