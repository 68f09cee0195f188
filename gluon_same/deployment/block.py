"""The block that deploying returns."""

from typing import Any, List, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import SymbolBlock

from ..arrays import as_classic, fix_shape
from .graph import Graph
from .report import Report
from .running import flags


class Deployed(SymbolBlock):
    """Hybridized net for inference at fixed input shapes.

    Under ``autograd.record``, its results are constants.

    Parameters
    ----------
    graph : Graph
    structure : int or list
        Nested lists of result indices.
        report : Report

    Attributes
    ----------
    report : Report
        The applied passes and the measured error.

    Examples
    --------
    >>> import gluon_same
    >>> net = gluon_same.nn.Conv2D(4, 3, padding='same')
    >>> net.initialize()
    >>> block = gluon_same.deploy(net, (1, 3, 8, 8), tune=False)
    >>> block(mx.nd.ones((1, 3, 8, 8))).shape
    (1, 4, 8, 8)
    """

    # Gluon's attributes: the input symbols and the output symbol, and the operator and its arguments.
    _cached_graph: Tuple[Any, Any]
    _cached_op: Any
    _cached_op_args: List[Tuple[bool, Any]]
    _callback: Any

    def __init__(self, graph: Graph, structure: Any, report: Report):
        symbol, inputs = graph.symbol(), [mx.sym.var(name, dtype="float32") for name in graph.inputs]
        if mx.util.is_np_array():
            symbol, inputs = symbol.as_np_ndarray(), [x.as_np_ndarray() for x in inputs]
        super().__init__(symbol, inputs)
        for name, parameter in self.collect_params().items():
            value = graph.params[name]
            parameter.grad_req = "null"
            parameter.shape, parameter.dtype = value.shape, value.dtype
            parameter.initialize(init=mx.init.Zero(), ctx=value.context, force_reinit=True)
            parameter.set_data(value.as_np_ndarray() if mx.util.is_np_array() else value)
        self._expected = list(graph.inputs.values())
        self._structure, self.report = structure, report
        self.hybridize(**flags(graph))

    def forward(self, *args: Any) -> Any:
        if len(args) != len(self._expected):
            raise TypeError(
                f"the net is deployed for {len(self._expected)} inputs, and received {len(args)}"
            )
        for given, expected in zip(args, self._expected):
            if not isinstance(given, (mx.nd.NDArray, mx.sym.Symbol)):
                raise TypeError(
                    f"the net takes NDArrays, and received {type(given)}: give mx.nd.array(...)"
                )
            if isinstance(given, mx.nd.NDArray) and given.shape != expected:
                raise ValueError(
                    f"the net is deployed for inputs of shape {expected}, and received {given.shape}: "
                    "call gluon_same.deploy(net, shape) for each shape, or use the net itself"
                )
        try:
            # Fused operators have no gradients, and training changes what normalizations compute.
            with mx.autograd.pause():
                results = self._run(args)
        except mx.MXNetError as failure:
            odd = [str(np.dtype(x.dtype)) for x in args if getattr(x, "dtype", np.float32) != np.float32]
            if not odd:
                raise
            raise TypeError(
                f"the net is deployed for float32 inputs, and received {odd[0]}: "
                "give x.astype('float32')"
            ) from failure
        return nest(self._structure, results if isinstance(results, (list, tuple)) else [results])

    def _run(self, args):
        """Call the cached operator directly, which takes less time than Gluon's checks of each call."""
        operator = self._cached_op
        if operator is None or self._callback or not all(isinstance(x, mx.nd.NDArray) for x in args):
            return super().forward(*args)
        arrays = [[args[at]] if given else at._data for given, at in self._cached_op_args]
        if any(len(copies) != 1 for copies in arrays):  # parameters on several devices
            return super().forward(*args)
        return operator(*[array for (array,) in arrays])

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = False) -> None:
        """Write ``path-symbol.json`` and ``path-0000.params``, which MXNet loads without this package.

        Parameters
        ----------
        path : str
        epoch : int
            Number in the name of the parameter file.
        remove_amp_cast : bool
            Whether to remove casts. Must be False for bfloat16, whose casts are part of the graph.
        """
        graph = self._cached_graph
        inputs, out = graph
        # The graph is valid for these shapes only.
        checked = {
            x.name: fix_shape(as_classic(x), shape, "deployed_for_" + "x".join(map(str, shape)))
            for x, shape in zip(inputs, self._expected)
            if x.name in out.list_inputs()
        }
        whole = as_classic(out)(**checked)
        self._cached_graph = inputs, whole if out is as_classic(out) else whole.as_np_ndarray()
        try:
            super().export(path, epoch, remove_amp_cast)
        finally:
            self._cached_graph = graph


def structure_of(results: Any) -> Tuple[Any, List[mx.sym.Symbol]]:
    """Return the nesting of results, as nested lists of indices, and the flat list of results."""
    found: List[mx.sym.Symbol] = []

    def visit(value):
        if isinstance(value, (list, tuple)):
            return [visit(each) for each in value]
        found.append(value)
        return len(found) - 1

    return visit(results), found


def nest(structure: Any, results: Sequence[Any]) -> Any:
    """Return results nested as described by a structure."""
    if isinstance(structure, list):
        return tuple(nest(each, results) for each in structure)
    return results[structure]
