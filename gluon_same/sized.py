"""A net as one graph for given input shapes."""

import threading
from contextlib import nullcontext
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import mxnet as mx
import numpy as np
from mxnet.gluon import Block, HybridBlock, Parameter, ParameterDict, SymbolBlock

from . import arguments
from .arrays import as_classic, fix_shape, flat, in_mode, operator_of, read_by, settle
from .saving import Saved, write
from .trace import Trace, nest


class Sized(Saved, SymbolBlock):
    """Block that runs a graph for given input shapes.

    :func:`gluon_same.specialize` and :func:`gluon_same.deploy` return it. It can be called, hybridized,
    copied, pickled, exported and made a part of other nets like any Gluon block, and raises an error for
    inputs of other shapes. It always runs its graph; ``hybridize`` sets flags such as ``static_alloc``.

    Parameters
    ----------
    name : tuple of str
        Name and prefix of the net.
    graphs : dict of bool to Symbol
        The graph for inference, False, and optionally another one for training, True.
    inputs : dict of str to tuple of (int or None)
        Name and shape of each input; None for sizes that may differ.
    parameters : dict of str to Parameter
        The parameters, by their names in a file of ``save_parameters``.
    structure : int or list
        Nesting of the results, as nested lists of their indices.
    report : Report, optional
        What deploying did; None for a specialized block. The results of a deployed block are constants.

    Attributes
    ----------
    report : Report or None
    custom : bool
        Whether the net has gradients that the graph lacks, of an ``autograd.Function``.
    mode : bool or None
        Whether the graph is only for training, or only for inference; None if it is for both.
    """

    _checks = True  # whether graphs that contain this one check the shapes of its inputs

    def __init__(
        self,
        name: Tuple[str, str],
        graphs: Dict[bool, mx.sym.Symbol],
        inputs: Dict[str, Tuple[Optional[int], ...]],
        parameters: Dict[str, Parameter],
        *,
        structure: Any,
        report: Any = None,
    ):
        # The constructor of SymbolBlock would create the parameters, and check that they are float32.
        HybridBlock.__init__(self)
        self._name, self._prefix = name
        self._graphs = {key: in_mode(graph) for key, graph in graphs.items()}
        self._inputs, self._structure = inputs, structure
        self.report, self.custom = report, False
        self.mode: Optional[bool] = None
        names = ("specialize", "specialized") if report is None else ("deploy", "deployed")
        self._verb, self._done = names  # the function that returns the block, and the block, in messages
        self._by_path = parameters
        self._params = ParameterDict(self._prefix)
        self._params.update({p.name: p for p in parameters.values()})
        self._reg_params = dict(self._params.items())
        self._prepare()

    def _prepare(self) -> None:
        """Set what is neither copied nor pickled."""
        self._lock = threading.Lock()
        self._operators: Dict[bool, Tuple[Any, List[Any]]] = {}
        variables = [in_mode(mx.sym.var(name)) for name in self._inputs]
        self._cached_graph = variables, self._graphs.get(True, self._graphs[False])

    def __getstate__(self) -> Dict[str, Any]:
        settle()
        left_out = ("_lock", "_operators", "_cached_graph", "_cached_op", "_cached_op_args", "_callback")
        state = {key: value for key, value in vars(self).items() if key not in left_out}
        # MXNet's own form of a pickled symbol has no casts.
        texts = {key: as_classic(x).tojson(remove_amp_cast=False) for key, x in self._graphs.items()}
        return {**state, "_graphs": texts}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, _cached_op=None, _cached_op_args=[], _callback=None)
        self._graphs = {key: in_mode(mx.sym.load_json(text)) for key, text in self._graphs.items()}
        self._prepare()

    def __repr__(self) -> str:
        shapes = ", ".join(map(_written, self._inputs.values()))
        dtypes = "/".join(sorted({str(np.dtype(p.dtype)) for p in self._by_path.values()}))
        error = "" if self.report is None else f", error {self.report.error:.1e}"
        return f"{self._verb}({self.name}, {shapes}){f' of {dtypes}' if dtypes else ''}{error}"

    def _collect_params_with_prefix(self, prefix: str = "") -> Dict[str, Parameter]:
        return {f"{prefix}.{path}" if prefix else path: p for path, p in self._by_path.items()}

    def forward(self, *args: Any) -> Any:
        given = flat(args)
        self._check(args, given)
        if self.custom and self.report is None and mx.autograd.is_recording():
            raise ValueError(
                f"{self.name} is specialized, and its graph lacks the gradient of an autograd.Function "
                "that its code calls: train the net itself, without hybridizing it"
            )
        if self.mode is not None and self.mode != mx.autograd.is_training():
            modes = ("inference", "training")[:: -1 if self.mode else 1]
            raise ValueError(
                f"{self.name} is specialized for {modes[0]}, and its code computes something else in "
                f"{modes[1]}: call specialize in autograd.{'predict' if self.mode else 'train'}_mode()"
            )
        if isinstance(given[0], mx.sym.Symbol):
            return self._compose(given)
        with self._lock:
            results = self._run(given)
        return nest(self._structure, results)

    def _run(self, given: Sequence[mx.nd.NDArray]) -> List[mx.nd.NDArray]:
        given = [x.astype("float32") if self._lacks_operators(x) else x for x in given]
        context = given[0].context
        operator, sources = self._operator(mx.autograd.is_training())
        values = [
            given[at] if isinstance(at, int) else self._value(at, given, context) for at in sources
        ]
        if self._callback:
            operator._register_op_hook(self._callback, self._monitor_all)
        try:
            # Fused operators have no gradients, and training changes what normalizations compute.
            with nullcontext() if self.report is None else mx.autograd.pause():
                results = operator(*values)
        except mx.MXNetError as failure:
            odd = [str(np.dtype(x.dtype)) for x in given if x.dtype != np.float32]
            if self.report is None or not odd:
                raise
            raise TypeError(
                f"{self.name} is deployed for float32 inputs, and received {odd[0]}: "
                "give x.astype('float32')"
            ) from failure
        return flat(results)

    def _lacks_operators(self, x):
        """Return whether MXNet has few operators for an array: of booleans, or of float16 on a CPU."""
        if x.dtype != np.float16:
            return x.dtype == np.bool_
        own = {np.dtype(p.dtype).name for p in self._by_path.values()}
        return x.context.device_type == "cpu" and "float32" in own and "float16" not in own

    def _operator(self, training):
        key = training and True in self._graphs
        if key not in self._operators:
            graph = self._graphs[key]
            places = {name: i for i, name in enumerate(self._inputs)}
            sources = [places.get(n, self._params._params.get(n)) for n in graph.list_inputs()]
            self._operators[key] = operator_of(graph, self._inputs, self._flags), sources
        return self._operators[key]

    def _value(self, parameter, given, context):
        if parameter._data is None and parameter._deferred_init:
            graph = as_classic(self._graphs[False])
            known = dict(zip(self._inputs, (x.shape for x in given)))
            shapes, _, states = graph.infer_shape(**read_by(graph, known))
            names = graph.list_arguments() + graph.list_auxiliary_states()
            for name, shape in zip(names, shapes + states):
                if name not in self._inputs:
                    self._params._params[name].shape = shape
                    self._params._params[name]._finish_deferred_init()
        values = parameter._data
        # This takes a fifth of the time of ``Parameter.data``, which is called for each parameter.
        return values[0] if values is not None and len(values) == 1 else parameter.data(context)

    def _check(self, args, given):
        if not given:
            kind = type(args[0]).__name__ if args else "nothing"
            raise TypeError(f"{self.name} takes NDArrays, and received {kind}: give mx.nd.array(...)")
        if len(given) != len(self._inputs):
            raise TypeError(  # as Python does for a wrong number of arguments
                f"{self.name} is {self._done} for {len(self._inputs)} inputs and received {len(given)}: "
                f"call gluon_same.{self._verb} with the shapes of all inputs"
            )
        for x, expected in zip(given, self._inputs.values()):
            shape = expected if isinstance(x, mx.sym.Symbol) else x.shape
            if shape == expected:  # quicker than a comparison of each size
                continue
            if len(shape) != len(expected) or any(n not in (None, m) for n, m in zip(expected, shape)):
                raise ValueError(
                    f"{self.name} is {self._done} for inputs of shape {_written(expected)} and received "
                    f"{shape}: call gluon_same.{self._verb}(net, {shape}), or "
                    f"gluon_same.{self._verb}(net) for a block that serves every size"
                )

    def _compose(self, given):
        """Return the graph on symbols."""
        named = dict(zip(self._inputs, map(as_classic, given)))
        return nest(self._structure, [in_mode(x) for x in self._applied(named, self._checks)])

    def _applied(self, named, checks=True):
        """Return the graph on symbols by their names, which MXNet cannot bind to other shapes."""
        graph = as_classic(self._cached_graph[1])
        for name, expected in self._inputs.items() if checks else ():
            title = f"{self.name}_{self._done}_for_{'x'.join(_sizes(expected))}"
            named[name] = fix_shape(named[name], expected, title)
        return graph(**read_by(graph, named))

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
        graph = self._applied({name: mx.sym.var(name) for name in self._inputs})
        write(graph, self._params, path, epoch, remove_amp_cast)

    def _clear_cached_op(self) -> None:
        super()._clear_cached_op()
        self._operators = {}

    def optimize_for(self, *_: Any, **__: Any) -> None:
        raise ValueError(
            f"{self.name} is {self._done}: call optimize_for of the net, or gluon_same.deploy"
        )

    def save(self, prefix: str) -> None:
        raise ValueError(f"{self.name} is {self._done}: use export or save_parameters")


