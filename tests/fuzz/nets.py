"""Random nets: every form of a net must give the same numbers and gradients.

Run ``python tests/fuzz/nets.py SEED SECONDS``. It checks the nets SEED, SEED + 1, and so on for so many
seconds, at least one, and with ``--nets COUNT`` at most so many. A net has 3 to 15 layers over one to
three axes, some of them called twice, sums, concatenations, and one to three outputs. It is called at
three sizes, from one element on:

- eager and hybridized, specialized, for every size, and exported and imported, with the gradients of the
  data and of the parameters, for ``grad_req`` write and add;
- as an ONNX file for each size and as one for all, and deployed;
- each layer with a window is compared with the loops over NumPy arrays in ``tests/reference.py``.

A finding is printed with the number of its net and its layers; ``nets.py NUMBER 0`` repeats it. The exit
status is 1 if there was one. Nets run in a separate process, so that a crash is a finding, too.

The nets avoid faults and limits of MXNet 1.9.1, which stock blocks show too:

- a strided pooling with an even window on an axis of one element, or with padding at the end that makes
  up for elements that are missing;
- reading the weight of a transposed convolution that still runs: its first two axes are swapped then;
- transposed convolutions between multiples of 8 channels at several sizes: the weight stays in oneDNN's
  layout for the first;
- training transposed convolutions that are called twice, or that lead from a multiple of 8 channels to
  one, in a group;
- a sum of flattened results of 3-D layers, and flattening them twice;
- a BatchNorm of one channel or one element, if MXNet views its data as 2-D: oneDNN's cache may return
  the code for another layout;
- a concatenation of channels that oneDNN keeps in blocks: multiples of 8 before or after it;
- gradients of strided 3-D convolutions with padding by numbers, of so few elements that each window may
  reach into it;
- gradients of PReLU's slope, of SELU, of max pooling in inference, and of BatchNormReLU, whose result
  MXNet may overwrite;
- gradients of max pooling where elements are equal, because any of them may receive the gradient;
- writing the weight of a 1-D or 3-D convolution that has run in inference;
- "Check failed: !is_view" where gradients are read, which is counted and ends the net: read again, they
  may be wrong;
- gradients of normalizations over fewer than 8 elements, and results of onnxruntime where a mean is
  large beside its standard deviation: rounding decides.
"""

import argparse
import ast
import itertools
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import gluon_same  # isort: skip  before mxnet

import mxnet as mx
import numpy as np
from draw import NORMS, Draw, pads_of, window

import reference
from gluon_same import geometry, nn
from gluon_same.onnx import export_model

NEAR, NEAR_GRADIENTS = 2e-4, 2e-3  # of the largest number
#: Standard deviations. If a normalization subtracts a larger mean, rounding decides.
FAR = 25
#: Gradients may differ by this many times the most that some changes of the data's last bits make of
#: them, up to the second number.
TIMES, MOST, NUDGES = 4, 0.1, 4

#: Beginnings of errors by which a form refuses a net for a documented reason.
REFUSED = ("cannot be exported", "auto_pad")

ACTIVATIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


class Net(nn.HybridBlock):
    """The net of a draw."""

    def __init__(self, draw):
        super().__init__(prefix="net_")
        self.draw, self.blocks = draw, []
        with self.name_scope():
            for name, given, _ in draw.layers:
                self.blocks.append(getattr(nn, name)(**given))
                self.register_child(self.blocks[-1])

    def hybrid_forward(self, F, x):
        values = [x]
        for first, *used in self.draw.steps:
            given = [values[i] for i in used]
            if isinstance(first, int):
                values.append(self.blocks[first](*given))
            else:
                values.append(F.concat(*given, dim=1) if first == "concat" else F.elemwise_add(*given))
        found = [values[i] for i in self.draw.outputs]
        return found if len(found) > 1 else found[0]


