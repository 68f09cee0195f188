"""Damaged and edited model files: each must load as a consistent net, or raise an error.

To check many files, run ``python tests/keras/fuzz.py --count 5000``. They run in a separate
process with a limit on memory, so that a crash is found and reported with its seed.
"""

import argparse
import faulthandler
import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

HERE = Path(__file__).parent

#: An archive, a model in it, and the ending of the file that is damaged.
FILES = [
    ("keras2.15", "sequential", "keras"),
    ("keras2.15", "sequential", "h5"),
    ("keras2.15", "nested", "h5"),
    ("keras2.15", "nested", "weights.h5"),
    ("keras2.15", "shared_models", "legacy.h5"),
    ("keras2.3", "nested", "h5"),
    ("keras2.2", "nested_frozen", "h5"),
    ("keras3", "nested", "keras"),
    ("keras3", "squeeze_excite", "keras"),
    ("keras3", "reshape_between", "keras"),
    ("keras3", "rnn", "h5"),
    ("keras2.15_functions", "functions_that_move", "h5"),
    ("keras2.15_functions", "functions_of_images", "h5"),
    ("keras3_functions", "functions_along_axes", "keras"),
    ("keras3_functions", "encodings", "keras"),
    ("keras3_functions", "functions_of_attention", "keras"),
    ("keras3_functions", "functions_along_open_axes", "keras"),
    ("keras2.15_functions", "functions_of_places", "h5"),
]

#: Values that an edit can write into a configuration.
VALUES = [
    None,
    True,
    False,
    0,
    1,
    2,
    3,
    -1,
    7,
    10**6,
    2**31,
    2**70,
    0.5,
    -1e30,
    1e400,
    "",
    "same",
    "relu",
]
VALUES += ["valid", "channels_first", "x" * 1000, [], [1], [2, 2], [None, 4], {}, {"class_name": "ReLU"}]

#: Seconds after which a file counts as hanging.
PATIENCE = 60

#: Bytes of memory that a process may allocate after its start.
MOST_MEMORY = 2 * 2**30


class Case:
    """One damaged model."""

    def __init__(self, seed, folder):
        self.random = random.Random(seed)
        archive, self.name, self.ending = FILES[seed % len(FILES)]
        with ZipFile(HERE / f"{archive}.zip") as packed:
            self.members = {
                name.split(".", 1)[1]: packed.read(name)
                for name in packed.namelist()
                if name.split(".", 1)[0] == self.name
            }
        self.arrays = self.members["npz"]
        self.how = self.random.choice([self.cut, self.flip, self.blank, self.edit, self.edit])
        self.how()
        self.path = self.write(folder)

    def cut(self):
        content = self.members[self.ending]
        self.members[self.ending] = content[: self.random.randrange(len(content))]

    def flip(self):
        content = bytearray(self.members[self.ending])
        for _ in range(self.random.choice([1, 1, 2, 8, 64])):
            content[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
        self.members[self.ending] = bytes(content)

    def blank(self):
        content = bytearray(self.members[self.ending])
        start, byte = self.random.randrange(len(content)), self.random.choice([0, 255])
        count = self.random.choice([1, 8, 64, 4096])
        content[start : start + count] = bytes([byte]) * len(content[start : start + count])
        self.members[self.ending] = bytes(content)

    def edit(self):
        """Change the configuration, and write it back to the file."""
        text = self.members.get("json")
        if self.ending == "keras":
            with ZipFile(io.BytesIO(self.members["keras"])) as model:
                parts = {name: model.read(name) for name in model.namelist()}
            parts["config.json"] = self.edited(parts["config.json"])
            packed = io.BytesIO()
            with ZipFile(packed, "w", ZIP_STORED) as model:
                for name, content in parts.items():
                    model.writestr(name, content)
            self.members["keras"] = packed.getvalue()
        elif text is not None and self.ending != "h5":
            self.members["json"] = self.edited(text)
        else:
            import h5py

            content = io.BytesIO(self.members["h5"])
            with h5py.File(content, "r+") as model:
                model.attrs["model_config"] = self.edited(model.attrs["model_config"])
            self.members["h5"] = content.getvalue()

    def edited(self, text):
        config = json.loads(text)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            place, key = self.random.choice(list(_places(config)))
            if self.random.random() < 0.15:
                del place[key]
            elif isinstance(place[key], int) and self.random.random() < 0.5:
                place[key] += self.random.choice([-1, 1, 2])
            else:
                place[key] = self.random.choice(VALUES)
        return json.dumps(config)

    def write(self, folder):
        for ending, content in self.members.items():
            Path(folder, f"{self.name}.{ending}").write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
        path = str(Path(folder, f"{self.name}.{self.ending}"))
        pair = self.ending in ("weights.h5", "legacy.h5")
        return (str(Path(folder, f"{self.name}.json")), path) if pair else path


def _places(value):
    """Return every place in a configuration: its container and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from _places(item)


def check(seed):
    """Load and run one damaged model. Return 'refused' or 'served', or raise an AssertionError.

    The outputs of a served net must have the shapes that it declares.
    """
    import mxnet as mx
    import numpy as np

    from gluon_same.keras import load_model

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = Case(seed, folder)
        try:
            net = load_model(case.path)
            with np.load(io.BytesIO(case.arrays)) as arrays:
                given = [arrays[key] for key in arrays.files if key.startswith("run 0 input ")]
            if any(n is not None and n > 64 for shape in net.plan.output_shapes for n in shape):
                return "served"  # too large to be run here
            data = [mx.nd.array(np.moveaxis(x, -1, 1) if x.ndim > 2 else x) for x in given]
            outputs = net(*data)
            outputs = outputs if isinstance(outputs, list) else [outputs]
            shapes = [output.shape for output in outputs]
            mx.nd.waitall()
        except (ValueError, OSError) as error:
            assert str(error), f"seed {seed}: an error without a message"
            return "refused"
    assert len(shapes) == len(net.plan.output_shapes), f"seed {seed}"
    for shape, said in zip(shapes, net.plan.output_shapes):
        fits = len(shape) == len(said) and all(n in (None, m) for n, m in zip(said, shape))
        assert fits, f"seed {seed}: {shape} instead of {said}, which the net declares"
    return "served"


def run(first, count):
    """Check seeds in this process, with a limit on memory."""
    import gluon_same.keras  # noqa: F401  before the limit, so that its own memory does not count

    with open("/proc/self/statm") as file:
        start = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (start + MOST_MEMORY, start + MOST_MEMORY))
    for seed in range(first, first + count):
        print(seed, flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        print(check(seed), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        run(args.first, args.count)
        return
    found, bad, at, end = {}, [], args.first, args.first + args.count
    while at < end:
        command = [sys.executable, __file__, "--inside", "--first", str(at), "--count", str(end - at)]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stdout.split()
        for word in lines:
            found[word] = found.get(word, 0) + (not word.isdigit())
        last = int([word for word in lines if word.isdigit()][-1]) if lines else at
        if done.returncode:
            bad.append((last, done.returncode, done.stderr.strip().splitlines()[-1:]))
            print("seed, status, error:", *bad[-1], flush=True)
        at = last + 1
    print({word: n for word, n in found.items() if n}, "crashes and faults:", len(bad))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
