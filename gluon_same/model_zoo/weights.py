"""Reading the weights of Darknet's own files."""

import os
import stat
import struct
from typing import Any, List, NamedTuple, Tuple, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter, nn
from mxnet.gluon.parameter import DeferredInitializationError

WORD = np.dtype("<f4")
TRACED = (416, 416)  #: Size of the images for which channels are traced through a net: Darknet's own.


class _Piece(NamedTuple):
    """A run of numbers in the file, and where it goes."""

    layer: str
    role: str
    parameter: Parameter
    shape: Tuple[int, ...]


def load_darknet_weights(net: Block, path: Union[str, "os.PathLike[str]"], ctx: Any = None) -> None:
    """Read a ``.weights`` file of Darknet into a net.

    Parameters
    ----------
    net : Block
        A net of ``Conv2D``, each with or without a ``BatchNorm`` after it, registered in the order of
        the layers in Darknet's ``.cfg``, as :class:`YOLOv3Tiny` and :class:`TinyDarkNet` are. It may
        be initialized, deferred (its input channels not yet known) or neither. Deferred input channels
        are found by a pass over shapes, for images of 3 channels unless the first layer says otherwise.
    path : str or path
        The file. Both versions of the header are read.
    ctx : Context or list of Context, optional
        For parameters that are not yet initialized; the current context by default.

    Raises
    ------
    OSError
        If the file cannot be read.
    TypeError
        If ``net`` is no block.
    ValueError
        If the file has no Darknet header, ends early (naming the layer, and the bytes wanted and
        found), goes on after the last layer, or holds numbers that are not finite or variances below
        0; or if the net holds parameters that no Darknet convolution has. The net is as it was then.

    Notes
    -----
    The file is a header of three int32, namely major and minor version and revision, then the number
    of images seen in training, int32 before version 0.2 and uint64 since; then, for each
    convolution, float32 in little-endian order: beta, gamma, running mean and running variance of the
    batch normalization, or else the bias; then the weights.

    To have the features of ``yolov3-tiny.weights`` alone, load it into a :class:`YOLOv3Tiny` and take
    its ``maps.features``, a :class:`TinyDarkNet`.

    Examples
    --------
    >>> import struct, tempfile
    >>> net = nn.Conv2D(1, 1, in_channels=2)
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(struct.pack('<3iq3f', 0, 2, 0, 32000, 0.5, 3, 4))
    ...     file.flush()
    ...     load_darknet_weights(net, file.name)
    >>> net.bias.data().asnumpy(), net.weight.data().asnumpy().ravel()
    (array([0.5], dtype=float32), array([3., 4.], dtype=float32))
    """
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    pieces = _pieces(net)
    path = os.fspath(path)
    values = _read(path, pieces)
    _check_values(path, pieces, values)
    for piece, value in zip(pieces, values):
        _assign(piece, value, ctx)


def _pieces(net) -> List[_Piece]:
    """What a file for this net holds, in its order."""
    leaves = _leaves(net)
    convolutions = [block for block in leaves if isinstance(block, nn.Conv2D)]
    shapes = _weight_shapes(net, convolutions)
    pieces = []
    following = iter([*leaves[1:], None])
    used = set()
    for block, after in zip(leaves, following):
        if block in used:
            continue
        if not isinstance(block, nn.Conv2D) or block._kwargs["layout"] != "NCHW":
            raise ValueError(
                f"{block.name} ({type(block).__name__}) has parameters that Darknet's convolutions do "
                "not have: give a net of Conv2D in layout NCHW, with or without a BatchNorm after each"
            )
        shape = shapes[block]
        if isinstance(after, nn.BatchNorm):
            if block.bias is not None or after._kwargs["fix_gamma"]:
                raise ValueError(
                    f"{block.name} and {after.name} do not go together in Darknet: give Conv2D "
                    "use_bias=False and BatchNorm scale=True"
                )
            used.add(after)
            own = [
                ("beta", after.beta),
                ("gamma", after.gamma),
                ("running mean", after.running_mean),
                ("running variance", after.running_var),
            ]
        elif block.bias is None:
            raise ValueError(
                f"{block.name} has neither a bias nor a BatchNorm after it, and in Darknet every "
                "convolution has one of them: give use_bias=True"
            )
        else:
            own = [("bias", block.bias)]
        pieces += [_Piece(block.name, role, parameter, shape[:1]) for role, parameter in own]
        pieces.append(_Piece(block.name, "weights", block.weight, shape))
    if not pieces:
        raise ValueError(f"{net.name} has no convolutions to read weights into")
    return pieces


def _leaves(block):
    """Blocks that have parameters of their own, in the order in which they were registered."""
    own = [block] if block._reg_params else []
    return own + [leaf for child in block._children.values() for leaf in _leaves(child)]


