"""The contenders of ``nets.py``: makers of one net in gluon_same, stock Gluon and other runtimes.

A job names a net, and the files with its weights, its data and its ONNX form, which :func:`make_job`
writes. The makers use only functions that every version of the library has, so that ``nets.py`` can
compare two versions.
"""

import os
import time
from functools import partial

import numpy as np

import race

#: Maximum number of samples that calibrate int8.
SAMPLES = 8

#: Number of passes that bring the running averages close to those of the data.
PASSES = 12


def make_net(job, how):
    """Build a net with a job's weights."""
    import gluon_same  # isort: skip  first: it readies NumPy for MXNet
    import mxnet as mx
    from mxnet.gluon import nn as stock

    import architectures
    import pad_first

    build, shape = architectures.NETS[job["net"]]
    if how == "stock":
        net = build(stock, lambda kernel: kernel // 2)
    else:
        net = build(pad_first if how == "padding first" else gluon_same.nn, lambda kernel: "same")
    net.initialize()
    x = race.in_thread(mx.nd.array, np.load(job["data"]))
    net(x[:1])
    if os.path.exists(job["weights"]):
        with np.load(job["weights"]) as file:
            for parameter, name in zip(net.collect_params().values(), file.files):
                parameter.set_data(race.in_thread(mx.nd.array, file[name]))
    return net, x


def make_ours(job, how):
    import gluon_same  # isort: skip  first: it prepares the import of MXNet
    import mxnet as mx

    net, x = make_net(job, how)
    start = time.perf_counter()
    if how.startswith("deployed"):
        _inference(job)
        dtype = (how.split() + ["float32"])[1]
        net = gluon_same.deploy(net, x.shape, dtype=dtype, data=np.load(job["samples"]))
    else:
        if how == "specialized":
            net = gluon_same.specialize(net, x.shape)
        net.hybridize(**({} if how == NO_FLAGS else {"static_alloc": True, "static_shape": True}))
    seconds, results = time.perf_counter() - start, []

    def predict():
        found = net(x)
        results[:] = found if isinstance(found, (list, tuple)) else [found]
        for result in results:
            result.wait_to_read()

    def train_step():
        with mx.autograd.record():
            found = net(x)
            results[:] = found if isinstance(found, (list, tuple)) else [found]
        mx.autograd.backward(results)
        mx.nd.waitall()

    run = train_step if job["train"] else predict
    return run, lambda: [*(y.asnumpy() for y in results), np.array(seconds)]


def make_opencv(job):
    import cv2

    _inference(job)
    cv2.setNumThreads(race.THREADS)
    net = cv2.dnn.readNetFromONNX(job["onnx"])
    names, data, results = net.getUnconnectedOutLayersNames(), np.load(job["data"]), []

    def run():
        net.setInput(data)
        results[:] = net.forward(names)

    return run, lambda: results


def make_onnxruntime(job, int8=False):
    import onnxruntime

    _inference(job)
    path, data = job["onnx"], np.load(job["data"])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = race.THREADS
    if int8:
        path = _quantized(path, np.load(job["samples"]))
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed, results = {session.get_inputs()[0].name: data}, []

    def run():
        results[:] = session.run(None, feed)

    return run, lambda: results


def _quantized(path, samples):
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self, name, batch):
            count = len(samples) // batch
            self.rest = [{name: samples[i * batch : (i + 1) * batch]} for i in range(count)]

        def get_next(self):
            return self.rest.pop() if self.rest else None

    import onnx

    entry = onnx.load(path).graph.input[0]
    reader = Reader(entry.name, entry.type.tensor_type.shape.dim[0].dim_value)
    quantization.shape_inference.quant_pre_process(path, path + ".pre")
    quantization.quantize_static(path + ".pre", path + ".int8", reader, per_channel=True)
    return path + ".int8"


def make_torch(job, how=""):
    import other_runtimes
    import torch

    _inference(job)
    torch.set_num_threads(race.THREADS)
    net, results = other_runtimes.torch_module(job["graph"]), []
    data = torch.from_numpy(np.load(job["data"]))
    with torch.inference_mode():
        if how == "frozen":
            net = torch.jit.optimize_for_inference(torch.jit.trace(net, data))
        elif how == "compiled":
            net = torch.compile(net)

    def run():
        with torch.inference_mode():
            results[:] = net(data)

    return run, lambda: [result.numpy() for result in results]


def make_tensorflow(job):
    import other_runtimes
    import tensorflow as tf

    _inference(job)
    tf.config.threading.set_intra_op_parallelism_threads(race.THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    data = tf.constant(np.load(job["data"]).transpose(0, 2, 3, 1))
    function, results = other_runtimes.tensorflow_function(job["graph"]), []

    def run():
        results[:] = [result.numpy() for result in function(data)]

    return run, lambda: [y.transpose(0, 3, 1, 2) if y.ndim == 4 else y for y in results]


def _inference(job):
    if job["train"]:
        raise ValueError("is timed only in inference")


NO_FLAGS = "hybridized without flags"
OURS = ("stock", "padding first", NO_FLAGS, "hybridized", "specialized")
DEPLOYED = ("deployed", "deployed bfloat16", "deployed int8")
MAKERS = {
    **{how: partial(make_ours, how=how) for how in (*OURS, *DEPLOYED)},
    "onnxruntime": make_onnxruntime,
    "onnxruntime int8": partial(make_onnxruntime, int8=True),
    "OpenCV": make_opencv,
    "PyTorch": make_torch,
    "PyTorch frozen": partial(make_torch, how="frozen"),
    "PyTorch compiled": partial(make_torch, how="compiled"),
    "TensorFlow": make_tensorflow,
}


def make_job(folder, name, batch, train, onnx):
    """Write seeded weights and inputs, the results in float64, and maybe the ONNX file to a folder."""
    import gluon_same  # noqa: F401  isort: skip  first: it readies NumPy for MXNet
    import mxnet as mx

    import architectures

    shape = architectures.NETS[name][1]
    random = np.random.RandomState(0)
    files = ("data.npy", "weights.npz", "samples.npy", "onnx", "graph.npz", "want.npz")
    job = {f.split(".")[0]: os.path.join(folder, f"{name}-{batch}-{f}") for f in files}
    job.update(net=name, batch=batch, train=train)
    samples = random.normal(size=(max(batch, SAMPLES), *shape)).astype("float32")
    np.save(job["samples"], samples)
    np.save(job["data"], samples[:batch])
    net, x = make_net(job, "same")
    for parameter in net.collect_params().values():
        if parameter.name.endswith("weight"):
            fan = np.prod(parameter.shape[1:])
            parameter.set_data(mx.nd.array(random.normal(size=parameter.shape) * (2 / fan) ** 0.5))
    for _ in range(PASSES):
        with mx.autograd.record():  # fills the running averages
            net(mx.nd.array(samples))
        mx.nd.waitall()
    np.savez(job["weights"], *[p.data().asnumpy() for p in net.collect_params().values()])
    if onnx:
        import other_runtimes

        from gluon_same.onnx import export_model

        export_model(net, [x.shape], job["onnx"], check=False)
        other_runtimes.write(job["onnx"], job["graph"])
    net.cast("float64")
    found = net(x.astype("float64"))
    found = found if isinstance(found, (list, tuple)) else [found]
    np.savez(job["want"], *[y.asnumpy() for y in found])
    return job
