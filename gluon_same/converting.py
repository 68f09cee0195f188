"""Convert the padding of an existing net to SAME."""

from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple

from mxnet.gluon import Block, HybridBlock

from .arrays import classic
from .nn.base import operator_arguments, windowed
from .same_rules import counts_padding, meant_as_same, pads_as_same, windows_in
from .sized import Sized
from .summaries import window_text
from .tables import aligned
from .window_places import OURS, as_same, layer_class, operators_padded_by_code, places_in

__all__ = ["to_same"]

Predicate = Callable[[str, Block], Optional[bool]]


class Layer(NamedTuple):
    """One layer: its path, its type, and its padding before and after the change."""

    path: str  # as in a file of save_parameters: 'features.0'
    type: str
    window: str  # '3x3/2', '3x3/1 d2'
    before: str
    after: str


@dataclass(repr=False)
class Report:
    """Result of :func:`to_same`, which prints as a table.

    Attributes
    ----------
    changed : list of Layer
        The layers whose padding became SAME.
    left : list of Layer
        The other layers that do not pad as SAME does at every input size.
    by_code : list of Layer
        Those of ``left`` whose input the net's code pads, or whose result it crops. Together, they may
        already pad as SAME does.
    """

    changed: List[Layer]
    left: List[Layer]
    by_code: List[Layer] = field(default_factory=list)

    def __repr__(self) -> str:
        parts: List[str] = []
        plain = [layer for layer in self.left if layer not in self.by_code]
        groups = {"changed to SAME": self.changed, "left unchanged": plain}
        groups["left unchanged, because the net's code pads or crops there"] = self.by_code
        for title, layers in groups.items():
            if layers or not parts:
                parts.append(f"{len(layers)} layer{'s' * (len(layers) != 1)} {title}")
                parts += [f"  {line}" for line in aligned(list(map(_cells, layers)))]
        return "\n".join(parts)


def _cells(layer):
    change = f"{layer.before} -> {layer.after}" if layer.after != layer.before else layer.before
    return f"{layer.path or '(net)'} ({layer.type})", layer.window, change


def to_same(net: Block, predicate: Optional[Predicate] = None) -> Report:
    """Change the padding of a net's convolutions and poolings to SAME, in place.

    Use it to load weights that were trained with TensorFlow's or Keras' ``padding='same'`` into an
    existing net, for example of MXNet's model zoo or of GluonCV. Only the positions of the windows
    change. Blocks, parameters, names, hooks and hybridization stay, so files of ``save_parameters`` load
    as before.

    Parameters
    ----------
    net : Block
        A net that contains stock layers, layers of :mod:`gluon_same.nn`, or subclasses of either: as
        children, as attributes, or in lists, tuples and dicts that are attributes.
    predicate : callable, optional
        ``predicate(path, block)`` is called for each layer that does not pad as SAME does at every
        input size, with its path as in a file of ``save_parameters``. True changes the layer, False
        leaves it as it is, and None applies the rule below.

    Returns
    -------
    Report
        Its ``repr`` is a table; ``changed`` and ``left`` are lists of the layers.

    Raises
    ------
    TypeError
        If ``net`` is not a block, or if the predicate is not callable or returns anything else.
    ValueError
        If a layer that should change cannot, because its class has its own ``hybrid_forward`` or it is
        part of a specialized or deployed block. No layer is changed then.

    Notes
    -----
    The numbers alone do not show what an author meant. The rule changes a layer

    - if it pads some axis, and each axis by ``k // 2`` or ``(k - 1) // 2``, where ``k`` is the number of
      elements that its window spans: 7x7 with padding 3, 3x3 with 1, 4x4 with 1 or 2, 1x7 with (0, 3);
    - if it is a transposed convolution that gives ``in * strides`` elements along every axis.

    Each operator in the graph of a SymbolBlock counts as a layer, and its path ends with its name.
    Layers whose input the net's code pads by operators, or whose result it crops, do not change either:
    such code often pads as SAME does. The report lists them. To find them, the net is run on symbols,
    which calls its hooks.

    Layers without padding stay ``'valid'``; explicit pairs and other words do not change. Average
    poolings that change divide by the elements that lie in the input, as TensorFlow's do. ``ceil_mode``
    and ``output_padding`` are removed, because SAME sets the size.

    First check how the original net pads. Not every net that was trained with TensorFlow uses SAME. For
    example, the ResNets of ``keras.applications`` pad strided windows equally at both ends, by
    ``ZeroPadding2D``. So do the ResNets of MXNet's model zoo, which therefore need no change for these
    weights. If the original uses SAME in some layers only, exclude the others by their paths. This call
    excludes the first convolution and the first pooling of ``resnet50_v1``, and applies the rule to all
    other layers::

        to_same(net, lambda path, block: False if path in ('features.0', 'features.3') else None)

    Other layers with windows, such as the deformable convolutions and convolutional recurrent cells of
    ``mxnet.gluon.contrib``, are ignored.

    Blocks of :func:`gluon_same.specialize` and :func:`gluon_same.deploy` do not follow the change. If a
    larger hybridized net that contains ``net`` was already called, call its ``hybridize`` again.

    Examples
    --------
    >>> from mxnet.gluon import nn
    >>> from gluon_same import to_same
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Conv2D(64, 7, 2, 3), nn.MaxPool2D(3, 2, 1))
    >>> net.add(nn.Conv2D(64, 3, padding=1), nn.MaxPool2D())
    >>> to_same(net)
    2 layers changed to SAME
      0 (Conv2D)     7x7/2  3 -> same
      1 (MaxPool2D)  3x3/2  1 -> same
    1 layer left unchanged
      3 (MaxPool2D)  2x2/2  0
    """
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    if predicate is not None and not callable(predicate):
        raise TypeError(f"predicate={predicate!r} is not a function: give one of (path, block), or None")
    blocks = list(_walk(net))
    places = [place for block, path in blocks for place in places_in(path, block)]
    names = operators_padded_by_code(net, places)
    places = [place for place in places if not pads_as_same(place.known, place.windows)]
    coded = [place.windows is None and place.operator in names for place in places]
    rows = [_layer(place) for place in places]
    chosen = [_is_chosen(place, by_code, predicate) for place, by_code in zip(places, coded)]
    changing = [place for place, is_chosen in zip(places, chosen) if is_chosen]
    for place in changing:
        _check(place)
    for block, _ in blocks:
        if isinstance(block, HybridBlock):
            block._clear_cached_op()
    _change_graphs([place for place in changing if place.graph is not None])
    for place in changing:
        if place.graph is None:
            _change(place.block)
    changed = [row._replace(after="same") for row, is_chosen in zip(rows, chosen) if is_chosen]
    left = [(row, code) for row, is_chosen, code in zip(rows, chosen, coded) if not is_chosen]
    return Report(changed, [row for row, _ in left], [row for row, code in left if code])


