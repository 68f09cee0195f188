"""Write the API reference to build/docs, from the docstrings. A name without value is an error."""

import inspect
import warnings
from pathlib import Path

import pdoc

import gluon_same

# pdoc reads vars(), where names that are imported on first use do not appear.
modules = [gluon_same, *(getattr(gluon_same, name) for name in gluon_same.__all__)]
for module in filter(inspect.ismodule, modules):
    vars(module).update({name: getattr(module, name) for name in getattr(module, "__all__", ())})

warnings.simplefilter("error", UserWarning)
pdoc.render.configure(docformat="numpy")
pdoc.pdoc("gluon_same", output_directory=Path("build", "docs"))
