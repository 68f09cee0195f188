"""Reading of ONNX files, with the weights that are beside them."""

import os
from typing import Any, Dict, Iterator, Optional

import numpy as np

from ..files import check_regular

#: Types of arrays that MXNet has, by ONNX's number.
DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16,
    11: np.float64,
}  # fmt: skip

#: Whole numbers that MXNet has no arrays of, and that nodes of known inputs compute with.
_KNOWN_ONLY = {4: np.uint16, 5: np.int16, 12: np.uint32, 13: np.uint64}

#: ``data_location`` of tensors whose bytes are in another file.
_EXTERNAL = 1


def read(source: Any) -> Any:
    """Return the model in a file, or in its bytes, without weights in other files; or a model itself.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it contains no ONNX model.
    """
    import onnx
    from google.protobuf.message import DecodeError

    name = source if isinstance(source, str) else "the model"
    try:
        if isinstance(source, str):
            check_regular(source)
            model = onnx.load(source, load_external_data=False)
        else:
            model = onnx.load_from_string(source) if isinstance(source, bytes) else source
    except (DecodeError, RuntimeError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is not an ONNX file, or it is damaged: {error}") from None
    if not model.graph.node and not model.graph.output:
        raise ValueError(f"{name} is not an ONNX file: it contains no graph")
    return model


def dtype_of(kind: int, stored: bool = True) -> np.dtype:
    """Return the dtype of a type of ONNX; raise ValueError if MXNet does not have it.

    Arrays that are not ``stored`` are known numbers, and may have other types of whole numbers.
    """
    types: Dict[int, Any] = DTYPES if stored else {**DTYPES, **_KNOWN_ONLY}
    if kind in types:
        return np.dtype(types[kind])
    from onnx import TensorProto

    name = TensorProto.DataType.Name(kind) if kind in TensorProto.DataType.values() else str(kind)
    raise ValueError(f"MXNet has no arrays of type {name}")


def initializers(model: Any, path: Optional[str]) -> Dict[str, np.ndarray]:
    """Return the initializers of a model's graph. Those in other files are beside ``path``.

    Raises
    ------
    ValueError
        If an array is damaged, of a type that MXNet does not have, or outside of the file's folder.
    """
    from onnx import numpy_helper

    if model.graph.sparse_initializer:
        raise ValueError("the model has sparse initializers, which are not supported")
    for each in tensors(model):
        if each.data_location == _EXTERNAL:
            if path is None:
                raise ValueError(f"the weights of {each.name!r} are in a file: give the model's path")
            _load_external(each, path)
    found = {}
    for each in model.graph.initializer:
        try:
            dtype_of(each.data_type, stored=False)
            found[each.name] = numpy_helper.to_array(each)
        except (ValueError, TypeError, MemoryError) as error:
            raise ValueError(f"initializer {each.name!r}: {error}") from None
    return found


def tensors(model: Any) -> Iterator[Any]:
    """Yield all arrays of a model, also those in subgraphs and attributes."""
    graphs = [model.graph]
    while graphs:
        graph = graphs.pop()
        yield from getattr(graph, "initializer", ())
        for node in graph.node:
            for attribute in node.attribute:
                yield from ([attribute.t] if attribute.HasField("t") else ())
                yield from attribute.tensors
                graphs += [attribute.g] if attribute.HasField("g") else []
                graphs += attribute.graphs
        graphs += getattr(graph, "functions", ())


def _load_external(tensor: Any, path: str) -> None:
    """Read the bytes of an array from another file, which must be in the folder of the model."""
    entries = {each.key: each.value for each in tensor.external_data}
    location = entries.get("location", "")
    folder = os.path.dirname(os.path.realpath(path))
    file = os.path.realpath(os.path.join(folder, location))
    parts = location.replace("\\", "/").split("/")
    if not location or os.path.isabs(location) or ".." in parts or os.path.commonpath(
        [folder, file]
    ) != folder:  # fmt: skip
        raise ValueError(
            f"the weights of {tensor.name!r} are in {location!r}, which is not in the folder of the "
            "model: weights are only read from beside it"
        )
    check_regular(file)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
    except ValueError:
        raise ValueError(f"the place of {tensor.name!r} in {location!r} is damaged") from None
    wanted = int(np.prod([float(n) for n in tensor.dims])) * dtype_of(tensor.data_type, False).itemsize
    length = wanted if length < 0 else length
    if offset < 0 or length != wanted or offset + length > os.path.getsize(file):
        raise ValueError(
            f"the weights of {tensor.name!r} need {wanted} bytes from {offset} on in {location!r}, and "
            f"the file has {os.path.getsize(file)}, of which {length} are given"
        )
    with open(file, "rb") as stream:
        stream.seek(offset)
        tensor.raw_data = stream.read(length)
    tensor.data_location = 0
    del tensor.external_data[:]
