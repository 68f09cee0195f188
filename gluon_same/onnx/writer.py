"""Write ONNX operators while MXNet's exporter runs."""

import ast
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

#: Function that returns the shapes of all results in a graph, by name.
Shapes = Callable[[], Dict[str, Tuple[int, ...]]]


class Writer:
    """Writer of the ONNX operators of one MXNet operator.

    Parameters
    ----------
    node : dict
        The operator in the JSON form of its graph.
    known : dict
        What MXNet's exporter passes to a converter.
    shapes : callable
        Returns the shapes of all results in the graph, by name.
    """

    def __init__(self, node: Dict[str, Any], known: Dict[str, Any], shapes: Shapes):
        outputs = known["outputs_lookup"]
        self.node = node
        self.name: str = node["name"]
        self.given = [outputs[source][index] for source, index, *_ in node["inputs"]]
        self.inputs: List[str] = [each.name for each in self.given]
        self.attributes = {
            name: _value(text) for name, text in node.get("attrs", {}).items() if text != "None"
        }
        self.nodes: List[Any] = []
        self._constants = known["initializer"]
        self._count = 0
        self._shapes = shapes

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Write an operator and return the name of its output.

        An input is the name of a result or a constant: a list of sizes, or a number, whose dtype becomes
        that of the MXNet operator's first input.
        """
        from onnx import helper

        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        self.nodes.append(helper.make_node(operator, names, [self._new()], **attributes))
        return self.nodes[-1].output[0]

    def rank(self, output: str = "") -> int:
        """Return the number of axes of the result, or of the output with this number."""
        return len(self._shapes()[f"{self.name}_output{output}"])

    def sizes(self, attribute: str) -> List[int]:
        """Return an attribute that is a number or several."""
        return [int(n) for n in np.ravel(self.attributes.get(attribute, ()))]

    def _constant(self, value):
        from onnx import numpy_helper

        dtype = np.int64 if isinstance(value, list) else self.given[0].dtype
        name = self._new()
        self._constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def _new(self):
        self._count += 1
        return f"{self.name}_part{self._count}"


def _value(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
