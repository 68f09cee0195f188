"""Turning the padding of a net that somebody else wrote into SAME."""

import json
from functools import lru_cache
from typing import Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from mxnet.gluon import Block, SymbolBlock
from mxnet.gluon import nn as stock

from . import nn
from .meant import counts_padding, meant_as_same, of_node, padding_of, pads_as_same
from .nn.base import Windowed, _Shown
from .specialize import plain_class, release
from .summary import _window

__all__ = ["to_same"]

Predicate = Callable[[str, Block], Optional[bool]]

#: Our class for each stock one.
_OURS = {
    getattr(stock, name): getattr(nn, name)
    for kind in ("Conv{}D", "Conv{}DTranspose", "MaxPool{}D", "AvgPool{}D")
    for name in map(kind.format, (1, 2, 3))
}


class Layer(NamedTuple):
    """One layer: where it is, what it is, and its padding before and after."""

    path: str  # as in a file of save_parameters: 'features.0'
    type: str
    window: str  # '3x3/2', '3x3/1 d2'
    before: str
    after: str


class Report:
    """What :func:`to_same` did. Printed, it is a table.

    Attributes
    ----------
    changed : list of Layer
        The layers whose padding became SAME.
    left : list of Layer
        The other layers that do not pad as SAME does at every input size.
    """

    def __init__(self, changed: Sequence[Layer], left: Sequence[Layer]):
        self.changed: List[Layer] = list(changed)
        self.left: List[Layer] = list(left)

    def __repr__(self) -> str:
        parts = []
        for title, layers in (("changed to SAME", self.changed), ("left alone", self.left)):
            if layers or not parts:
                parts.append(f"{len(layers)} layer{'s' * (len(layers) != 1)} {title}")
                rows = [(f"{x.path or '(net)'} ({x.type})", x.window, x.before, x.after) for x in layers]
                widths = [max(map(len, column)) for column in zip(*rows)]
                for name, window, before, after in rows:
                    line = f"  {name:<{widths[0]}}  {window:<{widths[1]}}  "
                    arrow = f"{before:<{widths[2]}} -> {after}" if after != before else before
                    parts.append(line + arrow)
        return "\n".join(parts)


def to_same(net: Block, predicate: Optional[Predicate] = None) -> Report:
    """Turn the padding of a net's convolutions and poolings into SAME, in place.

    It is for weights that were trained with TensorFlow's or Keras' ``padding='same'`` in a net whose
    source is somebody else's: MXNet's model zoo, GluonCV. Blocks, parameters, names, hooks and
    hybridization stay, so files of ``save_parameters`` load as before; what changes is where windows
    lie.

    Parameters
    ----------
    net : Block
        A net that holds stock layers, layers of :mod:`gluon_same.nn`, or subclasses of either: as
        children, as attributes, or in lists, tuples and dicts that are attributes.
    predicate : callable, optional
        ``predicate(path, block)`` is called for each layer that does not pad as SAME does at every
        input size, with its path as in a file of ``save_parameters``. True changes the layer, False
        leaves it, None leaves the decision to the rule below.

    Returns
    -------
    Report
        Its ``repr`` is a table; ``changed`` and ``left`` are lists of the layers.

    Raises
    ------
    TypeError
        If ``net`` is no block, or the predicate returns something else.
    ValueError
        If a layer that is to change cannot: its class computes by a ``hybrid_forward`` of its own,
        or it lies in the fixed graph of a SymbolBlock. Nothing was changed then.

    Notes
    -----
    Numbers do not tell what an author meant. The rule takes a layer for SAME

    - where it pads both ends of some axis, and each axis by ``k // 2`` or ``(k - 1) // 2``, for ``k``
      the elements that its window spans: 7x7 with padding 3, 3x3 with 1, 4x4 with 1 or 2, 1x7 with
      (0, 3);
    - if transposed, where it gives ``in * strides`` elements along every axis.

    Layers without padding stay ``'valid'``, and explicit pairs and other words stay what they are.
    Average poolings that change divide by the elements that exist, as TensorFlow's do. ``ceil_mode``
    and ``output_padding`` go, because SAME sets the size.

    Not every net that was trained with TensorFlow pads by SAME everywhere. The ResNets of
    ``keras.applications``, for one, pad their first convolution and pooling by as much as the zoo's do,
    at both ends::

        to_same(net, lambda path, block: False if path in ('features.0', 'features.3') else None)

    Specialized and adapted nets serve every size again. A hybridized net *around* ``net`` that has been
    called keeps its graph: call its ``hybridize`` again.

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
    1 layer left alone
      3 (MaxPool2D)  2x2/2  0
    """
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    released = set(release(net))
    blocks = dict(_walk(net))
    for block in blocks:
        if block not in released:
            released.update(release(block))
    layers = {block: path for block, path in blocks.items() if _differs(block)}
    chosen = [block for block, path in layers.items() if _is_chosen(path, block, predicate)]
    classes = {block: _same_class(layers[block], block) for block in chosen}
    before = {block: _layer(path, block) for block, path in layers.items()}
    for block, cls in classes.items():
        _change(block, cls)
    changed = [before[block]._replace(after=_layer("", block).after) for block in classes]
    return Report(changed, [row for block, row in before.items() if block not in classes])


