"""Time whole nets with SAME padding against stock nets with symmetric padding, in one run.

    python benchmarks/cost_of_same.py [--net NAME ...] [--batch 1] [--train] [--seconds 3] [--json FILE]

All contenders have the same weights and take turns, each in a separate process (see ``race.py``). The
table shows medians in milliseconds and, in parentheses, the ratio to *stock*: the same net of
``mxnet.gluon.nn``, padded by ``k // 2`` at both ends, which gives other numbers where SAME is not
symmetric.

- *hybridized*: layers of ``gluon_same.nn``, one graph for every input size;
- *specialized*: after ``gluon_same.specialize(net, shape)``;
- *tuned*: after ``gluon_same.specialize(net, shape, tune=True)``, and how long that took.

For AVX2, as on many machines, run ``DNNL_MAX_CPU_ISA=AVX2 python benchmarks/cost_of_same.py``. For one
thread, run ``taskset -c 0 python benchmarks/cost_of_same.py``.
"""

import argparse
import json
import os
import sys
import time
from functools import partial

import numpy as np

import race

CLASSES = 100
TOLERANCE = 1e-3


def tiny_darknet(nn, pad):
    """Return YOLOv3-tiny's backbone, whose last pooling keeps its size."""
    net = nn.HybridSequential()
    for channels, stride in zip((16, 32, 64, 128, 256, 512), (2, 2, 2, 2, 2, 1)):
        _conv_bn(net, nn, pad, channels, 3)
        net.add(nn.MaxPool2D(2, stride, pad(2) if stride == 1 else pad(1)))
    _conv_bn(net, nn, pad, 1024, 3)
    return net


