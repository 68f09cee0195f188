"""Samples for deployment, in batches."""

import itertools
from typing import Any, Iterable, List, Sequence, Tuple

import mxnet as mx
import numpy as np

from ..arrays import in_thread

#: Maximum number of batches.
BATCHES = 32


def batches_of(data: Any, shapes: Sequence[Tuple[int, ...]], context: mx.Context) -> List[List[Any]]:
    """Split samples into batches of the inputs' shapes.

    Parameters
    ----------
    data : NDArray, numpy.ndarray, or iterable
        An array of samples for a single input; or batches. A batch is an array, or a tuple that begins
        with one array per input, such as a DataLoader yields.
    shapes : sequence of tuple of int
    context : Context

    Raises
    ------
    TypeError, ValueError
        If an array has another shape or contains a NaN or an infinity, if the inputs have different
        numbers of batches, or if the samples do not fill one batch.
    """
    if hasattr(data, "shape"):
        data = [data]
    if not isinstance(data, Iterable):
        raise TypeError(f"data={data!r} is neither an array nor batches: give samples of the inputs")
    parts: List[List[np.ndarray]] = [[] for _ in shapes]
    most = BATCHES * shapes[0][0]
    for batch in itertools.islice(data, most):
        arrays = batch if isinstance(batch, (list, tuple)) else [batch]
        if len(arrays) < len(shapes):
            raise ValueError(
                f"a batch of data has {len(arrays)} arrays: give one for each of the inputs"
            )
        for part, array, shape in zip(parts, arrays, shapes):
            array = array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)
            if array.shape[1:] != shape[1:]:
                raise ValueError(f"data of shape {array.shape} do not fit an input of shape {shape}")
            if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
                raise ValueError("data contain values that are not finite numbers: give typical samples")
            part.extend(array.astype("float32"))
        if len(parts[0]) >= most:
            break
    sizes = [shape[0] for shape in shapes]
    if len({len(part) / size for part, size in zip(parts, sizes)}) > 1:
        raise ValueError(
            f"data have {', '.join(str(len(part)) for part in parts)} samples: give the same number of "
            "batches for each input"
        )
    if len(parts[0]) < sizes[0]:
        raise ValueError(f"data have {len(parts[0])} samples: give at least the {sizes[0]} of one batch")
    pairs, count = list(zip(parts, sizes)), min(len(parts[0]), most) // sizes[0]
    found = ([np.stack(part[at * n : (at + 1) * n]) for part, n in pairs] for at in range(count))
    return [[in_thread(mx.nd.array, array, context) for array in batch] for batch in found]
