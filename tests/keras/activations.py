"""Record the output of each layer of a Keras model, for gluon_same.keras.compare."""

from functools import partial

import numpy as np


def recorded(model, inputs):
    """Call a model and return its inputs and the output of each layer, by name.

    ``'name#1'`` is the second call of a layer, ``'model/name'`` a layer of a nested model.
    """
    arrays = {f"input:{i}": np.asarray(each) for i, each in enumerate(inputs)}
    record_layers(model, "", arrays)
    model(inputs if len(inputs) > 1 else inputs[0], training=False)
    return arrays


def record_layers(model, prefix, arrays):
    for layer in model.layers:
        name = prefix + layer.name
        if hasattr(layer, "layers"):
            record_layers(layer, name + "/", arrays)
        elif type(layer).__name__ != "InputLayer":
            layer.call = partial(call_and_record, layer.call, name, arrays)


def call_and_record(call, name, arrays, *args, **kwargs):
    output = call(*args, **kwargs)
    calls = sum(key.split("#")[0] == name for key in arrays)
    arrays[f"{name}#{calls}" if calls else name] = np.asarray(output)
    return output
