"""Comparison of what a net's layers compute with a file's, beside their weights."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from mxnet.gluon import Block, HybridBlock
from mxnet.gluon import nn as stock

from ..arguments import windows_of
from ..blocks import blocks_of
from ..geometry import Window
from ..graph import Entry, Graph, Node
from ..nn.base import operator_arguments, windowed
from ..tables import aligned
from ..trace import Trace
from .weights import LayerWeights, leaves

#: Operators that compute layers, or that end what follows a layer.
_LAYERS = {"BatchNorm", "Convolution", "Deconvolution", "Embedding", "FullyConnected", "LayerNorm"}
_LAYERS |= {"Pad", "Pooling", "RNN", "UpSampling", "mean", "take"}

#: Operators between a layer and its activation that commute with it, and sums.
_PASSED = {"Concat", "Dropout", "Flatten", "Reshape", "_copy", "add_n", "broadcast_add", "elemwise_add"}
_PASSED |= {"expand_dims", "reshape_like", "slice", "slice_axis", "slice_like", "squeeze", "transpose"}

#: Operators of one input that are activations, beside those with an ``act_type``.
_ACTIVATIONS = {"log_softmax", "relu", "sigmoid", "softmax", "softsign", "tanh"}

_PRODUCTS = {"broadcast_mul", "elemwise_mul"}

#: What is not one activation of MXNet, such as ``x * sigmoid(x)``.
_COMPOSED = "a function of several operators"

#: The block for an activation.
_CODE = {
    "relu6": "nn.ReLU6()",
    **dict.fromkeys(("relu", "sigmoid", "softrelu", "softsign", "tanh"), "nn.Activation({0!r})"),
    **dict.fromkeys(("softmax", "log_softmax"), "nn.HybridLambda({0!r})"),
}

#: Arguments that can be changed in place.
IN_PLACE = {"epsilon": "eps", "momentum": "momentum"}


class Difference(NamedTuple):
    """Argument of a layer in which the file and the net differ."""

    block: Block
    argument: str
    wanted: Any  # the file's value
    given: Any  # the net's value
    call: str = ""  # replaces the block of an activation, such as 'net.register_child({}, "2")'


class Layer(NamedTuple):
    """What a layer computes: its arguments, and its input's size and padding on each spatial axis."""

    arguments: Dict[str, Any]
    padding: Tuple[Tuple[int, int, int], ...] = ()  # (size, before, after)