def _walk(net: Block) -> Iterator[Tuple[Block, str]]:
    """Yield each block of a net once, with its path."""
    seen = {}  # by id; keeping the objects keeps the ids valid

    def visit(value, path):
        if not isinstance(value, (Block, dict, list, tuple)) or id(value) in seen:
            return
        seen[id(value)] = value
        parts = value if isinstance(value, dict) else {}
        if isinstance(value, (list, tuple)):
            parts = dict(enumerate(value))
        if isinstance(value, Block):
            yield value, ".".join(path)
            # Blocks in a list are not children in Gluon.
            parts = {**value._children, **{k: v for k, v in vars(value).items() if k != "_children"}}
        for name, part in parts.items():
            yield from visit(part, (*path, str(name)))

    return visit(net, ())


def _is_chosen(place, coded, predicate):
    chosen = None if predicate is None else predicate(place.path, place.block)
    if chosen not in (True, False, None):
        raise TypeError(
            f"predicate({place.path!r}, ...) returned {chosen!r}: return True, False or None"
        )
    if chosen is not None:
        return chosen
    # The author of a word or of pairs could have chosen SAME, so these stay.
    return place.windows is None and not coded and meant_as_same(place.known)


def _check(place):
    """Raise a ValueError if an operator cannot be changed."""
    path, block = place.path, place.block
    hint = f"give a predicate that returns False for {path!r} to leave it as it is"
    if isinstance(block, Sized):
        raise ValueError(
            f"{path!r} belongs to a block for fixed sizes: convert the original net, or {hint}"
        )
    if place.node is not None:
        return
    cls = type(block)
    base: Any = layer_class(cls)
    for each in cls.__mro__[: cls.__mro__.index(base)]:
        for name in ("forward", "hybrid_forward"):
            own = vars(each).get(name)
            code = getattr(own, "__code__", None)
            ours = each.__module__.startswith("gluon_same.")
            # A stock layer's ``hybrid_forward`` is replaced, so that of a subclass would not be called.
            kept = code and "super" in code.co_names and (name == "forward" or windowed(block))
            if own and not ours and not kept:
                raise ValueError(
                    f"{path!r} is a {cls.__name__}, which overrides {name} of {base.__name__}: {hint}"
                )


def _change_graphs(places):
    """Change operators of the graphs of SymbolBlocks."""
    nodes = [place.node for place in places]
    for block, graph in {place.block: place.graph for place in places}.items():
        graph.rewrite(lambda graph, node: as_same(graph, node) if node in nodes else None)
        inputs, symbol = block._cached_graph
        _, restore = classic(symbol)
        block._cached_graph = inputs, restore(graph.symbol())


def _change(block):
    layer = windowed(block)
    if layer is None:  # our layer shares the parameters and the activation of the stock block
        layer = object.__new__(OURS[layer_class(type(block))])
        vars(layer).update(vars(block))
        vars(block)["hybrid_forward"] = layer.hybrid_forward
    known = operator_arguments(block)
    none = (0,) * len(known["kernel"])
    for name, value in [("pooling_convention", "valid"), ("count_include_pad", False), ("adj", none)]:
        if name in known:
            known[name] = value
    if "adj" in known:
        block.outpad = none  # a second copy in the stock block
    layer._pad_by("same")


def _layer(place):
    windows = place.windows or windows_in(place.known)
    window, padding = window_text(place.known, windowed(place.block))
    if counts_padding(place.known, windows):
        padding += ", counted"
    kind = type(place.block).__name__ if place.node is None else place.node.op
    return Layer(place.path, kind, window, padding, padding)