def _walk(net: Block) -> Iterator[Tuple[Block, str]]:
    """Each block of a net once, with its path."""
    seen = {}  # by id; holds what it names, so that no other object takes an id

    def visit(value, path):
        if not isinstance(value, (Block, dict, list, tuple)) or id(value) in seen:
            return
        seen[id(value)] = value
        parts = value if isinstance(value, dict) else {}
        if isinstance(value, (list, tuple)):
            parts = dict(enumerate(value))
        if isinstance(value, Block):
            yield value, ".".join(path)
            # Gluon does not count blocks in a list as children.
            parts = {**value._children, **{k: v for k, v in vars(value).items() if k != "_children"}}
        for name, part in parts.items():
            yield from visit(part, (*path, str(name)))

    return visit(net, ())


def _base(cls):
    return next((base for base in cls.__mro__ if base in _OURS), None)


def _differs(block):
    """Whether a block has windows that lie elsewhere than those of SAME at some input size."""
    if isinstance(block, SymbolBlock):
        return not all(map(pads_as_same, _windows_in(block)))
    if _base(type(block)) is None or block._kwargs.get("global_pool"):
        return False
    return not pads_as_same(block._kwargs, getattr(block, "_padding", None))


def _is_meant(block):
    if isinstance(block, SymbolBlock):
        return any(meant_as_same(known) and not pads_as_same(known) for known in _windows_in(block))
    # A word or pairs are what somebody chose who could have chosen SAME.
    return getattr(block, "_padding", None) is None and meant_as_same(block._kwargs)


def _windows_in(block):
    nodes = json.loads(block._cached_graph[1].tojson())["nodes"]
    return [known for known in map(of_node, nodes) if known is not None]


def _is_chosen(path, block, predicate):
    chosen = None if predicate is None else predicate(path, block)
    if chosen not in (True, False, None):
        raise TypeError(f"predicate({path!r}, ...) returned {chosen!r}: return True, False or None")
    return _is_meant(block) if chosen is None else chosen


def _same_class(path, block):
    """The class that a layer is to have."""
    hint = f"give a predicate that returns False for {path!r} to leave it as it is"
    if isinstance(block, SymbolBlock):
        raise ValueError(
            f"{path!r} is a SymbolBlock, whose graph is fixed: convert what it was made from, or {hint}"
        )
    cls = type(block)
    base = _base(cls)
    for each in cls.__mro__[: cls.__mro__.index(base)]:
        for name in ("forward", "hybrid_forward"):
            own = vars(each).get(name)
            code = getattr(own, "__code__", None)
            ours = each.__module__.startswith("gluon_same.")
            if own and not ours and not (code and "super" in code.co_names):
                raise ValueError(
                    f"{path!r} is a {cls.__name__} whose {name} does not call that of {base.__name__}: "
                    f"{hint}"
                )
    if issubclass(cls, Windowed):
        return cls
    return _OURS[base] if cls is base else _with_ours(cls)


@lru_cache(maxsize=None)  # of the subclasses that nets have, which are few and stay
def _with_ours(cls):
    """A subclass of a stock layer, with our layer between the two."""

    def reduce(block, protocol):
        return _revive, (cls,), block.__dict__

    named = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__reduce_ex__": reduce}
    return type(cls.__name__, (cls, _OURS[_base(cls)]), named)


def _revive(cls):
    return object.__new__(_with_ours(cls))


def _change(block, cls):
    block.__class__ = cls
    vars(block).update(_padding="same", _in_shape=None, _way=None)
    known = block._kwargs
    known["pad"] = _Shown("same")
    none = (0,) * len(known["kernel"])
    for name, value in [("pooling_convention", "valid"), ("count_include_pad", False), ("adj", none)]:
        if name in known:
            known[name] = value
    if "adj" in known:
        block.outpad = none  # which the stock block keeps, too


def _layer(path, block):
    if isinstance(block, SymbolBlock):
        return Layer(path, "SymbolBlock", "", "a graph", "a graph")
    window, padding = _window(block)
    if counts_padding(block._kwargs, padding_of(block._kwargs, getattr(block, "_padding", None))[0]):
        padding += ", counted"
    return Layer(path, plain_class(type(block)).__name__, window, padding, padding)
