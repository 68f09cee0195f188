"""Time possible graphs for every size, for 3x3 and 5x5 convolutions of stride 2.

    python benchmarks/every_size.py [--batch 1 8] [--between]

For 3x3, SAME puts 0 elements before an even axis and 1 before an odd one, but the padding of MXNet's
operators is fixed in the graph. So the graph must shift the input by an amount that depends on its size.
The table shows the time of each form over *limit*, the plain operator padded by ``k // 2``, which gives
other numbers:

- *copied*: the plain operator after a copy of its input;
- *F.pad*: ``F.pad`` by the amounts for this size, which is wrong at other sizes;
- *one size*: the graph of ``gluon_same.specialize`` for this size;
- *ours*: the graph for every size of ``gluon_same.functional``;
- *Crop*: pad generously, and crop the center with ``Crop``, which supports only float32;
- *reversed*: the reversed convolution of the reversed input with the reversed weight;
- *take*: pad generously, and gather rows and columns by computed indices;
- *four graphs*: convolve with each of the four paddings, and select with ``where``.

All except *copied*, *F.pad* and *one size* are right at every size; the script checks that they give the
same numbers. With ``--between``, each runs between two 1x1 convolutions, as in a net.
"""

import argparse
import random
import time

import gluon_same  # noqa: F401  isort: skip  first, because it prepares NumPy for MXNet
import mxnet as mx
import numpy as np

from gluon_same import functional, geometry

ROWS = [  # kernel, channels, size, filters, groups
    (3, 3, 224, 32, 1),
    (3, 64, 56, 128, 1),
    (3, 256, 14, 512, 1),
    (5, 32, 64, 64, 1),
    (3, 64, 112, 64, 64),
    (3, 256, 28, 256, 256),
]
REVERSE = {"begin": (None,) * 4, "end": (None,) * 4, "step": (1, 1, -1, -1)}


def convolve(F, x, w, row, pad):
    kernel, _, _, filters, groups = row
    window = {"kernel": (kernel, kernel), "stride": (2, 2), "pad": (pad, pad)}
    return F.Convolution(x, w, num_filter=filters, num_group=groups, no_bias=True, **window)


def padded(F, x, before, after):
    return F.Pad(x, mode="constant", pad_width=(0, 0, 0, 0, before, after, before, after))


