"""Inputs of a graph that are indices, lengths or regions, and random numbers that fit."""

from typing import Callable, Dict, List, Mapping, Set, Tuple

import numpy as np

from .graph import Entry, Graph, Node

#: Positions of inputs that are indices from 0 on, and of lengths from 1 on, by operator.
_INDICES = {"Embedding": 0, "gather_nd": 1, "one_hot": 0, "pick": 1, "take": 1}
_LENGTHS = {"SequenceLast": 1, "SequenceMask": 1, "SequenceReverse": 1, "softmax": 1}

#: Operators behind which indices remain indices.
_KEEPING = {"Cast", "Reshape", "SwapAxis", "_copy", "expand_dims", "slice_axis", "squeeze", "transpose"}
_KEEPING |= {"broadcast_axis", "broadcast_like", "broadcast_minimum", "broadcast_to", "clip"}
_KEEPING |= {"elemwise_add", "repeat", "tile"}

#: Operators whose second input are regions of samples. MXNet reads beyond the data for other samples.
_REGIONS = {"ROIPooling", "_contrib_PSROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign"}


def whole_inputs(graph: Graph) -> Dict[str, int]:
    """Return the least number of each variable that consists of indices or lengths, by name."""
    found: Dict[str, int] = {}
    for node in graph.nodes():
        position = {**_INDICES, **_LENGTHS}.get(node.op, len(node.inputs))
        for entry in node.inputs[position : position + 1]:
            source = _source(entry, lambda node: node.op in _KEEPING)
            found[source.name] = max(found.get(source.name, 0), int(node.op in _LENGTHS))
    return found


def region_inputs(graph: Graph) -> Set[str]:
    """Return the names of the inputs that have regions, also behind operators of one input."""
    takers = (node for node in graph.nodes() if node.op in _REGIONS)
    return {_source(node.inputs[1], lambda node: len(node.inputs) == 1).name for node in takers}


def random_inputs(graph: Graph, shapes: Mapping[str, Tuple[int, ...]]) -> List[np.ndarray]:
    """Return normal random numbers for inputs, but 0 and 1 for indices, and 1 and 2 for lengths."""
    random, whole = np.random.RandomState(0), whole_inputs(graph)
    normal = {name: random.normal(size=shape) for name, shape in shapes.items()}
    return [whole[name] + (x > 0) if name in whole else x for name, x in normal.items()]


def _source(entry: Entry, passes: Callable[[Node], bool]) -> Node:
    while passes(entry.node):
        entry = entry.node.inputs[0]
    return entry.node
