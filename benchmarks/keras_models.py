"""Compare nets of keras.applications, read by gluon_same.keras.load_model, with Keras.

    python benchmarks/keras_models.py --python K2/bin/python [--python K3/bin/python ...]
        [--nets MobileNet VGG16 ...] [--json FILE] [--csv FILE]

``--python`` is the interpreter of an environment with TensorFlow and Keras 2.15 or 3. There, each
net, with and without its top, gets random weights, is saved and reloaded, and computes outputs at
two sizes in float32 and in float64. This script loads the file, and runs the net hybridized,
specialized, and in onnxruntime at both sizes. It also trains three nets for one step. An error is the
distance from Keras' float64 net, relative to the largest value. The limit is 1e-5, or three times the
distance of Keras' float32 net.

Results are written to the JSON file net by net, with seconds: of h5py to read the arrays of the file, of
load_model, and of the export. Nets that the file already contains are not run again. The table shows the
larger error of the two sizes.
"""

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAKER, CHECKER = HERE / "make_application.py", HERE / "keras_check.py"
TRAINED = ["MobileNetV2", "ResNet50", "Xception"]
LIMIT, TIMES = 1e-5, 3
COLUMNS, TRAINING = ["hybridized", "specialized", "ONNX file"], ["training", "stepped"]


def allowed(errors, kind):
    """Return the largest allowed errors of a net, by size."""
    own = errors.get(f"float32 {kind}" if kind in TRAINING else "float32", [])
    return [max(LIMIT, TIMES * each) for each in own]


def exceeds(errors, kind):
    """Return whether an error of this kind is missing or too large."""
    got = errors.get(kind, [])
    return not got or any(not error <= limit for error, limit in zip(got, allowed(errors, kind)))


def passed(found):
    """Return whether all errors are within the limits."""
    kinds = COLUMNS + [kind for kind in TRAINING if f"float32 {kind}" in found["errors"]]
    return not found["failed"] and not any(exceeds(found["errors"], kind) for kind in kinds)


def table(results):
    """Return the rows of the table, the first with the titles: the larger error of the two sizes."""
    yield ["Keras", "net", "file", "weights", "Keras in float32", *COLUMNS, "passed"]
    for key, found in results.items():
        largest = {kind: f"{max(errors):.1e}" for kind, errors in found["errors"].items()}
        errors = [largest.get(kind, "") for kind in ("float32", *COLUMNS)]
        weights, verdict = f"{found['floats'] / 1e6:.1f} M", "yes" if passed(found) else "no"
        yield [*key.split(" ", 1), found["file"], weights, *errors, verdict]


def remarks(results):
    """Return what the table does not show: failures, and errors after training."""
    for key, found in results.items():
        for what, words in found["failed"].items():
            yield f"{key}, {what}: {words[:300]}"
        if "training" in found["errors"]:
            training, stepped = (max(found["errors"][kind]) for kind in TRAINING)
            yield f"{key}: {training:.1e} in training mode, {stepped:.1e} after a step of SGD"


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
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to a file")
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
    with open(options.csv, "w", newline="") if options.csv else nullcontext(sys.stdout) as file:
        csv.writer(file, lineterminator="\n").writerows(table(results))
    for line in remarks(results):
        print(line)


if __name__ == "__main__":
    main()
