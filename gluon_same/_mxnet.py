"""Import MXNet, with errors that say what to install. Subpackages import this module before MXNet."""

from ._compat import import_mxnet

import_mxnet()
