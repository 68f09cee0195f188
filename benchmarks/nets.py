"""Time whole nets in gluon_same, stock Gluon and other runtimes, in one run.

    python benchmarks/nets.py [--net NAME ...] [--only CONTENDER ...] [--batch 1 8] [--threads 1 2]
        [--train] [--seconds 2] [--python PyTorch=PATH] [--python TensorFlow=PATH] [--json FILE]
        [--markdown FILE]

All contenders run the same net with the same weights and take turns, each in a separate process. The
error is the largest difference from the net in float64, over the largest number. ``--python`` names the
interpreter of a contender in another environment. Contenders that are not installed are skipped:

    pip install '.[test]'; python -m venv torch; torch/bin/pip install torch numpy
    python -m venv tensorflow; tensorflow/bin/pip install tensorflow-cpu

- *stock*: layers of ``mxnet.gluon.nn``, hybridized, padded by ``k // 2`` at both ends, which gives other
  numbers where SAME is not symmetric;
- *F.pad*: SAME by ``F.pad`` before each layer whose padding is not symmetric;
- *hybridized*: ``gluon_same.nn``, one graph for every size; *specialized* and *tuned*: by
  ``gluon_same.specialize``; *deployed*: by ``gluon_same.deploy``, in float32, bfloat16 or int8;
- *onnxruntime* and *OpenCV* read the file of ``gluon_same.onnx.export_model``; *onnxruntime int8* uses
  onnxruntime's static quantization of it;
- *PyTorch*: eager; *PyTorch frozen*: after ``torch.jit.optimize_for_inference``; *PyTorch compiled*:
  after ``torch.compile``, which requires a C++ compiler; *TensorFlow*: a function, channels last.

``--train`` times a forward and a backward pass instead, of the contenders that support it.
"""

import argparse
import json
import math
import os
import sys
import tempfile
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
    from gluon_same.arrays import in_thread

    build, shape = architectures.NETS[job["net"]]
    if how == "stock":
        net = build(stock, lambda kernel: kernel // 2)
    else:
        net = build(gluon_same.nn, lambda kernel: "same")
    net.initialize()
    x = in_thread(mx.nd.array, np.load(job["data"]))
    net(x[:1])
    if os.path.exists(job["weights"]):
        with np.load(job["weights"]) as file:
            for parameter, name in zip(net.collect_params().values(), file.files):
                parameter.set_data(in_thread(mx.nd.array, file[name]))
    return net, x


def make_ours(job, how):
    import mxnet as mx

    import gluon_same

    net, x = make_net(job, how)
    start = time.perf_counter()
    train = job["train"]
    if how in ("specialized", "tuned", "F.pad"):
        gluon_same.specialize(net, x.shape, tune=how == "tuned" and ("training" if train else True))
    if how == "F.pad":
        net.apply(_pad_first)
    if how.startswith("deployed"):
        if train:
            raise ValueError("is for inference")
        dtype = (how.split() + ["float32"])[1]
        net = gluon_same.deploy(net, x.shape, dtype=dtype, data=np.load(job["samples"]))
    else:
        net.hybridize(static_alloc=True, static_shape=True)
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

    return train_step if train else predict, lambda: [*(y.asnumpy() for y in results), np.array(seconds)]


def _pad_first(block):
    if getattr(block, "_in_shape", None) is not None and "pad" in (block._ways() or ()):
        block._way = "pad"


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
    net, data, results = (
        other_runtimes.torch_module(job["graph"]),
        torch.from_numpy(np.load(job["data"])),
        [],
    )
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


OURS = ("stock", "F.pad", "hybridized", "specialized", "tuned")
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


def make_job(folder, name, batch, train):
    """Write seeded weights and inputs, the ONNX file, and the results in float64 to a folder."""
    import gluon_same.onnx  # isort: skip  first: it readies NumPy for MXNet
    import mxnet as mx
    import other_runtimes

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
    if not train:
        gluon_same.onnx.export_model(net, [x.shape], job["onnx"], check=False)
        other_runtimes.write(job["onnx"], job["graph"])
    net.cast("float64")
    found = net(x.astype("float64"))
    found = found if isinstance(found, (list, tuple)) else [found]
    np.savez(job["want"], *[y.asnumpy() for y in found])
    return job


def compare(contenders, job, args):
    """Return the median seconds of one job, its errors, and the seconds of the preparation."""
    outputs = race.prepare(contenders, job)
    with np.load(job["want"]) as file:
        want = [file[name] for name in file.files]
    ours = [name for name in outputs if name in (*OURS, *DEPLOYED)]
    ready = {name: float(outputs[name].pop()) for name in ours}
    # In training, a batch is normalized by itself, which the net in float64 was not.
    errors = {} if job["train"] else {name: error(got, want) for name, got in outputs.items()}
    times = race.race([c for c in contenders if c.name in outputs], args.seconds, turns=12)
    return {"seconds": times, "error": errors, "ready": ready}


def error(got, want):
    """Return the largest difference over the largest number, of the worst output."""
    if [x.shape for x in got] != [x.shape for x in want]:
        return math.inf
    return max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(got, want))


