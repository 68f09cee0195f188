"""Import ONNX files as nets, and export nets as ONNX files.

:func:`import_model` is in :mod:`.importing`. It visits the nodes of a file in order: the converters in
:mod:`.converters` add blocks to the net, and shape arithmetic is evaluated at once.

:func:`export_model` uses MXNet's own exporter. ONNX pads the two ends of an axis independently, so that
each layer becomes one operator. :mod:`.trace` traces the net with *one* MXNet operator for each SAME
block, followed by a slice to the right output size. MXNet's exporter converts this graph. :mod:`.graph`
then removes the slices and sets the padding. With ``dynamic=True`` sizes stay free: a padding that is
the same at every size is written as ``pads``, any other as ``auto_pad``, ONNX's form of SAME.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

import os
from typing import List, Sequence, Union

import numpy as np
from mxnet.gluon import Block

from .. import arguments
from ..files import replacing
from . import graph
from .check import compare
from .importing import import_model
from .trace import Marked

__all__ = ["export_model", "import_model"]


def __dir__() -> List[str]:
    return __all__


Shape = Sequence[int]


def export_model(
    net: Block, input_shapes: Union[Shape, Sequence[Shape]], path: Union[str, "os.PathLike[str]"], *,
    dynamic: bool = False, dtype: Union[None, str, Sequence[str]] = None, check: bool = True,
) -> str:  # fmt: skip
    """Write a net as an ONNX file (operator set 13).

    The net does not change: its parameters, hybridized graphs and specialization stay.

    Parameters
    ----------
    net : Block
        An initialized net.
    input_shapes : tuple of int, or a list of them
        Shape of the input, or of each input, the batch first.
    path : str or path-like
        The file, which is written as a whole or not at all.
    dynamic : bool
        Whether batch and spatial sizes (axis 0, and axes from 2 on) of every input stay free; for a net
        of :func:`gluon_same.keras.load_model`, all sizes that it does not require. ``input_shapes`` are
        then one example.
    dtype : str, or a list of them, optional
        dtype of the inputs; that of the net's parameters by default. onnxruntime does not support
        convolution in float64.
    check : bool
        Whether to run the file in onnxruntime with random data, and raise an error if its numbers differ
        from those of the net. With ``dynamic=True``, two other sizes are run as well. If the net draws
        random numbers, a warning says that only shapes were compared. A net that MXNet runs on GPUs only
        (convolution of channels-last data) cannot be checked on a CPU.

    Returns
    -------
    str
        ``path``.

    Raises
    ------
    ImportError
        If onnx is not installed, if ``check`` requires onnxruntime and it is not installed, or if MXNet
        is older than 1.9 and cannot write current ONNX.
    TypeError, ValueError
        If an argument is invalid; if parameters of the net have no values; if the net or one of its
        operators cannot be exported, in which case the message names the block; if the file would exceed
        2 GiB; or if the check fails.
    OSError
        If the file cannot be written.

    Notes
    -----
    Each block of :mod:`gluon_same.nn` becomes one ONNX operator, with a Transpose before and after it if
    its channels come last. Calls of :mod:`gluon_same.functional` in a net are exported operator by
    operator. A loop over steps (``F.contrib.foreach``) becomes a Scan. Inputs that do not affect the
    outputs are left out.

    onnxruntime does not support ``auto_pad`` for dilated windows, and computes wrong numbers for windows
    whose stride exceeds their span. If the padding of these depends on the size, ``dynamic=True`` writes
    operators that compute it, and raises an error for averages.

    Examples
    --------
    >>> import os, tempfile
    >>> from gluon_same import nn
    >>> from gluon_same.onnx import export_model
    >>> net = nn.Conv2D(8, 3, strides=2, padding='same', in_channels=3)
    >>> net.initialize()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = export_model(net, (1, 3, 224, 224), os.path.join(folder, 'net.onnx'))
    ...     os.path.isfile(path)
    True
    """
    graph.require_onnx()
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    shapes = _as_shapes(input_shapes)
    dtypes = _as_dtypes(dtype, net, len(shapes))
    path = os.fspath(path)
    if not path or os.path.isdir(path):
        raise ValueError(f"path={path!r} is not the name of a file: give one, such as 'net.onnx'")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"path={path!r} is in a folder that does not exist: create {folder!r}")

    marked = Marked(net, shapes, dynamic)
    values = marked.parameters()
    free = dict(zip(marked.shapes, _free_axes(net, shapes))) if dynamic else {}
    try:
        content = graph.convert(marked, values, dtypes, free).SerializeToString()
    except Exception as error:  # the exporter raises errors of many types
        raise ValueError(marked.explain(error)) from error
    with replacing(path) as part:
        with open(part, "wb") as file:
            file.write(content)
        if check:
            compare(net, part, marked.shapes, dtypes, free)
    return path


def _free_axes(net, shapes):
    """Return the axes of each input whose sizes a dynamic file leaves free."""
    sizes = getattr(net, "input_sizes", None)
    if sizes is None:
        return [(0, *range(2, len(shape))) for shape in shapes]
    return [tuple(axis for axis, n in enumerate(each) if n is None) for each in sizes]


def _as_dtypes(dtype, net, count):
    if dtype is None:  # an imported net knows its dtypes
        dtype = list(getattr(getattr(net, "plan", None), "dtypes", ()))[:count]
    if dtype == []:
        dtype = next((np.dtype(p.dtype).name for p in net.collect_params().values()), "float32")
    dtypes = list(dtype) if isinstance(dtype, (tuple, list)) else [dtype] * count
    if len(dtypes) != count:
        raise ValueError(
            f"dtype={dtype!r} has {len(dtypes)} entries: give one for each of {count} inputs"
        )
    try:
        return [np.dtype(each).name for each in dtypes]
    except TypeError:
        raise TypeError(
            f"dtype={dtype!r} is not a dtype: give 'float32', or one for each input"
        ) from None


def _as_shapes(input_shapes):
    if input_shapes in ((), []):
        raise ValueError(f"input_shapes={input_shapes!r} is empty: give a shape for each input")
    several = isinstance(input_shapes, (tuple, list)) and isinstance(input_shapes[0], (tuple, list))
    return [arguments.shape_of("input_shapes", x) for x in (input_shapes if several else [input_shapes])]
