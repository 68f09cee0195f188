"""Compare nets of keras.applications, read by gluon_same.keras.load_model, with Keras itself.

    python benchmarks/keras_models.py --python K2/bin/python [--python K3/bin/python ...]
        [--nets MobileNet VGG16 ...] [--json FILE] [--table FILE]

``--python`` is the interpreter of an environment with TensorFlow and Keras 2.15 or 3. There each
net, with and without its top, gets random weights, is saved and reloaded, and computes outputs at
two sizes in float32 and in float64. Here the file is loaded, and the net runs hybridized,
specialized, and in onnxruntime at both sizes; three nets are trained for a step as well. An error
is the distance from Keras' float64 net, relative to the largest value. It may reach 1e-5, or three
times the distance of Keras' own float32 net.

Results go to the JSON file net by net, and nets that are in it are not run again. The table marks
an error that is too large with ``!`` and lists what failed. ``read`` is the time that h5py takes to
read the arrays of the file, ``load`` that of load_model, and ``ONNX`` that of the export.
"""

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MAKER = HERE / "keras_applications.py"
TRAINED = ["MobileNetV2", "ResNet50", "Xception"]
LIMIT, TIMES = 1e-5, 3
COLUMNS = ["hybridized", "specialized", "ONNX file"]


def distance(got, want):
    """Largest difference relative to the largest value; infinite where the shapes differ."""
    if got.shape != want.shape:
        return float("inf")
    return float(np.abs(got - want).max() / np.abs(want).max())


def read_arrays(path):
    """Read all arrays of a model file with h5py alone."""
    import h5py

    arrays = []
    source = path
    if path.suffix == ".keras":
        with zipfile.ZipFile(path) as packed:
            source = io.BytesIO(packed.read("model.weights.h5"))
    with h5py.File(source, "r") as file:
        file.visititems(lambda _, item: arrays.append(item[()]) if hasattr(item, "dtype") else None)
    return arrays


