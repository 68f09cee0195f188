"""Graphs of operators that rules can rewrite."""

import ast
import copy
import json
from contextlib import suppress
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import mxnet as mx
import numpy as np

from ._compat import text
from .arrays import VERSION, as_classic, give_each_array_memory, in_thread, read_by

Shape = Tuple[int, ...]


#: Arguments that have one number for each spatial axis, which may be written as an int for one axis.
_AXES = {"kernel", "stride", "dilate", "pad", "adj"}


class Node:
    """Node of a graph: an operator, or a variable with ``op='null'``.

    Parameters
    ----------
    op, name : str
    inputs : sequence of Entry
    subgraphs : list, optional
        Those of a loop, as in MXNet's JSON.
    attrs : dict
        The operator's arguments as strings, as in MXNet's JSON.
    """

    def __init__(
        self,
        op: str,
        name: str,
        inputs: Sequence["Entry"] = (),
        subgraphs: Optional[list] = None,
        /,
        **attrs: Any,
    ):
        self.op, self.name, self.subgraphs = op, name, subgraphs
        self.inputs: List[Entry] = list(inputs)
        self.attrs: Dict[str, str] = {key: text(value) for key, value in attrs.items()}

    def get(self, key: str, default: Any = None) -> Any:
        """Return an argument as a Python value."""
        text = self.attrs.get(key)
        if text is None:
            return default
        try:
            value = ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
        except (SyntaxError, ValueError):
            return text
        value = tuple(value) if isinstance(value, list) else value
        return (value,) if isinstance(value, int) and (key in _AXES or self.op == "slice") else value

    @property
    def out(self) -> "Entry":
        """Return the node's first result."""
        return Entry(self, 0)

    @property
    def data(self) -> "Entry":
        """Return the node's first input, or its own result if it has no input."""
        return self.inputs[0] if self.inputs else self.out

    def operands(self, *operators: str) -> Iterator[Tuple["Entry", "Entry"]]:
        """Yield the two inputs of one of these operators, in both orders unless their order matters."""
        if self.op in operators:
            one, other = self.inputs
            yield one, other
            if not self.op.endswith(("_sub", "_div")):
                yield other, one


class Entry(NamedTuple):
    """One result of a node."""

    node: Node
    output: int


#: A function that returns the replacement of an operator's first result, or None.
Rule = Callable[["Graph", Node], Optional[Entry]]

#: Stands for the results of a graph among the consumers of an entry.
RESULT = Node("", "")

#: Operators with subgraphs of their own.
LOOPS = {"_foreach", "_while_loop", "_cond"}

#: Maximum number of rounds. Rules are tried again because one may enable another.
ROUNDS = 10


