"""Inputs of a graph that are indices, lengths or regions, and random numbers that fit."""

from typing import Callable, Dict, List, Mapping, Sequence, Set, Tuple

import numpy as np

from .graph import Entry, Graph, Node

#: Operators that take indices or lengths: the position of these, and some that suit most arrays. Where 0
#: alone does, MXNet would read or write beyond arrays that have no other.
_TAKING = {
    **dict.fromkeys(("gather_nd", "pick", "take"), (1, range(2))),
    **dict.fromkeys(("_contrib_index_copy", "batch_take", "scatter_nd"), (1, range(1))),
    **dict.fromkeys(("Embedding", "one_hot"), (0, range(2))),
    **dict.fromkeys(("SequenceLast", "SequenceMask", "SequenceReverse", "softmax"), (1, range(1, 3))),
}

#: Operators behind which indices remain indices: those that take these first, and those of several.
_KEEPING = {
    *("Cast", "Flatten", "Reshape", "SliceChannel", "SwapAxis", "_copy", "broadcast_axis"),
    *("broadcast_like", "broadcast_minimum", "broadcast_to", "clip", "expand_dims", "repeat", "reverse"),
    *("slice", "slice_axis", "slice_like", "squeeze", "tile", "transpose"),
}
_JOINING = {"Concat", "elemwise_add", "stack", "where"}
_PASSING = _KEEPING | _JOINING

#: Operators whose second input are regions of samples. MXNet reads beyond the data for other samples.
_REGIONS = {"ROIPooling", "_contrib_PSROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign"}


def whole_inputs(graph: Graph) -> Dict[str, range]:
    """Return some numbers for each input of a graph that consists of indices or lengths."""
    found: Dict[str, range] = {}
    for node in graph.nodes():
        position, numbers = _TAKING.get(node.op, (len(node.inputs), range(0)))
        for name in _sources(graph, node.inputs[position : position + 1], lambda x: x.op in _PASSING):
            own = found.get(name, numbers)
            least = max(own.start, numbers.start)
            found[name] = range(least, max(least + 1, min(own.stop, numbers.stop)))
    return found


def region_inputs(graph: Graph) -> Set[str]:
    """Return the inputs of a graph that have regions, also behind operators of one input."""
    entries = [node.inputs[1] for node in graph.nodes() if node.op in _REGIONS]
    return _sources(graph, entries, lambda node: len(node.inputs) == 1)


def random_inputs(
    graph: Graph, shapes: Mapping[str, Tuple[int, ...]], kind: str = "normal", *arguments: float
) -> List[np.ndarray]:
    """Return random numbers for inputs: whole ones for indices and lengths.

    Others are drawn by the function ``kind`` of NumPy's RandomState, with its arguments.
    """
    random, whole = np.random.RandomState(0), whole_inputs(graph)
    draw = getattr(random, kind)
    return [
        random.choice(whole[name], shape) if name in whole else draw(*arguments, size=shape)
        for name, shape in shapes.items()
    ]


def _sources(graph: Graph, entries: Sequence[Entry], passes: Callable[[Node], bool]) -> Set[str]:
    """Return the inputs of a graph from which entries come, by operators that pass them on."""
    waiting, found = [entry.node for entry in entries], set()
    while waiting:
        node = waiting.pop()
        if node.name not in found:
            found.add(node.name)
            inputs = node.inputs if node.op in _JOINING else node.inputs[:1]
            waiting += [entry.node for entry in inputs if passes(node)]
    return found & graph.inputs.keys()
