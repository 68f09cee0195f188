"""Convert a Keras or ONNX model into files that MXNet runs without this package.

Writes net-symbol.json and net-0000.params, which any MXNet runtime loads, and net.onnx if the onnx
extra is installed. Prints a table of the layers. The graphs serve every batch size and, if the layers
allow it, every input size. With --deploy, also writes net-deployed-symbol.json and
net-deployed-0000.params, the fastest graph on this machine for one batch size and input size.
"""

import argparse
import importlib.util
import os
import shlex
import warnings
import zipfile
from typing import Dict, List, Tuple

import mxnet as mx
import numpy as np

from .. import deploy
from ..files import check_name
from ..keras.loading import OnlyWeights, load_model
from ..progress import Progress
from ..summaries import summarize
from .pad import SIZE, reader, written

#: Size to trace with, for an axis of unknown size.
_OPEN = {4: 224, 5: 32}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on its parser."""
    add = parser.add_argument
    add("model", help="a .keras, .h5 or .onnx file, or a file with the text of model.to_json()")
    add("folder", help="output folder, created if it does not exist")
    add("--weights", metavar="FILE", help="the .h5 file of weights for a configuration (JSON)")
    layout = "layout of inputs and outputs: channels first, or last as in Keras (default: NCHW)"
    add("--layout", choices=("NCHW", "NHWC"), default="NCHW", help=layout)
    size = "size of open axes, in the table (default: 224) and of the deployed graph; with several "
    size += "inputs, once for each of them: --size NAME=HxW"
    add("--size", type=_size, action="append", default=[], metavar="HxW", help=size)
    add("--no-onnx", action="store_true", help="do not write net.onnx")
    add = parser.add_argument_group("the deployed graph").add_argument
    add("--deploy", action="store_true", help="write this graph; print its passes; takes seconds")
    add("--batch", type=int, metavar="N", help="its batch size (default: 1)")
    add("--dtype", choices=("float32", "bfloat16", "int8"), help="of its layers (default: float32)")
    data = "samples for int8, in --layout: a .npy file, or .npz with an array for each input"
    add("--data", metavar="FILE", help=data)
    add("--portable", action="store_true", help="for the C predict API and MXNet without oneDNN")
    add("--no-tune", action="store_true", help="do not measure on this machine; takes less time")


def run(args: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    args : argparse.Namespace
        With the options that :func:`add_arguments` declares.

    Returns
    -------
    int
        0.

    Raises
    ------
    ImportError, OSError, ValueError
        If the model cannot be read or converted.
    """
    with Progress() as progress:
        lines = _convert(args, progress)
    print(*lines, sep="\n")
    return 0


def _convert(args: argparse.Namespace, progress: Progress) -> List[str]:
    """Write the files, and return the lines of the answer."""
    check_name(args.folder)
    options = ("batch", "dtype", "data", "portable", "no_tune")
    alone = [name for name in options if getattr(args, name) not in (None, False)]
    if alone and not args.deploy:
        raise ValueError(f"--{alone[0].replace('_', '-')} is for a deployed graph: give --deploy, too")
    data = args.data and _samples(args.data)
    progress("reading the model")
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        net = _onnx_net(args) if args.model.lower().endswith(".onnx") else _keras_net(args)
    shapes = _shapes(args, net)
    if data and len(data) != len(shapes):
        raise ValueError(
            f"{args.data} contains {len(data)} arrays: give one for each of {len(shapes)} inputs"
        )
    progress("listing its layers")
    lines = [str(summarize(net, *shapes)), *(f"Note: {each.message}" for each in noted)]
    progress("running it")
    os.makedirs(args.folder, exist_ok=True)
    path = os.path.join(args.folder, "net")
    net.hybridize()
    mx.nd.waitall()
    net(*map(mx.nd.zeros, shapes))
    progress("writing its graph")
    net.export(path)
    lines += [f"{path}-symbol.json", f"{path}-0000.params"]
    if not args.no_onnx and all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))):
        progress("writing ONNX")
        lines.append(_written_onnx(net, shapes, f"{path}.onnx"))
    if args.deploy:
        progress("deploying it")
        lines += _deployed(args, net, shapes, data and [data], f"{path}-deployed")
    return lines


