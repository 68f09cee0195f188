"""Read weights from Darknet's files."""

import os
import struct
from typing import Any, List, NamedTuple, Tuple, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, Parameter, nn

from ..blocks import blocks_of
from ..files import check_regular
from ..nn.base import operator_arguments
from ..trace import Trace

WORD = np.dtype("<f4")
TRACED = (416, 416)  #: Image size for the inference of input channels: Darknet's default.


class _Piece(NamedTuple):
    """A run of numbers in the file, and the parameter that it belongs to."""

    layer: str
    role: str
    parameter: Parameter
    shape: Tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def load_darknet_weights(net: Block, path: Union[str, "os.PathLike[str]"], ctx: Any = None) -> None:
    """Read a ``.weights`` file of Darknet into a net.

    Parameters
    ----------
    net : Block
        A net of ``Conv2D``, each with or without a ``BatchNorm`` after it, registered in the order of
        the layers in Darknet's ``.cfg``, such as :class:`YOLOv3Tiny` and :class:`TinyDarkNet`. It need
        not be initialized. Unknown input channels are inferred, for images of 3 channels unless the
        first layer has another number.
    path : str or path-like
        The file, with either version of the header.
    ctx : Context or list of Context, optional
        Where to initialize parameters that are not initialized; the current context by default.

    Raises
    ------
    OSError
        If the file cannot be read.
    TypeError
        If ``net`` is not a block.
    ValueError
        If the file has no Darknet header, ends early, continues after the last layer, or contains
        numbers that are not finite or variances below 0; or if the net has parameters that no Darknet
        convolution has. The net does not change then.

    Notes
    -----
    The header has three int32 (major version, minor version and revision), followed by the number of
    images seen in training, an int32 before version 0.2 and a uint64 since. For each convolution, the
    file then has little-endian float32: beta, gamma, running mean and running variance of the batch
    normalization, or else the bias; then the weights.

    To use only the features of ``yolov3-tiny.weights``, load the file into a :class:`YOLOv3Tiny` and use
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
    pieces = _pieces(net)
    path = os.fspath(path)
    values = _read(path, pieces)
    _check_values(path, pieces, values)
    for piece, value in zip(pieces, values):
        _assign(piece, value, ctx)


def _pieces(net) -> List[_Piece]:
    """List what a file for this net must contain, in order."""
    leaves = [block for block in blocks_of(net) if block._reg_params]
    shapes = _weight_shapes(net, [block for block in leaves if isinstance(block, nn.Conv2D)])
    pieces = []
    while leaves:
        block = leaves.pop(0)
        if not isinstance(block, nn.Conv2D) or operator_arguments(block)["layout"] != "NCHW":
            raise ValueError(
                f"{block.name} ({type(block).__name__}) has parameters that Darknet's convolutions do "
                "not have: give a net of Conv2D in layout NCHW, each optionally followed by a BatchNorm"
            )
        shape = shapes[block]
        if leaves and isinstance(leaves[0], nn.BatchNorm):
            norm = leaves.pop(0)
            if block.bias is not None or operator_arguments(norm)["fix_gamma"]:
                raise ValueError(
                    f"{block.name} and {norm.name} cannot be combined in Darknet: use Conv2D with "
                    "use_bias=False and BatchNorm with scale=True"
                )
            roles = "beta", "gamma", "running mean", "running variance"
            own = [*zip(roles, (norm.beta, norm.gamma, norm.running_mean, norm.running_var))]
        elif block.bias is None:
            raise ValueError(
                f"{block.name} has neither a bias nor a BatchNorm after it, and every convolution of "
                "Darknet has one of them: use use_bias=True"
            )
        else:
            own = [("bias", block.bias)]
        pieces += [_Piece(block.name, role, parameter, shape[:1]) for role, parameter in own]
        pieces.append(_Piece(block.name, "weights", block.weight, shape))
    if not pieces:
        raise ValueError(f"{net.name} has no convolutions: give a net of Conv2D")
    return pieces


def _weight_shapes(net, convolutions):
    shapes = {block: block.weight.shape for block in convolutions}
    if any(min(shape) < 1 for shape in shapes.values()):
        known = max(convolutions[0].weight.shape[1], 0)
        known *= operator_arguments(convolutions[0])["num_group"]
        try:
            found = Trace(net, [(1, known or 3, *TRACED)], sized=False).variables
        except ValueError as error:
            raise ValueError(
                f"the input channels of {net.name} could not be inferred: call the net once, or give "
                f"in_channels to every Conv2D. {error}"
            ) from error
        shapes = {block: found.get(block.weight.name) or shape for block, shape in shapes.items()}
    for block, shape in shapes.items():
        if min(shape) < 1:
            raise ValueError(
                f"the input channels of {block.name} are unknown: call {net.name} once, or give "
                "in_channels"
            )
    return shapes


def _read(path, pieces):
    """Return the numbers of each piece, or raise a ValueError if the file has another size."""
    check_regular(path)
    with open(path, "rb") as file:
        start, size = _skip_header(path, file), os.path.getsize(path)
        ends = np.cumsum([piece.size for piece in pieces])
        total = start + WORD.itemsize * ends[-1]
        if size > total:
            raise ValueError(
                f"{path} continues after the last layer, {pieces[-1].layer}: {total} bytes are "
                f"expected and {size} were found, {size - total} too many. It belongs to another net, "
                "perhaps with more layers or classes"
            )
        if size < total:
            at = np.searchsorted(ends, (size - start) // WORD.itemsize, side="right")
            piece, begin = pieces[at], start + WORD.itemsize * (ends[at] - pieces[at].size)
            raise ValueError(
                f"{path} ends in layer {piece.layer}: {piece.role} of shape {piece.shape}, "
                f"{WORD.itemsize * piece.size} bytes expected from byte {begin} on, {size - begin} "
                f"found. The net requires {total} bytes in all, and the file has {size}: it is "
                "truncated or belongs to another net"
            )
        numbers = np.frombuffer(file.read(), dtype=WORD)
    return [run.reshape(p.shape) for run, p in zip(np.split(numbers, ends[:-1]), pieces)]


def _skip_header(path, file):
    """Read the header and return its number of bytes."""
    header = file.read(12)
    if len(header) < 12:
        raise ValueError(
            f"{path} has no Darknet header: 12 bytes are required and {len(header)} were found"
        )
    major, minor, revision = struct.unpack("<3i", header)
    # Darknet only had versions 0.1 and 0.2. Other bytes are not a header.
    if not (major == 0 and 1 <= minor < 1000 and 0 <= revision < 1000):
        raise ValueError(
            f"{path} has no Darknet header: it begins with {header!r}, which is version "
            f"{major}.{minor}.{revision}, and only 0.1 and 0.2 exist"
        )
    seen = 8 if major * 10 + minor >= 2 else 4
    found = len(file.read(seen))
    if found < seen:
        raise ValueError(f"{path} ends in its header: {12 + seen} bytes expected, {12 + found} found")
    return 12 + seen


def _check_values(path, pieces, values):
    for piece, value in zip(pieces, values):
        known = piece.parameter.shape
        if known and any(n > 0 and n != m for n, m in zip(known, piece.shape)):
            raise ValueError(
                f"{piece.parameter.name} has shape {known}, and Darknet's {piece.role} of layer "
                f"{piece.layer} have shape {piece.shape}"
            )
        if not np.isfinite(value).all():
            raise ValueError(
                f"{path} has {piece.role} in layer {piece.layer} that are not finite: it is damaged, or "
                "belongs to another net"
            )
        dtype = np.dtype(piece.parameter.dtype)
        if dtype.kind == "f" and abs(value).max() > np.finfo(dtype).max:
            raise ValueError(
                f"{path} has {piece.role} of {abs(value).max():.3g} in layer {piece.layer}, which "
                f"exceeds {dtype}: cast the net to float32 first"
            )
        if piece.role == "running variance" and (value < 0).any():
            raise ValueError(
                f"{path} has a {piece.role} below 0 in layer {piece.layer}: it is damaged, or "
                "belongs to another net"
            )


def _assign(piece, value, ctx):
    parameter = piece.parameter
    parameter.shape = piece.shape
    if parameter._data is None:
        if parameter._deferred_init:
            ctx = parameter.list_ctx()
        parameter.initialize(init=mx.init.Zero(), ctx=ctx or mx.current_context())
    # MXNet cannot write a NumPy array to memory that oneDNN has laid out for a convolution.
    parameter.set_data((mx.np if mx.util.is_np_array() else mx.nd).array(value))
