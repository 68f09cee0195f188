"""Compare deployed nets that are imported from ONNX files with onnxruntime on the same files.

    python benchmarks/make_onnx.py ghostnet_100 old files/ghostnet_100     # with the Python of PyTorch
    python benchmarks/imported.py files/*/model.onnx [--seconds 1] [--no-tune] [--csv FILE]

Requires onnxruntime. Each file has a process of its own, where these take turns with the inputs in
``x0.npy`` beside the file, of a batch of one, and one thread:

- *stock*: the imported net, hybridized with ``static_alloc`` and ``static_shape``;
- *deployed*: ``gluon_same.deploy`` of it; *onnxruntime*: the file.

Times are the least CPU time of all turns. An error is the largest difference of the deployed net from
onnxruntime, over the largest number.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

FORMS = ("stock", "deployed", "onnxruntime")
COLUMNS = ("net", *(f"{form}, ms" for form in FORMS), "error", "operators")


def serve(path, seconds, tune):
    """Print the row of one file as JSON."""
    import gluon_same  # isort: skip  first: it readies NumPy for MXNet
    import mxnet as mx
    import onnxruntime
    import zoo

    import race
    from gluon_same.onnx import import_model

    values = np.load(path.with_name("x0.npy"))[:1]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    (given,), net = session.get_inputs(), import_model(path)
    x = race.in_thread(mx.nd.array, values)
    block = race.in_thread(partial(gluon_same.deploy, net, x.shape, tune=tune))
    net.hybridize(static_alloc=True, static_shape=True)
    runs = [lambda: net(x), lambda: block(x), lambda: session.run(None, {given.name: values})]
    got, want = zoo.as_numpy(block(x)), session.run(None, {given.name: values})
    row = {"error": zoo.error(got, want), "operators": block.report.rows[-1].after}
    least = zoo.least_times(dict(zip(FORMS, runs)), seconds, 1)
    row.update((f"{form}, ms", 1000 * seconds) for form, seconds in least.items())
    print(json.dumps(row))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds for each form")
    parser.add_argument("--no-tune", action="store_true", help="deploy by fixed rules")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the rows")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.files[0], args.seconds, not args.no_tune)
        return
    rows, env = [], {**os.environ, "OMP_NUM_THREADS": "1", "MXNET_SUBGRAPH_VERBOSE": "0"}
    for path in args.files:
        command = [sys.executable, __file__, str(path), "--serve", "--seconds", str(args.seconds)]
        command += ["--no-tune"] if args.no_tune else []
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        name = path.parent.name
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}", flush=True)
            continue
        row = {"net": name, **json.loads(done.stdout.splitlines()[-1])}
        rows.append({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()})
        times = " ".join(f"{row[f'{form}, ms']:8.2f}" for form in FORMS)
        over = row["deployed, ms"] / row["onnxruntime, ms"]
        print(f"{name:<34}{times} {over:6.2f} of onnxruntime, error {row['error']:.1e}", flush=True)
    for form in ("stock", "onnxruntime"):
        ratios = [float(row["deployed, ms"]) / float(row[f"{form}, ms"]) for row in rows]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"deployed / {form:<13}{mean:6.2f}, at most {max(ratios):.2f}, of {len(ratios)} nets")
    if args.csv:
        with open(args.csv, "w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
