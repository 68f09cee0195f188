"""Summarize the layers of a net with their windows, padding, shapes and parameters."""

import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from mxnet.gluon import Block

from .arguments import shape_of
from .nn.base import Windowed, operator_arguments, windowed
from .tables import aligned, by_axis, html
from .trace import Trace

__all__ = ["summary"]

Shape = Tuple[Optional[int], ...]

_TITLES = ("Layer (type)", "Window", "Padding", "Input", "Output", "Param #")
_RIGHT = (len(_TITLES) - 1,)  # columns of numbers


class Row(NamedTuple):
    """One call of one layer. Shapes have None for sizes that cannot be inferred from the inputs."""

    name: str
    type: str
    window: str  # '3x3/2', '3x3/1 d2', or '' for a layer without a window
    padding: str
    input_shapes: Tuple[Shape, ...]
    output_shapes: Tuple[Shape, ...]
    params: int  # parameters counted here: a shared one counts in the first row that uses it
    trainable: int
    shared: int  # parameters that an earlier row counted


class Summary:
    """Result of :func:`summary`, which prints as a table.

    Attributes
    ----------
    name : str
        Name of the net.
    rows : list of Row
        One for each call of a layer, in order.
    input_shapes, output_shapes : tuple of tuple of int
        Shapes of the net's inputs and outputs.
    total_params, trainable_params, non_trainable_params : int
        Numbers of parameters of the net. Each parameter counts once.
    unused_params : int
        Number of parameters in the total whose layer was not called.
    unknown : list of str
        Names of parameters that are not counted because their shapes are not known.
    """

    def __init__(self, net, rows, shapes, outputs, sizes, unknown):
        self.name: str = net.name
        self.rows: List[Row] = rows
        self.input_shapes: Tuple[Shape, ...] = tuple(shapes)
        self.output_shapes: Tuple[Shape, ...] = outputs
        self.total_params: int = sum(size for _, size in sizes)
        self.trainable_params: int = sum(size for p, size in sizes if _trains(p))
        self.non_trainable_params: int = self.total_params - self.trainable_params
        self.unknown: List[str] = unknown
        self.unused_params: int = self.total_params - sum(row.params for row in rows)

    def __str__(self) -> str:
        above, below = self._around()
        titles, *lines = aligned([_TITLES, *map(_cells, self.rows)], _RIGHT)
        thin, thick = "-" * len(titles), "=" * len(titles)
        return "\n".join([above, thin, titles, thick, *lines, thick, *below, thin])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        above, below = self._around()
        return html([_TITLES, *map(_cells, self.rows)], _RIGHT, above, "\n".join(below))

    def _around(self) -> Tuple[str, List[str]]:
        """Return the line above the table, and those below it."""
        inputs, outputs = (", ".join(map(str, s)) for s in (self.input_shapes, self.output_shapes))
        counts = {"Total": self.total_params, "Trainable": self.trainable_params}
        counts["Non-trainable"] = self.non_trainable_params
        below = [f"{name} params: {count:,}" for name, count in counts.items()]
        if self.unused_params:
            below.append(f"Params of layers that were not called: {self.unused_params:,}")
        if self.unknown:
            below.append(f"Not counted because their shapes are unknown: {', '.join(self.unknown)}")
        return f"{self.name}: {inputs} -> {outputs}", below


