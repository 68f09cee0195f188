"""Show where the time of a layer in MXNet goes: oneDNN's kernels, its reorders, and the rest.

    python benchmarks/breakdown.py [--filter max] [--batch 8] [--python PyTorch=PATH]

The rows are those of ``layers.py`` with one operator. *limit* is the stock operator with symmetric
padding, and *specialized* is our layer. The parts come from oneDNN's log (``DNNL_VERBOSE=1``):

- *kernel*: oneDNN's convolutions and poolings;
- *reorder*: conversions between plain memory and the layout of the kernel;
- *rest*: all other time of the call, such as MXNet's engine, its own operators and waiting threads.

The last columns are the total times of other runtimes for the same job, as in ``layers.py``. Where the
stock operator's kernel and reorders already take longer, no lowering in MXNet can be as fast.

The table shows medians over the runs of two processes, in milliseconds. Each line of the log adds a few
microseconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import layers

import race
from layer_makers import MAKERS

RUNS, WARM = 30, 10
OURS, OTHERS = ("limit", "specialized"), ("PyTorch", "onnxruntime")
PARTS = ("total", "kernel", "reorder", "rest")
KINDS = {"convolution": "kernel", "pooling_v2": "kernel", "reorder": "reorder"}


def run_alone(name, job):
    """Print one line with the milliseconds of each run, between the lines of oneDNN."""
    run, _ = MAKERS[name](job)
    for _ in range(WARM):
        run()
    for _ in range(RUNS):
        print("RUN start", flush=True)
        start = time.perf_counter()
        run()
        print(f"RUN {(time.perf_counter() - start) * 1e3}", flush=True)


def parse(log):
    """Return the milliseconds of each run by kind: kernel, reorder and total."""
    runs = []
    for line in log.splitlines():
        fields = line.split(",")
        if line == "RUN start":
            runs.append({"kernel": 0.0, "reorder": 0.0})
        elif line.startswith("RUN"):
            runs[-1]["total"] = float(line.split()[1])
        elif runs and "total" not in runs[-1] and fields[:2] == ["dnnl_verbose", "exec"]:
            kind = KINDS.get(fields[3])
            if kind:
                runs[-1][kind] += float(fields[-1])
    return runs


def measure(job, name, python):
    """Return the median milliseconds by kind of two processes, or None if the job fails."""
    env = {**os.environ, **race.THREADED, **race.KEPT, "DNNL_VERBOSE": "1"}
    command = [python, __file__, "--serve", name, "--alone", json.dumps(job)]
    runs = []
    for _ in range(2):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        if done.returncode:
            return None
        runs += parse(done.stdout.decode())
    found = {kind: statistics.median(run[kind] for run in runs) for kind in runs[0]}
    found["rest"] = statistics.median(r["total"] - r["kernel"] - r["reorder"] for r in runs)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    race.add_python(parser, MAKERS)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--filter", default="", help="show the rows whose name contains this")
    parser.add_argument("--batch", type=int, choices=(1, 8), default=8)
    parser.add_argument("--alone", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        run_alone(args.serve, args.alone)
        return
    pythons = dict(args.python)
    print(race.processor())
    columns = [f"{who} {part}" for who in OURS for part in PARTS] + list(OTHERS)
    print(f"| ms | {' | '.join(columns)} |\n" + "| --- " * (len(columns) + 1) + "|")
    for row, batch in layers.JOBS:
        name = row.named(batch)
        if batch != args.batch or args.filter not in name or len(row.layers) > 1:
            continue
        with tempfile.TemporaryDirectory() as folder:
            job = layers.make_job(row, batch, folder)
            found = {
                who: measure(job, who, pythons.get(who, sys.executable)) for who in (*OURS, *OTHERS)
            }
        if None in (found[who] for who in OURS):
            raise SystemExit(f"{name}: MXNet cannot run it; see layers.py --filter '{name}'")
        cells = [f"{found[who][part]:.3f}" for who in OURS for part in PARTS]
        cells += [f"{found[who]['total']:.3f}" if found[who] else "" for who in OTHERS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
