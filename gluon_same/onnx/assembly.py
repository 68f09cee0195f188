"""Steps, blocks and parameters of a net that is made from an ONNX graph."""

from functools import partial
from itertools import chain, takewhile
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, cast

import numpy as np
from mxnet.gluon import HybridBlock

from ..arrays import flat
from ..importing import functions
from ..importing.block import Function, title_of
from ..importing.net import Group, ImportedNet, Plan, Run
from .inference import Inference
from .inputs import TRIES
from .pending import Pending
from .scopes import plain, printable
from .values import FIX, Data, Input, Known, Sizes, Unsupported, compute_dtype, stored_dtype
from .weights import Weights, stored_array

#: Layers and operators whose results oneDNN does not hold in blocks.
_PLAIN = {"Dense", "MatMul", "Einsum", "Gemm", "Reshape", "Transpose", "Expand"}

#: Most elements of an input of floats from which the net reads numbers, such as the size of an image.
_MOST_FLOATS = 8

#: The largest whole number below which float64 has all others.
_EXACT = 2**53


class Assembly(Inference):
    """Net in the making: its blocks, the steps between them, and their parameters.

    Parameters
    ----------
    weights : Weights
        Parameters of other nets of the model, to share. New ones are added.

    Attributes
    ----------
    blocks : dict of str to HybridBlock
        Blocks by the names of nodes.
    required : list of Data
        Results of blocks that raise an error for other sizes than those which all trials have.
    """

    def __init__(self, weights: Weights):
        super().__init__()
        self.weights = weights
        self.blocks: Dict[str, HybridBlock] = {}
        self._steps: List[Run] = []
        self._slots = 0
        self.required: List[Data] = []
        self._prefixes: Dict[str, int] = {}
        self._uses: Dict[str, int] = {}  # how many nodes read each array of the main graph
        self._node: Any = None
        self._scope: Any = None

    def start(self, inputs: Sequence[Input]) -> List[Data]:
        """Add the inputs of the net, and return them."""
        self._shapes = [{} for _ in (inputs[0].trials if inputs else [()])]
        self._inputs = [each.name for each in inputs]
        starts = []
        for each in inputs:
            data = self._new(None, compute_dtype(each.dtype), not each.trials[0])
            data.index = each.place
            data.doubts.update(each.doubts)
            shape = each.trials[0]
            few = len(shape) < 2 and sum(shape) <= _MOST_FLOATS and len(set(each.trials)) == 1
            data.source = each.place if few or each.dtype.kind in "iub" else None
            self._settle(data, [shape or (1,) for shape in each.trials])
            starts.append(data)
        return starts

    def net(
        self, starts: Sequence[Data], outputs: Sequence[Any], dtypes: Sequence[Any], name: str,
        alike: Tuple[Group, ...] = (),
    ) -> ImportedNet:  # fmt: skip
        """Return the net. ``alike`` is for :class:`gluon_same.importing.net.Plan`."""
        self._node = _Output
        results = [self.array(x) for x in outputs]
        unused = [x for x in self.required if x.slot not in self._needed(results)]
        if unused:  # graphs would not check their sizes
            to = stored_dtype(results[0].dtype).name
            results[0] = self.call(functions.after, results[0], *unused, to=to, scalar=results[0].scalar)
        final = [self._final(x, dtype or x.dtype) for x, dtype in zip(results, dtypes)]
        self.infer()
        needed = self._needed(final)
        steps = tuple(step for step in self._steps if needed.intersection(step.outputs))
        blocks = {step.child: self.blocks[step.child] for step in steps}
        shapes = tuple(x.stored_shape for x in starts)
        plan = Plan(
            steps=steps, inputs=tuple(x.slot for x in starts), layer_outputs=(),
            outputs=tuple(x.slot for x in final), saved=shapes, input_shapes=shapes,
            output_shapes=tuple(x.stored_shape for x in final), names=tuple(self._inputs),
            dtypes=tuple(stored_dtype(x.dtype) for x in starts), alike=alike,
        )  # fmt: skip
        return ImportedNet(blocks, plan, prefix=f"{plain(name) or 'net'}_")

    def call(
        self, function: Any, *inputs: Any, outputs: int = 1, dtype: Any = None,
        scalar: Any = None, known_shapes: Optional[Sequence[Sizes]] = None, **arguments: Any,
    ) -> Any:  # fmt: skip
        """Add a step that calls a function of ``F``, or an operator of MXNet by its name.

        Parameters
        ----------
        function : str or callable
            As for :class:`gluon_same.importing.block.Function`.
        *inputs : Data, Known or None
            Known inputs become parameters of the block; those that are None are left out.
        outputs : int
            Number of results.
        dtype : numpy.dtype, or tuple of them, optional
            dtype of the results, or of each; that of the first input by default.
        scalar : bool, or tuple of them, optional
            Whether ONNX's results have no axes; by default, whether that is true of all inputs.
        known_shapes : sequence of tuple of int, optional
            Shape of the one result at each trial, if MXNet cannot infer it.
        **arguments
            Arguments of the function.

        Returns
        -------
        Data, or list of Data
        """
        each = chain(*(x if isinstance(x, tuple) else [x] for x in arguments.values()))
        large = [n for n in each if isinstance(n, int) and abs(n) > _EXACT]
        if large:
            raise Unsupported(f"MXNet takes numbers in float64, for which {large[0]} is too large")
        given = (x for x in inputs if x is not None)
        inputs = tuple(self.array(x) if isinstance(x, Known) and x.open else x for x in given)
        if all(isinstance(x, Known) for x in inputs):
            inputs = (self.array(inputs[0]), *inputs[1:])
        places = [i for i, x in enumerate(inputs) if isinstance(x, Known)]
        weights = {f"constant{i}": inputs[i] for i in places}
        parameters = {name: {"shape": stored_array(x.array).shape} for name, x in weights.items()}
        title, prefix = self._node.op_type, self.prefix()
        block = Function(function, title, prefix, parameters, places=tuple(places), **arguments)
        data = [x for x in inputs if isinstance(x, Data)]
        if scalar is None:
            scalar = all(x.ndim == 0 if isinstance(x, Known) else x.scalar for x in inputs)
        dtype = compute_dtype(inputs[0].dtype) if dtype is None else dtype
        how: Dict[str, Any] = dict(
            outputs=outputs, dtype=dtype, scalar=scalar, known_shapes=known_shapes
        )
        return self.block(block, *data, weights=weights, **how)

    def block(
        self, block: HybridBlock, *inputs: Data, weights: Optional[Dict[str, Known]] = None,
        outputs: int = 1, dtype: Any = None, scalar: Any = False,
        known_shapes: Optional[Sequence[Sizes]] = None,
    ) -> Any:  # fmt: skip
        """Add a step that calls a block, whose parameters get arrays of the file and their names.

        Returns
        -------
        Data, or list of Data
        """
        self.weights.adopt(block, weights or {})
        key = self._key()
        self.blocks[key] = block
        results = flat(block(*(x.symbol for x in inputs)))
        if len(results) == 1 and outputs > 1:
            results = list(results[0])
        dtype = inputs[0].dtype if dtype is None else dtype
        each = (x if isinstance(x, tuple) else [x] * len(results) for x in (dtype, scalar))
        made = [self._new(*how) for how in zip(results, *each)]
        if known_shapes is not None:
            self._pending.remove(made[0])
            self._settle(made[0], known_shapes)
        sources = {x.source for x in inputs}
        source = sources.pop() if len(sources) == 1 else None
        layer = title_of(block) not in _PLAIN
        blocked = layer and (not isinstance(block, Function) or any(x.blocked for x in inputs))
        for x, result in zip(made, results):
            x.source, x.key, x.blocked = source, key, blocked
            # MXNet names results after operators. A group of results has no name.
            operator = (result.name or "").rstrip("0123456789")
            x.transposed, x.joined = operator.endswith("transpose"), operator.endswith("concat")
        self.doubt(inputs, made, results if known_shapes is None else None)
        self._steps.append(Run(key, tuple(x.slot for x in inputs), tuple(x.slot for x in made)))
        return made[0] if outputs == 1 else made[:outputs]

    def doubted(self, x: Data, y: Data) -> Data:
        """Return the result of a window, with doubts about axes of one size for all sizes of the data.

        If the model refuses some of the sizes that are tried, others may show more: raise, except in
        another attempt.
        """
        for axis, sizes in enumerate(zip(*x.trials)):
            if axis > 1 and len(set(sizes)) > 1 and len({shape[axis] for shape in y.trials}) == 1:
                if len(sizes) < TRIES and not self.again:
                    self.has_others = True
                    raise ValueError(f"the sizes {sizes} have the same number of windows")
                y = self.doubtful(y, axis)
        return y

    def doubtful(self, x: Data, axis: int) -> Data:
        """Return an array with a doubt about the size of an axis, which may turn out to be required."""
        y = self.call(functions.exactly, x, axis=axis, size=None)
        sizes = [shape[axis] for shape in y.trials]
        calls: List[Any] = [partial(self._require, y, sizes[0])] if len(set(sizes)) == 1 else []
        # Those of the current node, which are the last ones, are as doubtful.
        for each in takewhile(lambda each: each.node == y.node, reversed(self._arrays)):
            places = enumerate(zip(*each.stored))
            each.doubts.update({place: calls for place, n in places if [*n] == sizes})
        return y

    def _require(self, x: Data, size: int) -> None:
        cast(Function, self.blocks[x.key]).change(size=size)
        self.required += [x] if x not in self.required else []

    def _needed(self, results: Sequence[Data]) -> Set[int]:
        """Return the slots from which results follow."""
        needed = {x.slot for x in results}
        for step in reversed(self._steps):
            needed.update(step.inputs if needed.intersection(step.outputs) else ())
        return needed

    def block_before(self, x: Data) -> Optional[HybridBlock]:
        """Return the block whose result is an array that only the current node reads, else None."""
        names = [name for name, value in self._scope.values.items() if value is x]
        if self._scope.path or len(names) != 1 or self._uses[names[0]] != 1:
            return None
        return self.blocks[x.key]

    def exchange(self, x: Data, block: HybridBlock, weights: Dict[str, Known]) -> None:
        """Exchange the block whose result is an array for one whose result has the same shape."""
        self.weights.adopt(block, weights)
        self.blocks[x.key] = block

    @property
    def outputs(self) -> int:
        """Number of outputs of the current node."""
        return len(self._node.output)

    def prefix(self) -> str:
        """Return a prefix for a block of the current node, which no other block has."""
        name = plain(self.name())
        count = self._prefixes[name] = self._prefixes.get(name, 0) + 1
        return f"{name}_" if count == 1 else f"{name}_{count - 1}_"

    def array(self, x: Any) -> Data:
        """Return known numbers as an array at run time; an array is returned as it is."""
        if not isinstance(x, Known):
            return x.made() if isinstance(x, Pending) else x
        stored_array(x.first)  # raises an error if it has no elements
        if x.open:
            made = x.at_run_time()
            if made is None:
                raise Unsupported(f"{x.name or 'an input'} {FIX}")
            made.source = None  # it follows from sizes, and not from numbers
            return made
        scalar, dtype = x.ndim == 0, compute_dtype(x.dtype)
        return self.call(functions.constant, self._arrays[0], x, dtype=dtype, scalar=scalar)

    def _new(self, symbol: Any, dtype: Any, scalar: bool = False) -> Data:
        data = Data(self._slots, symbol, self, dtype, scalar)
        data.node = self.title() if self._node is not None else "an input"
        self._slots += 1
        if symbol is not None:
            self._pending.append(data)
        return data

    def _final(self, x: Any, dtype: np.dtype) -> Data:
        """Return an output of the net, in the dtype that the file declares."""
        if x.dtype == bool or (x.dtype == np.float32 and dtype == np.float16):
            return self.call(functions.cast, x, to=dtype.name)
        return self.call("identity", x) if x.index is not None else x

    def name(self) -> str:
        """Return the name of the current node: its own, or that of its first output."""
        return printable(f"{self._scope.path}{self._node.name or next(iter(self._node.output), 'node')}")

    def title(self) -> str:
        """Return the current node's name and operator, for messages."""
        return f"{self.name()} ({self._node.op_type})"

    def _key(self) -> str:
        name = self.name()
        key, count = name, 1
        while key in self.blocks:
            key, count = f"{name}#{count}", count + 1
        return key


class _Output:
    """Stands for a node where an output is finished."""

    op_type, name, output = "Output", "output", ("output",)
