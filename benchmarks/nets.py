"""Time TinyDarkNet at 416x416 against other runtimes, in one run.

    python benchmarks/nets.py [--python PyTorch=PATH] [--json FILE] [--seconds 3]
        [--profile]

All contenders run the same net with the same weights, are checked to give the same numbers, and then
take turns, each in a process of its own. ``--python`` names the interpreter of a contender that is
installed elsewhere; one that is installed nowhere is left out. An environment for all of them:

    pip install '.[test]'; python -m venv torch; torch/bin/pip install torch numpy

- *gluon_same*: the zoo's net, hybridized, one graph for every input size;
- *gluon_same, fused*: the same graph after MXNet's own fusion, ``net.optimize_for(x, 'MKLDNN')``;
- *F.pad*: the same net, in which stock pooling follows ``F.pad``; *F.pad, fused* likewise;
- *OpenCV* and *onnxruntime* read the file of ``gluon_same.onnx.export_model``;
- *PyTorch*: the same layers, eager, in ``torch.inference_mode``; *PyTorch, frozen*: after
  ``torch.jit.optimize_for_inference``, which folds the normalization into the convolutions.

``--profile`` shows where the time of gluon_same's nets goes, operator by operator.
"""

import argparse
import json
import os
import sys
import tempfile
from functools import partial

import numpy as np

import race

BATCHES = (1, 8)
SIZE = 416
TOLERANCE = 1e-3
PROFILED = 10  #: runs


def make_ours(job, fuse=False, pooling=None):
    net, x = _loaded(job, pooling)
    net.hybridize(static_alloc=True, static_shape=True)
    if fuse:
        net.optimize_for(x, backend="MKLDNN", static_alloc=True, static_shape=True)
    results = []

    def run():
        results[:] = net(x)
        for result in results:
            result.wait_to_read()

    return run, lambda: [result.asnumpy() for result in results]


def _loaded(job, pooling=None):
    from gluon_same import model_zoo  # isort: skip  first: it readies NumPy for MXNet
    import mxnet as mx

    net = model_zoo.TinyDarkNet(prefix="net_")
    if pooling:
        pooling(net)
    net.load_parameters(job["parameters"])
    return net, mx.nd.array(np.load(job["data"]))


def pad_first(net):
    """Replace the pool that keeps its size; the others halve an even size and need no padding."""
    from mxnet.gluon import HybridBlock, nn

    class PadFirst(HybridBlock):
        def __init__(self):
            super().__init__()
            self.pool = nn.MaxPool2D(2, 1)

        def hybrid_forward(self, F, x):
            width = (0, 0, 0, 0, 0, 1, 0, 1)
            return self.pool(F.pad(x, mode="constant", pad_width=width, constant_value=-3e38))

    children = net.features._children
    for key, block in list(children.items()):
        if isinstance(block, nn.MaxPool2D):
            strides = block._kwargs["stride"]
            children[key] = PadFirst() if strides == (1, 1) else nn.MaxPool2D(2, strides)


def make_opencv(job):
    import cv2

    cv2.setNumThreads(race.THREADS)
    net = cv2.dnn.readNetFromONNX(job["onnx"])
    names, data, results = net.getUnconnectedOutLayersNames(), np.load(job["data"]), []

    def run():
        net.setInput(data)
        results[:] = net.forward(names)

    return run, lambda: results


def make_onnxruntime(job):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = race.THREADS
    session = onnxruntime.InferenceSession(job["onnx"], options, providers=["CPUExecutionProvider"])
    data, results = {session.get_inputs()[0].name: np.load(job["data"])}, []

    def run():
        results[:] = session.run(None, data)

    return run, lambda: results


def make_torch(job, frozen=False):
    import torch
    from torch import nn

    class TinyDarkNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList()
            channels = 3
            for filters in (16, 32, 64, 128, 256, 512, 1024):
                self.layers += [
                    nn.Conv2d(channels, filters, 3, padding=1, bias=False),
                    nn.BatchNorm2d(filters, eps=1e-6),
                    nn.LeakyReLU(0.1),
                ]
                if filters == 512:
                    self.layers += [nn.ConstantPad2d((0, 1, 0, 1), float("-inf")), nn.MaxPool2d(2, 1)]
                elif filters < 512:
                    self.layers += [nn.MaxPool2d(2, 2)]
                channels = filters

        def forward(self, x):
            route = x
            for i, layer in enumerate(self.layers):
                x = layer(x)
                if i == 18:
                    route = x
            return route, x

    torch.set_num_threads(race.THREADS)
    net, values = TinyDarkNet().eval(), np.load(job["arrays"])
    state = net.state_dict()
    ours = iter([torch.from_numpy(values[name]) for name in values.files])
    net.load_state_dict({k: v if v.ndim == 0 else next(ours) for k, v in state.items()})
    data, results = torch.from_numpy(np.load(job["data"])), []
    with torch.inference_mode():
        if frozen:
            net = torch.jit.optimize_for_inference(torch.jit.trace(net, data))

    def run():
        with torch.inference_mode():
            results[:] = net(data)

    return run, lambda: [result.numpy() for result in results]


