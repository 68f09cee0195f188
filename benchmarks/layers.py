"""Time SAME layers against other ways to compute them, in one run.

    python benchmarks/layers.py [--filter conv] [--only NAME ...] [--seconds 0.3] [--rounds 3]
        [--json FILE] [--python PyTorch=PATH] [--python TensorFlow=PATH] [--memory]

Each row is one layer or a short chain. All contenders have the same weights, are checked to give the
same numbers, and then take turns, each in a separate process (see ``race.py``), so that changes of the
machine's speed affect all of them. Times also vary between processes: ``--rounds`` repeats everything in
new processes, and the table shows the median. Times are in milliseconds. The number in parentheses is
the ratio to *limit*: the stock layer with symmetric padding ``k // 2``, which takes the time of MXNet's
kernel and gives other numbers where SAME is not symmetric.

- *copied*: *limit* after a copy of the input, the cost of any way that reads and writes the input once
  more;
- *every size*: our layers, one graph for every input size;
- *specialized*: our layers after ``gluon_same.specialize``;
- *tuned*: the same with ``tune=True``;
- *eager*: our layers, not hybridized;
- *F.pad*: ``F.pad`` by the SAME amounts of this input size, then the stock operator;
- *recipe*: the stock operator with padding ``k // 2``, then a crop, as published for stride 1;
- *PyTorch*: ``F.pad``, if necessary, and the functions of ``torch.nn.functional``, eager;
- *TensorFlow*: ``padding='SAME'`` in a ``tf.function``, on channels-last data, its default layout;
- *onnxruntime*: ``auto_pad=SAME_UPPER``.

Contenders in MXNet are hybridized with ``static_alloc`` and ``static_shape``. The last three may be
installed in separate environments, named by ``--python``. Contenders that are not installed are skipped:

    pip install '.[test]'
    python -m venv torch; torch/bin/pip install torch numpy
    python -m venv tensorflow; tensorflow/bin/pip install tensorflow-cpu==2.15.1

``--memory`` shows the peak memory of a process that runs one row of one contender, instead of times.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple, Tuple

import numpy as np

import race
from layer_makers import MAKERS

TOLERANCE = 1e-3


class Row(NamedTuple):
    layers: Tuple[dict, ...]
    channels: int
    size: Tuple[int, ...]
    name: str
    backward: bool = False

    def named(self, batch):
        return self.name + (f" x{batch}" if batch > 1 else "") + (" train" if self.backward else "")


def window(op, kernel, stride, filters=None, groups=1, ndim=2):
    kernel = (kernel,) * ndim if isinstance(kernel, int) else kernel
    return dict(op=op, kernel=kernel, stride=(stride,) * ndim, filters=filters, groups=groups)


def row(op, kernel, stride, channels, size, filters=None, groups=1, ndim=2):
    size = (size,) * ndim if isinstance(size, int) else size
    layer = window(op, kernel, stride, filters, groups, ndim)
    through = f"{channels}>{filters}" if filters else channels
    kind = "depthwise" if groups > 1 else op
    return Row(
        (layer,), channels, size, f"{kind} {kernel}/{stride} {through} @{'x'.join(map(str, size))}"
    )


def chain(name, channels, size, *layers):
    forward = Row(layers, channels, (size, size), f"{name} @{size}")
    return [forward, forward._replace(backward=True)]


BN, RELU = {"op": "bn"}, {"op": "relu"}
ROWS = [
    row("conv", 3, 2, 3, 224, 32),
    row("conv", 7, 2, 3, 224, 64),
    row("conv", 3, 2, 3, 299, 32),
    row("conv", 3, 2, 3, 400, 32),
    row("conv", 4, 1, 3, 128, 32),
    row("conv", 4, 1, 3, 224, 64),
    row("conv", 2, 1, 64, 56, 64),
    row("conv", 3, 1, 64, 56, 64),
    row("conv", 3, 2, 64, 56, 128),
    row("conv", 4, 1, 32, (100, 20), 32),
    row("conv", 2, 1, 256, 13, 256),
    row("conv", 4, 2, 128, 28, 128),
    *[row("conv", k, 2, c, 112, c, groups=c) for k in (3, 5) for c in (32, 64, 96)],
    row("conv", 3, 2, 64, (400,), 64, ndim=1),
    row("conv", 2, 1, 16, (8, 28, 28), 16, ndim=3),
    row("max", 2, 1, 512, 13),
    row("max", 2, 1, 64, 56),
    row("max", 2, 1, 64, 112),
    row("max", 3, 1, 64, 112),
    row("max", 3, 2, 64, 112),
    row("max", 3, 2, 64, 111),
    row("max", 3, 2, 64, 224),
    row("max", 2, 2, 64, 224),
    row("max", 3, 2, 16, 400),
    row("max", 2, 1, 32, 150),
    row("max", 2, 2, 64, 111),
    row("max", 2, 2, 16, 224),
    row("max", 5, 1, 256, 26),
    row("max", 13, 1, 512, 13),
    row("max", 2, 1, 64, (2000,), ndim=1),
    row("max", 2, 1, 16, (8, 28, 28), ndim=3),
    row("avg", 2, 1, 64, 56),
    row("avg", 3, 2, 64, 112),
    row("avg", 2, 2, 64, 111),
    row("avg", 2, 2, 64, 224),
    row("avg", 3, 2, 32, 300),
    row("avg", 3, 1, 256, 28),
    row("avg", 3, 2, 64, (2000,), ndim=1),
    row("avg", 3, 2, 16, (8, 28, 28), ndim=3),
    *chain("conv 2 > max 2", 32, 112, window("conv", 2, 1, 32), window("max", 2, 1)),
    *chain(
        "conv 3 > bn > relu > max 2 > conv 3",
        32,
        112,
        window("conv", 3, 1, 32),
        BN,
        RELU,
        window("max", 2, 2),
        window("conv", 3, 1, 64),
    ),
]
BASES = ("limit", "every size", "specialized", "eager")
JOBS = [(row, batch) for row in ROWS for batch in (1, 8)]


def make_job(row, batch, folder):
    """Write seeded data and weights to a folder, and return the job."""
    random = np.random.RandomState(0)
    arrays, channels = [random.normal(size=(batch, row.channels, *row.size))], row.channels
    for layer in row.layers:
        if layer["op"] == "conv":
            shape = (layer["filters"], channels // layer["groups"], *layer["kernel"])
            arrays.append(random.normal(size=shape) / np.sqrt(np.prod(shape[1:])))
            channels = layer["filters"]
    path = os.path.join(folder, "arrays.npz")
    np.savez(path, *[array.astype(np.float32) for array in arrays])
    return {"layers": row.layers, "arrays": path, "backward": row.backward}


def comparable(row, name):
    """Return whether a contender must give the numbers of the others."""
    if name in ("limit", "copied"):
        return False
    if name == "recipe":  # right only for stride 1
        return all(max(layer.get("stride", (1,))) == 1 for layer in row.layers)
    # Averages after F.pad divide by the whole window, which gives other numbers at the borders.
    return not (name == "F.pad" and any(layer["op"] == "avg" for layer in row.layers))


def measure(row, batch, contenders, seconds):
    """Return the median seconds of each contender that can run the row."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = race.prepare(contenders, make_job(row, batch, folder))
    for name, got in outputs.items():
        error = race.relative_error(got, outputs["every size"]) if comparable(row, name) else 0
        if not error < (TOLERANCE if not row.backward else 10 * TOLERANCE):
            raise SystemExit(f"{row.named(batch)}: {name} gives other numbers, off by {error:.1e}")
    fits = [
        c for c in contenders if c.name in outputs and (c.name != "recipe" or comparable(row, c.name))
    ]
    return race.race(fits, seconds, turns=12)


