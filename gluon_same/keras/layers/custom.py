"""Layers with builders of the caller."""

from typing import Any, Callable, Dict, List, Tuple

import mxnet as mx
from mxnet.gluon import HybridBlock

from ..values import Shape, Value
from .table import Built, Request

#: Trial values for unknown sizes, which show which output sizes depend on them.
_TRIED = (24, 36)


def custom_builder(make: Callable[[Dict[str, Any], List[Any]], HybridBlock]) -> Callable[..., Built]:
    """Return the builder for a caller's function."""

    def build(request: Request, *inputs: Value) -> Built:
        request.arguments.ignore(*request.arguments.all())
        block = make(request.arguments.all(), request.array_of())
        if not isinstance(block, HybridBlock):
            raise TypeError(
                f"custom[{request.class_name!r}] returned {block!r}, which is not a HybridBlock"
            )
        orders = tuple(request.channels_first(x.rank) for x in inputs)

        def rule(*shapes: Shape) -> Shape:
            pairs = zip(orders, shapes)
            out = _output_shape(block, [tuple(shape[axis] for axis in order) for order, shape in pairs])
            order = request.channels_first(len(out))
            return tuple(out[order.index(axis)] for axis in range(len(out)))

        rank = len(rule(*(x.shape for x in inputs)))
        return Built(block, rule, request.channels_first(rank), orders)

    return build


def _output_shape(block: HybridBlock, shapes: List[Shape]) -> Tuple:
    """Return the output's shape, with None for sizes that depend on unknown input sizes."""
    names = [f"data{i}" for i in range(len(shapes))]
    out = block(*map(mx.sym.var, names))
    found = []
    for size in _TRIED:
        known = {name: tuple(size if n is None else n for n in s) for name, s in zip(names, shapes)}
        found.append(out.infer_shape_partial(**known)[1][0])
    return tuple(n if n == m and n > 0 else None for n, m in zip(*found))
