"""Inputs of ONNX models: their types, and the sizes that are tried for those that a file leaves open."""

from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import mxnet as mx
import numpy as np

from ..importing.net import Group, batch_axes, fits
from .reading import dtype_of
from .values import Known

Shape = Sequence[Optional[int]]

#: Sizes that are tried for the first open axis of a model, in turn; further ones are larger by the step.
#: A size must fit the model, which may require large images, multiples of 32, or short sequences. Each
#: row has multiples of small numbers, and numbers above and below them, which show how to round: in the
#: first one, of windows of 7, 8, 10 and 12 elements after strides of 32. In the last one, further sizes
#: are smaller, as those that a first array is cropped to.
TRIALS = (
    ((384, 128), (320, 64), (224, 448), (230, 36), (241, 120), (239, 120), (256, 64),
     (331, 43), (277, 58), (403, 29), (298, 87), (352, 64), (288, 192)),
    ((8, 8), (16, 8), (12, 4), (14, 6), (15, 4), (17, 4), (24, 8),
     (11, 7), (21, 5), (13, 9), (20, 11), (18, 3), (22, 13)),
    ((2, 3), (4, 3), (3, 2), (5, 1), (7, 4), (6, 5), (8, 4),
     (9, 2), (11, 1), (10, 5), (9, 6), (12, 7), (10, 1)),
    ((16384, 1024), (32768, 1024), (20480, 512), (16390, 36), (20161, 840), (17639, 840), (24576, 256),
     (18773, 1009), (22111, 778), (19002, 1301), (27447, 86), (17408, 512), (23552, 768)),
    ((384, -64), (320, -64), (448, -96), (231, -36), (241, -40), (239, -50), (256, -64),
     (331, -43), (277, -58), (403, -29), (298, -87), (352, -96), (288, -32)),
)  # fmt: skip
#: The same as TRIALS for an open batch. Further ones have these in another order, so that they do not
#: follow from one another, and larger by 10.
_BATCHES = (2, 3, 5, 4, 7, 6, 8, 11, 9, 12, 10, 7, 5)
#: Operators whose operands have the same batch, and the largest batch that a graph is traced with.
_JOINING, _MOST = {"Add", "Concat", "Div", "Mul", "Sub", "Where"}, 256
#: Number of sizes that are tried for each open axis.
TRIES = len(_BATCHES)


def groupings(shapes: Sequence[Shape]) -> Iterator[Tuple[Group, ...]]:
    """Yield which axes may have one size although the file names them apart: the most likely first.

    None; batches; then all other axes, too: without one input, such as the queries of attention; the
    second axes, the third ones, and so on, as of two images; or all. After that, with the batch of one
    input at another axis, as in data of recurrent layers with the steps first, or with none, as a mask.
    """
    batches = batch_axes(shapes)
    yield ()
    yield from _classes(shapes, batches, apart=len(shapes) > 2)
    for i, batch in enumerate(batches if len(shapes) > 1 else ()):
        for other in (1 - batch, None):
            yield from _classes(shapes, [*batches[:i], other, *batches[i + 1 :]])


def _classes(shapes, batches, apart=False):
    places = [(i, axis) for i, each in enumerate(shapes) for axis, n in enumerate(each) if n is None]
    first = tuple(place for place in places if place[1] == batches[place[0]])
    others = tuple(place for place in places if place not in first)
    yield (first,)
    for i in range(len(shapes) if apart else 0):
        yield first, tuple(place for place in others if place[0] != i)
    axes = sorted({axis for _, axis in others})
    yield (first, *(tuple(place for place in others if place[1] == axis) for axis in axes))
    yield first, others


def tried_shapes(
    shapes: Dict[str, Shape], graph: Any, trials: Any, alike: Sequence[Group], several: bool
) -> Dict[str, List[Tuple[int, ...]]]:
    """Return the shapes of the inputs at each trial.

    Axes with one name in the file have one size, and so have the groups of axes in ``alike``.
    ``several`` trials are made of fixed sizes, too.
    """
    named = names_of_axes(graph)
    order: Dict[Any, int] = {}
    batches: Dict[Any, int] = {}
    keys: Dict[Any, Any] = {}
    of = {place: number for number, group in enumerate(alike) for place in group}
    axes = batch_axes(list(shapes.values()))
    for i, (name, shape) in enumerate(shapes.items()):
        for axis, n in enumerate(shape):
            if n is None:
                label = named.get(name, [])[axis : axis + 1]  # of the axis in the file
                key = keys[name, axis] = of.get((i, axis), label[0] if any(label) else (name, axis))
                if (key == 0 or axis == axes[i]) and key not in order:
                    batches.setdefault(key, len(batches))
                elif key not in batches:
                    order.setdefault(key, len(order))

    count = TRIES if keys or several else 1

    def size(key: Any, t: int) -> int:
        if key in batches:
            turn = batches[key]
            return _BATCHES[(t + turn) % count] + 10 * turn
        start, step = trials[t]
        return max(start + step * order[key], 1)

    def shape_at(name: str, t: int) -> Tuple[int, ...]:
        sizes = enumerate(shapes[name])
        return tuple(size(keys[name, axis], t) if n is None else n for axis, n in sizes)

    return {name: [shape_at(name, t) for t in range(count)] for name in shapes}


def names_of_axes(graph: Any) -> Dict[str, List[str]]:
    """Return the names of the axes of each input in the file; '' for those without."""
    return {x.name: [dim.dim_param for dim in x.type.tensor_type.shape.dim] for x in graph.input}


