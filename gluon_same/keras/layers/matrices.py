"""Functions of square matrices along the last two axes."""

from typing import Any, Optional

from ...importing import functions
from ..arguments import Unsupported
from ..values import Value, keras_order
from .registry import Lowered, Request, computes

_OPERATORS = dict(cholesky="linalg_potrf", det="linalg_det", inv="linalg_inverse")


@computes("cholesky", "det", "inv", "logdet", "slogdet")
def _of_matrices(op: Request, x: Value, upper: bool = False, adjoint: bool = False) -> Lowered:
    if adjoint or x.rank < 3 or x.shape[-1] != x.shape[-2]:
        raise Unsupported(f"{op.name} of shape {x.shape} with adjoint={adjoint}")
    kept = keras_order(x.rank - 2 * op.name.endswith("det"))
    how: Any = {}
    if op.name == "slogdet":
        how["more_axes"] = (kept,)
    function = _OPERATORS.get(op.name, functions.log_determinant)
    if function is functions.log_determinant:
        how["signed"] = op.name == "slogdet"
    rule = lambda shape: shape[: len(kept)]  # noqa: E731
    built = op.in_keras_order(function, x, ndim=len(kept), rule=rule, **how)
    return built._replace(axes=(*kept[:-2], kept[-1], kept[-2])) if upper else built


@computes("solve", "solve_triangular", "triangular_solve")
def _solve(
    op: Request, x: Value, y: Value, lower: Optional[bool] = None, adjoint: bool = False
) -> Lowered:
    """Return what matrices map to other ones, or to vectors, which have one axis less."""
    sizes = {x.shape[-1], x.shape[-2], y.shape[x.rank - 2 :][0]}
    alike = x.shape[:-2] == y.shape[: x.rank - 2]
    if x.rank < 3 or y.rank not in (x.rank, x.rank - 1) or len(sizes) > 1 or not alike:
        raise Unsupported(f"{op.name} of shapes {x.shape} and {y.shape}")
    if op.name != "solve" and lower is None:
        lower = op.name == "triangular_solve"  # of TensorFlow
    how: Any = dict(vector=y.rank < x.rank, lower=lower, adjoint=adjoint)
    return op.in_keras_order(functions.solve, x, y, ndim=y.rank, rule=lambda _, shape: shape, **how)
