"""Compare an exported file, run by onnxruntime, with its net."""

import warnings
from typing import Any, Dict, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, SymbolBlock

from ..arrays import classic, flat

#: Largest difference, relative to the largest magnitude of an output. Rounding stays well below it.
TOLERANCE = 1e-3


def compare(net: Block, path: str, shapes: Dict[str, Tuple[int, ...]], dtypes: Sequence[str]) -> None:
    """Raise an error if a file and its net give different numbers for random data.

    Parameters
    ----------
    net : Block
    path : str
    shapes : dict of str to tuple of int
        Shape of each input.
    dtypes : list of str
        dtype of each input.

    Raises
    ------
    ImportError
        If onnxruntime is not installed.
    ValueError
        If the numbers differ, or if the file or the net cannot be run.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            f"The check of an exported file requires onnxruntime ({error}): pip install "
            "'gluon-same[onnx]', or use check=False"
        ) from error
    random = np.random.RandomState(0)
    data = {
        name: np.asarray(random.uniform(0, 2, shape), dtype)
        for (name, shape), dtype in zip(shapes.items(), dtypes)
    }
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        got = session.run(None, data)
        want = _outputs(net, data)
    except Exception as error:  # onnxruntime and the net raise errors of many types
        raise ValueError(
            f"{net.name} was exported and could not be checked: {_in_a_line(error)}. Use check=False to "
            "skip the check"
        ) from error
    if [x.shape for x in got] != [x.shape for x in want]:
        both = " and ".join(str([x.shape for x in each]) for each in (got, want))
        raise ValueError(
            f"{net.name} cannot be exported: onnxruntime and MXNet give outputs of shapes {both}"
        )
    for i, (one, other) in enumerate(zip(got, want)):
        scale = np.abs(other[np.isfinite(other)]).max(initial=0)
        if not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE * scale, equal_nan=True):
            off = np.nanmax(np.abs(one.astype(float) - other))
            raise ValueError(
                f"{net.name} cannot be exported: its output {i}, which reaches {scale:.3g}, would "
                f"differ by {off:.3g} in onnxruntime. If the net draws random numbers or has "
                "discontinuous outputs, use check=False to skip the check"
            )


def _outputs(net: Block, data: Dict[str, np.ndarray]) -> Any:
    # A separate block leaves the net's cached graphs as they are.
    inputs = [mx.sym.var(name) for name in data]
    given = [x.as_np_ndarray() for x in inputs] if mx.util.is_np_array() else inputs
    outputs = [classic(x)[0] for x in flat([net(*given)])]
    parameters = net.collect_params()
    contexts = [c for p in parameters.values() for c in p.list_ctx()] or [mx.cpu()]
    arrays = [mx.nd.array(x, ctx=contexts[0], dtype=x.dtype) for x in data.values()]
    with mx.util.np_array(False), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MXNet warns of types that it infers later
        found = SymbolBlock(outputs, inputs, params=parameters)(*arrays)
        return [x.asnumpy() for x in flat([found])]


def _in_a_line(error):
    return " ".join(str(error).split())[:300]
