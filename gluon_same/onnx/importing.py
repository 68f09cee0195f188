"""Import of ONNX files as Gluon nets."""

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Sequence, Union

import mxnet as mx
from mxnet.gluon import HybridBlock

from .._compat import required
from ..arrays import contexts
from .attempts import Import
from .inputs import Shape
from .reading import read

if TYPE_CHECKING:
    import onnx


def import_model(
    model: Union[str, "os.PathLike[str]", bytes, "onnx.ModelProto"], *,
    input_shapes: Union[None, Shape, Sequence[Shape], Mapping[str, Shape]] = None,
    constants: Optional[Mapping[str, Any]] = None,
    custom: Optional[Dict[str, Callable[..., HybridBlock]]] = None, ctx: Any = None,
) -> HybridBlock:  # fmt: skip
    """Load an ONNX model and its weights as a Gluon net.

    The net hybridizes, trains, specializes, deploys, saves its parameters and exports like one that was
    written with Gluon. Convolutions, poolings, normalizations and dense layers are blocks of
    :mod:`gluon_same.nn`. Every size that the file leaves open stays open.

    Parameters
    ----------
    model : str, path-like, bytes or onnx.ModelProto
        An ONNX file of operator set 1 to 28, its content, or a model in memory. Weights in other files
        are read from the folder of the model's file and those in it only.
    input_shapes : tuple, list of tuple, or dict of str to tuple, optional
        Shapes that replace those in the file: one for a single input, one for each input, or some by
        name. None leaves a size open. Required if the file does not state how many axes an input has,
        and if the model computes with its sizes in ways that no graph for every size can.
    constants : dict of str to array or number, optional
        Values of inputs, by name, such as ``{'sr': 16000}`` for the sampling rate of sound. The net does
        not have these inputs.
    custom : dict of str to callable, optional
        Maps operators, such as ``'Unique'`` or ``'audio::Snake'``, to builders, which are called
        as ``builder(attributes, constants, shapes)``: the node's attributes by name, its known inputs
        by position, and the shapes of its other inputs with None for open sizes. A builder returns an
        initialized HybridBlock, which is called with these other inputs. Custom builders take
        precedence over built-in converters.
    ctx : Context or list of Context, optional
        Context of the parameters; the current context by default.

    Returns
    -------
    ImportedNet
        A HybridBlock that is called with one NDArray for each of the model's inputs, in the order of
        the file, without initializers. It returns an array, or a list of arrays. Its children
        (``net.layers``) have the names of nodes, and its parameters the names of initializers.

    Raises
    ------
    ImportError
        If onnx is not installed.
    OSError
        If a file cannot be opened.
    TypeError
        If an argument is of the wrong type.
    ValueError
        If a file is damaged or malicious; if the model contains unsupported operators, all of which the
        message lists with the names of their nodes; or if MXNet's NumPy mode is active.

    Warns
    -----
    UserWarning
        If the model computes in half precision: the net computes in float32. If the model does not
        support an open batch, as if it was traced with one sample, and the net therefore has a batch of
        1: ``input_shapes=`` fixes another one.

    Notes
    -----
    Booleans are 0 and 1 in float32 within the net; results of type bool are cast to it. Where ONNX has
    an array without axes, MXNet has one axis of size 1. Random operators, strings, optional values,
    training, and inputs and outputs that are sequences are not supported, except that maps of labels to
    scores are an array with a column for each label, in the order of the file. An input that an operator
    reads as numbers, such as the axes of a reduction, is read at each call, and the net keeps a graph
    for each of its latest values; so is an input of integers, or of at most 8 floats, from which such
    numbers follow. Such a net has its parameters from the first call on.
    Both branches are computed if a condition is computed at run time, and must return the same shapes.
    Results of NonMaxSuppression, NonZero and Compress have as many elements as the data select. If they
    select none, the net raises an error, because MXNet has no arrays without elements. Elements that are
    assigned by a mask (``x[mask] = value``) may be none.

    Examples
    --------
    >>> import os, tempfile
    >>> from gluon_same import nn
    >>> from gluon_same.onnx import export_model, import_model
    >>> net = nn.Conv2D(8, 3, strides=2, padding='same', in_channels=3)
    >>> net.initialize()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = export_model(net, (1, 3, 32, 32), os.path.join(folder, 'net.onnx'), dynamic=True)
    ...     again = import_model(path)
    >>> again(mx.nd.zeros((2, 3, 15, 15))).shape
    (2, 8, 8, 8)
    """
    required("onnx.reference", "Importing ONNX files", ", 1.13 or later")
    import onnx

    from . import converters  # noqa: F401  registers them

    if mx.util.is_np_array():
        raise ValueError("import_model creates nets for classic arrays: call mx.npx.reset_np() first")
    if custom is not None and not (isinstance(custom, dict) and all(map(callable, custom.values()))):
        raise TypeError(f"custom={custom!r} is not a dict of operators to functions")
    placed = contexts(ctx)
    source = model if isinstance(model, (bytes, onnx.ModelProto)) else os.fspath(model)
    path = source if isinstance(source, str) else None
    proto = read(source)
    try:
        return Import(proto, path, input_shapes, constants or {}, dict(custom or {}), placed).net()
    except ValueError as error:
        error.args = (f"{path or 'the model'}: {error}",)
        raise error from None