def _weight_shapes(net, convolutions):
    shapes = {block: tuple(block.weight.shape) for block in convolutions}
    if all(min(shape) > 0 for shape in shapes.values()):
        return shapes
    first = convolutions[0]
    known = max(first.weight.shape[1], 0) * first._kwargs["num_group"]
    # Channels do not depend on the size, so any will do; a specialized net takes but one.
    shape = next(iter(getattr(net, "_expected", [])), (1, known or 3, *TRACED))
    shape = (1, *shape[1:])
    x = mx.sym.var("data")
    try:
        out = net(x.as_np_ndarray() if mx.util.is_np_array() else x)
        out = mx.sym.Group([_classic(y) for y in (out if isinstance(out, (list, tuple)) else [out])])
        found, _, _ = out.infer_shape_partial(data=shape)
    except (mx.MXNetError, AttributeError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(
            f"{net.name} could not be traced for its input channels: call it once, or give every "
            f"Conv2D its in_channels. {error}"
        ) from error
    found = dict(zip(out.list_arguments(), found))
    for block, shape in shapes.items():
        inferred = found.get(block.weight.name)
        if min(shape) < 1 and (not inferred or min(inferred) < 1):
            raise ValueError(
                f"{block.name} does not show its input channels: call {net.name} once, or give them"
            )
        shapes[block] = tuple(inferred or shape)
    return shapes


def _classic(symbol):
    return symbol.as_nd_ndarray() if isinstance(symbol, mx.sym.numpy._Symbol) else symbol


def _read(path, pieces):
    """The numbers of each piece, if the file has the right size for all of them."""
    if stat.S_ISFIFO(os.stat(path).st_mode):  # whose size is not known, and which may never end
        raise ValueError(f"{path} is a pipe: give the path of a file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        at = start = _skip_header(path, file)
        for piece in pieces:
            wanted = WORD.itemsize * int(np.prod(piece.shape))
            if at + wanted > size:
                raise ValueError(
                    f"{path} ends in layer {piece.layer}: its {piece.role} of shape {piece.shape} want "
                    f"{wanted} bytes from byte {at} on, and {size - at} were found. The net wants "
                    f"{_total(start, pieces)} bytes in all, the file has {size}: it is cut short, or "
                    "of another net"
                )
            at += wanted
        if at < size:
            raise ValueError(
                f"{path} goes on after the last layer, {pieces[-1].layer}: {at} bytes are wanted and "
                f"{size} were found, {size - at} too many. It is of another net, or of one with more "
                "layers or classes"
            )
        numbers = np.frombuffer(file.read(at - start), dtype=WORD)
    ends = np.cumsum([int(np.prod(piece.shape)) for piece in pieces])
    if numbers.size != ends[-1]:
        raise ValueError(
            f"{path} changed while it was read: {ends[-1]} numbers wanted, {numbers.size} found"
        )
    return [run.reshape(p.shape) for run, p in zip(np.split(numbers, ends[:-1]), pieces)]


def _total(start, pieces):
    return start + WORD.itemsize * sum(int(np.prod(piece.shape)) for piece in pieces)


def _skip_header(path, file):
    """Read the header; the number of its bytes."""
    header = file.read(12)
    if len(header) < 12:
        raise ValueError(
            f"{path} has no Darknet header: 12 bytes are wanted and {len(header)} were found"
        )
    major, minor, revision = struct.unpack("<3i", header)
    # Darknet has only had versions 0.1 and 0.2. Anything else would be read as numbers all the same.
    if not (major == 0 and 1 <= minor < 1000 and 0 <= revision < 1000):
        raise ValueError(
            f"{path} has no Darknet header: it begins with {header!r}, which would be version "
            f"{major}.{minor}.{revision}, and 0.1 and later of the kind are known"
        )
    seen = 8 if major * 10 + minor >= 2 else 4
    found = len(file.read(seen))
    if found < seen:
        raise ValueError(f"{path} ends in its header: {12 + seen} bytes wanted and {12 + found} found")
    return 12 + seen


def _check_values(path, pieces, values):
    for piece, value in zip(pieces, values):
        known = piece.parameter.shape
        if known and any(n > 0 and n != m for n, m in zip(known, piece.shape)):
            raise ValueError(
                f"{piece.parameter.name} has shape {known}, and Darknet's {piece.role} of layer "
                f"{piece.layer} have {piece.shape}"
            )
        if not np.isfinite(value).all():
            raise ValueError(
                f"{path} has {piece.role} in layer {piece.layer} that are not finite: it is damaged or "
                "of another net"
            )
        dtype = np.dtype(piece.parameter.dtype)
        if dtype.kind == "f" and abs(value).max() > np.finfo(dtype).max:
            raise ValueError(
                f"{path} has {piece.role} of {abs(value).max():.3g} in layer {piece.layer}, which "
                f"{dtype} does not hold: cast the net to float32 first"
            )
        if piece.role == "running variance" and (value < 0).any():
            raise ValueError(
                f"{path} has a {piece.role} below 0 in layer {piece.layer}: it is damaged or of "
                "another net"
            )


def _assign(piece, value, ctx):
    parameter = piece.parameter
    parameter.shape = piece.shape
    try:
        parameter.list_data()
    except (RuntimeError, DeferredInitializationError):  # the latter is no RuntimeError in MXNet 1.6
        try:
            ctx = parameter.list_ctx()
        except RuntimeError:
            ctx = ctx or mx.current_context()
        parameter.initialize(init=mx.init.Zero(), ctx=ctx)
    # As an array: a value from NumPy does not fit memory that oneDNN has laid out for a convolution.
    parameter.set_data((mx.np if mx.util.is_np_array() else mx.nd).array(value))
