"""Layers that prepare data: encodings of whole numbers, and crops and contrasts of images."""

import math
from typing import Any, List

import numpy as np

from ...importing import functions
from ..arguments import MOST_ELEMENTS, Unsupported, limit
from ..values import Shape, Value, channels_first, resized_to
from .registry import Lowered, Request, builds, elementwise, of_rank, spatial
from .sizes import resized_at_ratio, target_of

#: Most numbers from the first key of a lookup to the last for a table of all of them.
_SPAN = 2**20

#: Most bins of a hash.
_MOST_BINS = 2**62


def _encoded(
    request: Request, x: Value, depth: int, *arrays: Any, front: Any = None, **how: Any
) -> Lowered:
    """Return the result for whole numbers, which a function computes, in the layer's ``output_mode``."""
    request.ignore("idf_weights")
    modes = ["int", "one_hot", "multi_hot", "count"]
    modes += ["tf_idf"] if front is not None and request.keras3 else []
    mode = request.word("output_mode", modes, "int")
    alone = mode == "one_hot" and x.rank > 1 and x.shape[-1] == 1
    new_axis = mode == "one_hot" and not alone
    if mode != "int" and (x.rank < 2 or (x.rank + new_axis > 2 and not request.keras3)):
        raise Unsupported(f"output_mode={mode!r} of an input of shape {x.shape}")
    if alone and request.class_name == "Discretization" and (3, 0) <= request.version < (3, 4):
        raise Unsupported(
            f"output_mode={mode!r} of shape {x.shape}, which Keras before 3.4 computes otherwise"
        )
    weights = []
    if mode == "tf_idf":  # new indices in front have the mean weight, and those at the end none
        if request.get("idf_weights", None) is None:
            raise Unsupported("idf_weights are not in the configuration")
        given = np.array(request.get("idf_weights"), "float32")
        weights = [np.pad(given, (front, depth - front - len(given)))]
        weights[0][:front] = given.mean()

    def rule(shape: Shape, *_: Shape) -> Shape:
        if mode == "int":
            return shape
        kept = shape[:-1] if alone else shape if new_axis else (shape[:1] + shape[2:])
        return (*kept, depth)

    rank = len(rule(x.shape))
    gives = "int64" if mode == "int" else "float32"
    more = dict(takes=how.pop("takes", None), gives=gives, rule=rule)
    how.update(mode=mode, depth=depth, rank=x.rank, alone=alone)
    return request.in_keras_order(functions.encode, x, *arrays, *weights, ndim=rank, **more, **how)


@builds("Hashing")
def _hashing(request: Request, x: Value) -> Lowered:
    bins, mask, salt = request.whole("num_bins"), request.get("mask_value", None), None
    limit(f"num_bins={bins}", bins, _MOST_BINS)
    if mask is not None and (not isinstance(mask, int) or abs(mask) > 2**53):
        raise Unsupported(f"mask_value={mask!r} is not a whole number of at most 2**53")
    if request.get("salt", None) is not None:
        salt = request.ints("salt")
        if len(salt) != 2:
            raise Unsupported(f"salt={salt}: give 2 numbers")
    if not x.whole and not request.keras3:
        raise Unsupported(f"an input of {x.dtype}: give the model's Input dtype='int64'")
    how = dict(numbers=functions.hash_numbers, bins=bins, salted=salt is not None, mask=mask, takes=None)
    return _encoded(request, x, bins, *functions.hash_constants(salt), **how)


@builds("HashedCrossing")
def _crossing(request: Request, x: Value, *others: Value) -> Lowered:
    inputs, bins = (x, *others), request.whole("num_bins")
    fits = all(each.whole and each.shape[1:] in ((), (1,)) for each in inputs)
    if len(inputs) < 2 or not fits or len({each.rank for each in inputs}) > 1:
        raise Unsupported("inputs that are not two or more whole numbers for each sample")
    how = dict(numbers=functions.cross_numbers, bins=bins, takes=None)
    return _encoded(request, x, bins, *others, *functions.cross_constants(), **how)


@builds("CategoryEncoding")
def _category_encoding(request: Request, x: Value) -> Lowered:
    request.get("output_mode")  # which must be given
    return _encoded(request, x, request.whole("num_tokens"))


