"""Import of ONNX files as Gluon nets."""

import itertools
import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock

from .._compat import required
from ..arrays import flat, in_thread, infer
from ..importing.parameters import contexts, fill
from .builder import Builder
from .by_value import NetByValue
from .inputs import TRIALS, Shape, constants_of, groupings, input_dtype, shapes_of, tried_shapes
from .reading import initializers, read
from .values import (
    AT_RUN_TIME,
    FIX,
    Input,
    Limited,
    Missing,
    NeedsTrials,
    NeedsValue,
    NoSizes,
    Refused,
    Unsupported,
)
from .weights import Weights

if TYPE_CHECKING:
    import onnx

_VERSIONS = 1, 25

_MAY_HELP = "Fixed sizes may help: give them with input_shapes="


class NeedsSizes(ValueError):
    """A model whose open sizes must be fixed. ``shapes`` are those in the file, by input."""

    shapes: Dict[str, Shape]


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
        An ONNX file of operator set 1 to 25, its content, or a model in memory. Weights in other files
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
        If the model computes in half precision: the net computes in float32.

    Notes
    -----
    Booleans are 0 and 1 in float32 within the net; results of type bool are cast to it. Where ONNX has
    an array without axes, MXNet has one axis of size 1. Random operators, strings, optional values,
    training, and inputs and outputs that are sequences are not supported. An input that an operator
    reads as numbers, such as the axes of a reduction, is read at each call, and the net keeps a graph
    for each of its latest values; so is an input of integers, or of at most 8 floats, from which such
    numbers follow. Such a net has its parameters from the first call on.
    Both branches are computed if a condition is computed at run time, and must return the same shapes.
    Results of NonMaxSuppression, NonZero and Compress have as many elements as the data select. If they
    select none, the net raises an error, because MXNet has no arrays without elements.

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
        return _Import(proto, path, input_shapes, constants or {}, dict(custom or {}), placed).net()
    except ValueError as error:
        error.args = (f"{path or 'the model'}: {error}",)
        raise error from None