def _shapes(args, net):
    """Return the shape of each input, with the given sizes."""
    _check_names(args.size, net.plan.names)
    if args.deploy and not args.size and any(None in saved[1:] for saved in net.plan.saved):
        raise ValueError("--deploy is for one input size, and the model accepts many: give --size HxW")
    parts = zip(net.plan.names, net.plan.saved, net.input_sizes)
    return [_shape(saved, fixed, _size_of(args.size, name)) for name, saved, fixed in parts]


def _written_onnx(net, shapes, path):
    """Write an ONNX file; return its path, or why there is none."""
    from ..onnx import export_model

    try:
        return export_model(net, shapes, path, dynamic=True)
    except ValueError as error:
        return f"No {path}: {error}"


def _deployed(args, net, shapes, data, path):
    """Write the deployed graph, and return the lines of the answer."""
    batch, dtype = 1 if args.batch is None else args.batch, args.dtype or "float32"
    how = dict(dtype=dtype, data=data, tune=not args.no_tune, portable=args.portable)
    deployed = deploy(net, *[(batch, *shape[1:]) for shape in shapes], **how)
    deployed.export(path)
    return [str(deployed.report), f"{path}-symbol.json", f"{path}-0000.params"]


def _samples(path):
    """Return the arrays of a file."""
    try:
        found = np.load(path)
        return tuple(found[name] for name in found.files) if hasattr(found, "files") else (found,)
    except (EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"--data {path} is not a .npy or .npz file of numbers: {error}") from None


def _keras_net(args):
    """Return the net of a Keras model."""
    try:
        return load_model((args.model, args.weights) if args.weights else args.model, layout=args.layout)
    except OnlyWeights:
        words = " ".join(map(shlex.quote, (args.folder, "--weights", args.model)))
        raise ValueError(
            f"{args.model} contains only weights: save the text of model.to_json() in Keras as "
            f"model.json, and run: convert model.json {words}"
        ) from None


def _onnx_net(args):
    """Return the net of an ONNX model, for the given sizes if it cannot serve every size."""
    from ..importing.net import ImportedNet
    from ..onnx.attempts import NeedsSizes
    from ..onnx.importing import import_model

    if args.weights or args.layout != "NCHW":
        raise ValueError("--weights and --layout are for Keras models: leave them out for an ONNX file")
    try:
        net = import_model(args.model)
    except NeedsSizes as error:
        if not args.size:
            raise ValueError(str(error).replace("input_shapes=", "--size")) from None
        _check_names(args.size, error.shapes)
        shapes: Dict[str, Tuple] = {
            name: (shape[0], *_shape(shape, shape, _size_of(args.size, name))[1:])
            for name, shape in error.shapes.items()
        }
        net = import_model(args.model, input_shapes=shapes)
        warnings.warn(f"The graphs serve these sizes only: {shapes}", stacklevel=2)
        args.size = []  # no axis is open any more
    if not isinstance(net, ImportedNet):
        raise ValueError(
            f"{args.model} reads the values of some inputs, such as axes or shapes: import it "
            "with import_model(..., constants=...), and export the net"
        )
    return net


def _size(text):
    """Parse a size, for all inputs or for one by name."""
    name, equals, size = text.rpartition("=")
    return name if equals else None, reader(SIZE, 1, 999_999)(size)


def _check_names(sizes, names):
    for name, _ in sizes:
        if name not in (None, *names):
            raise ValueError(f"--size {name}=: the inputs are {', '.join(names)}")


def _size_of(sizes, name):
    """Return the last size that was given for an input, or for all."""
    return next((size for given, size in reversed(sizes) if given in (None, name)), ())


def _shape(saved, fixed, size):
    """Return an input's shape: that of the model, with the given size on open axes."""
    free = [axis for axis, n in enumerate(fixed) if n is None and axis > 0]
    if fixed[0] is None and len(size) == len(fixed):
        free = list(range(len(fixed)))  # all sizes, with the batch
    if len(size) not in (0, 1, len(free)):
        raise ValueError(
            f"--size {written(size)} does not fit an input with {len(free)} open axes: give one number, "
            "or one for each axis"
        )
    shape = [saved[0] or 1, *(n or _OPEN.get(len(saved), 64) for n in saved[1:])]
    for axis, (n,) in zip(free, size * (len(free) if len(size) == 1 else 1)):
        shape[axis] = n
    return tuple(shape)
