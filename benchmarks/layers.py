"""Time single layers with SAME padding, over the stock layer with symmetric padding.

    OMP_NUM_THREADS=1 python benchmarks/layers.py [--rounds 40] [--csv FILE]

All forms of a layer take turns in one process: *eager*, *hybridized* (one graph for every size),
*specialized*, and *padding first*, which is ``F.pad`` and a stock layer. Average pooling would count the
zeros of ``F.pad``. The table shows geometric means, with the ranges, of ratios of least CPU times.
"""

import argparse
import csv
import random
import time
from itertools import product

import numpy as np

import gluon_same

import mxnet as mx  # isort: skip  after gluon_same, which prepares NumPy for it

from mxnet.gluon import nn as stock

import pad_first
import race

CHANNELS = 32
#: Each takes the module of layers, kernel, stride and padding.
KINDS = {
    "conv": lambda nn, *window: nn.Conv2D(CHANNELS, *window),
    "depthwise": lambda nn, *window: nn.Conv2D(CHANNELS, *window, groups=CHANNELS),
    "max": lambda nn, *window: nn.MaxPool2D(*window),
    "avg": lambda nn, *window: nn.AvgPool2D(*window),
}
KERNELS, STRIDES, SIZES = (2, 3, 4, 5), (1, 2), (56, 57)


def forms(kind, kernel, stride, x):
    """Return the blocks of one layer by the names of their forms, each after its first call."""
    make = KINDS[kind]
    blocks = {
        "stock": make(stock, kernel, stride, kernel // 2),
        "padding first": make(pad_first, kernel, stride, "same"),
        "eager": make(gluon_same.nn, kernel, stride, "same"),
        "hybridized": make(gluon_same.nn, kernel, stride, "same"),
    }
    for name, block in list(blocks.items()):
        block.initialize()
        try:
            block(x)
        except ValueError:  # an average would count the zeros of F.pad
            del blocks[name]
            continue
        if name != "eager":
            block.hybridize(static_alloc=True, static_shape=True)
    blocks["specialized"] = gluon_same.specialize(blocks["eager"], x.shape)
    for block in blocks.values():
        block(x).wait_to_read()
    return blocks


def least(blocks, x, rounds):
    """Return the least CPU seconds of a call of each block."""
    seconds = dict.fromkeys(blocks, float("inf"))
    for _ in range(rounds):
        for name in random.sample(list(blocks), len(blocks)):
            before = time.process_time()
            blocks[name](x).wait_to_read()
            seconds[name] = min(seconds[name], time.process_time() - before)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40, help="how often each form runs (default: 40)")
    parser.add_argument("--csv", type=race.writable, metavar="FILE", help="write the microseconds")
    args = parser.parse_args()
    names = ["stock", "padding first", "eager", "hybridized", "specialized"]
    table, ratios = [], {name: [] for name in names[1:]}
    for kind, kernel, stride, size in product(KINDS, KERNELS, STRIDES, SIZES):
        x = mx.nd.random.normal(shape=(1, CHANNELS, size, size))
        seconds = least(forms(kind, kernel, stride, x), x, args.rounds)
        table.append(
            [
                kind,
                kernel,
                stride,
                size,
                *(f"{seconds[n] * 1e6:.0f}" if n in seconds else "" for n in names),
            ]
        )
        for name in ratios:
            if name in seconds:
                ratios[name].append(seconds[name] / seconds["stock"])
    for name, found in ratios.items():
        mean = np.exp(np.mean(np.log(found)))
        print(f"{name:<15}{mean:.2f}  ({min(found):.2f} to {max(found):.2f}, {len(found)} layers)")
    if args.csv:
        with open(args.csv, "w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["kind", "kernel", "stride", "size", *(f"{name}, us" for name in names)])
            rows.writerows(table)


if __name__ == "__main__":
    main()
