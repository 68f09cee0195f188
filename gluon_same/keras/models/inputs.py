"""Inputs of a model, and the order in which its arrays are stored."""

from typing import Callable

from . import graph
from .values import Order, Value, channels_first, keras_order


def order_of(model: graph.Model) -> Callable[[int], Order]:
    """Return the storage order of channels_first arrays: Keras' own if the model is channels-first."""
    return keras_order if _is_channels_first(model) else channels_first


def _is_channels_first(model):
    return any(layer.config.get("data_format") == "channels_first" for layer in model.all_layers())


def input_of(model: graph.Model, ref: graph.Ref, order: Callable[[int], Order]) -> Value:
    """Return an input of a model. Raise a ValueError if its shape is not known."""
    layer = model.layers[ref.layer]
    given = layer.config.get("batch_input_shape") or layer.config.get("batch_shape")
    sizes = given if isinstance(given, list) else [None]
    fits = all(
        n is None or (isinstance(n, int) and not isinstance(n, bool) and n > 0) for n in sizes[1:]
    )
    if not isinstance(given, list) or not given or not fits:
        raise ValueError(
            f"{model.name}: the shape of input {layer.name!r} is {given!r}. Build the model in Keras "
            "with model.build(shape) before saving it"
        )
    shape = (None, *given[1:])
    rank = len(shape)
    kept = (1 if _is_channels_first(model) else rank - 1) if rank > 1 else 0
    known = tuple(n if axis == kept else None for axis, n in enumerate(shape))
    return Value(-1, shape, known, order(rank))
