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

import architectures
import race

TOLERANCE = 1e-3


NETS = {name: architectures.NETS[name] for name in ("TinyDarkNet", "ResNet50", "MobileNet", "U-Net")}


def make(job, how):
    import gluon_same  # isort: skip  first, because it prepares NumPy for MXNet
    import mxnet as mx
    from mxnet.gluon import nn as stock

    build, shape = NETS[job["net"]]
    x = mx.nd.array(np.random.RandomState(0).normal(size=(job["batch"], *shape)))
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
