"""Find the operators with windows in a net, and change their padding to SAME in a graph."""

from contextlib import suppress
from typing import Any, Dict, Iterable, Iterator, NamedTuple, Optional, Set

import mxnet as mx
from mxnet.gluon import Block, SymbolBlock
from mxnet.gluon import nn as stock

from . import nn
from .arguments import check_layout, windows_of
from .arrays import as_classic, flat
from .functional import convolve, deconvolve, pool
from .graph import Entry, Graph, Node
from .lowering import Windows
from .nn.base import operator_arguments, windowed
from .same_rules import of_node
from .trace import on_symbols

#: Our class for each stock one.
OURS = {
    getattr(stock, name): getattr(nn, name)
    for kind in ("Conv{}D", "Conv{}DTranspose", "MaxPool{}D", "AvgPool{}D")
    for name in map(kind.format, (1, 2, 3))
}

#: Largest number of inputs to try, because a net does not state how many it takes.
MOST_INPUTS = 4

_LAYER = ("kernel", "stride", "dilate", "num_filter", "num_group")

#: Arguments that stay if the padding changes.
_KEPT = {"Convolution": _LAYER, "Deconvolution": _LAYER, "Pooling": ("kernel", "stride", "pool_type")}


def layer_class(cls: type) -> Optional[type]:
    """Return the stock class of a layer with windows; None for other blocks."""
    return next((base for base in cls.__mro__ if base in OURS), None)


class Place(NamedTuple):
    """One operator with windows, of a layer or of the graph of a SymbolBlock."""

    path: str
    block: Block
    known: Dict[str, Any]  # its arguments
    windows: Optional[Windows] = None  # None if the operator pads by itself
    graph: Optional[Graph] = None
    node: Optional[Node] = None

    @property
    def operator(self) -> str:
        """Return the name of the operator in a graph."""
        return f"{self.block.prefix}fwd" if self.node is None else self.node.name


def places_in(path: str, block: Block) -> Iterator[Place]:
    """Yield the operators of a block, without those of its children."""
    if isinstance(block, SymbolBlock):
        graph = Graph(block._cached_graph[1])
        for node in graph.nodes():
            known = of_node(node)
            if known is not None:
                yield Place(f"{path}.{node.name}".lstrip("."), block, known, None, graph, node)
        return
    known = operator_arguments(block)
    if layer_class(type(block)) is not None and not known.get("global_pool"):
        layer = windowed(block)
        yield Place(path, block, known, None if layer is None else layer._windows)


def operators_padded_by_code(net: Block, places: Iterable[Place]) -> Set[str]:
    """Return the names of operators whose input the net's code pads, or whose result it crops."""
    graphs = [place.graph for place in places if place.graph is not None]
    ours = tuple(place.block.prefix for place in places if place.windows and place.block.prefix)
    for count in range(1, MOST_INPUTS + 1):
        with suppress(Exception):  # another number of inputs, or code that requires arrays
            _, results = on_symbols(net, [f"data{i}" for i in range(count)])
            graphs.append(Graph(mx.sym.Group(list(map(as_classic, flat(results))))))
            break
    return {name for graph in graphs for name in _padded_by_code(graph, ours)}


def as_same(graph: Graph, node: Node) -> Entry:
    """Return the result of an operator with windows after a change of its padding to SAME."""
    known: Any = of_node(node)
    windows = windows_of("padding", "same", known)
    layout = check_layout(known.get("layout"), len(windows))
    call: Dict[str, Any] = {"layout": layout, "name": node.name}
    call.update({name: known[name] for name in _KEPT[node.op] if name in known})
    inputs = {f"_input{i}": entry for i, entry in enumerate(node.inputs)}
    data, *weights = map(mx.sym.var, inputs)
    if node.op == "Pooling":
        symbol = pool(mx.sym, data, windows, call)
    else:
        call.setdefault("num_group", 1)
        operate = convolve
        if node.op == "Deconvolution":
            operate, call["adj"] = deconvolve, (0,) * len(windows)
        symbol = operate(mx.sym, (data, *weights, None)[:3], windows, call)
    return graph.graft(symbol, node, inputs)


def _padded_by_code(graph, ours):
    """Return names of operators with a pad before or a crop after, except for those of our layers."""
    found = set()
    for node in graph.nodes():
        source = node.data.node
        if _crops(node) and of_node(source) and not node.name.startswith(ours):
            found.add(source.name)
        if of_node(node) and source.op == "Pad" and not source.name.startswith(ours):
            found.add(node.name)
    return found


def _crops(node):
    """Return whether an operator drops elements at the start of a spatial axis, or reverses it."""
    if node.op == "slice_axis":
        return node.get("axis") not in (0, 1) and bool(node.get("begin"))
    begins, steps = (node.get(name) or () for name in ("begin", "step"))
    return node.op == "slice" and not any(begins[:2]) and (any(begins[2:]) or -1 in steps[2:])