def summary(net: Block, *input_shapes: Sequence[int]) -> Summary:
    """Show a table of a net's layers as Keras does, with the windows and their padding.

    A script prints the table. In an interactive session and a notebook, which show the result of a line,
    nothing is printed.

    The net is traced with symbols, so nothing is computed and the net does not change. It may be
    hybridized or specialized, and its parameters may have no shapes yet. Gluon's
    ``net.summary(*inputs)`` runs the net, which fixes the shapes of the parameters, returns nothing and
    fails for hybridized nets.

    Parameters
    ----------
    net : Block
        A net, also of Blocks that call operators of ``mx.nd`` or ``mx.np``.
    *input_shapes : tuple of int or NDArray
        Shape of each input, the batch first, or an array of that shape.

    Returns
    -------
    Summary
        Its ``str()`` is the table; ``rows``, ``total_params``, ``trainable_params`` and
        ``non_trainable_params`` are data. A layer is a block that has parameters or no children. A layer
        that is called twice has two rows. The table shows shapes without the batch. In a net loaded from
        Keras, constants that only MXNet's operators require do not count.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is not a block, if a shape does not consist of positive whole numbers, if the shapes
        do not match the net, or if the net's code requires arrays.

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
    found = summarize(net, *input_shapes)
    if not hasattr(sys, "ps1"):  # Python, IPython and Jupyter set the prompt of a session
        print(found)
    return found


def summarize(net: Block, *input_shapes: Sequence[int]) -> Summary:
    """Return what :func:`summary` shows."""
    if not input_shapes:
        raise ValueError("input_shapes is empty: give a shape for each input, the batch first")
    shapes = [shape_of("input shape", shape) for shape in input_shapes]
    trace = Trace(net, shapes, sized=False)
    counted, rows = set(), []
    for block, inputs, outputs in trace.layers():
        own = list(filter(_counts, block._reg_params.values()))
        new = [(p, trace.size(p)) for p in own if p not in counted]
        window, padding = window_text(operator_arguments(block), windowed(block))
        row = Row(
            name=_short_name(block, net),
            type=getattr(block, "layer_type", type(block).__name__),
            window=window,
            padding=padding,
            input_shapes=trace.shapes_of(inputs),
            output_shapes=trace.shapes_of(outputs),
            params=sum(size for _, size in new),
            trainable=sum(size for p, size in new if _trains(p)),
            shared=sum(trace.size(p) for p in own if p in counted),
        )
        rows.append(row)
        counted.update(own)
    sizes = [(p, trace.size(p)) for p in filter(_counts, net.collect_params().values())]
    return Summary(net, rows, shapes, trace.shapes_of(trace.outputs), sizes, sorted(trace.unknown))


def window_text(known: Dict[str, Any], layer: Optional[Windowed] = None) -> Tuple[str, str]:
    """Return window and padding of an operator's arguments as text; two empty strings without a window.

    ``layer`` is the one that the arguments are of, if it extends stock Gluon.
    """
    if "kernel" not in known:
        return "", ""
    if known.get("global_pool"):
        return "global", ""
    window = f"{by_axis(known['kernel'])}/{_short(known['stride'])}"
    if max(known.get("dilate", (1,))) > 1:
        window += f" d{_short(known['dilate'])}"
    padding = None if layer is None else layer._padding
    if isinstance(padding, tuple):
        padding = " ".join(map(str, padding[:1] if len(set(padding)) == 1 else padding))
    elif padding is None:
        padding = _short(known["pad"]) + (" ceil" if known.get("pooling_convention") == "full" else "")
    if max(known.get("adj", (0,))):
        padding = f"{padding} adj {_short(known['adj'])}"
    return window, str(padding)


def _short(values):
    return str(values[0]) if len(set(values)) == 1 else by_axis(values)


def _cells(row):
    sizes = [
        ", ".join(by_axis("?" if n is None else n for n in shape[1:]) or "-" for shape in shapes)
        for shapes in (row.input_shapes, row.output_shapes)
    ]
    count = f"{row.params:,}" + (f" (+{row.shared:,} shared)" if row.shared else "")
    return (f"{row.name} ({row.type})", row.window, row.padding, *sizes, count)


def _short_name(block, net):
    prefix = "" if block is net else net.prefix
    return block.name[len(prefix) :] if block.name.startswith(prefix) else block.name


def _counts(parameter):
    """Return whether a parameter is not one of the constants that Keras' layers lack."""
    return not getattr(parameter, "is_constant", False)


def _trains(parameter):
    return parameter.grad_req != "null"