MAKERS = {
    "gluon_same": make_ours,
    "gluon_same, fused": partial(make_ours, fuse=True),
    "F.pad": partial(make_ours, pooling=pad_first),
    "F.pad, fused": partial(make_ours, fuse=True, pooling=pad_first),
    "OpenCV": make_opencv,
    "onnxruntime": make_onnxruntime,
    "PyTorch": make_torch,
    "PyTorch, frozen": partial(make_torch, frozen=True),
}


def make_job(folder, batch):
    """Seeded weights, input and ONNX file, written to a folder."""
    import gluon_same.onnx  # isort: skip  first: it readies NumPy for MXNet
    import mxnet as mx

    from gluon_same import model_zoo

    mx.random.seed(0)
    net = model_zoo.TinyDarkNet(prefix="net_")
    net.initialize(mx.init.Xavier(magnitude=3))
    x = mx.nd.random.uniform(shape=(batch, 3, SIZE, SIZE))
    with mx.autograd.record():  # fills the running averages
        net(x)[1].backward()
    names = ("parameters", "data.npy", "onnx", "arrays.npz")
    paths = {name: os.path.join(folder, f"{batch}-{name}") for name in names}
    net.save_parameters(paths["parameters"])
    np.save(paths["data.npy"], x.asnumpy())
    gluon_same.onnx.export_model(net, x.shape, paths["onnx"])
    np.savez(paths["arrays.npz"], *[p.data().asnumpy() for p in net.collect_params().values()])
    return {name.split(".")[0]: path for name, path in paths.items()}


def profile(job):
    """Print the operators of gluon_same's nets by the time they take."""
    os.environ["MXNET_EXEC_BULK_EXEC_INFERENCE"] = "0"  # or the profiler sees many operators as one
    import mxnet as mx

    for name in ("gluon_same", "gluon_same, fused"):
        run, _ = MAKERS[name](job)
        run()
        file = os.path.join(os.path.dirname(job["onnx"]), "profile.json")
        mx.profiler.set_config(profile_symbolic=True, aggregate_stats=True, filename=file)
        mx.profiler.set_state("run")
        for _ in range(PROFILED):
            run()
        mx.profiler.set_state("stop")
        operators = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]["operator"]
        print(f"\n{name}: operator, milliseconds a run")
        for operator, times in sorted(operators.items(), key=lambda item: -item[1]["Total"]):
            if times["Total"] / PROFILED > 0.005:
                print(f"{operator:<20}{times['Total'] / PROFILED:9.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    race.add_arguments(parser, {name.split(",")[0] for name in MAKERS})
    parser.add_argument("--profile", action="store_true", help="show operators instead of contenders")
    args = parser.parse_args()
    if args.serve:
        race.serve(MAKERS[args.serve])
        return
    with tempfile.TemporaryDirectory() as folder:
        if args.profile:
            profile(make_job(folder, 1))
            return
        chosen = dict(args.python)
        pythons = {name: chosen.get(name.split(",")[0], sys.executable) for name in MAKERS}
        contenders = race.start(__file__, pythons)
        print(f"TinyDarkNet at {SIZE}x{SIZE}: {race.processor()}")
        jobs = {batch: make_job(folder, batch) for batch in BATCHES}
        results = {batch: compare(contenders, job, args.seconds, batch) for batch, job in jobs.items()}
        for contender in contenders:
            contender.stop()
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


def compare(contenders, job, seconds, batch):
    outputs = race.prepare(contenders, job)
    if "F.pad" not in outputs:
        raise SystemExit("MXNet itself could not run: see above")
    for name, got in outputs.items():
        error = race.relative_error(got, outputs["F.pad"])
        if not error < TOLERANCE:
            raise SystemExit(f"{name} does not give the numbers of the others: off by {error:.1e}")
    times = race.race([c for c in contenders if c.name in outputs], seconds)
    others = [times[name] for name in times if not name.startswith(("gluon_same", "F.pad"))]
    titles = f"{f'batch {batch}':<20}{'ms':>9}{'/ F.pad':>10}"
    print(f"\n{titles}{'/ fastest other runtime':>26}" if others else f"\n{titles}")
    for name, median in times.items():
        against = f"{median / min(others):26.2f}" if others else ""
        print(f"{name:<20}{median * 1e3:9.2f}{median / times['F.pad']:10.2f}{against}", flush=True)
    return times


if __name__ == "__main__":
    main()
