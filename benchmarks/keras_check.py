"""Compare one net with the results of Keras. keras_models.py runs this in a separate process.

    python keras_check.py FOLDER

reads what make_application.py wrote and prints errors and seconds as JSON.
"""

import io
import json
import sys
import time
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

RATE = 0.01  # of make_application.py


def distance(got, want):
    """Return the largest difference over the largest value, or infinity if the shapes differ."""
    if got.shape != want.shape:
        return float("inf")
    return float(np.abs(got - want).max() / np.abs(want).max())


def read_arrays(path):
    """Read all arrays of a model file with only h5py."""
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
    """Return the fewest seconds of some calls, and the last result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def forward(net, x):
    """Return the output of a net for images with the channels last."""
    import mxnet as mx

    return channels_last(net(mx.nd.array(np.moveaxis(x, -1, 1), dtype=x.dtype)))


def channels_last(output):
    array = output.asnumpy()
    return np.moveaxis(array, 1, -1) if array.ndim > 2 else array


def train(path, x):
    """Return outputs in training mode, and in inference after one step of SGD, in float64."""
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
            parameter.set_data(parameter.data() - RATE * parameter.grad())
    return outputs.asnumpy(), net(data).asnumpy()


class Check:
    """The comparisons of one net: its errors by form and size, and seconds."""

    def __init__(self, folder):
        self.folder = folder
        with np.load(folder / "arrays.npz") as arrays:
            self.arrays = dict(arrays)
        names = [key.split()[1] for key in self.arrays if key.startswith("float64 ")]
        self.sizes = sorted(int(name) for name in names if name.isdigit())
        self.result = {"seconds": {}, "errors": {}, "failed": {}}

    def file(self, size):
        """Return the file for a size: the first file, unless weights depend on the size."""
        kinds = [*self.folder.glob(f"{size}.*"), *self.folder.glob(f"{self.sizes[0]}.*")]
        return next(path for path in kinds if path.suffix in (".h5", ".keras"))

    def record(self, what, size, output):
        error = distance(output, self.arrays[f"float64 {size}"])
        self.result["errors"].setdefault(what, []).append(error)

    def attempt(self, what, call):
        """Run a part. An error that it raises becomes part of the result."""
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
        """Return the net for each size; one net if one file serves all sizes."""
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
            block = specialize(net, (len(x), 3, size, size))
            block.hybridize()
            self.record("specialized", size, forward(block, x))

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


if __name__ == "__main__":
    print(json.dumps(Check(Path(sys.argv[1])).run()))
