"""Conversion of graphs to 8-bit integers by MXNet's own passes, and calibration data for it."""

import itertools
from typing import Any, Iterable, List, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.contrib import quantization

from ..arrays import in_thread
from ..graph import Graph
from .fold_batchnorm import LAYERS
from .fuse import shield
from .running import quiet

#: Maximum number of calibration batches.
BATCHES = 32


def to_int8(graph: Graph, batches: Sequence[Sequence[mx.nd.NDArray]]) -> Graph:
    """Return the graph in 8-bit integers, with ranges calibrated on batches of inputs.

    Parameters
    ----------
    graph : Graph
    batches : sequence of sequence of NDArray
        One array per input in each batch.
    """
    heads = {head.node.name for head in graph.heads}
    # MXNet's passes crash if a graph returns a layer's result twice, or also uses it, and if several
    # operators use that of a dense layer.
    graph = shield(graph, lambda node: node.name in heads or node.op == "FullyConnected")
    _rename_weights(graph)
    symbol = graph.symbol()
    used, states = set(symbol.list_inputs()), set(symbol.list_auxiliary_states())
    arguments = {name: value for name, value in graph.params.items() if name not in states}
    arrays = {
        name: mx.nd.concat(*parts, dim=0) if len(parts) > 1 else parts[0]
        for name, parts in zip(graph.inputs, zip(*batches))
        if name in used
    }
    if not arrays:
        raise ValueError("dtype='int8' requires a net that uses its inputs: use dtype='float32'")
    data = mx.io.NDArrayIter(arrays, batch_size=len(batches[0][0]))
    context = next(iter(graph.params.values())).context if graph.params else mx.cpu()
    with quiet():
        symbol, arguments, auxiliary = quantization.quantize_model_mkldnn(
            *(symbol, arguments, {name: graph.params[name] for name in states}),
            data_names=tuple(arrays),
            label_names=(),
            # MXNet cannot quantize recurrent layers and 1-D convolutions.
            excluded_op_names=["RNN"],
            excluded_sym_names=[node.name for node in graph.nodes() if len(node.get("kernel", ())) == 1],
            ctx=context,
            calib_mode="naive",
            calib_data=data,
            quantized_dtype="auto",
            quantize_mode="smart",
            logger=None,
        )
    return Graph(symbol, {**arguments, **auxiliary}, graph.inputs)


def _rename_weights(graph):
    """Name parameters of layers so that MXNet, which goes by their names, quantizes them."""
    for node in graph.nodes():
        if node.op in LAYERS:
            for entry, word in zip(node.inputs[1:], ("weight", "bias")):
                name = entry.node.name
                if name in graph.params and not name.endswith(("weight", "bias")):
                    entry.node.name = f"{name}_{word}"
                    graph.params[entry.node.name] = graph.params.pop(name)


def batches_of(data: Any, shapes: Sequence[Tuple[int, ...]], context: mx.Context) -> List[List[Any]]:
    """Split calibration data into batches of the inputs' shapes.

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
        numbers of samples, or if the samples do not fill one batch.
    """
    if hasattr(data, "shape"):
        data = [data]
    if not isinstance(data, Iterable):
        raise TypeError(f"data={data!r} is neither an array nor batches: give samples of the inputs")
    parts: List[List[np.ndarray]] = [[] for _ in shapes]
    size = shapes[0][0]
    most = BATCHES * size
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
            if not np.issubdtype(array.dtype, np.number) or not np.isfinite(array).all():
                raise ValueError("data contain values that are not finite numbers: give typical samples")
            part.extend(array.astype("float32"))
        if len(parts[0]) >= most:
            break
    counts = list(map(len, parts))
    if len(set(counts)) > 1:
        raise ValueError(
            f"data have {', '.join(map(str, counts))} samples: give the same number for each input"
        )
    if counts[0] < size:
        raise ValueError(f"data have {counts[0]} samples: give at least the {size} of one batch")
    return [
        [in_thread(mx.nd.array, np.stack(part[at : at + size]), context) for part in parts]
        for at in range(0, min(counts[0], most) - size + 1, size)
    ]
