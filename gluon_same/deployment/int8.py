"""Graphs that compute in 8-bit integers, by MXNet's own passes, and the data that they calibrate on."""

import itertools
from typing import Any, Iterable, List, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.contrib import quantization

from .graph import Graph

#: At most so many batches calibrate a graph.
BATCHES = 32


def to_int8(graph: Graph, batches: Sequence[Sequence[mx.nd.NDArray]]) -> Graph:
    """The graph in 8-bit integers, whose ranges are those that some batches of inputs reach.

    Parameters
    ----------
    graph : Graph
    batches : sequence of sequence of NDArray
        Of each batch, an array for each input.
    """
    arguments, states = split(graph)
    arrays = {
        name: mx.nd.concat(*[batch[i] for batch in batches], dim=0)
        if len(batches) > 1
        else batches[0][i]
        for i, name in enumerate(graph.inputs)
    }
    data = mx.io.NDArrayIter(arrays, batch_size=len(batches[0][0]))
    context = next(iter(graph.params.values())).context if graph.params else mx.cpu()
    symbol, arguments, states = quantization.quantize_model_mkldnn(
        *(graph.symbol(), arguments, states),
        data_names=tuple(graph.inputs),
        label_names=(),
        ctx=context,
        calib_mode="naive",
        calib_data=data,
        quantized_dtype="auto",
        quantize_mode="smart",
        logger=None,
    )
    return Graph(symbol, {**arguments, **states}, graph.inputs)


def split(graph: Graph) -> Tuple[dict, dict]:
    """A graph's parameters as arguments and auxiliary states."""
    states = set(graph.symbol().list_auxiliary_states())
    arguments = {name: value for name, value in graph.params.items() if name not in states}
    return arguments, {name: value for name, value in graph.params.items() if name in states}


def batches_of(data: Any, shapes: Sequence[Tuple[int, ...]], context: mx.Context) -> List[List[Any]]:
    """Batches of the inputs' shapes, from what a user calibrates with.

    Parameters
    ----------
    data : NDArray, numpy.ndarray, or iterable
        An array of samples for a single input; or batches, each an array or a tuple that begins with an
        array for each input, as a DataLoader gives them.
    shapes : sequence of tuple of int
    context : Context

    Raises
    ------
    TypeError, ValueError
        If an array is of another shape, or there are fewer samples than one batch has.
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
            part.append(array.astype("float32"))
        if sum(map(len, parts[0])) >= most:
            break
    wholes = [np.concatenate(part) if part else np.zeros((0,)) for part in parts]
    size = shapes[0][0]
    count = min(len(wholes[0]), most) // size
    if not count:
        raise ValueError(f"data have {len(wholes[0])} samples: give at least the {size} of one batch")
    return [
        [mx.nd.array(whole[i * size : (i + 1) * size], ctx=context) for whole in wholes]
        for i in range(count)
    ]