@builds("Discretization")
def _discretization(request: Request, x: Value) -> Lowered:
    bounds = request.get("bin_boundaries", None)
    request.ignore("num_bins", "epsilon")
    if not isinstance(bounds, list) or not bounds:
        raise Unsupported("bin_boundaries are not in the file: Keras does not save those of adapt()")
    line = np.array(bounds, "float32")
    return _encoded(request, x, len(line) + 1, line, numbers=functions.discretize, takes="float32")


@builds("IntegerLookup")
def _integer_lookup(request: Request, x: Value) -> Lowered:
    keys = request.get("vocabulary", None)
    if keys is None:  # adapt() found it
        keys = [int(key) for words in request.array_of()[:1] for key in words]
    if not isinstance(keys, list) or not all(isinstance(key, int) for key in keys) or not keys:
        raise Unsupported(
            "its vocabulary is not in the file: save the model as .keras, or with "
            "IntegerLookup(vocabulary=layer.get_vocabulary()) in place of an adapted layer"
        )
    count, mask = request.whole("num_oov_indices", 1, least=0), request.get("mask_token", None)
    limit(f"num_oov_indices={count}", count, MOST_ELEMENTS)
    start = int(mask is not None and request.get("output_mode", "int") == "int")
    special = [mask] * start + [request.get("oov_token", -1)] * count
    found = keys[: len(special)] == special
    keys, front = (keys[len(special) :], 0) if found else (keys, len(special))
    most = request.get("max_tokens", None)
    padded = request.flag("pad_to_max_tokens", False)
    depth = request.whole("max_tokens") if padded and most is not None else len(special) + len(keys)
    values = dict(zip(keys, range(len(special), len(special) + len(keys))))
    values.update({} if mask is None else {mask: 0 if start else depth})  # which encodes as none
    first, last = min(values), max(values)
    small = last - first < _SPAN
    line = np.full(last - first + 3, -1, "int64") if small else np.array([*values.values()], "int64")
    if small:
        line[np.array([*values]) - first + 1] = [*values.values()]
    arrays = np.array([*values], "int64"), line
    place = first - 1 if small else None
    how = dict(numbers=functions.look_up, first=place, start=start, count=count)
    return _encoded(request, x, depth, *arrays, front=front, **how)


@builds("CenterCrop")
def _center_crop(request: Request, x: Value) -> Lowered:
    (axes, order), size = spatial(request, x, 2), target_of(request)
    if any((x.shape[axis] or n) < n for axis, n in zip(axes, size)):
        return resized_at_ratio(request, x, size)
    how: Any = dict(size=size, order=order, input_axes=(order,), rule=resized_to(axes, size))
    return request.lowered(functions.center_crop, x, **how)


@builds("RandomCrop")
def _random_crop(request: Request, x: Value) -> Lowered:
    if request.version >= (3, 6):  # in inference, it returns the image as it is
        request.ignore("height", "width", "data_format")
        return elementwise(None, inference_only=True)
    return resized_at_ratio(request, x, target_of(request))._replace(inference_only=True)


@builds("AutoContrast")
def _auto_contrast(request: Request, x: Value) -> Lowered:
    low, high = sorted(request.get("value_range", [0, 255]))
    request.ignore("data_format")
    order = channels_first(4)
    block = request.function(functions.auto_contrast, low=low, high=high, axes=(2, 3))
    of_rank(x, 4)
    return elementwise(block, order)


@builds("AdaptiveAveragePooling{}D", "AdaptiveMaxPooling{}D", ndims=(1, 2, 3))
def _adaptive(request: Request, x: Value, ndim: int) -> Lowered:
    axes, order = spatial(request, x, ndim)
    sizes = request.axes("output_size", ndim)
    before: List[Any] = [x.shape[axis] for axis in axes]
    limit(f"output_size={list(sizes)}", max(sizes))
    if None in before:
        raise Unsupported("inputs of unknown size are not supported, as in Keras")
    pairs = zip(before, sizes)
    windows = [[(i * n // m, math.ceil((i + 1) * n / m)) for i in range(m)] for n, m in pairs]
    how: Any = dict(windows=windows, kind="max" if "Max" in request.class_name else "mean")
    how.update(order=order, input_axes=(order,), rule=resized_to(axes, sizes))
    return request.lowered(functions.pool_windows, x, **how)