class EverySize(Saved):
    """Block that serves every input shape by a :class:`Sized` block for each.

    :func:`gluon_same.specialize` and :func:`gluon_same.deploy` return it if no shape is given.

    Parameters
    ----------
    net : Block
    make : callable
        Returns the block for given shapes.
    graphs : int
        Number of blocks to keep, the most recently used ones.
    """

    def __init__(self, net: Block, make: Callable[..., Sized], graphs: int):
        super().__init__()
        graphs = arguments.whole("graphs", graphs, 1)
        # The net is no child, so that hybridizing this block does not change it.
        self.__dict__.update(_net=net, _make=make, _graphs=graphs, _name=net.name, _prefix=net.prefix)
        self.__dict__.update(_params=net.collect_params(), _sized={}, _given=None)
        self.__dict__.update(_reg_params=dict(self._params.items()))

    def __repr__(self) -> str:
        kept = "".join(f"\n  {block!r}" for block in self._sized.values())
        return f"{type(self).__name__}({self.name}, graphs={self._graphs}){kept}"

    def _check_container_with_block(self) -> None:
        """Gluon would warn of the blocks in ``_sized``, whose parameters are those of the net."""

    def _collect_params_with_prefix(self, prefix: str = "") -> Dict[str, Parameter]:
        return self._net._collect_params_with_prefix(prefix)

    def forward(self, *args: Any) -> Any:
        given = flat(args)
        if not given or isinstance(given[0], mx.sym.Symbol):
            return self._net(*args)
        shapes = tuple(x.shape for x in given)
        block = self._sized.pop(shapes, None)
        if block is None or block.mode not in (None, mx.autograd.is_training()):
            block = self._make(self._net, *shapes)
            if self._given is not None:
                block.hybridize(*self._given[0], **self._given[1])
        self._sized[shapes] = block  # last, because it is the most recently used one
        for oldest in list(self._sized)[: -self._graphs]:
            del self._sized[oldest]
        return block(*args)

    def hybridize(self, *args: Any, **kwargs: Any) -> None:
        """Set the flags of the graphs, such as ``static_alloc``. The block always runs graphs."""
        self._sized.clear()
        self.__dict__["_given"] = args, kwargs

    def cast(self, dtype: Any) -> None:
        self._sized.clear()
        self._net.cast(dtype)

    def __getstate__(self) -> Dict[str, Any]:
        settle()
        return {**vars(self), "_sized": {}}

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Write the net's graph for every size; see ``HybridBlock.export``."""
        if not self._sized:
            raise RuntimeError(f"{self.name} has not been called: call it once before export")
        shapes, block = next(reversed(self._sized.items()))
        if block.report is not None:
            raise ValueError(
                f"{self.name} is deployed for every size, and a graph has one: export "
                f"gluon_same.deploy(net, {', '.join(map(str, shapes))})"
            )
        trace = Trace(self._net, shapes, sized=False)
        if trace.fixed:
            raise ValueError(
                f"{self.name} has no graph for every size that supports inputs of shape {list(shapes)}: "
                f"export gluon_same.specialize(net, {', '.join(map(str, shapes))})"
            )
        write(trace.symbol(), self._net.collect_params(), path, epoch, remove_amp_cast)


def _written(shape):
    return f"({', '.join(_sizes(shape))})"


def _sizes(shape):
    return ["any" if n is None else str(n) for n in shape]
