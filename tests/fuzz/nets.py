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

- a strided pooling with an even window on an axis of one element;
- reading the weight of a transposed convolution that still runs: its first two axes are swapped then;
- training transposed convolutions that are called twice, or from a multiple of 8 channels to one;
- a concatenation of channels that oneDNN keeps in blocks: multiples of 8 before or after it;
- gradients of PReLU's slope, of SELU, and of max pooling in inference;
- gradients of max pooling where elements are equal, because any of them may receive the gradient;
- writing the weight of a 1-D or 3-D convolution that has run in inference;
- "Check failed: !is_view" where gradients are read, which is counted and is no finding;
- gradients of normalizations over fewer than 8 elements, where rounding decides.
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
from math import prod
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import gluon_same  # isort: skip  before mxnet

import mxnet as mx
import numpy as np

import reference
from gluon_same import geometry, nn
from gluon_same.onnx import export_model

BATCH = 2
MOST = {1: 17, 2: 11, 3: 5}  # elements of an axis
FEW = 8  # elements for which a normalization is well-conditioned
NEAR, NEAR_GRADIENTS = 2e-4, 2e-3  # of the largest number

#: Beginnings of errors by which a form refuses a net for a documented reason.
REFUSED = ("cannot be exported", "auto_pad")

ACTIVATIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


