"""Compare nets of keras.applications, read by gluon_same.keras.load_model, with Keras.

    python benchmarks/keras_models.py --python K2/bin/python [--python K3/bin/python ...]
        [--nets MobileNet VGG16 ...] [--json FILE] [--table FILE]

``--python`` is the interpreter of an environment with TensorFlow and Keras 2.15 or 3. There, each
net, with and without its top, gets random weights, is saved and reloaded, and computes outputs at
two sizes in float32 and in float64. This script loads the file, and runs the net hybridized,
specialized, and in onnxruntime at both sizes. It also trains three nets for one step. An error is the
distance from Keras' float64 net, relative to the largest value. The limit is 1e-5, or three times the
distance of Keras' float32 net.

Results are written to the JSON file net by net, and nets that it already contains are not run again.
The table shows the larger error of the two sizes, marks errors that are too large with ``!``, and lists
failures. ``read`` is the time that h5py takes to read the arrays of the file, ``load`` is the time of
load_model, and ``ONNX`` is the time of the export.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAKER, CHECKER = HERE / "make_application.py", HERE / "keras_check.py"
TRAINED = ["MobileNetV2", "ResNet50", "Xception"]
LIMIT, TIMES = 1e-5, 3
COLUMNS = ["hybridized", "specialized", "ONNX file"]


def allowed(errors, kind):
    """Return the largest allowed errors of a net, by size."""
    own = errors.get(f"float32 {kind}" if kind in ("training", "stepped") else "float32", [])
    return [max(LIMIT, TIMES * each) for each in own]


def exceeds(errors, kind):
    """Return whether an error of this kind is missing or too large."""
    got = errors.get(kind, [])
    return not got or any(not error <= limit for error, limit in zip(got, allowed(errors, kind)))


def cell(errors, kind):
    if kind not in errors:
        return "failed"
    return f"{max(errors[kind]):.1e}" + ("!" if exceeds(errors, kind) else "")


def seconds_cell(seconds, key):
    return f"{seconds[key]:.2f}" if key in seconds else "-"


def table(results):
    """Return the results as a table in Markdown, with the failures below it."""
    lines = [
        f"| Keras | net | file | weights | Keras float32 | {' | '.join(COLUMNS)} "
        "| read, s | load, s | ONNX, s |",
        "| --- " * 11 + "|",
    ]
    failed, training = [], []
    for key, found in results.items():
        keras, net = key.split(" ", 1)
        errors, seconds = found["errors"], found["seconds"]
        cells = [keras, net, found["file"], f"{found['floats'] / 1e6:.1f} M", cell_of_own(errors)]
        cells += [cell(errors, kind) for kind in COLUMNS]
        cells += [seconds_cell(seconds, kind) for kind in ("read", "load", "ONNX")]
        lines.append("| " + " | ".join(cells) + " |")
        failed += [f"- {key}, {what}: {words[:300]}" for what, words in found["failed"].items()]
        if "training" in errors:
            cells = [keras, net, *(cell(errors, kind) for kind in ("training", "stepped"))]
            training.append("| " + " | ".join(cells) + " |")
    if training:
        head = ["| Keras | net | training mode | after a step of SGD |", "| --- | --- | --- | --- |"]
        lines += ["", *head, *training]
    return "\n".join([*lines, *([""] if failed else []), *failed])


def cell_of_own(errors):
    return f"{max(errors['float32']):.1e}"


def listed(python):
    """Return the Keras version of an interpreter, and its nets."""
    done = subprocess.run([python, str(MAKER), "list"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"keras_models.py: --python {python} cannot list keras.applications:\n{done.stderr[-2000:]}"
        )
    version, *names = done.stdout.splitlines()[-1].split()
    return version, names


def interpreter(path):
    """Parse an argument that is the path of a program."""
    if not shutil.which(path):
        raise argparse.ArgumentTypeError(f"{path!r} is not a program: give the python of an environment")
    return path


def run_net(python, net, part):
    """Compute a net in Keras and compare it with ours, each in a separate process."""
    with tempfile.TemporaryDirectory(prefix="keras-net-") as folder:
        train = ["--train"] if net in TRAINED and part == "top" else []
        done = subprocess.run(
            [python, str(MAKER), net, part, folder, *train], capture_output=True, text=True
        )
        if done.returncode:
            return {"error": done.stderr[-1000:]}
        done = subprocess.run([sys.executable, str(CHECKER), folder], capture_output=True, text=True)
        if done.returncode:
            return {"error": done.stderr[-1000:]}
        return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], type=interpreter, metavar="PATH")
    parser.add_argument("--nets", nargs="+", metavar="NAME", help="only these nets, in this order")
    parser.add_argument("--parts", nargs="+", choices=["top", "body"], default=["top", "body"])
    parser.add_argument("--json", type=Path, metavar="FILE", help="results, kept net by net")
    parser.add_argument("--table", type=Path, metavar="FILE", help="the table in Markdown")
    parser.add_argument("--again", action="store_true", help="run again what did not pass")
    options = parser.parse_args()
    results = {}
    if options.json and options.json.exists():
        results = json.loads(options.json.read_text())
    for python in options.python:
        version, names = listed(python)
        unknown = set(options.nets or ()) - set(names)
        jobs = [(net, part) for net in options.nets or names for part in options.parts]
        jobs = [job for job in jobs if job[0] not in unknown]
        for i, (net, part) in enumerate(jobs):
            key = f"{version} {net}" + (" without top" if part == "body" else "")
            if key in results and not (options.again and not passed(results[key])):
                continue
            start = time.time()
            found = run_net(python, net, part)
            if "error" in found:
                print(f"{i + 1}/{len(jobs)} {key}: {found['error']}", flush=True)
                continue
            results[key] = found
            verdict = "passed" if passed(found) else f"FAILED {found['failed'] or found['errors']}"
            print(f"{i + 1}/{len(jobs)} {key}: {verdict[:600]}, {time.time() - start:.0f} s", flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1))
    text = table(results)
    print(text)
    if options.table:
        options.table.write_text(text + "\n")


def passed(found):
    """Return whether all errors are within the limits."""
    kinds = COLUMNS + [kind for kind in ("training", "stepped") if f"float32 {kind}" in found["errors"]]
    return not found["failed"] and not any(exceeds(found["errors"], kind) for kind in kinds)


if __name__ == "__main__":
    main()
