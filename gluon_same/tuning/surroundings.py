"""Cut a layer and its neighboring operators out of a net's graph."""

import json
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block

from ..arrays import VERSION, in_thread

Shape = Tuple[int, ...]

#: Operators whose memory layout does not depend on their neighbors. Surroundings end there.
ANCHORS = {"Convolution", "Deconvolution", "FullyConnected"}

#: Parts of the names of random operators. Running these would change the user's random state.
RANDOM = ("dropout", "random", "sample", "shuffle", "rnn")

#: Number of operators to walk from a layer if there is no anchor.
REACH = 6

_TAG = "__gluon_same_call__"
_HOLE = "gluon_same_hole"


@contextmanager
def tagged(blocks: Sequence[Block]) -> Iterator[List[Tuple[Block, Shape]]]:
    """Tag the operators of each call of some blocks with its number while a net is traced.

    Yields
    ------
    list
        The block of each call and the shape to which it is specialized; calls without a shape are
        omitted.
    """
    calls: List[Tuple[Block, Shape]] = []
    scopes: List[Any] = []
    handles: List[Any] = []

    def enter(block, _):
        scope = None
        if block._in_shape is not None:
            for parameter in block.collect_params().values():
                parameter.var()  # creates and stores the variable outside of the scope, without the tag
            scope = mx.AttrScope(**{_TAG: str(len(calls))})
            calls.append((block, block._in_shape))
            scope.__enter__()
        scopes.append(scope)

    def leave(*_):
        scope = scopes.pop()
        if scope is not None:
            scope.__exit__(None, None, None)

    for block in blocks:
        handles += [block.register_forward_pre_hook(enter), block.register_forward_hook(leave)]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.detach()
        while scopes:
            leave()


class Graph:
    """The graph of a net with tagged layers.

    Parameters
    ----------
    symbol : Symbol
        In classic mode.
    known : dict of str to tuple of int
        Name and shape of each input.
    """

    def __init__(self, symbol: mx.sym.Symbol, known: Dict[str, Shape]):
        self._content = json.loads(symbol.tojson())
        self._nodes = self._content["nodes"]
        self._known = known
        self._consumers: List[Set[int]] = [set() for _ in self._nodes]
        for at, node in enumerate(self._nodes):
            for source in node["inputs"]:
                self._consumers[source[0]].add(at)

    def around(self, tag: int, block: Block, shape: Shape) -> Optional["Surroundings"]:
        """Return the surroundings of a layer, by its tag, or None if the graph does not contain it."""
        own = {i for i, n in enumerate(self._nodes) if n.get("attrs", {}).get(_TAG) == str(tag)}
        own = {i for i in own if self._nodes[i]["op"] != "null"}
        if not own:
            return None
        parameters = {p.name for p in block.collect_params().values()}
        data, index, *_ = next(
            source
            for i in sorted(own)
            for source in self._nodes[i]["inputs"]
            if source[0] not in own and self._nodes[source[0]]["name"] not in parameters
        )
        out = max(own)
        before, after = self._before(data), self._after(out, own)
        cut_before, cut_after = self._edges(before), self._edges(after) - {out}
        pairs = (before, cut_before), (after, cut_after)
        if index or any(self._uses_another_output(*pair) for pair in pairs):
            # An operator at the edge has several results: measure the layer without neighbors.
            before, after, cut_before, cut_after = set(), set(), set(), set()
        if not before:
            name = _edge(data)
            known = {name: shape}
            prefix = mx.sym.var(name)
        else:
            known, prefix = {}, self._cut([data], cut_before)
        ends = [i for i in sorted(after) if not self._consumers[i] & after]
        suffix = self._cut(ends, cut_after, hole=out) if ends else None
        shapes = self._shapes(sorted(cut_before | cut_after))
        return Surroundings(prefix, suffix, {**known, **{_edge(i): s for i, s in shapes.items()}})

    def _before(self, data):
        """Return the operators that compute the layer's input, back to anchors."""
        found, front = set(), [data]
        for _ in range(REACH):
            front = [i for i in front if i not in found and not self._ends_at(i)]
            found.update(front)
            grown = [i for i in front if self._nodes[i]["op"] not in ANCHORS]
            front = [source for i in grown for source, *_ in self._nodes[i]["inputs"]]
        return found

    def _after(self, out, own):
        """Return the operators that use the layer's result, up to anchors."""
        found: Set[int] = set()
        front = [out]
        for _ in range(REACH):
            grown = [i for i in front if i == out or self._nodes[i]["op"] not in ANCHORS]
            front = [i for at in grown for i in self._consumers[at] if i not in found | own]
            front = [i for i in front if not self._ends_at(i)]
            found.update(front)
        return found

    def _ends_at(self, i):
        """Return whether surroundings end before a node: a variable, or a random operator."""
        name = self._nodes[i]["op"].lower()
        return name == "null" or any(word in name for word in RANDOM)

    def _uses_another_output(self, kept, edges):
        inputs = [source for i in kept for source in self._nodes[i]["inputs"]]
        return any(source[0] in edges and source[1] for source in inputs)

    def _edges(self, kept):
        """Return the nodes outside of ``kept`` that its nodes read, except parameters."""
        sources = {source for i in kept for source, *_ in self._nodes[i]["inputs"]} - kept
        return {
            i for i in sources if self._nodes[i]["op"] != "null" or self._nodes[i]["name"] in self._known
        }

    def _shapes(self, at):
        if not at:
            return {}
        symbol = _load(self._nodes, [[i, 0, 0] for i in at])
        there = set(symbol.list_inputs())
        known = {name: shape for name, shape in self._known.items() if name in there}
        _, shapes, _ = symbol.infer_shape(**known)
        return dict(zip(at, shapes))

    def _cut(self, heads, edges, hole=None):
        """Return the graph of some nodes, with variables in place of the edges."""
        names = {i: _edge(i) for i in edges}
        if hole is not None:
            names[hole] = _HOLE
        nodes = []
        for i, node in enumerate(self._nodes):
            if i in names:
                nodes.append({"op": "null", "name": names[i], "inputs": []})
                continue
            inputs = [[s, 0 if s in names else n, v] for s, n, v in node["inputs"]]
            nodes.append({**node, "inputs": inputs})
        return _load(nodes, [[i, 0, 0] for i in heads])


