"""Random nets, as a list of layers and of steps that call them."""

from math import prod

import numpy as np

import reference
from gluon_same import geometry

BATCH = 2
MOST = {1: 17, 2: 11, 3: 5}  # elements of an axis
FEW = 8  # elements for which a normalization is well-conditioned

#: Kinds of layers for feature maps, the more frequent ones repeated.
KINDS = (
    *("Conv", "Conv", "Conv", "Transpose", "Transpose", "MaxPool", "MaxPool", "AvgPool", "AvgPool"),
    *("GlobalAvgPool", "GlobalMaxPool", "ZeroPadding", "Cropping", "UpSampling"),
)
#: Those that some numbers of axes have only.
MORE_KINDS = {
    1: ("DepthwiseConv", "SeparableConv", "Reshape"),
    2: ("DepthwiseConv", "DepthwiseConv", "SeparableConv", "ReflectionPad"),
    3: (),
}
#: Kinds of layers that keep all sizes, also for arrays without spatial axes.
KEEPING = (
    *("BatchNorm", "BatchNorm", "InstanceNorm", "GroupNorm", "LayerNorm", "Dropout"),
    *("Activation", "ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "SELU", "Swish", "GELU"),
    "HybridLambda",
)
NORMS = ("BatchNorm", "BatchNormReLU", "InstanceNorm", "GroupNorm", "LayerNorm")


class Draw:
    """A random net.

    Attributes
    ----------
    layers : list of (str, dict, int or None)
        The class of each layer, its arguments, and the channels that it requires.
    steps : list of tuple
        A number of a layer or the name of an operation, and the numbers of the values that it receives.
    values : list of (int, list of tuple of int)
        Channels and the three sizes of the data, and of the result of each step.
    outputs : list of int
        Numbers of the values that the net returns.
    """

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
                unlike = more != channels or (self.ndim == 3 and sizes[0] == ())
                if other == at or same != sizes or (blocked if kind else unlike):
                    continue
                grown = channels + more if kind else channels
                self.add((("+", "concat")[kind], at, other), (grown, sizes))
                break
        elif kind == 2 and self.layers:
            number = self.whole(0, len(self.layers) - 1)
            name, given, inner = self.layers[number]
            if inner in (channels, None) and "Transpose" not in name and name != "Dense":
                self.add((number, at), self.after(name, given, channels, sizes))
        else:
            name, given = self.layer(channels, sizes)
            found = self.after(name, given, channels, sizes)
            if found:
                known = name in NORMS or "target_shape" in given or "in_channels" in given
                self.layers.append((name, given, channels if known else None))
                self.add((len(self.layers) - 1, at), found)

    def add(self, step, value):
        if value:
            self.steps.append(step)
            self.values.append(value)

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
        if sizes[0] == sizes[1] == sizes[2] and self.whole(0, 3) == 0:
            if self.whole(0, 2) == 0:
                return "Flatten", {}
            units, given = self.pick([1, 3, 8, 16]), {"in_units": channels * prod(sizes[0])}
            return "Dense", dict(units=units, activation=self.pick([None, "relu", "tanh"]), **given)
        if sizes[0] == () or self.whole(0, 2) == 0:
            return self.keeping(channels, sizes)
        kind = self.pick(KINDS + MORE_KINDS[self.ndim])
        name = f"{kind}{self.ndim}D"
        if "Conv" in kind or kind == "Transpose":
            return self.convolution(kind, channels, sizes)
        if kind in ("MaxPool", "AvgPool"):
            kernel = self.each(1, 4 if self.ndim < 3 else 3)
            given = dict(pool_size=kernel, strides=self.strides(), padding=self.padding(kernel, False))
            if isinstance(given["padding"], tuple) and not isinstance(given["padding"][0], tuple):
                given["ceil_mode"] = bool(self.whole(0, 1))
            if kind == "AvgPool":
                given["count_include_pad"] = self.pick([None, True, False])
            return name, given
        if kind in ("ZeroPadding", "Cropping"):
            amounts = tuple((self.whole(0, 2), self.whole(0, 2)) for _ in range(self.ndim))
            amounts = amounts[0] if self.ndim == 1 else amounts
            return name, {"padding" if kind == "ZeroPadding" else "cropping": amounts}
        if kind == "ReflectionPad":
            return name, {"padding": self.whole(1, 2)}
        if kind == "UpSampling":
            how = {"interpolation": "bilinear"} if self.ndim == 2 and self.whole(0, 1) else {}
            return name, {"size": self.each(1, 2), **how}
        if kind == "Reshape":
            return kind, {"target_shape": (self.pick([1, 2, channels]), -1)}
        return name, {}

    def keeping(self, channels, sizes):
        """Return a random layer that keeps all sizes."""
        more = ("BatchNormReLU",) * (len(sizes[0]) == 2)  # the only one with that number of axes
        kind, least = self.pick(KEEPING + more), min(map(prod, sizes))
        if kind in NORMS:
            groups = self.pick([n for n in (1, 2, channels) if channels % n == 0])
            counts = {
                "LayerNorm": channels,
                "InstanceNorm": least,
                "GroupNorm": channels // groups * least,
            }
            if sizes[0] == () and kind != "LayerNorm":
                return "Activation", {"activation": "relu"}
            if counts.get(kind, BATCH * least) < FEW:
                return "BatchNorm", {"in_channels": channels, "use_global_stats": True}
            if kind == "GroupNorm":
                return kind, {"num_groups": groups}
            return kind, {"in_channels": channels, **({"axis": 1} if kind == "LayerNorm" else {})}
        choices = {
            "Activation": {"activation": self.pick(["relu", "tanh", "sigmoid", "softrelu", "softsign"])},
            "ReLU": self.pick([{}, {"max_value": 1.0}, {"negative_slope": 0.1, "max_value": 0.5}]),
            "LeakyReLU": {"alpha": 0.25},
            "PReLU": {"in_channels": self.pick([1, channels])},
            "ELU": {"alpha": self.pick([1.0, 0.5])},
            "Swish": {"beta": self.pick([1.0, 2.0])},
            "Dropout": {"rate": self.pick([0, 0.5])},
            "HybridLambda": {"function": self.pick(["sin", "arctan", "square"])},
        }
        return kind, choices.get(kind, {})

    def strides(self):
        return self.pick([(1,) * self.ndim, self.each(1, 3)])

    def convolution(self, kind, channels, sizes):
        ndim, kernel, strides = self.ndim, self.each(1, 4 if self.ndim < 3 else 3), self.strides()
        given = dict(kernel_size=kernel, strides=strides, padding=self.padding(kernel, kind[0] != "T"))
        given["use_bias"], given["in_channels"] = bool(self.whole(0, 1)), channels
        given["activation"] = self.pick([None, None, None, "relu", "tanh", "sigmoid"])
        given["dilation"] = (
            self.each(1, 2) if self.whole(0, 3) == 0 and kind + str(ndim) != "Transpose3" else 1
        )
        if kind == "DepthwiseConv":
            return f"{kind}{ndim}D", {**given, "depth_multiplier": self.pick([1, 1, 2])}
        given["channels"] = self.pick([1, 2, 3, 4, 6, 8, 16])
        if kind == "SeparableConv":
            return f"{kind}{ndim}D", given
        count = self.pick([1, 1, 1, 2, channels])
        given["groups"] = count if channels % count == given["channels"] % count == 0 else 1
        if kind == "Conv":
            return f"Conv{ndim}D", given
        if channels % 8 == given["channels"] % 8 == 0 and len({*sizes}) > 1:
            given["channels"], given["groups"] = 4, 1
        if not isinstance(given["padding"], str):
            given["output_padding"] = tuple(self.whole(0, s - 1) for s in strides)
        return f"Conv{ndim}DTranspose", given

    def after(self, name, given, channels, sizes):
        """Return the channels and sizes behind a layer, or None if it does not fit or is avoided."""
        found = [self.size(name, given, channels, size) for size in sizes]
        if any(size is None or min(size, default=1) < 1 for size in found):
            return None
        if any(max(size, default=1) > 2 * MOST[self.ndim] for size in found):
            return None
        if name == "Flatten":
            return (channels * prod(sizes[0]), found) if {*sizes} == {sizes[0]} != {()} else None
        grown = given.get("target_shape", [channels * given.get("depth_multiplier", 1)])[0]
        return given.get("channels", given.get("units", grown)), found

    def size(self, name, given, channels, size):
        """Return the output size of a layer, or None."""
        if name in ("Flatten", "Dense"):
            return ()
        if name == "Reshape":
            length, rest = divmod(channels * prod(size), given["target_shape"][0])
            return None if rest or size == () else (length,)
        if name in NORMS:
            if (name == "BatchNormReLU" and len(size) != 2) or (name == "GroupNorm" and size == ()):
                return None
            if name == "BatchNorm" and len(size) != 2 and 1 in (channels, prod(size)):
                return None
            count = {"LayerNorm": channels, "InstanceNorm": prod(size)}.get(name, BATCH * prod(size))
            count = channels // given.get("num_groups", 1) * prod(size) if name[0] == "G" else count
            return size if count >= FEW or "use_global_stats" in given else None
        if name in KEEPING:
            return size
        if size == ():
            return None
        if name.startswith("Global"):
            return (1,) * self.ndim
        if name.startswith("Reflection"):
            return tuple(n + 2 * given["padding"] if n > given["padding"] else 0 for n in size)
        if name.startswith("UpSampling"):
            return tuple(n * times for n, times in zip(size, given["size"]))
        if "Padding" in name or "Cropping" in name:
            amounts = given.get("padding", given.get("cropping"))
            amounts = [amounts] if self.ndim == 1 else amounts
            sign = 1 if "Padding" in name else -1
            return tuple(n + sign * (before + after) for n, (before, after) in zip(size, amounts))
        return window_size(name, given, size)

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


def window_size(name, given, size):
    """Return the output size of a layer with a window, or None if the graph for every size has none."""
    out = []
    for n, w, s, d, pad in zip(size, *window(len(size), given), pads_of(given, size, name)):
        span, extra = d * (w - 1) + 1, 0
        if "Transpose" in name:
            same = isinstance(given["padding"], str) and given["padding"] != "valid"
            out.append(n * s if same else (n - 1) * s + span - sum(pad))
            continue
        if "Pool" in name and s > 1:
            pairs = isinstance(given["padding"], tuple)
            if (n == 1 and w % 2 == 0) or (pairs and n + 2 * pad[0] < w):
                return None
        if given.get("ceil_mode"):
            extra = -(n + sum(pad) - span) % s
            if n + sum(pad) < span or extra >= span - pad[1]:
                return None
        out.append((n + sum(pad) + extra - span) // s + 1)
    if "Transpose" in name:
        out = [n + more for n, more in zip(out, given.get("output_padding", [0] * 3))]
    return tuple(out)


def window(ndim, given):
    """Return the kernel, the strides and the dilation of each axis."""
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
