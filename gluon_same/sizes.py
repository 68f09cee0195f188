"""The sizes that the blocks of a net see, found by tracing it, and their graphs for those sizes."""

from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import mxnet as mx
from mxnet.gluon import Block

from .nn.base import Windowed

Shape = Tuple[int, ...]

#: For each block, its calls: of each the shapes of the inputs.
Seen = Dict[Block, Set[Tuple[Shape, ...]]]


def blocks_of(net: Block) -> List[Block]:
    """A net's blocks, each once."""
    blocks = {}
    net.apply(blocks.setdefault)
    return list(blocks)


def fix(net: Block, blocks: Sequence[Block], shapes: Sequence[Shape]) -> Seen:
    """Have a net's blocks make graphs for the sizes that they see; those that see one size alone.

    Parameters
    ----------
    net : Block
    blocks : sequence of Block
        All of the net's.
    shapes : sequence of tuple of int
        Of the net's inputs.

    Returns
    -------
    dict
        What each block saw.

    Raises
    ------
    ValueError
        If the net cannot be traced.
    """
    seen = _shapes_seen(net, blocks, shapes)
    for block in blocks:
        if isinstance(block, Windowed) and len(seen.get(block, ())) == 1:
            ((shape,),) = seen[block]
            block._in_shape = shape
    return seen


def free(blocks: Sequence[Block]) -> None:
    """Have blocks make graphs for every size again."""
    for block in blocks:
        if isinstance(block, Windowed):
            block._in_shape = None


@contextmanager
def fixed(net: Block, shapes: Sequence[Shape]) -> Iterator[None]:
    """:func:`fix` a net as long as the context lasts."""
    blocks = blocks_of(net)
    fix(net, blocks, shapes)
    try:
        yield
    finally:
        free(blocks)


def infer(symbols: Sequence[Any], shapes: Dict[str, Shape]) -> List[Shape]:
    """Shapes of symbols, from those of variables; ValueError if they do not follow."""
    group = mx.sym.Group([as_classic(x) for x in symbols])
    there = set(group.list_arguments())
    _, found, _ = group.infer_shape_partial(**{k: v for k, v in shapes.items() if k in there})
    if any(not shape or min(shape) < 1 for shape in found):
        raise ValueError("Some shapes do not follow from those of the inputs.")
    return found


def flat(args: Any) -> List[Any]:
    """The arrays and symbols in lists of lists."""
    if isinstance(args, (list, tuple)):
        return [x for arg in args for x in flat(arg)]
    return [args] if isinstance(args, (mx.sym.Symbol, mx.nd.NDArray)) else []


def as_classic(symbol: mx.sym.Symbol) -> mx.sym.Symbol:
    """A symbol in classic mode."""
    return symbol.as_nd_ndarray() if isinstance(symbol, mx.sym.numpy._Symbol) else symbol


def _shapes_seen(net, blocks, shapes):
    calls = []
    names = [f"data{i}" for i in range(len(shapes))]
    known = dict(zip(names, shapes))

    def see(block, args):
        args = flat(args)
        if isinstance(block, Windowed):  # so that its graph is the one for this size
            (block._in_shape,) = infer(args, known)
        calls.append((block, args))

    handles = [block.register_forward_pre_hook(see) for block in blocks]
    inputs = [mx.sym.var(name) for name in names]
    if mx.util.is_np_array():
        inputs = [x.as_np_ndarray() for x in inputs]
    try:
        net(*inputs)
        symbols = [x for _, args in calls for x in args]
        found = infer(symbols, known)
        others = _at_another_batch(symbols, known) or found
    except (mx.MXNetError, AttributeError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(
            f"{net.name} could not be traced with inputs of shape {shapes}: give the shapes of all "
            f"its inputs, and make blocks whose code needs arrays HybridBlocks. {error}"
        ) from error
    finally:
        for handle in handles:
            handle.detach()
        free(blocks)
    pairs = iter(zip(found, others))
    seen = {}
    for block, args in calls:
        shapes = [next(pairs) for _ in args]
        if hasattr(block, "_check_input"):  # a net of the zoo, which takes not every size
            block._check_input(shapes[0][0])
        seen.setdefault(block, set()).add(tuple(shape for shape, _ in shapes))
        if any(shape[1:] != other[1:] for shape, other in shapes):
            # The batch reaches other axes: what they are is not settled.
            seen[block].add(tuple(other for _, other in shapes))
    return seen


def _at_another_batch(symbols: Sequence[Any], known: Dict[str, Shape]) -> Optional[List[Shape]]:
    try:
        return infer(symbols, {name: (n + 1, *rest) for name, (n, *rest) in known.items()})
    except (mx.MXNetError, ValueError):
        return None  # a net for one batch size alone
