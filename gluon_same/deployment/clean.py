"""Rules that drop operators without effect and evaluate operators that read only parameters."""

from typing import Optional

import mxnet as mx
import numpy as np

from ..graph import Entry, Graph, Node, scalar, to_symbol
from .running import quiet

#: Operators that return their input in inference.
IDENTITIES = {"identity", "_copy", "BlockGrad", "stop_gradient", "make_loss", "_np_copy"}

#: The scalar that makes each operator an identity.
NEUTRAL = {"_mul_scalar": 1, "_div_scalar": 1, "_plus_scalar": 0, "_minus_scalar": 0, "_power_scalar": 1}

#: Operators that move or copy elements. They are identities if the shape does not change.
MOVES = {"Reshape", "reshape", "Flatten", "flatten", "slice", "slice_axis", "expand_dims", "squeeze"}

#: A result with more elements than this and than its operands is computed at each call to keep files
#: small.
MOST = 2**16


def drop_identity(graph: Graph, node: Node) -> Optional[Entry]:
    """Drop dropout, copies, and operators whose arguments make them identities."""
    if node.op == "Dropout" and node.attrs.get("mode", "training") != "training":
        return None
    drops = (
        node.op in {"Dropout", *IDENTITIES}
        or (node.op in NEUTRAL and scalar(node) == NEUTRAL[node.op])
        or (node.op == "Concat" and len(node.inputs) == 1)
        or (node.op in ("Pad", "pad") and not any(node.get("pad_width")))
    )
    if node.op in MOVES and len(node.inputs) == 1:
        shape = graph.shape(node.out)
        reverses = node.op == "slice" and any(s is not None and s < 0 for s in node.get("step", ()))
        drops = shape is not None and shape == graph.shape(node.inputs[0]) and not reverses
    return node.inputs[0] if drops else None


def fold_constants(graph: Graph, node: Node) -> Optional[Entry]:
    """Replace an operator that reads only parameters with a new parameter."""
    name, shape = node.op.lower(), graph.shape(node.out)
    if any(word in name for word in ("random", "sample", "dropout", "shuffle", "batchnorm")):
        return None
    known = all(e.node.op == "null" and e.node.name in graph.params for e in node.inputs)
    if not known or shape is None:
        return None
    if np.prod(shape) > max(MOST, sum(graph.params[e.node.name].size for e in node.inputs)):
        return None
    if not node.inputs and "shape" in node.attrs:  # consumers may imply sizes that are 0 here
        node = Node(node.op, node.name, (), **{**node.attrs, "shape": shape})
    symbol = to_symbol(list(dict.fromkeys(e.node for e in node.inputs)) + [node], [node.out])
    if len(symbol.list_outputs()) != 1:
        return None
    values = {e.node.name: graph.params[e.node.name] for e in node.inputs}
    context = next((value.context for value in values.values()), mx.cpu())
    with quiet():
        (result,) = symbol.bind(context, values, grad_req="null").forward(is_train=False)
    return graph.constant(node, "folded", result)


#: The rules in the order in which they are tried.
RULES = (drop_identity, fold_constants)
