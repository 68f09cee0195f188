"""Run an ONNX graph in PyTorch or TensorFlow, node by node, without the onnx package.

:func:`write` stores a graph's nodes and weights in one ``.npz`` file, and :func:`read` reads them.
:func:`torch_module` and :func:`tensorflow_function` build the framework's net from them, with channels
first in PyTorch and channels last in TensorFlow.
"""

import json

import numpy as np


def write(onnx_path, path):
    """Write the nodes, weights, inputs and outputs of an ONNX file."""
    import onnx
    from onnx import helper, numpy_helper

    graph = onnx.load(onnx_path).graph
    weights = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    nodes = []
    for node in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        # Strings belong to modes that are not used here, and tuples become lists in JSON.
        attributes = {name: a for name, a in attributes.items() if not isinstance(a, bytes)}
        nodes.append([node.op_type, list(node.input), list(node.output), attributes])
    inputs = [each.name for each in graph.input if each.name not in weights]
    content = {"nodes": nodes, "inputs": inputs, "outputs": [each.name for each in graph.output]}
    np.savez(
        path,
        **{"w:" + name: value for name, value in weights.items()},
        graph=json.dumps(content, default=list),
    )


def read(path):
    """Read a file of :func:`write`: the graph, and the weights by name."""
    with np.load(path) as file:
        weights = {name[2:]: file[name] for name in file.files if name.startswith("w:")}
        return json.loads(str(file["graph"])), weights


