"""Time whole nets in gluon_same, stock Gluon and other runtimes, or in two checkouts of gluon_same.

    python benchmarks/nets.py [--net NAME ...] [--only CONTENDER ...] [--batch 1 8] [--threads 1 2]
        [--train] [--seconds 2] [--python PyTorch=PATH] [--python TensorFlow=PATH] [--json FILE]
        [--csv FILE]
    python benchmarks/nets.py --against FOLDER [--processes 2] [the same options]

All contenders run the same net with the same weights and take turns, each in a separate process. Times
are medians of wall time. The error is the largest difference from the net in float64, over the largest
number. ``--python`` names the interpreter of a contender in another environment. Contenders that are not
installed are skipped:

    pip install '.[test]' sympy; python -m venv torch; torch/bin/pip install torch numpy
    python -m venv tensorflow; tensorflow/bin/pip install tensorflow-cpu

- *stock*: layers of ``mxnet.gluon.nn``, hybridized, padded by ``k // 2`` at both ends, which gives
  different results where SAME is not symmetric;
- *padding first*: stock layers, with SAME by ``F.pad`` before each one whose padding is not symmetric;
- *hybridized*: ``gluon_same.nn``, one graph for every size, with ``static_alloc`` and ``static_shape``,
  and *hybridized without flags*; *specialized*: by ``gluon_same.specialize``;
  *deployed*: by ``gluon_same.deploy``, in float32, bfloat16 or int8;
- *onnxruntime* and *OpenCV* read the file of ``gluon_same.onnx.export_model``; *onnxruntime int8* uses
  onnxruntime's static quantization of it;
- *PyTorch*: eager; *PyTorch frozen*: after ``torch.jit.optimize_for_inference``; *PyTorch compiled*:
  after ``torch.compile``, which requires a C++ compiler; *TensorFlow*: a function, channels last.

``--train`` times a forward and a backward pass instead, of the contenders that support it.
``DNNL_MAX_CPU_ISA=AVX2`` in the environment restricts MXNet to AVX2.

``--against`` names the root of another checkout of this project. The contenders (by default hybridized,
specialized and deployed) run with both libraries, and the table shows the ratio of the least CPU times,
new over old: below 1, this checkout is faster. CPU time includes threads that wait for others, so the
default is one thread. ``--processes`` repeats everything in new processes, because the memory that a
process happens to get may make it slower as long as it lives. ``--against .`` shows the noise.
"""

import argparse
import csv
import json
import math
import os
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

import race
from contenders import DEPLOYED, MAKERS, OURS, make_job

TURNS = 12
#: Contenders of two checkouts, and the largest error that is rounding.
COMPARED, TOLERANCE = ("hybridized", "specialized", "deployed"), 1e-3


def entrants(args):
    """Return the keyword arguments of the contenders' processes."""
    if args.against is None:
        pythons = dict(args.python)
        return [
            {"name": name, "python": pythons.get(name.split()[0], sys.executable)} for name in args.only
        ]
    folders = {"new": args.root, "old": args.against}
    return [
        {"name": f"{which} {name}", "serves": name, "path": folder}
        for name in args.only
        for which, folder in folders.items()
    ]


def compare(job, args):
    """Return the seconds of one job, its errors, and the seconds of the preparation."""
    contenders = [race.Contender(script=__file__, **each) for each in entrants(args)]
    try:
        outputs = race.prepare(contenders, job)
        running = [contender for contender in contenders if contender.name in outputs]
        clock = "wall" if args.against is None else "CPU"
        times = race.race(running, args.seconds, TURNS, clock)
    finally:  # ends the processes, to free their memory
        for contender in contenders:
            contender.stop()
    with np.load(job["want"]) as file:
        want = [file[name] for name in file.files]
    ours = [name for name in outputs if args.against is not None or name in (*OURS, *DEPLOYED)]
    ready = {name: float(outputs[name].pop()) for name in ours}
    # In training, a batch is normalized by itself, which the net in float64 was not.
    errors = {} if job["train"] else {name: error(got, want) for name, got in outputs.items()}
    return {"seconds": times, "error": errors, "ready": ready}


def compare_often(job, args):
    """Return the results of a job, with the least seconds of several sets of processes."""
    found = compare(job, args)
    for _ in range(args.processes - 1):
        for name, seconds in compare(job, args)["seconds"].items():
            found["seconds"][name] = min(seconds, found["seconds"].get(name, seconds))
    return found


def error(got, want):
    """Return the largest difference over the largest number, of the worst output."""
    if [x.shape for x in got] != [x.shape for x in want]:
        return math.inf
    # Not Python's max, which may pass over NaN.
    return float(np.max([np.abs(x - y).max() / np.abs(y).max() for x, y in zip(got, want)]))


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


