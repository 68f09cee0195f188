"""Nets of models whose inputs are read as numbers."""

from types import SimpleNamespace
from typing import Any, Callable, Dict, Tuple

import numpy as np
from mxnet.gluon import HybridBlock
from mxnet.ndarray import NDArray

from ..saving import Saved
from .values import NeedsValue

#: Most graphs that are kept.
MOST_GRAPHS = 16


class NetByValue(Saved):
    """Net that reads some of its inputs as numbers, such as the axes of a reduction.

    Parameters
    ----------
    make : callable
        Returns the net for the values of these inputs, a dict by their positions, and the positions of
        the inputs that it is called with.
    read : int
        Position of an input that is read. Others follow from the calls.
    prefix : str
        As for :class:`mxnet.gluon.HybridBlock`.

    Notes
    -----
    A symbol has no values, so that such a net hybridizes, but cannot be exported. It has the parameters
    of the graphs that its calls made.
    """

    def __init__(
        self, make: Callable[[Dict[int, np.ndarray]], Tuple[HybridBlock, Tuple[int, ...]]], read: int,
        prefix: str,
    ):  # fmt: skip
        super().__init__(prefix=prefix)
        self._make, self._read = make, [read]
        # Not tuples, in which Gluon searches for blocks and warns.
        self._nets: Dict[Any, SimpleNamespace] = {}
        self._flags: Tuple[bool, Dict[str, Any]] = (False, {})

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        self._flags = (active, kwargs)
        for graph in self._nets.values():
            graph.net.hybridize(active, **kwargs)

    def forward(self, *data: Any) -> Any:
        if not all(isinstance(x, NDArray) for x in data):
            raise ValueError(
                f"{self.name} reads the values of its inputs {self._read}, which symbols do not have: "
                "give them to import_model with constants="
            )
        while True:
            if len(data) <= max(self._read):
                raise ValueError(f"{self.name} has more than {len(data)} inputs: it reads {self._read}")
            values = {i: data[i].asnumpy() for i in self._read}
            key = tuple((i, x.shape, x.tobytes()) for i, x in values.items())
            try:
                graph = self._nets.pop(key, None) or self._graph(*self._make(values))
                break
            except NeedsValue as error:
                self._read.append(error.index)
        self._nets[key] = graph  # last, because it is the most recently used one
        for oldest in list(self._nets)[:-MOST_GRAPHS]:
            del self._nets[oldest]
        return graph.net(*(data[i] for i in graph.places))

    def _graph(self, net: HybridBlock, places: Tuple[int, ...]) -> SimpleNamespace:
        """Return a graph, whose parameters are kept."""
        net.hybridize(self._flags[0], **self._flags[1])
        for name, parameter in net.collect_params().items():
            self.params._params[name] = parameter
            self._reg_params[f"net.{name}"] = parameter  # a name with a dot, for Gluon
        return SimpleNamespace(net=net, places=places)