class Net:
    """Layers of a net for given input shapes."""

    def __init__(self, net: Block, shapes: Sequence[Tuple[int, ...]]):
        self.trace = Trace(net, shapes, sized=False)
        self.shapes: Dict[Block, Tuple] = {}
        for call in self.trace.layers():
            self.shapes.setdefault(call.block, self.trace.shapes_of(call.inputs[:1])[0])
        graph = Graph(self.trace.symbol())
        self.takers: Dict[Entry, List[Optional[Node]]] = {head: [None] for head in graph.heads}
        self.readers: Dict[str, List[Node]] = {}  # operators that read a parameter, by its name
        for node in graph.nodes():
            for entry in node.inputs:
                self.takers.setdefault(entry, []).append(node)
                self.readers.setdefault(entry.node.name, []).append(node)

    def pools(self) -> List[Block]:
        """Return the poolings over windows, in order."""
        known = ((block, operator_arguments(block)) for block in self.shapes)
        return [block for block, args in known if "pool_type" in args and not args.get("global_pool")]

    def layer(self, block: Block) -> Layer:
        """Return what a block computes."""
        last = getattr(block, "pointwise", block)  # of a separable convolution
        own = getattr(block, "depthwise", block)
        known, shape = operator_arguments(own), self.shapes.get(block) or self.shapes.get(own)
        found: Dict[str, Any] = {"activation": self.activation(last)[0]}
        if isinstance(block, stock.LayerNorm):
            known = {"eps": block._epsilon}
        found.update((name, known[key]) for name, key in IN_PLACE.items() if key in known)
        if "fix_gamma" in known:
            found["scale"] = not known["fix_gamma"]
        if "kernel" not in known:
            return Layer(found)
        found["strides"] = tuple(known["stride"])
        if "num_group" in known:
            found["groups"] = known["num_group"]
        if "pool_type" in known:
            found.update(pool_type=known["pool_type"], pool_size=tuple(known["kernel"]))
        if "dilate" in known:
            pairs = zip(known["dilate"], known["kernel"])
            found["dilation"] = tuple(d if k > 1 else 1 for d, k in pairs)
        return Layer(found, _padding(own, known, shape[2:] if shape else ()))

    def replacing(self, block: Block) -> str:
        """Return the call that replaces the activation after a layer, for its block; '' if none can."""
        name = self.activation(block)[1]
        blocks = [call.block for call in self.trace.calls if name in (y.name for y in call.outputs)]
        for path, parent in self._parents(self.trace.net):
            for key, child in parent._children.items():
                if blocks and child is blocks[-1] and key.isdigit():
                    steps = (f"[{part}]" if part.isdigit() else f".{part}" for part in path)
                    return f"net{''.join(steps)}.register_child({{}}, {key!r})"
        return ""

    def _parents(self, block: Block, path: Tuple[str, ...] = ()) -> Iterator[Tuple[Tuple, Block]]:
        yield path, block
        for key, child in block._children.items():
            yield from self._parents(child, (*path, key))

    def activation(self, block: Block) -> Tuple[Optional[str], str]:
        """Return the activation after a layer and its node; None if it is not known."""
        names = [p.name for p in block._reg_params.values()]
        readers = [node for name in names[:1] for node in self.readers.get(name, ())]
        found = {self._after(node.out) for node in readers}
        return found.pop() if len(found) == 1 else (None, "")

    def _after(self, entry: Entry) -> Tuple[Optional[str], str]:
        takers: List[Any] = self.takers.get(entry, [])
        node = takers[0]
        if len(takers) == 1 and node is not None and _commutes(node):
            return self._after(node.out)
        if all(node is None or node.op in _LAYERS for node in takers):
            return "none", ""
        if len(takers) > 1:  # a product with itself, or the shape of a padding that depends on the size
            products = any(each and (each.op in _PRODUCTS or _kind(each)) for each in takers)
            return _COMPOSED if products else None, ""
        kind = _kind(node)
        after = self.takers.get(node.out, [])
        if kind == "relu" and len(after) == 1 and after[0] is not None and _kind(after[0]) == "relu6":
            return "relu6", after[0].name
        return kind, node.name


def _commutes(node: Node) -> bool:
    """Return whether an activation may as well come before an operator."""
    return node.op in _PASSED or (node.op == "Pooling" and node.get("pool_type", "max") == "max")


def _kind(node: Node) -> Optional[str]:
    """Return the name of an activation, with its slope; None for other operators."""
    if node.op == "clip":
        low, high = float(node.get("a_min")), float(node.get("a_max"))
        return "relu6" if (low, high) == (0, 6) else f"clip({low:g}, {high:g})"
    if node.op == "LeakyReLU":
        kind, slope = node.get("act_type", "leaky"), float(node.get("slope", 0.25))
        return f"{kind}({slope:g})" if kind in ("leaky", "elu") else kind
    if node.op == "Activation":
        return node.get("act_type")
    return node.op if node.op in _ACTIVATIONS else None


def _padding(block: Block, known: Dict[str, Any], sizes: Sequence[Any]) -> Tuple:
    """Return the size, and the padding before and after it, on each spatial axis; () if not known."""
    if None in sizes or len(sizes) != len(known["kernel"]):
        return ()
    layer = windowed(block)
    windows = layer._windows if layer is not None and layer._windows is not None else None
    windows = windows or windows_of("padding", known["pad"], known)
    if "adj" in known:  # a transposed convolution, which cuts elements off
        cuts = map(Window.cut, windows, known["adj"])
        return tuple((n, before, after - extra) for n, ((before, after), extra) in zip(sizes, cuts))
    pairs = [window.at(n) for window, n in zip(windows, sizes)]
    if known.get("pooling_convention") == "full":  # rounding up equals more padding at the end
        rest = [-(n + sum(p) - w.span) % w.stride for n, p, w in zip(sizes, pairs, windows)]
        pairs = [(before, after + more) for (before, after), more in zip(pairs, rest)]
    return tuple((n, *pair) for n, pair in zip(sizes, pairs))


