"""Attempts to build the net of a model, by several sizes of the axes that its file leaves open."""

import itertools
import os
import warnings
from contextlib import suppress
from math import prod
from typing import Any, Dict, List, Optional, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock

from ..arrays import flat, in_thread, infer
from ..importing.net import FAILURES
from ..importing.parameters import fill
from .builder import Builder
from .by_value import NetByValue
from .inputs import (
    TRIALS,
    Shape,
    constants_of,
    example_batches,
    groupings,
    input_dtype,
    output_dtype,
    shapes_of,
    tried_shapes,
    with_batch,
    with_sizes,
)
from .reading import initializers
from .values import (
    AT_RUN_TIME,
    EMPTY,
    FIX,
    Input,
    Limited,
    Missing,
    NeedsTrials,
    NeedsValue,
    NoSizes,
    Refused,
    Unsupported,
    stored_dtype,
)
from .weights import Weights

_VERSIONS = 1, 28

#: Most elements of data for which a net is called once to see whether it refuses them.
_MOST_CALLED = 2**20

#: A size that most models support.
_USUAL = 64

_MAY_HELP = "Fixed sizes may help: give them with input_shapes="


class NeedsSizes(ValueError):
    """A model whose open sizes must be fixed. ``shapes`` are those in the file, by input."""

    shapes: Dict[str, Shape]


class Import:
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
        self.outputs = [output_dtype(each) for each in model.graph.output]
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
        shapes = with_sizes(shapes, self.model.graph, {self.names[i]: x for i, x in values.items()})
        tried: List[Any] = []
        batches: List[int] = []
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
                batches += example_batches(self.model.graph, self._builder.values, self.shapes)
                why = why or error
                hint = hint or (error if isinstance(error, _Open) else None)
                self.has_others |= self._builder.has_others
        if self.has_others and not self.again:
            self.again = True
            return self.built(values)
        message = str(why if fixed else hint or why)
        own = self._of_its_batch(values, batches)
        if own is not None:
            warnings.warn(f"The net has a batch of {own[0]}: with an open one, {message}", stacklevel=4)
            return own[1]
        if fixed or isinstance(why, _Unfit):
            helps = not fixed and "input_shapes=" not in message
            raise self._refusal(message + f"\n{_MAY_HELP}" * helps)
        raise self._refusal(
            "the model supports none of the sizes that were tried for the axes that it leaves open: fix "
            f"them with input_shapes=, for example those it was made for. {message}"
        )

    def _of_its_batch(
        self, values: Dict[int, np.ndarray], batches: List[int]
    ) -> Optional[Tuple[int, Tuple]]:
        """Return the batch of the model's example, and the net for it, if it supports no other."""
        whole = self.shapes

        def built(batch, size=None):
            self.shapes = with_batch(whole, batch, size)
            try:
                return self.built(values)
            except ValueError:
                return None
            finally:
                self.shapes = whole

        for batch in () if with_batch(whole, 1) == whole else (*dict.fromkeys(batches), 1):
            if built(batch + 1, _USUAL) is None:
                found = built(batch)
                if found is not None:
                    return batch, found
            elif batch > 1:
                break
        return None

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
        dtypes = [stored_dtype(self.dtypes[self.names[i]]) for i in places]
        why = _wrongly_served(found[0], refused, dtypes)
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
        given = {self.names[i]: x.astype(self.dtypes[self.names[i]]) for i, x in values.items()}
        constants = {**self.constants, **given}
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
            may_help = any(text in message for text in (AT_RUN_TIME, EMPTY))
            if may_help and any(None in shape for shape in self.shapes.values()):
                message += f"\n{_MAY_HELP}"
            if FIX not in message:
                raise self._refusal(message)
            raise (_Limited if Limited in builder.problems.values() else _Open)(message)
        in_thread(fill, builder.weights.assigned, self.placed)
        self.held = builder.weights  # those of a trial that fails get no values
        return net, places


def _wrongly_served(net: HybridBlock, refused: Sequence[Any], dtypes: Sequence[Any]) -> Optional[str]:
    """Return why the model refuses shapes of its inputs that the net accepts; None if there are none.

    A net whose shapes cannot be inferred is called, for the smallest of these.
    """
    inputs = [mx.sym.var(f"input{i}") for i in range(len(dtypes) if refused else 0)]
    outputs = flat(net(*inputs)) if inputs else []
    called = False
    for shapes, why in sorted(refused, key=lambda each: sum(map(prod, each[0]))):
        try:
            infer(outputs, {x.name: shape for x, shape in zip(inputs, shapes)})
            return why
        except mx.MXNetError:
            continue
        except ValueError:
            if called or sum(map(prod, shapes)) > _MOST_CALLED:
                continue
        called = True
        with suppress(*FAILURES):  # of sizes that do not fit
            for y in flat(net(*map(mx.nd.zeros, shapes, itertools.repeat(None), dtypes))):
                y.wait_to_read()
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