def show(label, found):
    seconds = found["seconds"]
    print(f"\n{label:<30}{'ms':>9}{'/ stock':>9}{'/ onnxruntime':>15}{'error':>10}{'ready in, s':>13}")
    for name, median in seconds.items():
        ratios = [_ratio(seconds, name, other) for other in ("stock", "onnxruntime")]
        off = f"{found['error'][name]:.1e}" if name != "stock" and found["error"] else ""
        ready = f"{found['ready'][name]:.1f}" if name in found["ready"] else ""
        print(
            f"{name:<30}{median * 1e3:9.2f}{ratios[0]:>9}{ratios[1]:>15}{off:>10}{ready:>13}", flush=True
        )


def _ratio(seconds, name, other):
    return f"{seconds[name] / seconds[other]:.2f}" if other in seconds and name in seconds else ""


def summarize(results):
    """Print geometric means of the ratios over all nets."""
    print("\ngeometric means, and the largest")
    first = {name for found in results.values() for name in found["seconds"]}
    for name in [name for name in MAKERS if name in first]:
        for other in ("stock", "onnxruntime", "deployed"):
            every = [f["seconds"] for f in results.values() if {name, other} <= set(f["seconds"])]
            ratios = [s[name] / s[other] for s in every]
            if ratios and name != other:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(f"{name:<20} / {other:<12}{mean:7.2f}{max(ratios):7.2f}")


def as_markdown(results):
    """Return a table of milliseconds with a row for each net."""
    names = [n for n in MAKERS if any(n in found["seconds"] for found in results.values())]
    lines = ["| net | " + " | ".join(names) + " |", "| --- " * (len(names) + 1) + "|"]
    for label, found in results.items():
        cells = [f"{1e3 * found['seconds'][n]:.2f}" if n in found["seconds"] else "" for n in names]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write(results, args):
    """Write the files that were asked for."""
    for path, text in (
        (args.json, json.dumps(results, indent=1)),
        (args.markdown, as_markdown(results)),
    ):
        if path:
            with open(path, "w") as file:
                file.write(text)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    race.add_arguments(parser, {name.split()[0] for name in MAKERS})
    parser.add_argument("--net", nargs="+", default=[], metavar="NAME", help="only these nets")
    parser.add_argument("--only", nargs="+", choices=MAKERS, default=list(MAKERS))
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, nargs="+", default=[race.THREADS])
    parser.add_argument("--train", action="store_true", help="time training steps instead")
    parser.add_argument("--markdown", metavar="FILE", help="write the milliseconds as a table")
    return parser, parser.parse_args()


def main():
    parser, args = parse()
    if args.serve:
        race.serve(MAKERS[args.serve])
        return
    import gluon_same  # noqa: F401  isort: skip  first: it readies NumPy for MXNet
    from architectures import NETS

    if not set(args.net) <= set(NETS):
        parser.error(f"--net {' '.join(args.net)}: the nets are {', '.join(NETS)}")
    chosen, results, processors = dict(args.python), {}, sorted(os.sched_getaffinity(0))
    only = [n for n in args.only if not args.train or n in OURS]
    pythons = {name: chosen.get(name.split()[0], sys.executable) for name in only}
    print(race.processor())
    with tempfile.TemporaryDirectory() as folder:
        for threads in args.threads:
            os.sched_setaffinity(0, processors[:threads])
            race.THREADED["OMP_NUM_THREADS"] = str(threads)
            for name in args.net or NETS:
                for batch in args.batch:
                    label = f"{name} x{batch}, {threads} threads" + (", train" if args.train else "")
                    contenders = race.start(__file__, pythons)  # anew, to free the memory of the last
                    job = make_job(folder, name, batch, args.train)
                    results[label] = compare(contenders, job, args)
                    show(label, results[label])
                    for contender in contenders:
                        contender.stop()
                    write(results, args)
    summarize(results)


if __name__ == "__main__":
    main()