class Check:
    """All forms of a net, compared with the eager one."""

    def __init__(self, seed):
        self.draw, self.counts, self.farthest = Draw(seed), Counter(), 0
        random = np.random.RandomState(seed % 2**32)
        mx.random.seed(seed)
        self.net = Net(self.draw)
        self.net.initialize(mx.init.Xavier(magnitude=3))
        self.data = [random.normal(size=shape).astype("float32") for shape in self.draw.shapes]
        self.values = {}
        for name, p in self.net.collect_params().items():
            spread = random.uniform(0.5, 1.5, p.shape)
            p.set_data(
                mx.nd.array(
                    spread if name.endswith(("gamma", "var")) else random.normal(0, 0.3, p.shape)
                )
            )
            self.values[name] = p.data().asnumpy()
        self.nudged = [
            [x * (1 + random.choice([-1, 1], x.shape) * 2**-22).astype("f") for x in self.data]
            for _ in range(NUDGES)
        ]
        self.trained = not any(
            given.get("rate") or name == "BatchNormReLU" or ("Transpose" in name and alone(**given))
            for name, given, _ in self.draw.layers
        )

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.watch()
            self.want = self.forward(self.net)
            if not all(np.isfinite(y).all() and np.abs(y).max() < 1e6 for ys in self.want for y in ys):
                return
            gradients = self.gradients([self.net] * 3) if self.trained else []
            nets = {
                "hybridized": [self.net] * 3,
                "specialized": [gluon_same.specialize(self.net, shape) for shape in self.draw.shapes],
                "served by shape": [gluon_same.specialize(self.net)] * 3,
            }
            self.net.hybridize(static_alloc=bool(self.draw.whole(0, 1)))
            for form, blocks in nets.items():
                self.same(form, [self.forward(net, i)[0] for i, net in enumerate(blocks)])
                self.same_gradients(form, gradients, blocks)
            self.net.export(f"{folder}/net")
            names = [f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0000.params"]
            imported = mx.gluon.SymbolBlock.imports(*names[: 3 if self.values else 2])
            self.same("imported", self.forward(imported))
            self.same_gradients("imported", gradients, [imported] * 3)
            self.net.hybridize(False)
            for i, shape in enumerate(self.draw.shapes):
                block = gluon_same.deploy(self.net, shape, tune=False)
                self.same("deployed", [self.forward(block, i)[0] for _ in range(2)][1:], [self.want[i]])
                self.onnx(f"{folder}/{i}.onnx", shape, [i], dynamic=False)
            self.onnx(f"{folder}/all.onnx", self.draw.shapes[0], range(3), dynamic=True)

    def forward(self, net, only=None):
        """Return the outputs of a net in inference for each size, or for one."""
        found = []
        for x in self.data if only is None else [self.data[only]]:
            y = net(mx.nd.array(x))
            found.append([each.asnumpy() for each in (y if isinstance(y, (list, tuple)) else [y])])
        return found

    def gradients(self, nets, data=None):
        """Train one pass for each size; return gradients of data and parameters after each pass."""
        found = []
        for number, (net, x) in enumerate(zip(nets, map(mx.nd.array, data or self.data))):
            known = net.collect_params()
            for name, p in known.items():
                if p.grad_req == "null":
                    p.set_data(mx.nd.array(self.values[name]))
                elif number == 0:
                    p.grad_req = self.draw.grad_req
                    p.zero_grad()
            x.attach_grad(self.draw.grad_req)
            for _ in range(2 if number == 0 else 1):
                with mx.autograd.record():
                    y = net(x)
                    ys = y if isinstance(y, (list, tuple)) else [y]
                    heads = [
                        mx.nd.array(np.cos(np.arange(y.size) + number).reshape(y.shape)) for y in ys
                    ]
                mx.autograd.backward(list(ys), heads)
            trained = {name: p.grad() for name, p in known.items() if p.grad_req != "null"}
            found.append({name: grad.asnumpy() for name, grad in {"data": x.grad, **trained}.items()})
        for name, p in known.items():
            if p.grad_req == "null":  # training moves running averages
                p.set_data(mx.nd.array(self.values[name]))
        return found

    def same(self, form, got, want=None):
        want = self.want if want is None else want
        for i, (ys, wanted) in enumerate(zip(got, want)):
            for j, (y, z) in enumerate(zip(ys, wanted)):
                self.near(f"{form}, size {i}, output {j}", y, z, NEAR)
        self.counts[form] += 1

    def same_gradients(self, form, want, blocks):
        if not self.trained:
            return
        found, changed = self.gradients(blocks), []
        for i, (got, wanted) in enumerate(zip(found, want)):
            layers = {}
            for name, gradient in wanted.items():
                layers.setdefault(name.rpartition("_")[0], []).append(np.abs(gradient).max())
            for name in wanted:
                if "prelu" in name:
                    continue
                # A bias in front of a BatchNorm has a gradient of rounding: its weight gives the scale.
                most, least = NEAR_GRADIENTS, max(1e-2, *layers[name.rpartition("_")[0]])
                if distance(got[name], wanted[name], least) >= most:
                    changed = changed or [self.gradients(blocks, data) for data in self.nudged]
                    noise = max(distance(each[i][name], got[name], least) for each in changed)
                    most = max(most, min(MOST, TIMES * noise))
                what = f"{form}, size {i}, gradient of {name}"
                self.near(what, got[name], wanted[name], most, least)
        self.counts[f"{form} gradients"] += 1

    def near(self, what, got, want, most, least=1e-2):
        assert got.shape == want.shape, f"{what}: shape {got.shape} instead of {want.shape}"
        error = distance(got, want, least)
        assert error < most, f"{what}: off by {error:.1e}"

    def onnx(self, path, shape, sizes, dynamic):
        import onnxruntime

        form = "ONNX, every size" if dynamic else "ONNX, one size"
        try:
            export_model(self.net, shape, path, dynamic=dynamic, check=False)
        except ValueError as error:
            if not any(words in str(error) for words in REFUSED):
                raise
            self.counts[f"{form}, refused"] += 1
            return
        if self.farthest > FAR:
            self.counts[f"{form}, not compared"] += 1
            return
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        got = [session.run(None, {"data": self.data[i]}) for i in sizes]
        self.same(form, got, [self.want[i] for i in sizes])

    def watch(self):
        """Compare calls of layers with the reference, and look for what multiplies rounding."""
        hooks = []
        for block, (name, given, _) in zip(self.net.blocks, self.draw.layers):
            if "MaxPool" in name or name in NORMS or ("strides" in given and "Separable" not in name):
                call = partial(self.called, name, given)
                hooks.append(block.register_forward_hook(call))
        self.forward(self.net)
        for hook in hooks:
            hook.detach()

    def called(self, name, given, block, inputs, y):
        x, y = inputs[0].asnumpy(), y.asnumpy()  # the result before the weight, which MXNet swaps
        if "MaxPool" in name:
            planes = np.sort(x.reshape(*x.shape[:2], -1), axis=2)
            gaps = np.diff(planes, axis=2)
            self.trained &= not gaps.size or gaps.min() >= 1e-6 * max(np.abs(x).max(), 1e-3)
        if "Conv3D" in name and given["strides"][0] > 1 and not isinstance(given["padding"], str):
            (kernel, *_), (stride, *_), (dilation, *_) = window(3, given)
            self.trained &= x.shape[2] >= 2 * dilation * kernel + stride
        if name in NORMS and not name.startswith("Batch"):
            self.farthest = max(self.farthest, offset(name, given, x))
        want = expected(name, given, block, x.astype("float64")) if "strides" in given else None
        if want is not None:
            self.near(f"{name}, eager", y, want, NEAR)
            self.counts["layers"] += 1


def alone(channels, in_channels, groups, **_):
    """Return whether each group of a transposed convolution leads from 8 channels, or more, to one."""
    return channels == groups and in_channels // groups % 8 == 0


def offset(name, given, x):
    """Return the largest mean that a normalization subtracts, in standard deviations."""
    if name == "GroupNorm":
        x = x.reshape(len(x), given["num_groups"], -1)
    axes = 1 if name == "LayerNorm" else tuple(range(2, x.ndim))
    return np.abs(x.mean(axes) / np.sqrt(x.var(axes) + 1e-5)).max()


def distance(got, want, least=1e-2):
    """Return the largest difference, over the largest number, or over ``least`` if that is larger."""
    return np.abs(got - want).max() / max(np.abs(want).max(), least)


def expected(name, given, block, x):
    """Return a layer's result by the reference, or None if the reference does not have it."""
    pads = pads_of(given, x.shape[2:], name)
    kernel, strides, dilation = window(x.ndim - 2, given)
    if "Pool" in name:
        if given.get("ceil_mode"):
            return None
        kind, same = name[:3].lower(), given["padding"] in ("same", "same_lower")
        whole = given.get("count_include_pad")
        return reference.pooling(x, kernel, strides, pads, kind, not same if whole is None else whole)
    weight = block.weight.data().asnumpy().astype("float64")
    groups = x.shape[1] if "Depthwise" in name else given["groups"]
    if "Transpose" in name:
        extra = given.get("output_padding") or [
            geometry.transposed_padding(d * (k - 1) + 1, s, padding=given["padding"])[1]
            if given["padding"] in ("same", "same_lower")
            else 0
            for k, s, d in zip(kernel, strides, dilation)
        ]
        parts = zip(np.split(x, groups, axis=1), np.split(weight, groups))
        y = np.concatenate(
            [reference.deconvolution(part, w, strides, dilation, pads, extra) for part, w in parts],
            axis=1,
        )
    else:
        y = reference.convolution(x, weight, strides, dilation, pads, groups)
    if given["use_bias"]:
        y += block.bias.data().asnumpy().reshape((-1,) + (1,) * len(kernel))
    return ACTIVATIONS[given["activation"]](y)


def run(first, seconds, most):
    """Check nets in this process. Print the number of each before, and what was checked after."""
    warnings.simplefilter("ignore")
    end = time.monotonic() + seconds
    for seed in itertools.islice(itertools.count(first), most):
        print("net", seed, flush=True)
        check = None
        try:
            check = Check(seed)
            check.run()
        except Exception as error:
            if check and "Check failed: !is_view" in str(error):
                check.counts["!is_view"] += 1
            else:
                found = "FINDING", seed, check and check.draw, traceback.format_exc(limit=-3)
                print(*found, sep="\n", flush=True)
        print("counts", dict(check.counts) if check else {}, flush=True)
        if time.monotonic() > end:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--nets", type=int, default=sys.maxsize)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return run(args.seed, args.seconds, args.nets)
    counts, findings, seed, end = Counter(), 0, args.seed, time.monotonic() + args.seconds
    while True:
        left = max(end - time.monotonic(), 0)
        more = str(args.nets - counts["nets"])
        command = [sys.executable, __file__, str(seed), str(left), "--nets", more, "--inside"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            for line in process.stdout:
                word, _, rest = line.partition(" ")
                if word == "net":
                    seed = int(rest)
                    counts["nets"] += 1
                elif word == "counts":
                    counts.update(ast.literal_eval(rest))
                else:
                    findings += word.strip() == "FINDING"
                    print(line, end="", flush=True)
        if process.returncode:
            findings += 1
            print(f"FINDING\n{seed}\n{Draw(seed)}\nended with status {process.returncode}", flush=True)
        seed += 1
        if time.monotonic() > end or not process.returncode or counts["nets"] >= args.nets:
            break
    print(f"{findings} findings:", dict(counts))
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
