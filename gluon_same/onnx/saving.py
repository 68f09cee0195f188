"""Write ONNX files with their weights."""

from typing import Any, Dict

import mxnet as mx

from .graph import used_in

#: Largest size of a protobuf message in bytes.
_MOST = 2**31 - 1


def save(model: Any, weights: Dict[str, mx.nd.NDArray], path: str) -> None:
    """Write a model with the weights that its graph uses.

    Parameters
    ----------
    model : onnx.ModelProto
        The weights are added to it.
    weights : dict of str to NDArray
    path : str

    Raises
    ------
    OSError
        If the file cannot be written.
    ValueError
        If the file would exceed 2 GiB.
    """
    from onnx import numpy_helper

    used = used_in(model.graph)
    for name in [name for name in weights if name in used]:
        model.graph.initializer.append(numpy_helper.from_array(weights[name].asnumpy(), name))
        if model.ByteSize() > _MOST:
            raise ValueError(f"an ONNX file holds at most {_MOST} bytes, and this one would have more")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