def mobilenet(nn, pad):
    """Return MobileNet, version 1."""
    net = nn.HybridSequential()
    _conv_bn(net, nn, pad, 32, 3, 2)
    before = 32
    for channels, stride in (
        [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
        + [(512, 1)] * 5
        + [(1024, 2), (1024, 1)]
    ):
        _conv_bn(net, nn, pad, before, 3, stride, groups=before)
        _conv_bn(net, nn, pad, channels, 1)
        before = channels
    net.add(nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def resnet50(nn, pad):
    """Return a ResNet of 50 layers, with the strides in its 3x3 convolutions."""

    class Bottleneck(nn.HybridBlock):
        def __init__(self, channels, stride, shortcut):
            super().__init__()
            self.body, self.shortcut = nn.HybridSequential(), nn.HybridSequential()
            _conv_bn(self.body, nn, pad, channels, 1)
            _conv_bn(self.body, nn, pad, channels, 3, stride)
            _conv_bn(self.body, nn, pad, 4 * channels, 1, relu=False)
            if shortcut:
                _conv_bn(self.shortcut, nn, pad, 4 * channels, 1, stride, relu=False)

        def hybrid_forward(self, F, x):
            return F.relu(self.body(x) + self.shortcut(x))

    net = nn.HybridSequential()
    _conv_bn(net, nn, pad, 64, 7, 2)
    net.add(nn.MaxPool2D(3, 2, pad(3)))
    for channels, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for i in range(count):
            net.add(Bottleneck(channels, stride if i == 0 else 1, i == 0))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(CLASSES))
    return net


def unet(nn, pad):
    """Return a U-Net of four levels."""

    class UNet(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.HybridSequential(), nn.HybridSequential()
            self.grow, self.pool = nn.HybridSequential(), nn.MaxPool2D(2, 2, pad(1))
            for channels in (16, 32, 64, 128):
                self.down.add(self.level(channels))
            for channels in (64, 32, 16):
                self.grow.add(nn.Conv2DTranspose(channels, 2, 2, pad(1)))
                self.up.add(self.level(channels))
            self.head = nn.Conv2D(4, 1)

        def level(self, channels):
            level = nn.HybridSequential()
            for _ in range(2):
                _conv_bn(level, nn, pad, channels, 3)
            return level

        def hybrid_forward(self, F, x):
            kept = []
            for i, level in enumerate(self.down):
                x = level(x if i == 0 else self.pool(x))
                kept.append(x)
            for grow, level, skip in zip(self.grow, self.up, kept[-2::-1]):
                x = level(F.concat(grow(x), skip, dim=1))
            return self.head(x)

    return UNet()


def _conv_bn(net, nn, pad, channels, kernel, stride=1, groups=1, relu=True):
    net.add(nn.Conv2D(channels, kernel, stride, pad(kernel), groups=groups, use_bias=False))
    net.add(nn.BatchNorm())
    if relu:
        net.add(nn.Activation("relu"))


NETS = {
    "TinyDarkNet": (tiny_darknet, 416),
    "ResNet50": (resnet50, 224),
    "MobileNet": (mobilenet, 224),
    "U-Net": (unet, 224),
}


def make(job, how):
    import gluon_same  # isort: skip  first, because it prepares NumPy for MXNet
    import mxnet as mx
    from mxnet.gluon import nn as stock

    build, size = NETS[job["net"]]
    x = mx.nd.array(np.random.RandomState(0).normal(size=(job["batch"], 3, size, size)))
    if how == "stock":
        net = build(stock, lambda kernel: kernel // 2)
    else:
        net = build(gluon_same.nn, lambda kernel: "same")
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    net(x).wait_to_read()
    # The order of the parameters is the same in all contenders.
    random = np.random.RandomState(1)
    for parameter in net.collect_params().values():
        if parameter.name.endswith("weight"):
            fan = np.prod(parameter.shape[1:])
            parameter.set_data(mx.nd.array(random.normal(size=parameter.shape) * (2 / fan) ** 0.5))
    seconds = 0.0
    if how in ("specialized", "tuned"):
        tune = how == "tuned" and ("training" if job["train"] else "inference")
        start = time.perf_counter()
        gluon_same.specialize(net, x.shape, tune=tune)
        seconds = time.perf_counter() - start
    net.hybridize(static_alloc=True, static_shape=True)
    results = []

    def predict():
        results[:] = [net(x)]
        results[0].wait_to_read()

    def train():
        with mx.autograd.record():
            y = net(x)
        y.backward()
        mx.nd.waitall()
        results[:] = [y]

    return train if job["train"] else predict, lambda: [results[0].asnumpy(), np.array(seconds)]


HOW = ("stock", "hybridized", "specialized", "tuned")
MAKERS = {how: partial(make, how=how) for how in HOW}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    race.add_arguments(parser, MAKERS)
    parser.add_argument("--net", nargs="+", choices=NETS, default=list(NETS))
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--train", action="store_true", help="time training steps, too")
    args = parser.parse_args()
    if args.serve:
        race.serve(MAKERS[args.serve])
        return
    found = {}
    print(race.processor(), os.environ.get("DNNL_MAX_CPU_ISA", ""))
    print(f"{'ms':<28}" + "".join(f"{how:>18}" for how in HOW) + "   tuned in")
    contenders = race.start(__file__, dict.fromkeys(HOW, sys.executable))
    for name in args.net:
        for batch in args.batch:
            for train in (False, True) if args.train else (False,):
                job = {"net": name, "batch": batch, "train": train}
                outputs = race.prepare(contenders, job)
                for how in HOW[2:]:
                    got, want = outputs[how][:1], outputs["hybridized"][:1]
                    error = race.relative_error(got, want)
                    if not error < TOLERANCE:
                        raise SystemExit(f"{name}: {how} gives other numbers, off by {error:.1e}")
                times = race.race(contenders, args.seconds, turns=12)
                label = f"{name} x{batch}" + (" train" if train else "")
                cells = [f"{times[h] * 1e3:9.2f} ({times[h] / times['stock']:5.3f})" for h in HOW]
                seconds = float(outputs["tuned"][1])
                print(
                    f"{label:<28}" + "".join(f"{c:>18}" for c in cells) + f"{seconds:9.1f} s", flush=True
                )
                found[label] = {**times, "seconds to tune": seconds}
    for contender in contenders:
        contender.stop()
    if args.json:
        with open(args.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
