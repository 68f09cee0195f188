"""Rules that drop operators and operands without effect, and evaluate what reads only parameters."""

from typing import Any, Callable, Dict, Optional, Tuple

import mxnet as mx
import numpy as np

from ..arrays import in_thread
from ..graph import Entry, Graph, Node, scalar, to_symbol
from .running import quiet

#: Operators that return their input in inference.
IDENTITIES = {"_copy", "BlockGrad", "make_loss"}

#: The scalar that makes each operator an identity.
NEUTRAL = {"_mul_scalar": 1, "_div_scalar": 1, "_plus_scalar": 0, "_minus_scalar": 0, "_power_scalar": 1}

#: Operators that change the shape only.
RESHAPES = {"Reshape", "Flatten", "expand_dims", "squeeze"}

#: Operators that move or copy elements. They are identities if the shape does not change.
MOVES = {*RESHAPES, "slice", "slice_axis"}

#: Operators whose results depend on the shape of their input, and not on its elements.
OF_SHAPES = {"zeros_like", "ones_like", "shape_array", "size_array", "_contrib_arange_like"}
OF_SHAPES |= {"_npi_full_like"}

#: The operator whose result has as many elements as the data select.
SELECTS = "_contrib_boolean_mask"

#: Maps operators on two arrays of one shape to those that broadcast.
BROADCAST = {f"elemwise_{name}": f"broadcast_{name}" for name in ("add", "sub", "mul", "div")}

_RESIZE = "_contrib_BilinearResize2D"

#: Operators whose result has the shape of their second input, and what replaces them if it is known.
LIKE: Dict[str, Callable[[Tuple[int, ...]], Tuple[str, Dict[str, Any]]]] = {
    "broadcast_like": lambda shape: ("broadcast_to", {"shape": shape}),
    "reshape_like": lambda shape: ("Reshape", {"shape": shape}),
    "slice_like": lambda shape: ("slice", {"begin": (0,) * len(shape), "end": shape}),
    _RESIZE: lambda shape: (_RESIZE, {"height": shape[2], "width": shape[3]}),
}

#: A result with more elements than this and than its operands is computed at each call to keep files
#: small.
MOST = 2**16


def drop_identity(graph: Graph, node: Node) -> Optional[Entry]:
    """Drop dropout, copies, and operators whose arguments make them identities."""
    if node.op == "Dropout" and node.attrs.get("mode", "training") != "training":
        return None
    drops = node.op in {"Dropout", *IDENTITIES}
    drops |= node.op in NEUTRAL and scalar(node) == NEUTRAL[node.op]
    drops |= node.op == "Concat" and len(node.inputs) == 1
    drops |= node.op == "Pad" and not any(node.get("pad_width"))
    if node.op in MOVES and len(node.inputs) == 1:
        shape = graph.shape(node.out)
        reverses = node.op == "slice" and any(s is not None and s < 0 for s in node.get("step", ()))
        drops = bool(shape) and shape == graph.shape(node.inputs[0]) and not reverses
    return node.inputs[0] if drops else None


def drop_like(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace an input of which an operator reads only the shape with that shape."""
    shape = graph.shape(node.out)
    if node.op not in LIKE or len(node.inputs) != 2 or not shape:
        return None
    operator, attrs = LIKE[node.op](shape)
    if "align_corners" in node.attrs:
        attrs["align_corners"] = node.attrs["align_corners"]
    return graph.new(operator, node, node.inputs[:1], **attrs)


def drop_broadcast(graph: Graph, node: Node) -> Optional[Entry]:
    """Read arrays before their broadcast where an operator can broadcast them."""
    operator, shape = BROADCAST.get(node.op, node.op), graph.shape(node.out)
    if operator not in {"broadcast_to", *BROADCAST.values()} or not shape:
        return None
    small = [entry.node.inputs[0] if entry.node.op == "broadcast_to" else entry for entry in node.inputs]
    sizes = [graph.shape(entry) for entry in small]
    if small == node.inputs or any(len(size) != len(shape) for size in sizes):
        return None
    if operator != "broadcast_to" and np.broadcast_shapes(*sizes) != shape:
        return None
    attrs = {"shape": shape} if operator == "broadcast_to" else node.attrs  # 0 is the size of the input
    return graph.new(operator, node, small, **attrs)


def fold_constants(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace an operator that reads only parameters, or only a shape, with a new parameter."""
    shape = graph.shape(node.out)
    sources = _known(graph, node)
    given, most = graph.shape(node.data) if node.op in OF_SHAPES else (), MOST
    if given:
        sources = [Node("null", "like")]
        values = {"like": mx.nd.zeros(given, dtype=graph.dtype(node.inputs[0]))}
        node = Node(node.op, node.name, [sources[0].out], **node.attrs)
    elif sources is not None:
        values = {each.name: graph.params[each.name] for each in sources if each.op == "null"}
        most = max(MOST, sum(value.size for value in values.values()))
    else:
        return None
    if np.prod(shape) > most or (not shape and node.op != SELECTS):
        return None
    if not sources:
        node = _of_shape(node, shape)
    symbol = to_symbol([*sources, node], [node.out])
    context = next((value.context for value in values.values()), mx.cpu())
    # Not all operators read oneDNN's layouts of weights.
    values = in_thread(_copies, values)
    with quiet():
        (result,), (again,) = (
            symbol.bind(context, values, grad_req="null").forward(is_train=False) for _ in range(2)
        )
    if (result != again).sum():  # random numbers
        return None
    return graph.constant(node, "folded", result)


def _known(graph, node):
    """Return the parameters and operators of several results that a node reads; None for others."""
    if "batchnorm" in node.op.lower():
        return None
    found = {}
    for entry in node.inputs:
        if not graph.holds(entry):
            before = _known(graph, entry.node) if entry.output else None
            if before is None:
                return None
            found.update(dict.fromkeys(before))
        found[entry.node] = None
    return list(found)


def _copies(arrays):
    return {name: mx.nd.array(x.asnumpy(), x.context, x.dtype) for name, x in arrays.items()}


def _of_shape(node, shape):
    """Return an operator without inputs whose shape its consumers may imply."""
    changed = {"shape": shape} if "shape" in node.attrs else {}
    if node.get("infer_range"):
        count = shape[0] // node.get("repeat", 1)
        changed = {"stop": node.get("start", 0) + count * node.get("step", 1), "infer_range": False}
    return Node(node.op, node.name, (), **{**node.attrs, **changed})


#: The rules in the order in which they are tried.
RULES = (drop_identity, drop_like, drop_broadcast, fold_constants)
