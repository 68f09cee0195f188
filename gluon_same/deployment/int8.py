"""Conversion of graphs to 8-bit integers by MXNet's own passes."""

from typing import Sequence

import mxnet as mx
from mxnet.contrib import quantization
from mxnet.ndarray.ndarray import _DTYPE_NP_TO_MX

from ..graph import Graph
from .fold_batchnorm import LAYERS
from .fuse import shield
from .running import quiet


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
    for node in graph.nodes():
        if node.name in graph.params:
            # Operators on constants alone may not imply it.
            node.attrs["__dtype__"] = str(_DTYPE_NP_TO_MX[graph.params[node.name].dtype])
    symbol = graph.symbol()
    used, states = set(symbol.list_inputs()), set(symbol.list_auxiliary_states())
    arguments = {name: value for name, value in graph.params.items() if name not in states}
    given = {name: parts for name, parts in zip(graph.inputs, zip(*batches)) if name in used}
    several = len(batches) > 1
    arrays = {n: mx.nd.concat(*parts, dim=0) if several else parts[0] for n, parts in given.items()}
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
