"""Inputs of a graph that are indices, lengths or regions, and random numbers that fit."""

from itertools import chain
from typing import Callable, Dict, Iterator, List, Mapping, Set, Tuple

import numpy as np

from .graph import Entry, Graph, Node

#: Positions of inputs that are indices from 0 on, and of lengths from 1 on, by operator.
_INDICES = {"Embedding": 0, "gather_nd": 1, "one_hot": 0, "pick": 1, "take": 1}
_LENGTHS = {"SequenceLast": 1, "SequenceMask": 1, "SequenceReverse": 1, "softmax": 1}

#: Operators behind which indices remain indices: those that take them first, and those that join them.
_KEEPING = {"Cast", "Reshape", "SwapAxis", "_copy", "expand_dims", "slice_axis", "squeeze", "transpose"}
_KEEPING |= {"broadcast_axis", "broadcast_like", "broadcast_minimum", "broadcast_to", "clip"}
_KEEPING |= {
    "elemwise_add",
    "repeat",
    "tile",
    "Flatten",
    "SliceChannel",
    "reverse",
    "slice",
    "slice_like",
}
_JOINING = {"Concat", "stack"}

#: Operators whose second input are regions of samples. MXNet reads beyond the data for other samples.
_REGIONS = {"ROIPooling", "_contrib_PSROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign"}


def whole_inputs(graph: Graph) -> Dict[str, int]:
    """Return the least number of each variable that consists of indices or lengths, by name."""
    found: Dict[str, int] = {}
    for node in graph.nodes():
        position = {**_INDICES, **_LENGTHS}.get(node.op, len(node.inputs))
        for entry in node.inputs[position : position + 1]:
            for name in _sources(entry, lambda node: node.op in _KEEPING | _JOINING):
                found[name] = max(found.get(name, 0), int(node.op in _LENGTHS))
    return found


def region_inputs(graph: Graph) -> Set[str]:
    """Return the names of the inputs that have regions, also behind operators of one input."""
    takers = (node for node in graph.nodes() if node.op in _REGIONS)
    return {*chain(*(_sources(node.inputs[1], lambda node: len(node.inputs) == 1) for node in takers))}


def random_inputs(graph: Graph, shapes: Mapping[str, Tuple[int, ...]]) -> List[np.ndarray]:
    """Return normal random numbers for inputs, but 0 and 1 for indices, and 1 and 2 for lengths."""
    random, whole = np.random.RandomState(0), whole_inputs(graph)
    normal = {name: random.normal(size=shape) for name, shape in shapes.items()}
    return [whole[name] + (x > 0) if name in whole else x for name, x in normal.items()]


def _sources(entry: Entry, passes: Callable[[Node], bool]) -> Iterator[str]:
    """Yield the names of the nodes from which an entry comes, by operators that pass it on."""
    while passes(entry.node):
        entry, *others = entry.node.inputs[: None if entry.node.op in _JOINING else 1]
        for other in others:
            yield from _sources(other, passes)
    yield entry.node.name