def torch_module(path):
    """Return the graph as a PyTorch module."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    graph, weights = read(path)
    floats = [name for name, value in weights.items() if value.dtype == np.float32]
    numbers = {name: float(value) for name, value in weights.items() if value.size == 1}

    def padded(x, pads, value=0.0):
        half = len(pads) // 2
        if pads[:half] == pads[half:]:
            return x, pads[:half]
        ends = [n for pair in zip(pads[half - 1 :: -1], pads[: half - 1 : -1]) for n in pair]
        return F.pad(x, ends, value=value), [0] * half

    def conv(x, w, b=None, pads=(0, 0, 0, 0), strides=(1, 1), dilations=(1, 1), group=1, **_):
        x, pad = padded(x, list(pads))
        return F.conv2d(x, w, b, strides, pad, dilations, group)

    def max_pool(x, kernel_shape, pads=(0, 0, 0, 0), strides=(1, 1), **_):
        x, pad = padded(x, list(pads), float("-inf"))
        return F.max_pool2d(x, kernel_shape, strides, pad)

    def average_pool(x, kernel_shape, pads=(0, 0, 0, 0), strides=(1, 1), **_):
        half = list(pads[:2])
        if half != list(pads[2:]):
            raise ValueError("an average with unequal padding")
        return F.avg_pool2d(x, kernel_shape, strides, half, count_include_pad=False)

    operators = {
        "Conv": conv,
        "ConvTranspose": lambda x, w, b=None, strides=(1, 1), **_: F.conv_transpose2d(x, w, b, strides),
        "BatchNormalization": lambda x, scale, shift, mean, var, epsilon=1e-5, **_: F.batch_norm(
            x, mean, var, scale, shift, eps=epsilon
        ),
        "Relu": lambda x: F.relu(x),
        "LeakyRelu": lambda x, alpha=0.01: F.leaky_relu(x, alpha),
        "Clip": lambda x, low, high: F.hardtanh(x, low, high),
        "Sigmoid": lambda x: torch.sigmoid(x),
        "Mul": lambda x, y: x * y,
        "Add": lambda x, y: x + y,
        "Concat": lambda *xs, axis: torch.cat(xs, axis),
        "MaxPool": max_pool,
        "AveragePool": average_pool,
        "GlobalAveragePool": lambda x: F.adaptive_avg_pool2d(x, 1),
        "Flatten": lambda x, axis=1: torch.flatten(x, axis),
        "Gemm": lambda x, w, b, **_: F.linear(x, w, b),
        "Resize": lambda x, *_, **__: F.interpolate(x, scale_factor=2, mode="nearest"),
    }

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.names = {name: f"weight{i}" for i, name in enumerate(floats)}
            for name, own in self.names.items():
                self.register_buffer(own, torch.from_numpy(weights[name]))

        def forward(self, *data):
            known = {name: getattr(self, own) for name, own in self.names.items()}
            known.update(zip(graph["inputs"], data))
            for op, inputs, outputs, attributes in graph["nodes"]:
                if op == "Clip":
                    given = [known[inputs[0]], *(numbers[name] for name in inputs[1:])]
                else:
                    given = [known[name] for name in inputs if name in known]
                known[outputs[0]] = operators[op](*given, **attributes)
            return tuple(known[name] for name in graph["outputs"])

    return Net().eval()


def tensorflow_function(path):
    """Return the graph as a TensorFlow function of channels-last data, with constant weights."""
    import tensorflow as tf

    graph, weights = read(path)

    def padding(x, kernel, strides, pads):
        """Return TensorFlow's word for a padding, or explicit amounts."""
        sizes = x.shape[1:3]
        if not any(pads):
            return "VALID"
        half = len(pads) // 2
        for size, k, s, before, after in zip(sizes, kernel, strides, pads[:half], pads[half:]):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            if (before, after) != (total // 2, total - total // 2):
                return [[0, 0], *map(list, zip(pads[:half], pads[half:])), [0, 0]]
        return "SAME"

    def conv(x, w, b=None, pads=(0, 0, 0, 0), strides=(1, 1), group=1, **_):
        word = padding(x, w.shape[2:], strides, pads)
        if group > 1:
            y = tf.nn.depthwise_conv2d(x, w.transpose(2, 3, 0, 1), [1, *strides, 1], word)
        else:
            y = tf.nn.conv2d(x, w.transpose(2, 3, 1, 0), strides, word)
        return y if b is None else tf.nn.bias_add(y, b)

    def conv_transpose(x, w, b=None, strides=(1, 1), **_):
        batch, height, width, _ = x.shape
        shape = [batch, height * strides[0], width * strides[1], w.shape[1]]
        y = tf.nn.conv2d_transpose(x, w.transpose(2, 3, 1, 0), shape, strides, "SAME")
        return y if b is None else tf.nn.bias_add(y, b)

    def batch_norm(x, scale, shift, mean, var, epsilon=1e-5, **_):
        given = dict(scale=scale, offset=shift, mean=mean, variance=var, epsilon=epsilon)
        return tf.raw_ops.FusedBatchNormV3(x=x, is_training=False, **given).y

    def pool(kind):
        def apply(x, kernel_shape, pads=(0, 0, 0, 0), strides=(1, 1), **_):
            word = padding(x, kernel_shape, strides, pads)
            return tf.nn.pool(x, kernel_shape, kind, strides, word)

        return apply

    operators = {
        "Conv": conv,
        "ConvTranspose": conv_transpose,
        "BatchNormalization": batch_norm,
        "Relu": tf.nn.relu,
        "LeakyRelu": lambda x, alpha=0.01: tf.nn.leaky_relu(x, alpha),
        "Clip": lambda x, low, high: tf.nn.relu6(x),
        "Sigmoid": tf.sigmoid,
        "Mul": lambda x, y: x * y,
        "Add": lambda x, y: x + y,
        "Concat": lambda *xs, axis: tf.concat(xs, -1),
        "MaxPool": pool("MAX"),
        "AveragePool": pool("AVG"),
        "GlobalAveragePool": lambda x: tf.reduce_mean(x, [1, 2], keepdims=True),
        "Flatten": lambda x, axis=1: tf.reshape(x, [x.shape[0], -1]),
        "Gemm": lambda x, w, b, **_: tf.matmul(x, w.T) + b,
        "Resize": lambda x, *_, **__: tf.repeat(tf.repeat(x, 2, 1), 2, 2),
    }

    def run(*data):
        known = {**weights, **dict(zip(graph["inputs"], data))}
        for op, inputs, outputs, attributes in graph["nodes"]:
            given = [known[name] for name in inputs if name in known]
            known[outputs[0]] = operators[op](*given, **attributes)
        return [known[name] for name in graph["outputs"]]

    return tf.function(run)