def with_sizes(shapes: Dict[str, Shape], graph: Any, values: Dict[str, np.ndarray]) -> Dict[str, Shape]:
    """Return shapes with the sizes of inputs whose values are known, for axes of the same names."""
    named = names_of_axes(graph)
    known = {label: n for name, x in values.items() for label, n in zip(named[name], x.shape) if label}
    return {
        name: tuple(known.get(label) if n is None else n for n, label in zip(shape, named[name]))
        for name, shape in shapes.items()
    }


def input_dtype(value: Any) -> np.dtype:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise ValueError(f"{value.name!r} is a {kind or 'value without a type'}, not a tensor")
    try:
        return dtype_of(value.type.tensor_type.elem_type)
    except ValueError as error:
        raise ValueError(f"{value.name!r}: {error}") from None


def output_dtype(value: Any) -> Optional[np.dtype]:
    """Return the dtype of an output, if it is declared.

    ZipMap's sequences of maps are arrays of their numbers.
    """
    if not value.HasField("type"):
        return None
    maps = value.type.HasField("sequence_type") and value.type.sequence_type.elem_type.HasField(
        "map_type"
    )
    return np.dtype(np.float32) if maps else input_dtype(value)


def constants_of(inputs: Sequence[Any], given: Any) -> Dict[str, np.ndarray]:
    """Return the values of inputs that are constants, as the file declares them."""
    if not isinstance(given, Mapping):
        raise TypeError(f"constants={given!r} is not a dict of inputs to their values")
    declared = {each.name: each for each in inputs}
    found = {}
    for name, value in given.items():
        if name not in declared:
            raise ValueError(f"constants has a value for {name!r}: the inputs are {list(declared)}")
        array = value.asnumpy() if isinstance(value, mx.nd.NDArray) else np.asarray(value)
        dtype = input_dtype(declared[name])
        shape = [dim.dim_value or None for dim in declared[name].type.tensor_type.shape.dim]
        array = array.reshape(()) if not shape and array.size == 1 else array
        if not fits(array.shape, shape) or (dtype.kind != "f" and (array != array.astype(dtype)).any()):
            sizes = ", ".join("any" if n is None else str(n) for n in shape)
            raise ValueError(f"constants: {name!r} is {value!r}, and must be {dtype} of shape ({sizes})")
        found[name] = array.astype(dtype)
    return found


def shapes_of(inputs: Sequence[Any], given: Any) -> Dict[str, Shape]:
    """Return the shape of each input, with None for open sizes."""
    names = [each.name for each in inputs]
    if given is None:
        given = {}
    elif not isinstance(given, dict):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"input_shapes={given!r} is not a shape: give a tuple for each input")
        nested = given and isinstance(given[0], (tuple, list))
        given = list(given) if nested else [given]
        if len(given) != len(names):
            raise ValueError(f"input_shapes has {len(given)} shapes: give {len(names)}, for {names}")
        given = dict(zip(names, given))
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"input_shapes has a shape for {unknown[0]!r}: the inputs are {names}")
    found: Dict[str, Shape] = {}
    for each in inputs:
        kind = each.type.tensor_type
        own: List[Optional[int]] = [
            dim.dim_value if dim.dim_value > 0 else None for dim in kind.shape.dim
        ]
        new = given.get(each.name)
        if new is None and not kind.HasField("shape"):
            raise ValueError(f"the file does not state the shape of {each.name!r}: give input_shapes=")
        if new is not None:
            if any(n is not None and (not isinstance(n, int) or n < 1) for n in new):
                raise ValueError(f"input_shapes: {new!r} for {each.name!r} is not a shape")
            if kind.HasField("shape") and len(new) != len(own):
                raise ValueError(
                    f"input_shapes: {tuple(new)} for {each.name!r} does not have {len(own)} axes"
                )
            own = list(new)
        found[each.name] = tuple(own)
    return found


def with_batch(shapes: Dict[str, Shape], batch: int, other: Optional[int] = None) -> Dict[str, Shape]:
    """Return shapes with a batch of a size where it is open, and another size of other open axes."""
    axes = batch_axes(list(shapes.values()))

    def sizes(shape: Shape, axis: int) -> Shape:
        own = [batch if i == axis and len(shape) > 1 else other for i in range(len(shape))]
        return tuple(new if n is None else n for n, new in zip(shape, own))

    return {name: sizes(shape, axis) for axis, (name, shape) in zip(axes, shapes.items())}


def example_batches(graph: Any, values: Dict[str, Any], shapes: Dict[str, Shape]) -> List[int]:
    """List the batches above 1 that a graph may have been traced with, the most likely first.

    They are the first sizes of inputs and of operands, and the first numbers of new shapes.
    """
    operands = {x for node in graph.node if node.op_type in _JOINING for x in node.input}
    counts = Counter(shape[0] for shape in shapes.values() if shape and shape[0])
    for name, value in values.items():
        trials = value.trials if isinstance(value, Known) else []
        if all(x.dtype == np.int64 and x.ndim == 1 and len(x) > 1 for x in trials):
            first = {int(x[0]) for x in trials}
            counts.update(first if len(first) == 1 else ())
        elif trials[0].ndim > 2 and name in operands:
            counts[len(trials[0])] += 1
    return [n for n, _ in counts.most_common() if 1 < n <= _MOST][:3]
