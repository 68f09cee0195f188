"""Convert MXNet's products of arrays to ONNX's."""

from typing import Any, Callable, Dict

import numpy as np

from .writer import Writer


def _dot(write: Writer) -> None:
    """Multiply along the last axis of an array and the first of another, as MXNet does for all ranks."""
    x, y = write.inputs
    ranks = [len(write.shape_of(i)) for i in range(2)]
    if 0 in ranks:
        return
    if write.attributes.get("transpose_a") and ranks[0] > 1:
        x = write("Transpose", x, perm=[*range(1, ranks[0]), 0])
    if write.attributes.get("transpose_b") and ranks[1] > 1:
        y = write("Transpose", y, perm=[ranks[1] - 1, *range(ranks[1] - 1)])
    if ranks[1] > 2 or ranks == [1, 1]:
        rows, columns = write("Shape", x), write("Shape", y)
        rows = write("Slice", rows, [0], [ranks[0] - 1])
        columns = write("Slice", columns, [1], [ranks[1]]) if ranks[1] > 1 else [1]
        flat = write("MatMul", x, write("Reshape", y, [0, -1]))
        write("Reshape", flat, write("Concat", rows, columns, axis=0))
    else:
        write("MatMul", x, y)


def _matrices(write: Writer) -> None:
    """Multiply matrices in the last two axes."""
    given, arrays = write.attributes, []
    for i, (x, name) in enumerate(zip(write.inputs, ("transpose_a", "transpose_b"))):
        rank = len(write.shape_of(i))
        if rank < 2 or given.get("axis", -2) != -2:
            return
        turned = [*range(rank - 2), rank - 1, rank - 2]
        arrays.append(write("Transpose", x, perm=turned) if given.get(name) else x)
    y = write("MatMul", *arrays)
    if given.get("alpha", 1) != 1:
        write("Mul", y, given["alpha"])


def _scores(write: Writer) -> None:
    """Multiply queries by the keys of each head, which alternate with its values."""
    queries, pairs = write.inputs
    heads, width = write.attributes["heads"], write.shape_of(0)[2]
    rows, columns = (write("Slice", write("Shape", x), [0], [1]) for x in write.inputs)
    y = write("Transpose", write("Reshape", queries, [0, 0, heads, -1]), perm=[1, 2, 0, 3])
    y = write("MatMul", y, write("Transpose", _part_of_pairs(write, pairs, 0), perm=[1, 2, 3, 0]))
    y = write("Reshape", y, write("Concat", [-1], rows, columns, axis=0))
    write("Div", y, np.sqrt(width // heads))


def _weighted(write: Writer) -> None:
    """Average the values of each head by weights."""
    pairs, weights = write.inputs
    sizes = write("Slice", write("Shape", weights), [1], [3])
    shape = write("Concat", [-1, write.attributes["heads"]], sizes, axis=0)
    values = write("Transpose", _part_of_pairs(write, pairs, 1), perm=[1, 2, 0, 3])
    y = write("MatMul", write("Reshape", weights, shape), values)
    write("Reshape", write("Transpose", y, perm=[2, 0, 1, 3]), [0, 0, -1])


def _part_of_pairs(write, pairs, part):
    """Return the keys or the values, with axes of steps, samples, heads and channels."""
    pairs = write("Reshape", pairs, [0, 0, write.attributes["heads"], 2, -1])
    y = write("Slice", pairs, [part], [part + 1], [3])
    return write("Reshape", y, [0, 0, 0, -1])


#: Converters by operator.
PRODUCTS: Dict[str, Callable[[Writer], Any]] = {
    "_contrib_interleaved_matmul_encdec_qk": _scores,
    "_contrib_interleaved_matmul_encdec_valatt": _weighted,
    "_npi_matmul": lambda write: write("MatMul", *write.inputs),
    "_npi_einsum": lambda write: write("Einsum", *write.inputs, equation=write.attributes["subscripts"]),
    "dot": _dot,
    "_np_dot": _dot,
    "_linalg_gemm2": _matrices,
}