class Graph:
    """Mutable graph of a symbol, with its parameters.

    Parameters
    ----------
    symbol : Symbol
    params : dict of str to NDArray, optional
        Arguments and auxiliary states.
    inputs : dict of str to tuple of int, optional
        Name and shape of each input.
    """

    def __init__(
        self,
        symbol: mx.sym.Symbol,
        params: Optional[Dict[str, mx.nd.NDArray]] = None,
        inputs: Optional[Dict[str, Shape]] = None,
    ):
        self.params, self.inputs = dict(params or {}), dict(inputs or {})
        # By default, ``tojson`` removes casts.
        content = json.loads(as_classic(symbol).tojson(remove_amp_cast=False))
        nodes: List[Node] = []
        for each in content["nodes"]:
            sources = [Entry(nodes[i], index) for i, index, *_ in each["inputs"]]
            attrs = each.get("attrs", {})
            nodes.append(Node(each["op"], each["name"], sources, each.get("subgraphs"), **attrs))
        self.heads = [Entry(nodes[i], index) for i, index, *_ in content["heads"]]
        self._names = {node.name for node in nodes}
        self._takers: Dict[Entry, List[Node]] = {}
        self._shapes: Dict[Entry, Shape] = {}
        self._dtypes: Dict[Entry, Any] = {}
        self._inferred: Set[Node] = set()  # the nodes whose shapes and dtypes are known

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes that the results depend on, inputs first."""
        done, stack = set(), [entry.node for entry in reversed(self.heads)]
        while stack:
            node = stack[-1]
            waiting = [entry.node for entry in reversed(node.inputs) if entry.node not in done]
            if waiting and node not in done:
                stack += waiting
                continue
            stack.pop()
            if node not in done:
                done.add(node)
                yield node

    def operators(self) -> int:
        """Return the number of operators."""
        return sum(node.op != "null" for node in self.nodes())

    def symbol(self) -> mx.sym.Symbol:
        """Return the graph as a symbol. Loops read copies: see :func:`~gluon_same.arrays.apart`."""
        for node in [node for node in self.nodes() if node.op in LOOPS]:
            give_each_array_memory()
            node.inputs = [
                entry if entry.node.op in ("null", "slice_axis") else
                self.new("slice_axis", entry.node, [entry], axis=0, begin=0, end=None)
                for entry in node.inputs
            ]  # fmt: skip
        return to_symbol(list(self.nodes()), self.heads)

    def copy(self) -> "Graph":
        """Return an independent copy of the graph that shares the parameters."""
        twins: Dict[Node, Node] = {}
        for node in self.nodes():
            inputs = [Entry(twins[source], output) for source, output in node.inputs]
            twins[node] = Node(node.op, node.name, inputs, node.subgraphs, **node.attrs)
        copied = copy.copy(self)
        copied.params, copied.inputs = dict(self.params), dict(self.inputs)
        copied.heads = [Entry(twins[node], output) for node, output in self.heads]
        copied._names, copied._takers = {node.name for node in twins}, {}
        copied._inferred = {twins[node] for node in self._inferred if node in twins}
        copied._shapes, copied._dtypes = (
            {Entry(twins[node], output): x for (node, output), x in known.items() if node in twins}
            for known in (self._shapes, self._dtypes)
        )
        return copied

    def rewrite(self, *rules: Rule, dtype: Any = None) -> int:
        """Apply rules to each operator, inputs first, until none applies; return the number applied.

        With a ``dtype``, operators are left out that read or return numbers of another one.
        """
        total = 0
        for _ in range(ROUNDS):
            changed = self._walk(rules, dtype)
            if not changed:
                break
            total += changed
        self.params = {n.name: self.params[n.name] for n in self.nodes() if n.name in self.params}
        return total

    def matches(self, *rules: Rule, dtype: Any = None) -> bool:
        """Return whether a rule applies to any operator, without a change."""
        kept = dict(self.params), set(self._names)  # to which rules add new nodes' parameters and names
        found = self._walk(rules, dtype, dry=True) > 0
        self.params, self._names = kept
        return found

    def _walk(self, rules, dtype, dry=False):
        nodes = self.infer()
        self._takers = {}
        for taker, entries in [*((node, node.inputs) for node in nodes), (RESULT, self.heads)]:
            for entry in entries:
                self._takers.setdefault(entry, []).append(taker)
        moved: Dict[Entry, Entry] = {}
        for node in nodes:
            node.inputs = [moved.get(entry, entry) for entry in node.inputs]
            kinds = {*map(self.dtype, (node.out, *node.inputs))}
            if node.op == "null" or (dtype and kinds - {dtype, None}):
                continue
            for rule in rules:
                found = rule(self, node)
                if found is not None and dry:
                    return 1
                if found is not None:
                    moved[node.out] = found
                    # The new result has the same shape and consumers as the old one.
                    self._takers[found] = self._takers.get(found, []) + self.takers(node.out)
                    if node.out in self._shapes:
                        self._shapes[found] = self._shapes[node.out]
                    self._dtypes[found] = self._dtypes.get(node.out)
                    break
        self.heads = [moved.get(entry, entry) for entry in self.heads]
        return len(moved)

    def uses(self, entry: Entry) -> int:
        """Return the number of consumers of an entry. Valid only inside a rule."""
        return len(self.takers(entry))

    def takers(self, entry: Entry) -> List[Node]:
        """Return the consumers of an entry; RESULT is that of a result. Valid only inside a rule."""
        return self._takers.get(entry, [RESULT])

    def shape(self, entry: Entry) -> Shape:
        """Return the shape of an entry; () if unknown. Valid only inside a rule."""
        return self._shapes.get(entry, ())

    def note_shape(self, entry: Entry, shape: Shape) -> Entry:
        """Tell rules the shape of a new entry before shapes are inferred again; return the entry."""
        self._shapes[entry] = shape
        return entry

    def dtype(self, entry: Entry) -> Any:
        """Return the dtype of an entry for float32 inputs; None if unknown. Valid only inside a rule."""
        return self._dtypes.get(entry)

    def holds(self, *entries: Entry) -> bool:
        """Return whether all entries are parameters."""
        return all(entry.node.op == "null" and entry.node.name in self.params for entry in entries)

    def param(self, entry: Entry) -> Optional[np.ndarray]:
        """Return a parameter's values; None if the entry is not a parameter."""
        if not self.holds(entry):
            return None
        return in_thread(self.params[entry.node.name].asnumpy)

    def new(self, op: str, near: Node, inputs: Sequence[Any], **attrs: Any) -> Entry:
        """Return the result of a new operator, named after a node. Arrays become parameters."""
        given = [x if isinstance(x, Entry) else self.constant(near, "constant", x) for x in inputs]
        return Node(op, self._fresh(near.name), given, **attrs).out

    def like(self, node: Node, inputs: Sequence[Any], **changed: Any) -> Entry:
        """Return the result of a copy of an operator with other inputs, and other arguments."""
        return self.new(node.op, node, inputs, **{**node.attrs, **changed})

    def with_data(self, node: Node, data: Entry, at: int = 0, **changed: Any) -> Entry:
        """Return the result of a copy of an operator with one other input, and other arguments."""
        return self.like(node, [*node.inputs[:at], data, *node.inputs[at + 1 :]], **changed)

    def graft(self, symbol: mx.sym.Symbol, near: Node, inputs: Dict[str, Entry]) -> Entry:
        """Return the result of a copy of a symbol's operators, named after a node that it replaces.

        ``inputs`` are the entries that take the places of the symbol's variables.
        """
        copied = Graph(symbol)
        for node in copied.nodes():
            node.inputs = [inputs.get(entry.node.name, entry) for entry in node.inputs]
            if node.op != "null" and node.name != near.name:
                node.name = self._fresh(near.name)
        return copied.heads[0]

    def constant(self, near: Node, word: str, values: Any) -> Entry:
        """Return a new parameter, named after a node."""
        name = self._fresh(f"{near.name}_{word}")
        context = next((p.context for p in self.params.values()), mx.cpu())
        if not isinstance(values, mx.nd.NDArray):
            values = in_thread(mx.nd.array, values, context, "float32")
        self.params[name] = values.as_in_context(context)
        return Node("null", name, __shape__=values.shape).out

    def _fresh(self, name):
        found, count = name, 0
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found

    def infer(self) -> List[Node]:
        """Find the shapes and dtypes of all entries, unless they are known; return the nodes."""
        nodes = list(self.nodes())
        if self._inferred.issuperset(nodes):
            return nodes
        # Explicit heads identify entries, because names repeat if a block is called twice.
        used = [*self.heads, *(entry for node in nodes for entry in node.inputs)]
        entries = list(dict.fromkeys([*(node.out for node in nodes), *used]))
        symbol = to_symbol(nodes, entries)
        known = {name: value.shape for name, value in self.params.items()}
        known.update(self.inputs)
        shapes, self._dtypes = [], {}
        if known:  # some operators raise an error for data of unknown shape
            _, shapes, _ = symbol.infer_shape_partial(**read_by(symbol, known))
        self._shapes = {e: s for e, s in zip(entries, shapes) if s and min(s) > 0}
        kinds = {name: value.dtype for name, value in self.params.items()}
        kinds.update(dict.fromkeys(self.inputs, np.float32))
        with suppress(mx.MXNetError):  # a user's operator may not tell
            self._dtypes = dict(zip(entries, symbol.infer_type_partial(**read_by(symbol, kinds))[1]))
        self._inferred = {*nodes}
        return nodes


def scalar(node: Node) -> float:
    """Return the scalar argument of an operator such as ``_mul_scalar``."""
    return float(node.get("scalar", 0))


def to_symbol(nodes: Sequence[Node], heads: Sequence[Entry]) -> mx.sym.Symbol:
    """Return the symbol of nodes in topological order, with results ``heads``."""
    order = {node: i for i, node in enumerate(nodes)}
    content = []
    for node in nodes:
        inputs = [[order[entry.node], entry.output, 0] for entry in node.inputs]
        each = {"op": node.op, "name": node.name, "inputs": inputs, "attrs": node.attrs}
        if node.subgraphs:
            each["subgraphs"] = node.subgraphs
        content.append(each)
    graph = {
        "nodes": content,
        "arg_nodes": [i for i, node in enumerate(nodes) if node.op == "null"],
        "heads": [[order[entry.node], entry.output, 0] for entry in heads],
        "attrs": VERSION,
    }
    return mx.sym.load_json(json.dumps(graph, ensure_ascii=False))