def timed(call, repeats=1):
    """Least seconds of some calls, and the last result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def forward(net, x):
    """Output of a net for images with the channels last."""
    import mxnet as mx

    return channels_last(net(mx.nd.array(np.moveaxis(x, -1, 1), dtype=x.dtype)))


def channels_last(output):
    array = output.asnumpy()
    return np.moveaxis(array, 1, -1) if array.ndim > 2 else array


def train(path, x):
    """In float64: outputs in training mode, and those for inference after a step of SGD."""
    import mxnet as mx

    from gluon_same.keras import load_model

    net = load_model(str(path))
    net.cast("float64")
    net.hybridize()
    data = mx.nd.array(np.moveaxis(x, -1, 1), dtype="float64")
    with mx.autograd.record():
        outputs = net(data)
        loss = (outputs**2).mean()
    loss.backward()
    for parameter in net.collect_params().values():
        if parameter.grad_req != "null":
            parameter.set_data(parameter.data() - 0.01 * parameter.grad())
    return outputs.asnumpy(), net(data).asnumpy()


class Check:
    """The comparisons of one net: errors by what was run and size, and seconds."""

    def __init__(self, folder):
        self.folder = folder
        with np.load(folder / "arrays.npz") as arrays:
            self.arrays = dict(arrays)
        names = [key.split()[1] for key in self.arrays if key.startswith("float64 ")]
        self.sizes = sorted(int(name) for name in names if name.isdigit())
        self.result = {"seconds": {}, "errors": {}, "failed": {}}

    def file(self, size):
        """The file for a size: that of the first one, unless weights depend on it."""
        kinds = [*self.folder.glob(f"{size}.*"), *self.folder.glob(f"{self.sizes[0]}.*")]
        return next(path for path in kinds if path.suffix in (".h5", ".keras"))

    def record(self, what, size, output):
        error = distance(output, self.arrays[f"float64 {size}"])
        self.result["errors"].setdefault(what, []).append(error)

    def attempt(self, what, call):
        """Run a part; what it raises becomes part of the result."""
        try:
            call()
        except Exception as error:  # of any kind: it is the result
            self.result["failed"][what] = (
                f"{type(error).__name__}: {' '.join(str(error).split())[:2000]}"
            )

    def load(self, size, repeats=1):
        from gluon_same.keras import load_model

        seconds, net = timed(lambda: load_model(str(self.file(size))), repeats)
        net.hybridize()
        return seconds, net

    def run(self):
        self.result["file"] = self.file(self.sizes[0]).suffix
        self.result["floats"] = sum(a.size for a in read_arrays(self.file(self.sizes[0])))
        for size in self.sizes:
            self.record("float32", size, self.arrays[f"float32 {size}"])
        repeats = 3 if self.result["floats"] < 3e7 else 1
        seconds = self.result["seconds"]
        seconds["read"], _ = timed(lambda: read_arrays(self.file(self.sizes[0])), repeats)
        self.attempt("load", lambda: seconds.update(load=self.load(self.sizes[0], repeats)[0]))
        if not self.result["failed"]:
            self.attempt("hybridized", self.run_hybridized)
            self.attempt("specialized", self.run_specialized)
            self.attempt("ONNX file", self.run_onnx)
            if "float64 training" in self.arrays:
                self.attempt("trained", self.run_training)
        return self.result

    def nets(self):
        """The net for each size; the same one where one file serves all."""
        first = None
        for size in self.sizes:
            if first is None or self.file(size) != self.file(self.sizes[0]):
                first = self.load(size)[1]
            yield size, first

    def run_hybridized(self):
        for size, net in self.nets():
            self.record("hybridized", size, forward(net, self.arrays[f"data {size}"]))

    def run_specialized(self):
        from gluon_same import specialize

        for size, net in self.nets():
            x = self.arrays[f"data {size}"]
            specialize(net, (len(x), 3, size, size))
            self.record("specialized", size, forward(net, x))

    def run_onnx(self):
        import onnxruntime

        from gluon_same.onnx import export_model

        path, session = str(self.folder / "net.onnx"), None
        for size, net in self.nets():
            if session is None or self.file(size) != self.file(self.sizes[0]):
                export = partial(export_model, net, (1, 3, size, size), path, dynamic=True, check=False)
                took, _ = timed(export)
                self.result["seconds"].setdefault("ONNX", took)
                session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            x = np.moveaxis(self.arrays[f"data {size}"], -1, 1)
            output = session.run(None, {session.get_inputs()[0].name: np.ascontiguousarray(x)})[0]
            self.record("ONNX file", size, np.moveaxis(output, 1, -1) if output.ndim > 2 else output)

    def run_training(self):
        outputs = train(self.file(self.sizes[0]), self.arrays["data trained"])
        for key, got in zip(("training", "stepped"), outputs):
            want = self.arrays[f"float64 {key}"]
            self.result["errors"][key] = [distance(got, want)]
            self.result["errors"][f"float32 {key}"] = [distance(self.arrays[f"float32 {key}"], want)]


def allowed(errors, kind):
    """The largest errors that a net may show, by size."""
    own = errors.get(f"float32 {kind}" if kind in ("training", "stepped") else "float32", [])
    return [max(LIMIT, TIMES * each) for each in own]


def exceeds(errors, kind):
    """Whether an error of this kind is missing or too large."""
    got = errors.get(kind, [])
    return not got or any(not error <= limit for error, limit in zip(got, allowed(errors, kind)))


def cell(errors, kind):
    if kind not in errors:
        return "failed"
    return ", ".join(f"{each:.1e}" for each in errors[kind]) + ("!" if exceeds(errors, kind) else "")


def seconds_cell(seconds, key):
    return f"{seconds[key]:.2f}" if key in seconds else "-"


def table(results):
    """Results as a table in Markdown, and below it what failed."""
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
    return ", ".join(f"{each:.1e}" for each in errors["float32"])


def listed(python):
    """Version of the Keras of an interpreter, and its nets."""
    done = subprocess.run([python, str(MAKER), "list"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"keras_models.py: --python {python} cannot list keras.applications:\n{done.stderr[-2000:]}"
        )
    version, *names = done.stdout.splitlines()[-1].split()
    return version, names


def run_net(python, net, part):
    """Let Keras compute a net, and compare it here, each in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="keras-net-") as folder:
        train = ["--train"] if net in TRAINED and part == "top" else []
        done = subprocess.run(
            [python, str(MAKER), net, part, folder, *train], capture_output=True, text=True
        )
        if done.returncode:
            return {"error": done.stderr[-1000:]}
        done = subprocess.run(
            [sys.executable, __file__, "--check", folder], capture_output=True, text=True
        )
        if done.returncode:
            return {"error": done.stderr[-1000:]}
        return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    parser.add_argument("--nets", nargs="+", metavar="NAME", help="these alone, in this order")
    parser.add_argument("--parts", nargs="+", choices=["top", "body"], default=["top", "body"])
    parser.add_argument("--json", type=Path, metavar="FILE", help="results, kept net by net")
    parser.add_argument("--table", type=Path, metavar="FILE", help="the table in Markdown")
    parser.add_argument("--again", action="store_true", help="run again what did not pass")
    parser.add_argument("--check", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.check:
        print(json.dumps(Check(options.check).run()))
        return
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
    """Whether all that was run gave numbers within what is allowed."""
    kinds = COLUMNS + [kind for kind in ("training", "stepped") if f"float32 {kind}" in found["errors"]]
    return not found["failed"] and not any(exceeds(found["errors"], kind) for kind in kinds)


if __name__ == "__main__":
    main()
