"""ONNX files of nets with SAME padding, through MXNet's own exporter.

ONNX pads each end of an axis by an amount of its own, so no layer needs a crop or a longer input
there. The net is traced with each SAME block as *one* MXNet operator and a slice that gives it its
size (:mod:`.trace`); MXNet's exporter converts that; then the slices are dropped and the padding is
set (:mod:`.graph`). With ``dynamic=True`` sizes stay free: a padding that serves every size is
written as ``pads``, any other as ``auto_pad``, which is ONNX' own form of SAME.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

import os
import tempfile
from typing import Sequence, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import Block

from .. import arguments
from . import graph
from .check import compare
from .trace import Trace

__all__ = ["export_model"]

Shape = Sequence[int]

#: Elements from which an array goes around the exporter.
_LARGE = 1024


def export_model(
    net: Block,
    input_shapes: Union[Shape, Sequence[Shape]],
    path: Union[str, "os.PathLike[str]"],
    *,
    dynamic: bool = False,
    dtype: Union[None, str, Sequence[str]] = None,
    check: bool = True,
) -> str:
    """Write a net as an ONNX file (operator set 13).

    The net itself is left as it is: its parameters, its hybridized graphs, its specialization.

    Parameters
    ----------
    net : Block
        An initialized net.
    input_shapes : tuple of int, or a list of them
        Shape of the input, or of each input, the batch first.
    path : str or path-like
        The file to write. It is written whole or not at all.
    dynamic : bool
        Whether batch and spatial sizes (axis 0, and axes from 2 on) of every input stay free. The
        shapes given are then one example.
    dtype : str, or a list of them, optional
        dtype of the inputs; that of the net's parameters by default. onnxruntime itself has no
        convolution of float64.
    check : bool
        Whether to run the file in onnxruntime, with random data, and refuse it if its numbers are not
        those of the net. A net that MXNet runs on GPUs alone (convolution of channels-last data) cannot
        be checked on a CPU.

    Returns
    -------
    str
        ``path``.

    Raises
    ------
    ImportError
        If onnx is not installed, or onnxruntime where it is to check, or if MXNet is older than 1.9
        and cannot write current ONNX.
    TypeError, ValueError
        If an argument does not fit; if the net has parameters without values; if it, or one of its
        operators, cannot be exported: the message names the block; or if the file gives other numbers.
    OSError
        If the file cannot be written.

    Notes
    -----
    Blocks of :mod:`gluon_same.nn` become one ONNX operator each (channels-last ones with a Transpose
    on either side). What a net builds by itself from :mod:`gluon_same.functional` is exported
    operator by operator, as far as MXNet's exporter knows them.

    onnxruntime has no right ``auto_pad`` for dilated windows, nor for windows whose stride exceeds
    their span on some axis. ``dynamic=True`` refuses them where their padding depends on the size.

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
        raise FileNotFoundError(f"path={path!r} is in a folder that does not exist: make {folder!r}")

    names = ["data"] if len(shapes) == 1 else [f"data{i}" for i in range(len(shapes))]
    trace = Trace(net, dict(zip(names, shapes)), dynamic)
    symbol = trace.run()
    values = trace.parameters(symbol)
    # Arrays of any length take the exporter seconds a million; as inputs it passes them over.
    large = {name: value for name, value in values.items() if value.size > _LARGE}
    small = {name: value for name, value in values.items() if name not in large}
    given = {name: (value.shape, value.dtype) for name, value in large.items()}
    given.update(zip(names, zip(shapes, dtypes)))
    # The exporter takes what belongs to the inputs in the order in which the graph meets them.
    used = [name for name in symbol.list_inputs() if name in given]
    kwargs = {}
    if dynamic:
        free = [_free(given[name][0]) if name in names else given[name][0] for name in used]
        kwargs = {"dynamic": True, "dynamic_input_shapes": free}
    with tempfile.TemporaryDirectory(prefix=".onnx-", dir=folder) as scratch:
        part = os.path.join(scratch, "model.onnx")
        try:
            with graph.checked_as_written():
                mx.onnx.export_model(
                    symbol,
                    small,
                    [given[name][0] for name in used],
                    [given[name][1] for name in used],
                    part,
                    **kwargs,
                )
            graph.finish(part, trace.marks, large, names, trace.outputs(symbol), dynamic)
        except Exception as error:  # of any kind: the exporter asserts, looks up and evaluates
            raise ValueError(trace.explain(error)) from error
        if check:
            compare(net, part, trace.shapes, dtypes)
        os.replace(part, path)
    return path


def _free(shape):
    return tuple(n if axis == 1 else None for axis, n in enumerate(shape))


def _as_dtypes(dtype, net, count):
    if dtype is None:
        dtype = next((np.dtype(p.dtype).name for p in net.collect_params().values()), "float32")
    dtypes = list(dtype) if isinstance(dtype, (tuple, list)) else [dtype] * count
    if len(dtypes) != count:
        raise ValueError(f"dtype={dtype!r} does not fit {count} inputs: give one for each")
    try:
        return [np.dtype(each).name for each in dtypes]
    except TypeError:
        raise TypeError(f"dtype={dtype!r} is no dtype: give 'float32', or one for each input") from None


def _as_shapes(input_shapes):
    if not isinstance(input_shapes, (tuple, list)):
        raise TypeError(f"input_shapes={input_shapes!r} is no shape: give a tuple of ints for each")
    shapes = list(input_shapes)
    if shapes and not isinstance(shapes[0], (tuple, list)):
        shapes = [shapes]
    if not shapes:
        raise ValueError(f"input_shapes={input_shapes!r} holds no shape: give one for each input")
    return [tuple(arguments.whole("input shape", n, 1) for n in shape) for shape in shapes]