def differences(net: Net, file: Net, pairs: Sequence[Tuple[Block, Block]]) -> Iterator[Difference]:
    """Yield each difference of a net's layers from those of the file's net.

    ``pairs`` are layers with weights. Poolings are compared if both nets have as many.
    """
    pools = net.pools(), file.pools()
    pairs = [*pairs, *(zip(*pools) if len(pools[0]) == len(pools[1]) else ())]
    for block, other in pairs:
        given, wanted = net.layer(block), file.layer(other)
        for name in filter(wanted.arguments.__contains__, given.arguments):
            one, two = wanted.arguments[name], given.arguments[name]
            harmless = name == "scale" and not one  # without a factor in the file, that of the net is 1
            if one != two and None not in (one, two) and not harmless:
                call = net.replacing(block) if name == "activation" else ""
                yield Difference(block, name, one, two, call)
        if not _pads_alike(given.padding, wanted.padding):
            one, two = (tuple(axis[1:] for axis in each.padding) for each in (wanted, given))
            yield Difference(block, "padding", one, two)


def _pads_alike(one: Tuple, other: Tuple) -> bool:
    """Return whether windows read the same elements. A layer of its own may have padded the input."""
    if not one or not other:
        return True
    return all(a == b if a[0] == b[0] else sum(a) == sum(b) for a, b in zip(one, other))


def blocks_in_order(layers: Sequence[LayerWeights], names: Sequence[str]) -> List[Optional[Block]]:
    """Return the file's blocks by the names of the layers; in order, if the file has other names."""
    known = {"/".join(path): leaf.block for path, leaf, _ in leaves(layers) if leaf.weights}
    if all(name in known for name in names):
        return [known[name] for name in names]
    return list(known.values()) if len(known) == len(names) else [None] * len(names)


def mend(found: Sequence[Difference], net: Block) -> None:
    """Set in a net what can be set in place."""
    for each in found:
        each.block._kwargs[IN_PLACE[each.argument]] = each.wanted
        if isinstance(each.block, stock.LayerNorm):
            each.block._epsilon = each.wanted
    for block in blocks_of(net):
        if isinstance(block, HybridBlock):
            block._clear_cached_op()


def listed(found: Sequence[Difference]) -> str:
    """Return one line for each kind of difference, with its layers and how to mend it."""
    kinds: Dict[Tuple, List[Difference]] = {}
    for each in found:
        kinds.setdefault((each.argument, each.wanted, each.given), []).append(each)
    rows = [("", "file", "net", "layers", "what to do")]
    for (argument, wanted, given), alike in kinds.items():
        names = ", ".join(each.block.name for each in alike[:2])
        names += f" and {len(alike) - 2} more" if len(alike) > 2 else ""
        rows.append((argument, str(wanted), str(given), names, _advice(alike[0])))
    return "\n".join(f"  {line}" for line in aligned(rows))


def _advice(found: Difference) -> str:
    name, wanted = found.argument, found.wanted
    if name in IN_PLACE:
        return "give fix=True"
    if name == "padding":
        return "call gluon_same.to_same(net) first, or build these layers with the padding of the file"
    if name != "activation":
        return f"build these layers with {name}={wanted!r}"
    code = _CODE.get(wanted.partition("(")[0], wanted).format(wanted)
    if wanted == "none":
        return "remove the activations from the net"
    if found.call:
        return f"{found.call.format(code)}, for each"
    return f"add {code} after them" if found.given == "none" else f"build the net with {code}"