def limit(F, x, w, row):
    return convolve(F, x, w, row, row[0] // 2)


def copied(F, x, w, row):
    return limit(F, F.identity(x), w, row)


def f_pad(F, x, w, row):
    return convolve(F, padded(F, x, *geometry.same_padding(row[2], row[0], 2)), w, row, 0)


def ours(F, x, w, row, **known):
    kernel, _, _, filters, groups = row
    window = {"kernel": (kernel, kernel), "stride": 2}
    return functional.convolution(F, x, w, num_filter=filters, num_group=groups, **window, **known)


def one_size(F, x, w, row):
    return ours(F, x, w, row, in_size=(row[2], row[2]), in_channels=row[1])


def sizes(F, x):
    return F.cast(F.shape_array(x), dtype="float32")


def by_crop(F, x, w, row):
    even = F.slice_axis(x, axis=1, begin=0, end=1)
    even = F.slice(even, begin=(0, 0, None, None), end=(1, 1, None, None), step=(1, 1, 2, 2))
    even = F.repeat(F.repeat(even, repeats=2, axis=2), repeats=2, axis=3)
    x = F.Crop(padded(F, x, 1, 2), padded(F, even, 0, 1), center_crop=True, num_args=2)
    return convolve(F, x, w, row, row[0] // 2 - 1)


def by_reversing(F, x, w, row):
    y = convolve(F, F.slice(x, **REVERSE), F.reverse(w, axis=(2, 3)), row, row[0] // 2)
    return F.slice(y, **REVERSE)


def by_take(F, x, w, row):
    even = sizes(F, x) - 2 * F.floor(sizes(F, x) / 2)
    y = padded(F, x, 1, 1)
    for axis in (2, 3):
        line = F.reshape(F.slice_axis(even, axis=0, begin=axis, end=axis + 1), shape=(-1,))
        index = F.broadcast_add(F.contrib.arange_like(y, axis=axis), 1 - line)
        y = F.take(y, index, axis=axis, mode="clip")
    return convolve(F, y, w, row, row[0] // 2 - 1)


def by_four_graphs(F, x, w, row):
    half = row[0] // 2
    odd = sizes(F, x) - 2 * F.floor(sizes(F, x) / 2)

    def chosen(axis, first, second):
        flag = F.reshape(F.slice_axis(odd, axis=0, begin=axis, end=axis + 1), shape=(1, 1, 1, 1))
        return F.where(F.broadcast_like(flag, first), first, second)

    def placed(own):
        kernel, _, _, filters, groups = row
        window = {"kernel": (kernel, kernel), "stride": (2, 2), "pad": own}
        y = F.Convolution(x, w, num_filter=filters, num_group=groups, no_bias=True, **window)
        begin = (None, None, *(None if p == half else 1 for p in own))
        return F.slice(y, begin=begin, end=(None,) * 4) if any(begin) else y

    rows = [chosen(3, placed((p, half)), placed((p, half + 1))) for p in (half, half + 1)]
    return chosen(2, *rows)


FORMS = {
    "limit": limit,
    "copied": copied,
    "F.pad": f_pad,
    "one size": one_size,
    "ours": ours,
    "Crop": by_crop,
    "reversed": by_reversing,
    "take": by_take,
    "four graphs": by_four_graphs,
}


def build(form, row, batch, between):
    kernel, channels, size, filters, groups = row
    F, x = mx.sym, mx.sym.var("x")
    if between and channels >= 8:
        x = F.Convolution(x, F.var("first"), kernel=(1, 1), num_filter=channels, no_bias=True)
        x = F.Activation(x, act_type="relu")
    y = FORMS[form](F, x, F.var("w"), row)
    if between:
        y = F.Activation(y, act_type="relu")
        y = F.Convolution(y, F.var("last"), kernel=(1, 1), num_filter=filters, no_bias=True)
    shapes, _, _ = y.infer_shape(
        x=(batch, channels, size, size), w=(filters, channels // groups, kernel, kernel)
    )
    arrays = []
    for name, shape in zip(y.list_arguments(), shapes):
        random_state = np.random.RandomState(len(name))
        arrays.append(mx.nd.array(random_state.normal(size=shape) * (1 if name == "x" else 0.1)))
    graph = mx.nd.CachedOp(y, [("static_alloc", True), ("static_shape", True)])
    return lambda: graph(*arrays)


def race(calls, seconds):
    """Run the calls in turns, and return the fewest seconds of each."""
    best = {name: float("inf") for name in calls}
    for call in calls.values():
        call().wait_to_read()
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end:
        for name in random.sample(list(calls), len(calls)):
            calls[name]().wait_to_read()  # the previous call must not affect the time
            for _ in range(3):
                start = time.perf_counter()
                calls[name]().wait_to_read()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--between", action="store_true", help="run each form between convolutions")
    parser.add_argument("--seconds", type=float, default=0.2)
    args = parser.parse_args()
    others = [form for form in FORMS if form != "limit"]
    print(f"| conv | limit, ms | {' | '.join(others)} |\n{'| --- ' * (len(others) + 2)}|")
    ratios = {form: [] for form in others}
    for row in ROWS:
        for batch in args.batch:
            kernel, channels, size, filters, groups = row
            calls = {form: build(form, row, batch, args.between) for form in FORMS}
            times = race(calls, args.seconds)
            want = calls["F.pad"]().asnumpy()
            for form in others[1:]:
                np.testing.assert_allclose(calls[form]().asnumpy(), want, rtol=1e-3, atol=1e-3)
            kind = "depthwise " if groups > 1 else ""
            name = f"{kind}{kernel}x{kernel}/2 {channels} > {filters} at {size}, x{batch}"
            cells = [f"{times[form] / times['limit']:.2f}" for form in others]
            print(f"| {name} | {times['limit'] * 1e3:.3f} | {' | '.join(cells)} |", flush=True)
            for form in others:
                ratios[form].append(times[form] / times["limit"])
    means = [f"{np.exp(np.mean(np.log(r))):.2f}" for r in ratios.values()]
    print(f"| geometric mean | | {' | '.join(means)} |")


if __name__ == "__main__":
    main()
