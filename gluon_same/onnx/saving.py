"""Write ONNX files with large weights."""

from typing import Any, Dict

import mxnet as mx
import numpy as np

from .graph import used_in

#: Largest size of a protobuf message in bytes.
_MOST = 2**31 - 1


def save(model: Any, weights: Dict[str, mx.nd.NDArray], path: str) -> None:
    """Write a model with the weights that its graph uses.

    The weights go to the file one by one. protobuf would copy all of them several times.

    Parameters
    ----------
    model : onnx.ModelProto
    weights : dict of str to NDArray
    path : str

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the file would exceed 2 GiB.
    """
    used = used_in(model.graph)
    weights = {name: value for name, value in weights.items() if name in used}
    heads = {name: _head_of(name, value) for name, value in weights.items()}
    graph = model.graph.SerializeToString()
    size = len(graph) + sum(len(heads[name]) + _bytes_of(value) for name, value in weights.items())
    start = _without_graph(model).SerializeToString() + _field(model.GRAPH_FIELD_NUMBER, size)
    if len(start) + size > _MOST:
        raise ValueError(
            f"an ONNX file holds at most {_MOST} bytes, and this one would have {len(start) + size}"
        )
    with open(path, "wb") as file:
        file.write(start + graph)
        for name, value in weights.items():
            file.write(heads[name])
            file.write(np.ascontiguousarray(value.asnumpy()).data)


def _without_graph(model):
    rest = type(model)()
    for field, value in model.ListFields():
        if field.name == "opset_import":
            rest.opset_import.extend(value)
        elif field.name != "graph":
            setattr(rest, field.name, value)
    return rest


def _head_of(name, value):
    """Return the serialized form of a weight up to its numbers."""
    from onnx import GraphProto, TensorProto, helper

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
    tensor = TensorProto(name=name, dims=value.shape, data_type=kind).SerializeToString()
    tensor += _field(TensorProto.RAW_DATA_FIELD_NUMBER, _bytes_of(value))
    return _field(GraphProto.INITIALIZER_FIELD_NUMBER, len(tensor) + _bytes_of(value)) + tensor


def _bytes_of(value):
    return value.size * np.dtype(value.dtype).itemsize


def _field(number, size):
    """Return protobuf's key and size of a field of bytes, or of a message."""
    return _varint(number << 3 | 2) + _varint(size)


def _varint(number):
    """Return protobuf's form of an integer: seven bits a byte, and a bit for more."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes(parts + bytes([number]))
