"""The sizes that the blocks of a net see, found by tracing it, and their graphs for those sizes."""

from contextlib import contextmanager, suppress
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import mxnet as mx
from mxnet.gluon import Block

from ..nn.base import Windowed

Shape = Tuple[int, ...]

#: For each block, its calls: of each the shapes of the inputs.
Seen = Dict[Block, Set[Tuple[Shape, ...]]]


def blocks_of(net: Block) -> List[Block]:
    """A net's blocks, each once."""
    blocks = {}
    net.apply(blocks.setdefault)
    return list(blocks)


@contextmanager
def seeing(
    blocks: Sequence[Block],
    known: Dict[str, Shape],
    ways: Optional[Dict[Tuple[Block, Shape], str]] = None,
) -> Iterator[List[Tuple[Block, List[mx.sym.Symbol]]]]:
    """Have blocks make graphs for the sizes that they see, while a net is traced.

    Parameters
    ----------
    blocks : sequence of Block
    known : dict of str to tuple of int
        Shapes of the symbols that are the net's inputs, by name.
    ways : dict, optional
        By block and input shape, the way of :mod:`.lowering` that a layer takes; the portable one
        where there is none.

    Yields
    ------
    list
        Each call, in order: the block, and the symbols it was given.
    """
    calls = []
    windowed = [block for block in blocks if isinstance(block, Windowed)]
    before = [(block, block._in_shape, block._way) for block in windowed]

    def see(block, args):
        args = flat(args)
        if isinstance(block, Windowed):
            (block._in_shape,) = infer(args, known)
            block._way = (ways or {}).get((block, block._in_shape))
        calls.append((block, args))

    handles = [block.register_forward_pre_hook(see) for block in blocks]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.detach()
        for block, shape, way in before:
            block._in_shape, block._way = shape, way


def shapes_seen(net: Block, blocks: Sequence[Block], shapes: Sequence[Shape]) -> Tuple[Seen, bool]:
    """What sizes the blocks of a net see.

    Parameters
    ----------
    net : Block
    blocks : sequence of Block
        All of the net's.
    shapes : sequence of tuple of int
        Of the net's inputs.

    Returns
    -------
    dict, bool
        What each block sees, and whether the net takes other batches, as far as a few tries tell.

    Raises
    ------
    ValueError
        If the net cannot be traced.
    """
    names = [f"data{i}" for i in range(len(shapes))]
    known = dict(zip(names, shapes))
    inputs = [mx.sym.var(name) for name in names]
    if mx.util.is_np_array():
        inputs = [x.as_np_ndarray() for x in inputs]
    try:
        with seeing(blocks, known) as calls:
            net(*inputs)
        symbols = [x for _, args in calls for x in args]
        found = infer(symbols, known)
    except (mx.MXNetError, AttributeError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(not_traced(net, shapes, error)) from error
    others = _at_another_batch(symbols, known)
    pairs = iter(zip(found, others or found))
    seen = {}
    for block, args in calls:
        shapes = [next(pairs) for _ in args]
        if hasattr(block, "_check_input"):  # a net of the zoo, which takes not every size
            block._check_input(shapes[0][0])
        seen.setdefault(block, set()).add(tuple(shape for shape, _ in shapes))
        if any(shape[1:] != other[1:] for shape, other in shapes):
            # The batch reaches other axes: what they are is not settled.
            seen[block].add(tuple(other for _, other in shapes))
    return seen, others is not None


def not_traced(net: Block, shapes: Sequence[Shape], error: BaseException) -> str:
    """What to say of an error that stopped a trace: the cause, and then what may help."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    cause = next((line for line in lines if "Error in operator" in line), lines[-1]).rstrip(".")
    return (
        f"{cause}. So {net.name} could not be traced with inputs of shape {shapes}: give the shapes of "
        "all its inputs, and make blocks whose code needs arrays HybridBlocks"
    )


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


def _at_another_batch(symbols: Sequence[Any], known: Dict[str, Shape]) -> Optional[List[Shape]]:
    # A net may take even batches alone, or clips of several frames.
    for factor, more in ((1, 1), (1, 2), (2, 0), (3, 0)):
        other = {name: (factor * n + more, *rest) for name, (n, *rest) in known.items()}
        with suppress(mx.MXNetError, ValueError):
            return infer(symbols, other)
    return None
