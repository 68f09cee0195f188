"""Inputs of a model, and the order in which its arrays are stored."""

from typing import Callable

from . import graph
from .values import Order, Value, channels_first, keras_order


def order_of(model: graph.Model) -> Callable[[int], Order]:
    """Return the storage order of channels_first arrays: Keras' own if the model is channels-first."""
    return keras_order if _is_channels_first(model) else channels_first


def _is_channels_first(model):
    configs = [layer.config for layer in model.all_layers()]
    configs += [
        config["layer"].get("config") for config in configs if isinstance(config.get("layer"), dict)
    ]
    return any(isinstance(c, dict) and c.get("data_format") == "channels_first" for c in configs)


def input_of(model: graph.Model, ref: graph.Ref, order: Callable[[int], Order]) -> Value:
    """Return an input of a model. Raise a ValueError if its shape is not known."""
    given = _shape_in(model, ref)
    sizes = given if isinstance(given, list) else [None]
    fits = all(
        n is None or (isinstance(n, int) and not isinstance(n, bool) and n > 0) for n in sizes[1:]
    )
    if not isinstance(given, list) or not given or not fits:
        raise ValueError(
            f"{model.name}: the shape of input {ref.layer!r} is {given!r}. Build the model in Keras "
            "with model.build(shape) before saving it"
        )
    shape = (None, *given[1:])
    return Value(-1, shape, _fixed(model, shape), order(len(shape)))


def any_size(model: graph.Model, ref: graph.Ref, x: Value) -> Value:
    """Return the input of a nested model for one call, without what is not true of every call."""
    given = _shape_in(model, ref)
    shape = (None, *given[1:]) if isinstance(given, list) and len(given) == x.rank else x.shape
    return x._replace(shape=shape, open=_fixed(model, shape), nonnegative=False)


def _shape_in(model, ref):
    config = model.layers[ref.layer].config
    return config.get("batch_input_shape") or config.get("batch_shape")


def _fixed(model, shape):
    """Return a shape with None for sizes that may vary."""
    rank = len(shape)
    kept = (1 if _is_channels_first(model) else rank - 1) if rank > 1 else 0
    return tuple(n if axis == kept else None for axis, n in enumerate(shape))