def peak_memory(row, batch, name, python):
    """Return the peak megabytes of a separate process that runs one contender, or None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        job = json.dumps(make_job(row, batch, folder))
        command = [python, __file__, "--serve", name, "--alone", job]
        done = subprocess.run(command, capture_output=True)
    return float(done.stdout.split()[-1]) if done.returncode == 0 else None


def run_alone(name, job):
    run, _ = MAKERS[name](job)
    for _ in range(5):
        run()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def show_row(label, result, names, scale):
    limit = result["limit"]
    cells = [
        f"{result[n] * scale:9.3f} ({result[n] / limit:5.2f})" if n in result else "" for n in names
    ]
    print(f"{label:<44}" + "".join(f"{cell:>19}" for cell in cells), flush=True)


def show_means(results, names):
    """Print geometric means of the ratios to the limit, and of ours to each of the others."""
    for title, base in [(f"{n} over" if n != "limit" else "over limit", n) for n in BASES if n in names]:
        cells = []
        for name in names:
            pair = (name, base) if base == "limit" else (base, name)
            ratios = [r[pair[0]] / r[pair[1]] for r in results.values() if name in r and base in r]
            mean = np.exp(np.mean(np.log(ratios))) if ratios else None
            cells.append(f"{mean:.2f} (to {max(ratios):.2f})" if ratios else "")
        print(f"{'geometric mean, ' + title:<44}" + "".join(f"{cell:>19}" for cell in cells))


FAMILIES = {
    "convolution": lambda row: row.layers[0]["op"] == "conv" and row.layers[0]["groups"] == 1,
    "depthwise": lambda row: row.layers[0]["groups"] > 1,
    "max pooling": lambda row: row.layers[0]["op"] == "max",
    "average pooling": lambda row: row.layers[0]["op"] == "avg",
}


def family(row):
    if len(row.layers) > 1:
        return "chains"
    return next(name for name, holds in FAMILIES.items() if holds(row))


def as_markdown(results, names):
    """Return the ratios to the limit for ``benchmarks/README.md``: means of families, and all rows."""
    others = [name for name in names if name != "limit"]
    members = {"all": list(results)}
    for row, batch in JOBS:
        if row.named(batch) in results:
            members.setdefault(family(row), []).append(row.named(batch))
    members["all"] = members.pop("all")  # last
    lines = [f"| geometric mean of (rows) | {' | '.join(others)} |", "| --- " * len(names) + "|"]
    for title, labels in members.items():
        cells = []
        for name in others:
            ratios = [results[r][name] / results[r]["limit"] for r in labels if name in results[r]]
            cells.append(f"{np.exp(np.mean(np.log(ratios))):.2f}" if ratios else "")
        lines.append(f"| {title} ({len(labels)}) | {' | '.join(cells)} |")
    lines += ["", f"| layer | limit, ms | {' | '.join(others)} |", "| --- " * (len(names) + 1) + "|"]
    for label, result in results.items():
        ratios = [f"{result[n] / result['limit']:.2f}" if n in result else "" for n in others]
        lines.append(f"| {label} | {result['limit'] * 1e3:.3f} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def run_once(jobs, names, pythons, args):
    """Measure all rows in new processes."""
    contenders = [] if args.memory else race.start(__file__, pythons)
    results = {}
    for row, batch in jobs:
        if args.memory:
            peaks = {name: peak_memory(row, batch, name, pythons[name]) for name in names}
            found = {name: peak for name, peak in peaks.items() if peak}
        else:
            found = measure(row, batch, contenders, args.seconds)
        results[row.named(batch)] = found
        show_row(row.named(batch), found, names, 1 if args.memory else 1e3)
    for contender in contenders:
        contender.stop()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    race.add_arguments(parser, MAKERS)
    parser.add_argument("--filter", default="", help="run the rows whose name contains this")
    parser.add_argument("--only", nargs="+", choices=MAKERS, default=list(MAKERS), help="contenders")
    parser.add_argument("--batch", type=int, choices=(1, 8), help="run only the rows of this batch size")
    parser.add_argument("--memory", action="store_true", help="show peak memory instead of times")
    parser.add_argument("--markdown", action="store_true", help="also print tables for a README")
    parser.add_argument("--rounds", type=int, choices=range(1, 10), default=1, help="times to repeat")
    parser.add_argument("--alone", type=json.loads, help=argparse.SUPPRESS)
    parser.set_defaults(seconds=0.3)
    args = parser.parse_args()
    if args.alone:
        run_alone(args.serve, args.alone)
        return
    if args.serve:
        race.serve(MAKERS[args.serve])
        return
    chosen = dict(args.python)
    names = [n for n in MAKERS if n in args.only or n in ("limit", "every size")]
    pythons = {name: chosen.get(name, sys.executable) for name in names}
    jobs = [(r, b) for r, b in JOBS if args.filter in r.named(b) and args.batch in (None, b)]
    print(race.processor())
    print(f"{'peak MiB' if args.memory else 'ms':<44}" + "".join(f"{name:>19}" for name in names))
    rounds = [run_once(jobs, names, pythons, args) for _ in range(args.rounds)]
    results = {}
    for label in rounds[0]:
        found = {n: [r[label][n] for r in rounds if n in r[label]] for n in names}
        results[label] = {n: statistics.median(times) for n, times in found.items() if times}
    if args.rounds > 1:
        print(f"medians of {args.rounds} rounds")
        for label, result in results.items():
            show_row(label, result, names, 1 if args.memory else 1e3)
    show_means(results, names)
    if args.markdown:
        print(as_markdown(results, names))
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
