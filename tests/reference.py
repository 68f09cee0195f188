"""Convolution and pooling as loops over NumPy arrays: slow, obvious, and independent of the library.

Data are channels first. ``pads`` holds one (before, after) for each spatial axis.
"""

import itertools

import numpy as np


def same_pads(sizes, kernel, stride, dilation, mode="same"):
    """Return TensorFlow's SAME padding."""
    pads = []
    for n, k, s, d in zip(sizes, kernel, stride, dilation):
        k_eff = d * (k - 1) + 1
        out = int(np.ceil(n / s))
        total = max((out - 1) * s + k_eff - n, 0)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if mode == "same" else (large, small))
    return pads


def windows(x, kernel, stride, dilation, pads, fill):
    """Yield (position, window) for each output position: the padded input under its window."""
    padded = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=fill)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    counts = [(n - span) // s + 1 for n, span, s in zip(padded.shape[2:], spans, stride)]
    for position in itertools.product(*map(range, counts)):
        where = tuple(
            slice(p * s, p * s + span, d) for p, s, span, d in zip(position, stride, spans, dilation)
        )
        yield position, padded[(slice(None), slice(None), *where)]


def collect(pairs):
    """Return the array with the given entries [:, :, position]."""
    pairs = list(pairs)
    shape = tuple(np.max([position for position, _ in pairs], axis=0) + 1)
    out = np.zeros(pairs[0][1].shape + shape)
    for position, value in pairs:
        out[(slice(None), slice(None), *position)] = value
    return out


def convolution(x, weight, stride, dilation, pads, groups=1, bias=None):
    outputs = []
    per_in, per_out = x.shape[1] // groups, weight.shape[0] // groups
    for g in range(groups):
        part = x[:, g * per_in : (g + 1) * per_in]
        kernels = weight[g * per_out : (g + 1) * per_out]
        seen = windows(part, weight.shape[2:], stride, dilation, pads, 0.0)
        outputs.append(collect((p, np.tensordot(w, kernels, (range(1, w.ndim),) * 2)) for p, w in seen))
    out = np.concatenate(outputs, axis=1)
    return out if bias is None else out + bias.reshape((-1,) + (1,) * (x.ndim - 2))


def pooling(x, kernel, stride, pads, kind, count_include_pad=False):
    ones = (1,) * len(kernel)
    fill = -np.inf if kind == "max" else 0.0
    axes = tuple(range(2, x.ndim))
    seen = windows(x, kernel, stride, ones, pads, fill)
    if kind == "max":
        return collect((p, w.max(axis=axes)) for p, w in seen)
    sums = collect((p, w.sum(axis=axes)) for p, w in seen)
    if kind == "sum":
        return sums
    if count_include_pad:
        return sums / np.prod(kernel)
    real = windows(np.ones_like(x), kernel, stride, ones, pads, 0.0)
    return sums / collect((p, w.sum(axis=axes)) for p, w in real)


def deconvolution(x, weight, stride, dilation, cut, extra):
    """Scatter each input element times the kernel; then cut off (before, after) and add zeros."""
    kernel = weight.shape[2:]
    full = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(x.shape[2:], stride, dilation, kernel)]
    out = np.zeros((x.shape[0], weight.shape[1], *full))
    for position in itertools.product(*map(range, x.shape[2:])):
        value = np.tensordot(x[(slice(None), slice(None), *position)], weight, (1, 0))
        where = tuple(
            slice(p * s, p * s + d * (k - 1) + 1, d)
            for p, s, d, k in zip(position, stride, dilation, kernel)
        )
        out[(slice(None), slice(None), *where)] += value
    out = np.pad(out, [(0, 0), (0, 0), *((0, e) for e in extra)])
    where = tuple(slice(b, n - a) for (b, a), n in zip(cut, out.shape[2:]))
    return out[(slice(None), slice(None), *where)]