class Surroundings:
    """The operators before and after a layer.

    Parameters
    ----------
    before : Symbol
        The layer's input.
    after : Symbol or None
        The result of the operators after the layer; None if there are none.
    shapes : dict of str to tuple of int
        Shapes of the variables where the surroundings were cut.
    """

    def __init__(self, before: mx.sym.Symbol, after: Any, shapes: Dict[str, Shape]):
        self._before = before
        self._after = after
        self.shapes = shapes

    def with_layer(self, block: Block) -> mx.sym.Symbol:
        """Return the graph with the layer in its current state."""
        data = self._before.as_np_ndarray() if mx.util.is_np_array() else self._before
        out = block(data)
        out = out.as_nd_ndarray() if mx.util.is_np_array() else out
        return out if self._after is None else self._after(**{_HOLE: out})

    def arrays(self, symbol: mx.sym.Symbol, dtype: str, context: mx.Context) -> List[mx.nd.NDArray]:
        """Return random values for all inputs of a graph of :meth:`with_layer`."""
        there = set(symbol.list_inputs())
        known = {name: shape for name, shape in self.shapes.items() if name in there}
        arguments, _, states = symbol.infer_shape(**known)
        shapes = dict(zip(symbol.list_arguments(), arguments))
        random, arrays = np.random.RandomState(0), []
        shapes.update(zip(symbol.list_auxiliary_states(), states))
        for name in symbol.list_inputs():
            # Variances must be positive, and small weights prevent overflow.
            values = np.abs(random.normal(size=shapes[name])) * (1 if name in known else 0.1)
            arrays.append(in_thread(mx.nd.array, values, context, dtype))
        return arrays


def _load(nodes, heads):
    """Return the symbol of the heads, with the nodes that they depend on."""
    needed, front = set(), [head[0] for head in heads]
    while front:
        at = front.pop()
        if at not in needed:
            needed.add(at)
            front += [source for source, *_ in nodes[at]["inputs"]]
    order = {old: new for new, old in enumerate(sorted(needed))}
    kept = []
    for i in sorted(needed):
        inputs = [[order[s], *rest] for s, *rest in nodes[i]["inputs"]]
        attributes = {k: v for k, v in nodes[i].get("attrs", {}).items() if k != _TAG}
        kept.append({**nodes[i], "inputs": inputs, "attrs": attributes})
    content = {
        "nodes": kept,
        "arg_nodes": [i for i, node in enumerate(kept) if node["op"] == "null"],
        "heads": [[order[head[0]], *head[1:]] for head in heads],
        "attrs": VERSION,
    }
    return mx.sym.load_json(json.dumps(content))


def _edge(at):
    return f"gluon_same_edge{at}"