class _Import:
    """One import: a model, and how to build nets from it."""

    def __init__(
        self, model: Any, path: Optional[str], input_shapes: Any, constants: Any, custom: Dict,
        placed: List[Any],
    ):  # fmt: skip
        self.model, self.custom, self.placed = model, custom, placed
        self.name = os.path.splitext(os.path.basename(path or "model"))[0]
        versions = {each.domain or "": each.version for each in model.opset_import}
        version = versions.get("", versions.get("ai.onnx", _VERSIONS[1]))
        if not _VERSIONS[0] <= version <= _VERSIONS[1]:
            raise ValueError(
                f"the model is of operator set {version}, and those up to {_VERSIONS[1]} are supported: "
                "convert it with onnx.version_converter"
            )
        self.weights = initializers(model, path)
        given = [each for each in model.graph.input if each.name not in self.weights]
        self.constants = constants_of(given, constants)
        given = [each for each in given if each.name not in constants]
        self.dtypes = {each.name: input_dtype(each) for each in given}
        if not given:
            raise ValueError("the model has no inputs, so that its results are constants")
        self.outputs = [input_dtype(each) for each in model.graph.output]
        self.shapes = shapes_of(given, input_shapes)
        self.names = list(self.dtypes)
        self.held = Weights()
        self.several = False  # whether sizes follow from data
        self.has_others = self.again = False  # as of Inference
        halves = np.dtype(np.float16)
        if halves in self.dtypes.values() or any(x.dtype == halves for x in self.weights.values()):
            warnings.warn("The model computes in float16, and the net in float32.", stacklevel=4)

    def net(self) -> HybridBlock:
        """Return the net."""
        try:
            return self.built({})[0]
        except NeedsValue as error:
            return NetByValue(self.built, error.index, f"{self.name}_")

    def built(self, values: Dict[int, np.ndarray]) -> Tuple[HybridBlock, Tuple[int, ...]]:
        """Return the net for the values of inputs that are read as numbers, and its other inputs."""
        why: Optional[Exception] = None
        hint: Optional[Exception] = None  # which names the node that requires fixed sizes
        places = [i for i in range(len(self.names)) if i not in values] or [0]
        shapes = {self.names[i]: self.shapes[self.names[i]] for i in places}
        tried: List[Any] = []
        fixed = not any(None in shape for shape in shapes.values())
        for alike, trials in itertools.product(groupings(list(shapes.values())), TRIALS):
            sizes = tried_shapes(shapes, self.model.graph, trials, alike, self.several)
            others = isinstance(why, _Limited) and not alike  # may show what the first sizes do not
            if sizes in tried or (isinstance(why, _Open) and trials is not TRIALS[0] and not others):
                continue
            tried.append(sizes)
            try:
                found = self._served(values, tuple(places), sizes, alike)
                if others and self._builder.required:  # only some sizes, not those tried first
                    continue
                return found
            except ValueError:
                if not others:
                    raise
            except NeedsTrials:
                self.several = True
                return self.built(values)
            except (NoSizes, _Unfit) as error:
                problems = self._builder.problems.items()
                if any(kind is Missing for _, kind in problems):  # which no sizes mend
                    kept = {p: kind for p, kind in problems if issubclass(kind, Unsupported)}
                    raise self._refusal(_listed(kept)) from None
                why = why or error
                hint = hint or (error if isinstance(error, _Open) else None)
                self.has_others |= self._builder.has_others
        if self.has_others and not self.again:
            self.again = True
            return self.built(values)
        if fixed or isinstance(why, _Unfit):
            message = str(why if fixed else hint or why)
            helps = not fixed and "input_shapes=" not in message
            raise self._refusal(message + f"\n{_MAY_HELP}" * helps)
        raise self._refusal(
            "the model supports none of the sizes that were tried for the axes that it leaves open: fix "
            f"them with input_shapes=, for example those it was made for. {hint or why}"
        )

    def _served(self, values, places, sizes, alike, refused=()):
        """Build the net by those trials that the model does not refuse."""
        try:
            found = self._built(values, places, sizes, alike)
        except Refused as error:
            kept = {
                name: [x for t, x in enumerate(s) if t not in error.why] for name, s in sizes.items()
            }
            if len(kept[self.names[places[0]]]) < 2 or _kinds(kept) != _kinds(sizes):
                raise NoSizes(next(iter(error.why.values()))) from None
            more = [([s[t] for s in sizes.values()], why) for t, why in error.why.items()]
            return self._served(values, places, kept, alike, [*refused, *more])
        why = _wrongly_served(found[0], refused)
        if why is not None:
            raise NoSizes(why)
        return found

    def _refusal(self, message: str) -> ValueError:
        """Return the error for a model that is not supported."""
        if "input_shapes=" not in message:
            return ValueError(message)
        error = NeedsSizes(message)
        error.shapes = self.shapes
        return error

    def _built(self, values, places, sizes, alike):
        """Build the net by some trials. Where it cannot read a size in doubt, it makes sure of it."""
        try:
            return self._attempt(values, places, sizes, alike)
        except _Unfit:
            if not self._builder.reads_doubts:
                raise
            return self._attempt(values, places, sizes, alike, strict=True)

    def _attempt(self, values, places, sizes, alike, strict=False):
        placed = zip(places, sizes.items())
        inputs = [Input(name, self.dtypes[name], tuple(s), place) for place, (name, s) in placed]
        constants = {**self.constants, **{self.names[i]: array for i, array in values.items()}}
        builder = Builder(self.model, self.custom, self.held.copy())
        self._builder, builder.again, builder.strict = builder, self.again, strict
        starts, outputs = builder.build(self.model.graph, inputs, self.weights, constants)
        net = None
        if not builder.problems:
            name = self.model.graph.name or self.name
            net = builder.net(starts, outputs, self.outputs, name, alike)
        if net is None or builder.problems:
            message = _listed(builder.problems)
            if not all(issubclass(kind, Unsupported) for kind in builder.problems.values()):
                raise _Unfit(message)
            if AT_RUN_TIME in message and any(None in shape for shape in self.shapes.values()):
                message += f"\n{_MAY_HELP}"
            if FIX not in message:
                raise self._refusal(message)
            raise (_Limited if Limited in builder.problems.values() else _Open)(message)
        in_thread(fill, builder.weights.assigned, self.placed)
        self.held = builder.weights  # those of a trial that fails get no values
        return net, places


def _wrongly_served(net: HybridBlock, refused: Sequence[Any]) -> Optional[str]:
    """Return why the model refuses shapes of its inputs that the net accepts; None if there are none."""
    inputs = [mx.sym.var(f"input{i}") for i in range(len(refused[0][0]) if refused else 0)]
    outputs = flat(net(*inputs)) if inputs else []
    for shapes, why in refused:
        with suppress(Exception):  # MXNet raises it for sizes that an operator does not support
            infer(outputs, {x.name: shape for x, shape in zip(inputs, shapes)})
            return why
    return None


def _listed(problems):
    return "\n- ".join(["the model contains operators that are not supported:", *problems])


def _kinds(sizes):
    """Return how many axes differ at some trial, and how many are open."""
    columns = {column for trials in sizes.values() for column in zip(*trials)}
    return len(columns), sum(len(set(column)) > 1 for column in columns)


class _Unfit(Exception):
    """A node does not support the sizes that are tried, or any."""


class _Open(_Unfit):
    """A node does not support axes that are open, unless they have one size."""


class _Limited(_Open):
    """The sizes that are tried do not show how numbers follow from them."""