def show_ratios(label, found, args):
    """Print the ratios of the new checkout to the old one, and outputs that are wrong."""
    seconds = found["seconds"]
    cells = [_ratio(seconds, f"new {name}", f"old {name}") or "failed" for name in args.only]
    print(f"{label:<34}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
    for name, off in found["error"].items():
        if not (off < TOLERANCE or name.endswith(("stock", "bfloat16", "int8"))):
            print(f"    wrong: {name} is off by {off:.1e}", flush=True)


def summarize(results, pairs):
    """Print the geometric mean and the largest of some ratios, over the known nets and the others."""
    from architectures import KNOWN

    for title, known in (("known nets", True), ("nets of even kernels", False)):
        every = [found["seconds"] for found in results.values() if (found["net"] in KNOWN) == known]
        if every:
            print(f"\n{title}: geometric means, and the largest")
        for name, other in pairs:
            ratios = [s[name] / s[other] for s in every if {name, other} <= set(s)]
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print(f"{name:<20} / {other:<17}{mean:7.2f}{max(ratios):7.2f}")


def write(results, args):
    """Write the files that were asked for."""
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))
    if args.csv:
        names = list(dict.fromkeys(name for found in results.values() for name in found["seconds"]))
        with open(args.csv, "w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["net", "batch", "threads", *(f"{name}, ms" for name in names)])
            for found in results.values():
                ms = {name: f"{1e3 * seconds:.4g}" for name, seconds in found["seconds"].items()}
                where = [found[key] for key in ("net", "batch", "threads")]
                rows.writerow(where + [ms.get(name, "") for name in names])


def parse():
    def checkout(text):
        if not (Path(text) / "gluon_same" / "__init__.py").exists():
            raise argparse.ArgumentTypeError(f"{text!r} is not a folder that contains gluon_same")
        return Path(text).resolve()

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    race.add_arguments(parser, {name.split()[0] for name in MAKERS})
    parser.add_argument("--net", nargs="+", default=[], metavar="NAME", help="only these nets")
    parser.add_argument("--only", nargs="+", choices=MAKERS, metavar="CONTENDER")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, nargs="+")
    parser.add_argument("--train", action="store_true", help="time training steps instead")
    parser.add_argument("--csv", type=race.writable, metavar="FILE", help="write the milliseconds")
    parser.add_argument("--against", type=checkout, metavar="FOLDER", help="another checkout")
    parser.add_argument(
        "--processes", type=int, default=1, help="with --against: how often to start anew"
    )
    return parser, parser.parse_args()


def completed(parser, args):
    """Check the options against each other, and fill in those that were not given."""
    allowed = [name for name in MAKERS if not args.train or name in OURS]
    if args.against is not None:
        allowed = [name for name in allowed if name in (*OURS, *DEPLOYED)]
    elif args.processes != 1:
        parser.error("--processes requires --against")
    default = allowed if args.against is None else [name for name in COMPARED if name in allowed]
    args.only = default if args.only is None else [name for name in args.only if name in allowed]
    if not args.only:
        parser.error(f"--only: the contenders here are {', '.join(allowed)}")
    import gluon_same  # isort: skip  first: it readies NumPy for MXNet
    from architectures import NETS

    if not set(args.net) <= set(NETS):
        parser.error(f"--net {' '.join(args.net)}: the nets are {', '.join(NETS)}")
    args.net = args.net or list(NETS)
    args.threads = args.threads or [race.THREADS if args.against is None else 1]
    args.root = Path(gluon_same.__file__).resolve().parents[1]
    return args


def main():
    parser, args = parse()
    if args.serve:
        race.serve(MAKERS[args.serve])
        return
    args = completed(parser, args)
    results, processors = {}, sorted(os.sched_getaffinity(0))
    print(race.processor())
    if args.against is not None:
        print(f"CPU time, {args.root} / {args.against}")
        print(" " * 34 + "".join(f"{name:>18}" for name in args.only))
    onnx = any(name not in (*OURS, *DEPLOYED) for name in args.only)
    with tempfile.TemporaryDirectory() as folder:
        for threads, name, batch in product(args.threads, args.net, args.batch):
            os.sched_setaffinity(0, processors[:threads])
            race.THREADED["OMP_NUM_THREADS"] = str(threads)
            label = f"{name} x{batch}, threads: {threads}" + (", train" if args.train else "")
            job = make_job(folder, name, batch, args.train, onnx)
            try:
                found = compare_often(job, args)
            except RuntimeError as error:  # a process crashed
                print(f"{label}: {error}", flush=True)
                continue
            results[label] = {"net": name, "batch": batch, "threads": threads, **found}
            if args.against is None:
                show(label, found)
            else:
                show_ratios(label, found, args)
            write(results, args)
    if args.against is None:
        others = ("stock", "onnxruntime", "deployed")
        pairs = [(name, other) for name in args.only for other in others if name != other]
    else:
        pairs = [(f"new {name}", f"old {name}") for name in args.only]
    summarize(results, pairs)


if __name__ == "__main__":
    main()
