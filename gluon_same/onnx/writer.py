"""Write ONNX operators while MXNet's exporter runs."""

import ast
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

#: Shapes of all results in a graph, by name, with None for free sizes.
Shapes = Dict[str, Tuple[Any, ...]]


class Writer:
    """Writer of the ONNX operators of one MXNet operator.

    Parameters
    ----------
    node : dict
        The operator in the JSON form of its graph.
    known : dict
        What MXNet's exporter passes to a converter.
    shapes : dict
        Shapes of all results in the graph, by name.
    theirs : callable, optional
        MXNet's own converter of the operator.

    Attributes
    ----------
    nodes : list of onnx.NodeProto
        The operators written.
    dtypes : list of numpy.dtype, optional
        dtypes of the results; by default that of the first input.
    finished : bool
        Whether the results have their names. Otherwise the last operator returns the only one.
    """

    dtypes: Optional[Sequence[Any]] = None
    finished = False

    def __init__(
        self, node: Dict[str, Any], known: Dict[str, Any], shapes: Shapes,
        theirs: Optional[Callable[..., Any]] = None,
    ):  # fmt: skip
        outputs = known["outputs_lookup"]
        self.node, self.known = node, known
        self.name: str = node["name"]
        self.given = [outputs[source][index] for source, index, *_ in node["inputs"]]
        self.inputs: List[str] = [each.name for each in self.given]
        texts = node.get("attrs", {}).items()
        self.attributes = {name: _value(text) for name, text in texts if text != "None"}
        self.nodes: List[Any] = []
        self._count = 0
        self._shapes, self._theirs = shapes, theirs

    def __call__(self, operator: str, *inputs: Any, count: int = 1, **attributes: Any) -> Any:
        """Write an operator and return the name of its output, or of its last one if it has several.

        An input is the name of a result or a constant: a list of sizes, an array, or a number, whose
        dtype becomes that of the MXNet operator's first input.
        """
        from onnx import helper

        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        outputs = [self._new() for _ in range(count)]
        self.nodes.append(helper.make_node(operator, names, outputs, **attributes))
        return outputs[-1]

    def finish(self, *results: str) -> None:
        """Give results of the first input's dtype the names of the MXNet operator's outputs."""
        names = {x: f"{self.name}{i or ''}" for i, x in enumerate(results)}
        for node in self.nodes:
            for part in (node.input, node.output):
                part[:] = [names.get(x, x) for x in part]
        self.dtypes, self.finished = [self.given[0].dtype] * len(results), True

    def theirs(self, data: str = "", **changed: str) -> Any:
        """Return what MXNet's converter returns for changed attributes, and another first input."""
        assert self._theirs is not None
        known, (source, index, *_) = self.known, self.node["inputs"][0]
        if data:
            lookup = list(known["outputs_lookup"])
            lookup[source] = list(lookup[source])
            lookup[source][index] = type(self.given[0])(data, self.given[0].dtype)
            known = {**known, "outputs_lookup": lookup}
        return self._theirs({**self.node, "attrs": {**self.node.get("attrs", {}), **changed}}, **known)

    @property
    def result(self) -> Tuple[Any, ...]:
        """Shape of the result, with None for free sizes; () if it is not known, as in a loop."""
        return self._shapes.get(f"{self.name}_output", ())

    def rank(self, output: str = "") -> int:
        """Return the number of axes of the result, or of the output with this number."""
        return len(self._shapes[f"{self.name}_output{output}"])

    def shape_of(self, i: int) -> Tuple[Any, ...]:
        """Return the shape of an input, with None for free sizes; () if it is not known."""
        source, index, *_ = self.node["inputs"][i]
        name = self.known["mx_graph"][source]["name"]
        keys = self.inputs[i], f"{self.inputs[i]}_output", f"{name}_output{index}"  # of several
        return next((self._shapes[key] for key in keys if key in self._shapes), ())

    def sizes(self, attribute: str) -> List[int]:
        """Return an attribute that is a number or several."""
        return [int(n) for n in np.ravel(self.attributes.get(attribute, ()))]

    def _constant(self, value):
        from onnx import numpy_helper

        dtype = np.int64 if isinstance(value, list) else self.given[0].dtype
        name = self._new()
        self.known["initializer"].append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def _new(self):
        self._count += 1
        return f"{self.name}_part{self._count}"


def kind_of(dtype: Any) -> int:
    """Return ONNX's number of a dtype."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _value(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
