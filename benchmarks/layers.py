"""Time SAME layers against the stock operator and against ``F.pad`` first, in one run.

    python benchmarks/layers.py [--filter conv] [--json FILE] [--repeats 40] [--memory]

Each row is one layer. Its contenders are hybridized with ``static_alloc`` and ``static_shape`` (but
for *eager*), are checked to give the same numbers, and then run in turn, so that a machine whose
speed drifts slows all of them alike. The table shows medians in milliseconds and, in brackets, the
ratio to *limit*: the stock layer with symmetric padding ``k // 2``, which gives other numbers where
SAME is not symmetric, and costs what MXNet's kernel costs.

- *every size*: our layer, one graph for every input size;
- *specialised*: our layer after ``gluon_same.specialize``;
- *eager*: our layer, not hybridized;
- *F.pad*: ``F.pad`` by the SAME amounts of this input size, then the stock operator.

``--memory`` shows the peak memory of processes that run one contender each, instead of times.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import gluon_same  # isort: skip  first: it readies NumPy for MXNet
import mxnet as mx
from mxnet.gluon import HybridBlock
from mxnet.gluon import nn as stock

from gluon_same import geometry, nn

CONTENDERS = ("limit", "every size", "specialised", "eager", "F.pad")


class Row(NamedTuple):
    kind: str  # conv, max or avg
    channels: int
    filters: int
    kernel: int
    stride: int
    size: int
    batch: int = 1

    def __str__(self):
        channels = f"{self.channels}>{self.filters}" if self.kind == "conv" else str(self.channels)
        batch = f" x{self.batch}" if self.batch > 1 else ""
        return f"{self.kind} {self.kernel}/{self.stride} {channels} @{self.size}{batch}"

    @property
    def shape(self):
        return (self.batch, self.channels, self.size, self.size)


ROWS = [
    Row("conv", 64, 64, 3, 1, 56),
    Row("conv", 64, 64, 2, 1, 56),
    Row("conv", 64, 64, 4, 1, 56),
    Row("conv", 512, 512, 2, 1, 13),
    Row("conv", 512, 512, 3, 1, 13),
    Row("max", 64, 64, 3, 1, 56),
    Row("max", 64, 64, 2, 1, 56),
    Row("max", 512, 512, 2, 1, 13),
    Row("avg", 64, 64, 2, 1, 56),
    Row("conv", 3, 32, 3, 2, 224),
    Row("conv", 3, 64, 7, 2, 224),
    Row("conv", 64, 128, 3, 2, 56),
    Row("conv", 256, 512, 3, 2, 14),
    Row("conv", 128, 128, 4, 2, 28),
    Row("conv", 64, 128, 3, 2, 56, batch=8),
    Row("max", 64, 64, 3, 2, 112),
    Row("max", 64, 64, 2, 2, 111),
    Row("max", 64, 64, 3, 2, 56, batch=8),
    Row("avg", 64, 64, 3, 2, 112),
    Row("avg", 64, 64, 2, 2, 112),
]


class PadFirst(HybridBlock):
    """``F.pad`` by what SAME asks for at one input size, then the stock operator."""

    def __init__(self, row, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer
        before, after = geometry.same_padding(row.size, row.kernel, row.stride)
        self.width = (0, 0, 0, 0, before, after, before, after)
        # Not the lowest float: oneDNN's pooling of it is as fast, and so is any other constant.
        self.constant = -3e38 if row.kind == "max" else 0.0

    def hybrid_forward(self, F, x):
        if any(self.width):
            x = F.pad(x, mode="constant", pad_width=self.width, constant_value=self.constant)
        return self.layer(x)


def make_layer(row, module, padding):
    """A layer of ``module``, initialised alike for all contenders of a row."""
    if row.kind == "conv":
        layer = module.Conv2D(
            row.filters, row.kernel, row.stride, padding, use_bias=False, in_channels=row.channels
        )
    else:
        pool = {"max": module.MaxPool2D, "avg": module.AvgPool2D}[row.kind]
        layer = pool(row.kernel, row.stride, padding)
    mx.random.seed(0)
    layer.initialize(mx.init.Xavier())
    return layer


def make(row, contender):
    """One contender of a row, ready to be called."""
    if contender == "limit":
        net = make_layer(row, stock, row.kernel // 2)
    elif contender == "F.pad":
        net = PadFirst(row, make_layer(row, stock, 0))
    else:
        net = make_layer(row, nn, "same")
    if contender == "specialised":
        gluon_same.specialize(net, row.shape)
    if contender != "eager":
        net.hybridize(static_alloc=True, static_shape=True)
    return net


def check(row, nets, x):
    """Refuse to time contenders that do not give the same numbers."""
    outputs = {name: net(x) for name, net in nets.items()}
    want = outputs["every size"]
    scale = want.abs().max().asscalar()
    for name, got in outputs.items():
        # Average pooling after F.pad divides by the whole window: another number at the borders.
        if name == "limit" or (name == "F.pad" and row.kind == "avg"):
            continue
        if got.shape != want.shape or (got - want).abs().max().asscalar() > 1e-4 * scale:
            raise SystemExit(f"{row}: {name} does not give the numbers of the others")


def measure(row, repeats):
    """Median seconds of each contender."""
    x = mx.nd.random.normal(shape=row.shape)
    nets = {name: make(row, name) for name in CONTENDERS}
    check(row, nets, x)
    times = {name: [] for name in nets}
    for _ in range(repeats):
        for name, net in nets.items():
            start = time.perf_counter()
            net(x).wait_to_read()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) for name, t in times.items()}


def peak_memory(row, contender):
    """Peak megabytes of a process of its own that runs one contender."""
    command = [sys.executable, __file__, "--one", contender, "--filter", str(row)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def run_one(row, contender):
    net, x = make(row, contender), mx.nd.random.normal(shape=row.shape)
    for _ in range(5):
        net(x).wait_to_read()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def geometric_mean(values):
    return statistics.geometric_mean(list(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="run the rows whose name holds this")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", metavar="FILE", help="write the medians, in seconds, to a file")
    parser.add_argument("--memory", action="store_true", help="show peak memory instead of times")
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    rows = [row for row in ROWS if args.filter in str(row)]
    if args.one:
        (row,) = [row for row in ROWS if str(row) == args.filter]
        run_one(row, args.one)
        return
    unit = "peak MiB" if args.memory else "ms"
    print(f"{unit:<24}" + "".join(f"{name:>17}" for name in CONTENDERS))
    results = {}
    for row in rows:
        if args.memory:
            result = {name: peak_memory(row, name) for name in CONTENDERS}
        else:
            result = measure(row, args.repeats)
        results[str(row)] = result
        scale = 1 if args.memory else 1e3
        cells = [
            f"{result[name] * scale:10.3f} ({result[name] / result['limit']:4.2f})"
            for name in CONTENDERS
        ]
        print(f"{row!s:<24}" + "".join(f"{cell:>17}" for cell in cells), flush=True)
    means = [geometric_mean(r[name] / r["limit"] for r in results.values()) for name in CONTENDERS]
    print(f"{'geometric mean':<24}" + "".join(f"{f'({mean:4.2f})':>17}" for mean in means))
    against = geometric_mean(r["every size"] / r["F.pad"] for r in results.values())
    print(f"every size against F.pad, geometric mean: {against:.2f}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