class Draw:
    """A random net: its layers, as code, and the steps that call them."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed % 2**32)
        self.ndim = self.pick([1, 2, 2, 3])
        sizes = [tuple(self.whole(1, MOST[self.ndim]) for _ in range(self.ndim)) for _ in range(3)]
        self.layers, self.steps, self.values = [], [], [(self.pick([1, 3, 4, 8]), sizes)]
        self.shapes = [(BATCH, self.values[0][0], *size) for size in sizes]
        self.grad_req = self.pick(["write", "add"])
        wanted = self.whole(3, 15)
        for _ in range(20 * wanted):
            if len(self.steps) < wanted:
                self.step()
        ends = set(range(1, len(self.values))) - {i for _, *used in self.steps for i in used}
        others = [i for i in range(1, len(self.values)) if i not in ends and self.whole(0, 5) == 0]
        self.outputs = sorted(ends | set(others[:2]))

    def pick(self, values):
        return values[self.random.randint(len(values))]

    def whole(self, least, most):
        return int(self.random.randint(least, most + 1))

    def each(self, least, most):
        return tuple(self.whole(least, most) for _ in range(self.ndim))

    def step(self):
        """Try to add a step: a new layer, an earlier one again, a sum or a concatenation."""
        at = len(self.values) - 1 if self.whole(0, 3) else self.whole(0, len(self.values) - 1)
        (channels, sizes), kind = self.values[at], self.whole(0, 11)
        if kind < 2:
            for other, (more, same) in enumerate(self.values[:-1]):
                blocked = 0 in (more % 8, channels % 8, (more + channels) % 8)
                if other == at or same != sizes or (blocked if kind else more != channels):
                    continue
                grown = channels + more if kind else channels
                self.add((("+", "concat")[kind], at, other), grown, sizes)
                break
        elif kind == 2 and self.layers:
            number = self.whole(0, len(self.layers) - 1)
            name, given, inner = self.layers[number]
            found = self.sizes(name, given, sizes)
            if inner in (channels, None) and found and "Transpose" not in name:
                self.call(number, at, found)
        else:
            name, given = self.layer(channels, sizes)
            found = self.sizes(name, given, sizes)
            if found:
                free = "Pool" in name or "Padding" in name or "Cropping" in name or "ReLU" in name
                self.layers.append((name, given, None if free or name == "Activation" else channels))
                self.call(len(self.layers) - 1, at, found)

    def call(self, number, at, sizes):
        given = self.layers[number][1]
        grown = self.values[at][0] * given.get("depth_multiplier", 1)
        self.add((number, at), given.get("channels", grown), sizes)

    def add(self, step, channels, sizes):
        self.steps.append(step)
        self.values.append((channels, sizes))

    def padding(self, kernel, conv):
        words = ["same"] * 4 + ["same_lower"] * 3 + ["valid"] + ["causal"] * (conv and self.ndim == 1)
        kind, most = self.whole(0, 5), [k if conv else k - 1 for k in kernel]
        if kind == 0:
            return tuple(self.whole(0, m) for m in most)
        return (
            self.pick(words) if kind > 1 else tuple((self.whole(0, m), self.whole(0, m)) for m in most)
        )

    def layer(self, channels, sizes):
        """Return a random layer for data of these channels: its name, and its arguments."""
        ndim, kernel, strides = self.ndim, self.each(1, 4 if self.ndim < 3 else 3), self.each(1, 3)
        kinds = ["Conv", "Conv", "Transpose", "MaxPool", "AvgPool", "AvgPool", "Padding", "Cropping"]
        kinds += ["BatchNorm", "Activation", "ReLU6", "LeakyReLU", "InstanceNorm", "GlobalAvgPool"]
        kind = self.pick(kinds + ["Depthwise", "Depthwise", "Separable"] * (ndim < 3))
        strides = self.pick([(1,) * ndim, strides])
        if kind in ("MaxPool", "AvgPool"):
            given = dict(pool_size=kernel, strides=strides, padding=self.padding(kernel, False))
            if isinstance(given["padding"], tuple) and not isinstance(given["padding"][0], tuple):
                given["ceil_mode"] = bool(self.whole(0, 1))
            if kind == "AvgPool":
                given["count_include_pad"] = self.pick([None, True, False])
            return f"{kind}{ndim}D", given
        if kind in ("Padding", "Cropping"):
            amounts = tuple((self.whole(0, 2), self.whole(0, 2)) for _ in range(ndim))
            amounts = amounts[0] if ndim == 1 else amounts
            word, name = ("padding", "Zero") if kind == "Padding" else ("cropping", "")
            return f"{name}{kind}{ndim}D", {word: amounts}
        if kind in ("BatchNorm", "InstanceNorm"):
            if min(map(prod, sizes)) * (BATCH if kind == "BatchNorm" else 1) >= FEW:
                return kind, {}
            return "BatchNorm", {"use_global_stats": True}
        if kind == "Activation":
            return kind, {"activation": self.pick(["relu", "tanh", "sigmoid", "softrelu"])}
        if kind == "LeakyReLU":
            return kind, {"alpha": 0.25}
        if kind in ("ReLU6", "GlobalAvgPool"):
            return (f"{kind}{ndim}D" if kind[0] == "G" else kind), {}
        given = dict(kernel_size=kernel, strides=strides, padding=self.padding(kernel, kind[0] != "T"))
        given["use_bias"], given["in_channels"] = bool(self.whole(0, 1)), channels
        given["activation"] = self.pick([None, None, *ACTIVATIONS])
        given["dilation"] = (
            self.each(1, 2) if self.whole(0, 3) == 0 and kind + str(ndim) != "Transpose3" else 1
        )
        if kind == "Depthwise":
            return f"DepthwiseConv{ndim}D", {**given, "depth_multiplier": self.pick([1, 1, 2])}
        given["channels"] = self.pick([1, 2, 3, 4, 6, 8, 16])
        if kind == "Separable":
            return f"SeparableConv{ndim}D", given
        count = self.pick([1, 1, 1, 2, channels])
        given["groups"] = count if channels % count == given["channels"] % count == 0 else 1
        if kind == "Conv":
            return f"Conv{ndim}D", given
        if not isinstance(given["padding"], str):
            given["output_padding"] = tuple(self.whole(0, s - 1) for s in strides)
        return f"Conv{ndim}DTranspose", given

    def sizes(self, name, given, sizes):
        """Return the output sizes of a layer, or None if it does not fit, or is to be avoided."""
        found = [self.size(name, given, size) for size in sizes]
        fits = all(size and min(size) >= 1 and max(size) <= 2 * MOST[self.ndim] for size in found)
        return found if fits else None

    def size(self, name, given, size):
        if name.startswith("Global"):
            return (1,) * self.ndim
        if "Padding" in name or "Cropping" in name:
            amounts = given.get("padding", given.get("cropping"))
            amounts = [amounts] if self.ndim == 1 else amounts
            return tuple(
                n + (b + a) * (1 if "Padding" in name else -1) for n, (b, a) in zip(size, amounts)
            )
        if name in ("InstanceNorm", "BatchNorm") and not given:
            return size if prod(size) * (BATCH if name[0] == "B" else 1) >= FEW else None
        if "strides" not in given:
            return size
        out = []
        for n, w, s, d, pad in zip(size, *window(self.ndim, given), pads_of(given, size, name)):
            span, extra = d * (w - 1) + 1, 0
            if "Transpose" in name:
                same = isinstance(given["padding"], str) and given["padding"] != "valid"
                out.append(n * s if same else (n - 1) * s + span - sum(pad))
                continue
            if "Pool" in name and n == 1 and s > 1 and w % 2 == 0:
                return None
            if given.get("ceil_mode"):
                extra = -(n + sum(pad) - span) % s
                if n + sum(pad) < span or extra >= span - pad[1]:
                    return None
            out.append((n + sum(pad) + extra - span) // s + 1)
        if "Transpose" in name:
            out = [n + more for n, more in zip(out, given.get("output_padding", [0] * 3))]
        return tuple(out)

    def __str__(self):
        lines = [f"{self.shapes}, grad_req={self.grad_req!r}"]
        for i, (first, *used) in enumerate(self.steps, 1):
            names = ", ".join(f"x{each}" for each in used)
            if isinstance(first, int):
                name, given, _ = self.layers[first]
                code = ", ".join(f"{key}={value!r}" for key, value in given.items())
                lines.append(f"x{i} = layers[{first}]({names})  # nn.{name}({code})")
            else:
                lines.append(f"x{i} = {first}({names})")
        return "\n".join([*lines, f"return {', '.join(f'x{i}' for i in self.outputs)}"])


def window(ndim, given):
    kernel = given.get("kernel_size", given.get("pool_size"))
    dilation = given.get("dilation", 1)
    return kernel, given["strides"], dilation if isinstance(dilation, tuple) else (dilation,) * ndim


def pads_of(given, size, name):
    """Return the padding before and after each axis, or what a transposed convolution cuts off."""
    padding, (kernel, strides, dilation) = given["padding"], window(len(size), given)
    if padding in ("same", "same_lower") and "Transpose" in name:
        spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
        return [geometry.transposed_padding(k, s, padding=padding)[0] for k, s in zip(spans, strides)]
    if padding in ("same", "same_lower"):
        return reference.same_pads(size, kernel, strides, dilation, padding)
    if isinstance(padding, str):
        return [(dilation[0] * (kernel[0] - 1) * (padding == "causal"), 0)] * len(size)
    return [pad if isinstance(pad, tuple) else (pad, pad) for pad in padding]


class Net(nn.HybridBlock):
    """The net of a draw."""

    def __init__(self, draw):
        super().__init__(prefix="net_")
        self.draw, self.blocks = draw, []
        with self.name_scope():
            for number, (name, given, _) in enumerate(draw.layers):
                if name in ("BatchNorm", "InstanceNorm"):
                    given = {**given, "in_channels": draw.layers[number][2]}
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
        self.draw, self.counts = Draw(seed), Counter()
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
        self.trained = not any(
            "Transpose" in name and given["channels"] == 1 and given["in_channels"] % 8 == 0
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

    def gradients(self, nets):
        """Train one pass for each size; return gradients of data and parameters after each pass."""
        found = []
        for number, (net, x) in enumerate(zip(nets, map(mx.nd.array, self.data))):
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
            trained = {name: p.grad().asnumpy() for name, p in known.items() if p.grad_req != "null"}
            found.append({"data": x.grad.asnumpy(), **trained})
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
        for i, (got, wanted) in enumerate(zip(self.gradients(blocks), want)):
            for name in wanted:
                self.near(
                    f"{form}, size {i}, gradient of {name}", got[name], wanted[name], NEAR_GRADIENTS
                )
        self.counts[f"{form} gradients"] += 1

    def near(self, what, got, want, most):
        assert got.shape == want.shape, f"{what}: shape {got.shape} instead of {want.shape}"
        error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-2)
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
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        got = [session.run(None, {"data": self.data[i]}) for i in sizes]
        self.same(form, got, [self.want[i] for i in sizes])

    def watch(self):
        """Compare calls of layers with the reference, and look for equal elements in max pooling."""
        hooks = []
        for block, (name, given, _) in zip(self.net.blocks, self.draw.layers):
            if "strides" in given and "Separable" not in name:
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
        want = expected(name, given, block, x.astype("float64"))
        if want is not None:
            self.near(f"{name}, eager", y, want, NEAR)
            self.counts["layers"] += 1


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
