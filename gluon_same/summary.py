"""A net's layers, their windows and paddings, sizes and parameters, without running it."""

import re
from contextlib import suppress
from typing import List, NamedTuple, Optional, Sequence, Tuple

import mxnet as mx
from mxnet.gluon import Block
from mxnet.gluon import nn as stock

from .arguments import whole
from .nn.base import Windowed
from .specialize import _classic, _flat, _infer

__all__ = ["summary"]

Shape = Tuple[Optional[int], ...]

#: Stock blocks that hold an Activation as a part of themselves.
_ACTIVATED = (stock.Dense, stock.Conv2D.__base__)
_TITLES = ("Layer (type)", "Window", "Padding", "Input", "Output", "Param #")


class Row(NamedTuple):
    """One call of one layer. Shapes have None where they do not follow from those of the inputs."""

    name: str
    type: str
    window: str  # '3x3/2', '3 dilated 2', or '' for what has none
    padding: str
    input_shapes: Tuple[Shape, ...]
    output_shapes: Tuple[Shape, ...]
    params: int  # those counted here: a parameter that is shared counts where it is first used
    trainable: int
    shared: int  # those of its parameters that were counted above


class Summary:
    """What :func:`summary` found. Printed, it is a table.

    Attributes
    ----------
    name : str
        The net's.
    rows : list of Row
        One for each call of a layer, in their order.
    input_shapes, output_shapes : tuple of tuple of int
        Of the net.
    total_params, trainable_params, non_trainable_params : int
        Of the net; each parameter counts once.
    unused_params : int
        Those in the total that belong to no row: their layer was not called.
    """

    def __init__(self, net, rows, shapes, outputs, sizes):
        self.name: str = net.name
        self.rows: List[Row] = rows
        self.input_shapes: Tuple[Shape, ...] = tuple(shapes)
        self.output_shapes: Tuple[Shape, ...] = outputs
        self.total_params: int = sum(size for _, size in sizes)
        self.trainable_params: int = sum(size for p, size in sizes if _trains(p))
        self.non_trainable_params: int = self.total_params - self.trainable_params
        self.unused_params: int = self.total_params - sum(row.params for row in rows)

    def __str__(self) -> str:
        cells = [_TITLES, *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = []
        for *words, count in cells:
            texts = [f"{word:<{width}}" for word, width in zip(words, widths)]
            lines.append("  ".join([*texts, f"{count:>{widths[-1]}}"]))
        rule = len(lines[0])
        inputs, outputs = (", ".join(map(str, s)) for s in (self.input_shapes, self.output_shapes))
        below = [
            f"Total params: {self.total_params:,}",
            f"Trainable params: {self.trainable_params:,}",
            f"Non-trainable params: {self.non_trainable_params:,}",
        ]
        if self.unused_params:
            below.append(f"Of layers that were not called: {self.unused_params:,}")
        return "\n".join(
            [f"{self.name}: {inputs} -> {outputs}", "-" * rule, lines[0], "=" * rule, *lines[1:]]
            + ["=" * rule, *below, "-" * rule]
        )

    __repr__ = __str__


def summary(net: Block, *input_shapes: Sequence[int]) -> Summary:
    """A table of a net's layers in Keras' form, with the windows and their padding.

    The net is traced with shapes and nothing is computed: it may be hybridized or specialised, its
    parameters may wait for their shapes, and it is left exactly as it is. Gluon's own
    ``net.summary(*inputs)`` prints and returns nothing, runs the net (which settles parameters'
    shapes), and refuses hybridized ones.

    Parameters
    ----------
    net : Block
        A net of HybridBlocks; what merely strings them together (``nn.Sequential``) may be a Block.
    *input_shapes : tuple of int
        Shape of each input, the batch first.

    Returns
    -------
    Summary
        Its ``str()`` is the table; ``rows``, ``total_params``, ``trainable_params`` and
        ``non_trainable_params`` are data. A layer is a block with parameters of its own or without
        children; one that is called twice has two rows. In the table, sizes are without the batch.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is no block, if a shape is not made of whole numbers above 0, if the shapes do not
        fit the net, or if the net's code needs arrays.

    Examples
    --------
    >>> from gluon_same import nn, summary
    >>> net = nn.HybridSequential(prefix='net_')
    >>> with net.name_scope():
    ...     net.add(nn.Conv2D(16, 3, strides=2, padding='same'), nn.BatchNorm(),
    ...             nn.MaxPool2D(2, strides=1, padding='same'))
    >>> summary(net, (1, 3, 32, 32))
    net: (1, 3, 32, 32) -> (1, 16, 16, 16)
    --------------------------------------------------------------------
    Layer (type)            Window  Padding  Input     Output    Param #
    ====================================================================
    conv0 (Conv2D)          3x3/2   same     3x32x32   16x16x16      448
    batchnorm0 (BatchNorm)                   16x16x16  16x16x16       64
    pool0 (MaxPool2D)       2x2/1   same     16x16x16  16x16x16        0
    ====================================================================
    Total params: 512
    Trainable params: 480
    Non-trainable params: 32
    --------------------------------------------------------------------
    >>> summary(net, (1, 3, 32, 32)).rows[0].output_shapes
    ((1, 16, 16, 16),)
    """
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    if not input_shapes:
        raise ValueError("no input shape was given: give one for each input, the batch first")
    for shape in input_shapes:
        if not isinstance(shape, (tuple, list)) or not shape:
            raise TypeError(f"input shape={shape!r} is not a shape: give a tuple of ints for each input")
    shapes = [tuple(whole("input shape", n, 1) for n in shape) for shape in input_shapes]
    known = {f"data{i}": shape for i, shape in enumerate(shapes)}
    try:
        calls, outputs = _trace(net, known)
        inferred = _Shapes(net, [x for _, *pair in calls for xs in pair for x in xs] + outputs, known)
    except Exception as error:  # whatever a block's code raises when it meets a symbol
        raise ValueError(_why(net, shapes, error)) from error
    counted, rows = set(), []
    for block, args, outs in calls:
        own = list(block._reg_params.values())
        new = [(p, inferred.size(p)) for p in own if p not in counted]
        rows.append(
            Row(
                _short_name(block, net),
                _unguarded(type(block)).__name__,
                *_window(block),
                inferred.of(args),
                inferred.of(outs),
                sum(size for _, size in new),
                sum(size for p, size in new if _trains(p)),
                sum(inferred.size(p) for p in own if p in counted),
            )
        )
        counted.update(own)
    sizes = [(p, inferred.size(p)) for p in net.collect_params().values()]
    return Summary(net, rows, shapes, inferred.of(outputs), sizes)


def _trace(net, known):
    """The calls of layers, each with the symbols it was given and gave, and the net's outputs."""
    calls, running, fixed, handles, blocks = [], [], [], [], []
    net.apply(blocks.append)

    def enter(block, args):
        # A layer is as eager calls have it: in the form for the size it is given.
        if isinstance(block, Windowed) and block._in_shape is None:
            with suppress(ValueError):  # its size does not follow: in the form for every size, then
                (block._in_shape,) = _infer(_flat(args), known)
                fixed.append(block)
        if _is_layer(block) and not (isinstance(block, stock.Activation) and _is_activated(running)):
            calls.append([block, _flat(args), None])
        running.append(block)

    def leave(block, _, out):
        running.pop()
        if fixed and fixed[-1] is block:
            fixed.pop()._in_shape = None
        call = next((c for c in reversed(calls) if c[0] is block and c[2] is None), None)
        if call is not None:
            call[2] = _flat([out])

    inputs = [mx.sym.var(name) for name in known]
    if mx.util.is_np_array():
        inputs = [x.as_np_ndarray() for x in inputs]
    try:
        for block in dict.fromkeys(blocks):
            handles.append(block.register_forward_pre_hook(enter))
            handles.append(block.register_forward_hook(leave))
        out = _flat([net(*inputs)])
    finally:
        for handle in handles:
            handle.detach()
        for block in fixed:
            block._in_shape = None
    return calls, out


class _Shapes:
    """The shapes of symbols and parameters, from those of the inputs."""

    def __init__(self, net, symbols, known):
        group = mx.sym.Group([_classic(x) for x in symbols])
        there = set(group.list_inputs())
        args, outs, states = group.infer_shape_partial(**{k: v for k, v in known.items() if k in there})
        self._found = dict(zip(group.list_arguments() + group.list_auxiliary_states(), args + states))
        self._outputs = {}
        outs = iter(outs)
        for x in symbols:
            shapes = [next(outs) for _ in x.list_outputs()]
            self._outputs[id(x)] = tuple(tuple(n if n > 0 else None for n in shape) for shape in shapes)
        self._symbols = symbols  # kept, so that no other symbol takes an id
        for parameter in net.collect_params().values():
            # BatchNorm's inference takes any number of channels, whatever its parameters have.
            has, wants = parameter.shape or (), self._found.get(parameter.name) or ()
            if any(0 < n != m > 0 for n, m in zip(has, wants)):
                raise ValueError(f"{parameter.name} of shape {has} would have to be of shape {wants}.")

    def of(self, symbols):
        return tuple(shape for x in symbols for shape in self._outputs[id(x)])

    def size(self, parameter):
        """Elements of a parameter; 0 where its shape is not known."""
        shape = self._found.get(parameter.name) or parameter.shape or ()
        size = 1 if shape else 0
        for n in shape:
            size *= max(n, 0)
        return size


def _is_layer(block):
    if block._reg_params or isinstance(block, _ACTIVATED):
        return True
    return not block._children and not isinstance(block, (stock.Sequential, stock.HybridSequential))


def _is_activated(running):
    return bool(running) and isinstance(running[-1], _ACTIVATED)


def _window(block):
    """The window and the padding of a block, in words; empty ones for a block without a window."""
    known = getattr(block, "_kwargs", {})
    if not isinstance(known, dict) or "kernel" not in known:
        return "", ""
    if known.get("global_pool"):
        return "global", ""
    window = f"{_by_axis(known['kernel'])}/{_short(known['stride'])}"
    if max(known.get("dilate", (1,))) > 1:
        window += f" d{_short(known['dilate'])}"
    padding = getattr(block, "_padding", None)
    if isinstance(padding, tuple):
        padding = " ".join(map(str, padding[:1] if len(set(padding)) == 1 else padding))
    elif padding is None:
        padding = _short(known["pad"]) + (" ceil" if known.get("pooling_convention") == "full" else "")
    if max(known.get("adj", (0,))):
        padding = f"{padding} adj {_short(known['adj'])}"
    return window, str(padding)


def _by_axis(values):
    return "x".join(map(str, values))


def _short(values):
    return str(values[0]) if len(set(values)) == 1 else _by_axis(values)


def _cells(row):
    sizes = [
        ", ".join(_by_axis("?" if n is None else n for n in shape[1:]) or "-" for shape in shapes)
        for shapes in (row.input_shapes, row.output_shapes)
    ]
    count = f"{row.params:,}" + (f" (+{row.shared:,} shared)" if row.shared else "")
    return (f"{row.name} ({row.type})", row.window, row.padding, *sizes, count)


def _short_name(block, net):
    prefix = "" if block is net else net.prefix
    return block.name[len(prefix) :] if block.name.startswith(prefix) else block.name


def _unguarded(cls):
    return getattr(cls, "_unguarded", cls)


def _trains(parameter):
    return parameter.grad_req != "null"


def _why(net, shapes, error):
    specialised = re.search(r"(\w+)_specialized_to_(\w+)_axis", str(error))
    if specialised:
        return (
            f"{specialised.group(1)} is specialised to inputs of shape "
            f"{specialised.group(2).replace('x', ' x ')}, which {shapes} do not give: call "
            "gluon_same.specialize(net, new shape), or gluon_same.specialize(net) for every size"
        )
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    told = next((line for line in lines if "Error in operator" in line), lines[-1])
    return (
        f"{net.name} could not be traced with inputs of shape {shapes}: give the shapes of all its "
        f"inputs, and make blocks whose code needs arrays HybridBlocks. {told}"
    )
