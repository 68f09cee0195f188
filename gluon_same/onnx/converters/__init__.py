"""Converters of ONNX's operators: typed functions whose signatures are the operators'.

Each file is for one family. A converter receives the :class:`~gluon_same.onnx.builder.Builder` and the
node's inputs, and has a keyword argument for each of the operator's attributes. Importing this package
registers all of them.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
