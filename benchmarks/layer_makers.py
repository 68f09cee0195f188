"""Makers of the contenders of ``layers.py``, for short chains of layers with SAME padding.

A job's ``layers`` are dicts with ``op`` (conv, max, avg, bn, relu) and, for windows, ``kernel``,
``stride`` and ``groups``. Its ``arrays`` file contains the data and then the weights of each
convolution. If ``backward`` is set, the job also computes the gradients of the sum of the outputs with
respect to the data and the weights.
"""

from functools import partial

import numpy as np

import race


def load(job):
    with np.load(job["arrays"]) as arrays:
        data, *weights = arrays.values()
    return data, weights


def same(n, kernel, stride):
    """Return SAME padding by TensorFlow's rule, independently of the contenders."""
    total = max((-(-n // stride) - 1) * stride + kernel - n, 0)
    return total // 2, total - total // 2


def make_mxnet(job, how):
    import gluon_same  # isort: skip  first, because it prepares NumPy for MXNet
    import mxnet as mx

    data, weights = load(job)
    net = _mxnet_net(job, how, data, weights)
    x = mx.nd.array(data)
    if how == "specialized":
        gluon_same.specialize(net, x.shape)
    if how == "tuned":
        gluon_same.specialize(net, x.shape, tune="training" if job["backward"] else "inference")
    if how != "eager":
        net.hybridize(static_alloc=True, static_shape=True)
    if not job["backward"]:
        return _forward(lambda: net(x))
    x.attach_grad()
    results = []

    def run():
        with mx.autograd.record():
            y = net(x)
        y.backward()
        gradients = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
        results[:] = [y, x.grad, *gradients]
        for result in results:
            result.wait_to_read()

    return run, lambda: [results[0].asnumpy(), results[1].asnumpy()]


def _forward(call):
    results = []

    def run():
        results[:] = [call()]
        results[0].wait_to_read()

    return run, lambda: [results[0].asnumpy()]


def _mxnet_net(job, how, data, weights):
    import mxnet as mx
    from mxnet.gluon import nn as stock

    from gluon_same import nn

    net, size, given = stock.HybridSequential(), data.shape[2:], iter(weights)
    if how == "copied":
        net.add(stock.HybridLambda(lambda F, x: F.identity(x)))
    for layer in job["layers"]:
        if layer["op"] in ("bn", "relu"):
            net.add(stock.BatchNorm() if layer["op"] == "bn" else stock.Activation("relu"))
            continue
        kernel, stride = layer["kernel"], layer["stride"]
        plain = how in ("limit", "copied", "F.pad", "recipe")
        padding = "same" if not plain else 0 if how == "F.pad" else tuple(k // 2 for k in kernel)
        if how == "F.pad":
            net.add(_pad_first(layer, size))
        module = stock if plain else nn
        ndim = len(kernel)
        if layer["op"] == "conv":
            weight = next(given)
            block = getattr(module, f"Conv{ndim}D")(
                weight.shape[0],
                kernel,
                stride,
                padding,
                groups=layer["groups"],
                use_bias=False,
                in_channels=weight.shape[1] * layer["groups"],
            )
            block.initialize()
            block.weight.set_data(mx.nd.array(weight))
        else:
            name = {"max": "MaxPool", "avg": "AvgPool"}[layer["op"]]
            counts = {"count_include_pad": False} if layer["op"] == "avg" else {}
            block = getattr(module, f"{name}{ndim}D")(kernel, stride, padding, **counts)
        net.add(block)
        if how == "recipe":
            net.add(_crop(kernel))
        size = [-(-n // s) for n, s in zip(size, stride)]
    net.initialize()
    return net


def _pad_first(layer, size):
    from mxnet.gluon import nn as stock

    pads = [p for axis in zip(size, layer["kernel"], layer["stride"]) for p in same(*axis)]
    # Close to the lowest float. Any other constant takes as long.
    constant = -3e38 if layer["op"] == "max" else 0.0

    def pad(F, x):
        if not any(pads):
            return x
        if len(size) == 1:  # F.pad requires at least four axes
            x = F.expand_dims(x, axis=2)
            width = (0, 0, 0, 0, 0, 0, *pads)
            return F.reshape(
                F.pad(x, mode="constant", pad_width=width, constant_value=constant), (0, 0, -3)
            )
        return F.pad(x, mode="constant", pad_width=(0, 0, 0, 0, *pads), constant_value=constant)

    return stock.HybridLambda(pad)


def _crop(kernel):
    """Drop the first row and column if k is even, as the published recipe does after ``k // 2``."""
    from mxnet.gluon import nn as stock

    begin = (None, None, *(1 if k % 2 == 0 else None for k in kernel))
    if not any(begin):
        return stock.HybridLambda(lambda F, x: x)
    return stock.HybridLambda(lambda F, x: F.slice(x, begin=begin, end=(None,) * len(begin)))


def make_torch(job):
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(race.THREADS)
    data, weights = load(job)
    x, given = torch.from_numpy(data), [torch.from_numpy(w) for w in weights]
    steps, size, left = [], data.shape[2:], iter(given)
    for layer in job["layers"]:
        if layer["op"] in ("bn", "relu"):
            norm = partial(_torch_norm, training=job["backward"])
            steps.append(norm if layer["op"] == "bn" else F.relu)
            continue
        weight = next(left) if layer["op"] == "conv" else None
        steps.append(_torch_window(layer, size, weight))
        size = [-(-n // s) for n, s in zip(size, layer["stride"])]

    def net():
        y = x
        for step in steps:
            y = step(y)
        return y

    results = []
    if not job["backward"]:

        def forward():
            with torch.inference_mode():
                results[:] = [net()]

        return forward, lambda: [results[0].numpy()]
    for tensor in (x, *given):
        tensor.requires_grad_()

    def run():
        for tensor in (x, *given):
            tensor.grad = None
        y = net()
        y.backward(torch.ones_like(y))
        results[:] = [y.detach(), x.grad]

    return run, lambda: [result.numpy() for result in results]


def _torch_norm(y, training):
    import torch

    zeros, ones = torch.zeros(y.shape[1]), torch.ones(y.shape[1])
    averages = (None, None) if training else (zeros, ones)
    return torch.nn.functional.batch_norm(y, *averages, ones, zeros, training, eps=1e-5)


def _torch_window(layer, size, weight):
    import torch
    from torch.nn import functional as F

    pads = [same(*axis) for axis in zip(size, layer["kernel"], layer["stride"])]
    symmetric = all(before == after for before, after in pads)
    own = [before for before, _ in pads] if symmetric else 0
    wide = [] if symmetric else [p for pair in reversed(pads) for p in pair]
    name = {"conv": "conv", "max": "max_pool", "avg": "avg_pool"}[layer["op"]]
    call, stride = getattr(F, f"{name}{len(size)}d"), layer["stride"]
    if layer["op"] == "conv":
        return lambda y: call(
            F.pad(y, wide) if wide else y, weight, None, stride, own, 1, layer["groups"]
        )
    if layer["op"] == "max":
        return lambda y: call(
            F.pad(y, wide, value=float("-inf")) if wide else y, layer["kernel"], stride, own
        )
    if not wide:
        return lambda y: call(y, layer["kernel"], stride, own, count_include_pad=False)
    share = call(F.pad(torch.ones(1, 1, *size), wide), layer["kernel"], stride)
    return lambda y: call(F.pad(y, wide), layer["kernel"], stride) / share


def make_tensorflow(job):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(race.THREADS)
    data, weights = load(job)
    ndim = data.ndim - 2
    # Channels last, because TensorFlow supports no other layout on CPUs.
    x = tf.constant(np.moveaxis(data, 1, -1))
    given = [tf.constant(np.moveaxis(w, (0, 1), (-1, -2))) for w in weights]

    def net(x, given):
        y, left = x, iter(given)
        for layer in job["layers"]:
            op = layer["op"]
            if op == "bn":
                zeros, ones = tf.zeros(y.shape[-1]), tf.ones(y.shape[-1])
                norm = tf.compat.v1.nn.fused_batch_norm
                average = {} if job["backward"] else {"mean": zeros, "variance": ones}
                y, _, _ = norm(y, ones, zeros, epsilon=1e-5, is_training=job["backward"], **average)
            elif op == "relu":
                y = tf.nn.relu(y)
            elif op == "conv" and layer["groups"] > 1:  # depthwise
                weight = tf.transpose(next(left), (0, 1, 3, 2))
                y = tf.nn.depthwise_conv2d(y, weight, [1, *layer["stride"], 1], "SAME")
            elif op == "conv":
                y = tf.nn.convolution(y, next(left), layer["stride"], "SAME")
            else:
                pool = {"max": tf.nn.max_pool, "avg": tf.nn.avg_pool}[op]
                y = pool(y, layer["kernel"], layer["stride"], "SAME")
        return y

    def both(x, given):
        with tf.GradientTape() as tape:
            tape.watch([x, *given])
            y = net(x, given)
        return y, tape.gradient(y, [x, *given])

    function, results = tf.function(both if job["backward"] else net), []

    def run():
        found = function(x, given)
        results[:] = [found[0], found[1][0]] if job["backward"] else [found]
        results[0].numpy()  # waits

    order = (0, ndim + 1, *range(1, ndim + 1))
    return run, lambda: [result.numpy().transpose(order) for result in results]


def make_onnxruntime(job):
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    if job["backward"]:
        raise NotImplementedError("onnxruntime computes no gradients")
    data, weights = load(job)
    nodes, constants, at, left = [], [], "data", iter(weights)
    for i, layer in enumerate(job["layers"]):
        inputs, attributes = [at], {}
        if layer["op"] in ("conv", "max", "avg"):
            attributes = dict(
                kernel_shape=layer["kernel"], strides=layer["stride"], auto_pad="SAME_UPPER"
            )
        if layer["op"] == "conv":
            constants.append(numpy_helper.from_array(next(left), f"weight{i}"))
            inputs.append(f"weight{i}")
            attributes["group"] = layer["groups"]
        if layer["op"] == "bn":
            channels = nodes and constants[-1].dims[0]
            for name, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1)):
                array = np.full(channels, value, np.float32)
                constants.append(numpy_helper.from_array(array, f"{name}{i}"))
                inputs.append(f"{name}{i}")
        kinds = {"conv": "Conv", "max": "MaxPool", "avg": "AveragePool"}
        kinds.update(bn="BatchNormalization", relu="Relu")
        at = f"out{i}"
        nodes.append(helper.make_node(kinds[layer["op"]], inputs, [at], **attributes))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("data", data.shape), (at, None))
    ]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = race.THREADS
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results = []

    def run():
        results[:] = session.run(None, {"data": data})

    return run, lambda: results


MXNET = ("limit", "copied", "every size", "specialized", "tuned", "eager", "F.pad", "recipe")
MAKERS = {name: partial(make_mxnet, how=name) for name in MXNET}
MAKERS.update(PyTorch=make_torch, TensorFlow=make_tensorflow, onnxruntime=make_onnxruntime)
