"""Small model files, written without Keras."""

import json

import h5py
import numpy as np


def layer(class_name, name, *inputs, **config):
    """Return a layer of a functional configuration of Keras 2, called on other layers."""
    nodes = [[[each, 0, 0, {}] for each in inputs]] if inputs else []
    config = {"name": name, **config}
    return {"class_name": class_name, "name": name, "config": config, "inbound_nodes": nodes}


def function(name, before, **arguments):
    """Return a call of a TensorFlow function on a layer's output."""
    made = layer("TFOpLambda", name.replace(".", "_"), function=name)
    return {**made, "inbound_nodes": [[before, 0, 0, arguments]]}


def image(*shape, name="image"):
    """Return an input layer."""
    return layer("InputLayer", name, batch_input_shape=[None, *shape])


def functional(*layers, outputs=None, inputs=("image",), name="small"):
    """Return the configuration of a functional model whose output is its last layer."""
    ends = [[each, 0, 0] for each in outputs or [layers[-1]["name"]]]
    starts = [[each, 0, 0] for each in inputs]
    config = {"name": name, "layers": list(layers), "input_layers": starts, "output_layers": ends}
    return {"class_name": "Functional", "config": config, "keras_version": "2.15.0"}


def write(folder, config, **weights):
    """Write a configuration and legacy weights by layer, and return the path for load_model.

    Each array has random values: weights are ``{layer: {role: shape}}``.
    """
    random = np.random.RandomState(0)
    text, path = folder / "config.json", folder / "model.weights.h5"
    text.write_text(json.dumps(config))
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [name.encode() for name in weights]
        for name, arrays in weights.items():
            group = file.create_group(name)
            group.attrs["weight_names"] = [f"{name}/{role}:0".encode() for role in arrays]
            for role, shape in arrays.items():
                group[f"{name}/{role}:0"] = random.uniform(0.5, 1.5, shape).astype("float32")
    return str(text), str(path)


def conv(name, before, filters=2, kernel=3, **config):
    """Return a convolution, and the shapes of its weights for 2 channels."""
    config = {"filters": filters, "kernel_size": [kernel, kernel], **config}
    shapes = {"kernel": (kernel, kernel, 2, filters), "bias": (filters,)}
    return layer("Conv2D", name, before, **config), shapes
