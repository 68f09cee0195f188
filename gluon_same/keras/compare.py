"""Comparison of a net's layer outputs with Keras'."""

import os
import re
import zipfile
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import mxnet as mx
import numpy as np

from ..importing.block import title_of
from ..importing.net import Run
from ..tables import aligned, html
from .graph import printable
from .steps import KerasNet

__all__ = ["compare"]

Array = np.ndarray

_TITLES = ("Layer (type)", "Shape in Keras", "Largest", "Difference")


class Difference(NamedTuple):
    """Comparison of one layer's output."""

    layer: str  # name, such as 'backbone/conv1' in a nested model
    type: str  # class of the block
    shape: Tuple[int, ...]  # Keras' shape
    found: Tuple[int, ...]  # the net's shape, axes in Keras' order
    largest: float  # largest magnitude in Keras
    difference: float  # largest difference over `largest`; infinite if the shapes differ


class Comparison:
    """Result of :func:`compare`, which prints as a table.

    Attributes
    ----------
    rows : list of Difference
        One for each layer that both sides have, in the net's order.
    first : Difference or None
        The first layer beyond the tolerance.
    tolerance : float
    not_compared : list of str
        Entries of the file without an array in the net: unknown layers, and paddings that the next layer
        includes.
    """

    def __init__(self, rows: Sequence[Difference], tolerance: float, not_compared: Sequence[str]):
        self.rows: List[Difference] = list(rows)
        self.tolerance = tolerance
        self.not_compared: List[str] = list(not_compared)
        beyond = (row for row in rows if not row.difference <= tolerance)
        self.first: Optional[Difference] = next(beyond, None)

    def __str__(self) -> str:
        lines = aligned([_TITLES, *map(self._cells, self.rows)])
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, self._end()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html([_TITLES, *map(self._cells, self.rows)], below=self._end())

    def _end(self) -> str:
        """Return the conclusion below the table."""
        if self.first is None:
            end = f"All {len(self.rows)} layers are within {self.tolerance:g} of the largest value."
        else:
            end = f"The first layer beyond {self.tolerance:g} is {self.first.layer} ({self.first.type})."
        if self.not_compared:
            end += f"\nNot compared: {', '.join(self.not_compared)}"
        return end

    def _cells(self, row):
        shape = "x".join(map(str, row.shape))
        if row.shape != row.found:
            return f"{row.layer} ({row.type})", shape, "", f"has {'x'.join(map(str, row.found))}"
        mark = "" if row.difference <= self.tolerance else "  <"
        return f"{row.layer} ({row.type})", shape, f"{row.largest:.3g}", f"{row.difference:.1e}{mark}"


def compare(
    net: KerasNet, activations: Union[str, "os.PathLike[str]", Dict[str, Array]], tolerance: float = 1e-4
) -> Comparison:
    """Compare the output of each layer with Keras' output.

    Parameters
    ----------
    net : KerasNet
        A net from :func:`load_model`.
    activations : path or dict of str to array
        An ``.npz`` file, or a dict of its content, with arrays in Keras' layout. It has each layer's
        output by layer name and the model's inputs by the names of their layers, or as ``'input:0'``,
        ``'input:1'``. The output of a layer's second call is ``'name#1'``. A layer of a nested model is
        ``'model/name'``, and ``'model/name#1'`` in that model's second call. The calls of a layer may
        have any order.
    tolerance : float
        Largest accepted difference, as a fraction of the layer's largest magnitude.

    Returns
    -------
    Comparison
        Its ``str()`` is a table that names the first layer beyond the tolerance.

    Raises
    ------
    OSError
        If the file cannot be opened.
    TypeError, ValueError
        If ``net`` is not from :func:`load_model`, if the file is damaged, if it lacks an input, or if it
        contains no layer of the net.

    Notes
    -----
    To write the file in Keras for a batch of inputs ``x`` (notebook 5 has a recipe that also supports
    nested models, shared layers and several inputs)::

        probe = keras.Model(model.inputs, [layer.output for layer in model.layers])
        outputs = dict(zip([layer.name for layer in model.layers], probe.predict(x)))
        np.savez('activations.npz', **{'input:0': x}, **outputs)

    Examples
    --------
    >>> import h5py, json, os, tempfile
    >>> from gluon_same.keras import load_model
    >>> weights, text = (os.path.join(tempfile.mkdtemp(), name) for name in ('w.weights.h5', 'c.json'))
    >>> with h5py.File(weights, 'w') as file:
    ...     file['layers/dense/vars/0'] = [[1., 2.], [3., 4.], [5., 6.]]
    ...     file['layers/dense/vars/1'] = [0., 1.]
    >>> layer = {'name': 'dense', 'units': 2, 'batch_input_shape': [None, 3]}
    >>> layers = [{'class_name': 'Dense', 'config': layer}]
    >>> with open(text, 'w') as file:
    ...     json.dump({'class_name': 'Sequential', 'config': {'name': 'net', 'layers': layers}}, file)
    >>> net = load_model((text, weights))
    >>> compare(net, {'input:0': np.array([[1, 0, 1]]), 'dense': np.array([[6, 8]])})
    Layer (type)   Shape in Keras  Largest  Difference
    --------------------------------------------------
    dense (Dense)  1x2             8        1.2e-01  <
    --------------------------------------------------
    The first layer beyond 0.0001 is dense (Dense).
    """
    if not isinstance(net, KerasNet):
        raise TypeError(f"net={net!r} is not a net from gluon_same.keras.load_model")
    known = activations if isinstance(activations, dict) else _read(os.fspath(activations))
    known = {printable(name): array for name, array in known.items()}
    count = len(net.plan.inputs) - len(net.plan.states)
    inputs = [_input(net, index, known) for index in range(count)]
    inputs += net.initial_states(inputs[0])
    rows: List[Difference] = []
    calls: Dict[str, Dict[str, Array]] = {}  # the arrays of all calls of each layer
    for name, array in known.items():
        if not name.startswith("input:"):
            calls.setdefault(_without_number(name), {})[name] = array
    for name, kind, array in _outputs(net, inputs):
        same = calls.get(_without_number(name), {})
        if same:
            # Keras may run the calls of a shared layer in another order than that of their numbers.
            found = {key: _difference(name, kind, want, array) for key, want in same.items()}
            nearest = min(found, key=lambda key: (found[key].difference, key != name))
            rows.append(found[nearest])
            del same[nearest]
    left = [name for same in calls.values() for name in same]
    if not rows:
        raise ValueError(
            f"none of {', '.join(left[:5]) or 'the inputs'} is a layer of {net.name}, which has "
            f"{', '.join(map(printable, list(net.layers)[:5]))}"
        )
    return Comparison(rows, tolerance, left)


def _without_number(name: str) -> str:
    """Return the name of a layer's output without the number of the call."""
    return re.sub(r"#\d+", "", name)


def _read(path: str) -> Dict[str, Array]:
    arrays = {}
    try:
        with np.load(path, allow_pickle=False) as file:
            for name in file.files:
                try:
                    arrays[name] = file[name]
                except Exception as error:  # zipfile, zlib and NumPy raise different errors
                    raise ValueError(f"entry {name!r} cannot be read: {error}") from error
    except (ValueError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a readable .npz file: {error}") from error
    return arrays


def _input(net: KerasNet, index: int, known: Dict[str, Array]) -> mx.nd.NDArray:
    slot = net.plan.inputs[index]
    shown = next(shown for shown in net.plan.layer_outputs if shown.slot == slot)
    for name in (shown.key, f"input:{index}"):
        if name in known:
            array = np.asarray(known[name])
            rank = len(shown.axes)
            if array.ndim != rank:
                raise ValueError(f"{name!r} has shape {array.shape}, but the net requires {rank} axes")
            array = array.transpose(shown.axes)
            return mx.nd.array(array, dtype=net.plan.dtypes[index])
    raise ValueError(f"there is no array for the input {shown.key!r}: give it, or 'input:{index}'")


def _outputs(net: KerasNet, inputs: Sequence[Any], path: str = "") -> Iterator[Tuple[str, str, Array]]:
    """Yield the name, block type and output of each layer. Layers of a nested model precede it."""
    slots = net.run_steps(mx.nd, *inputs)
    runs = {slot: step for step in net.plan.steps if isinstance(step, Run) for slot in step.outputs}
    entered = set()
    for shown in net.plan.layer_outputs:
        run = runs.get(shown.slot)
        block = net._children[run.child] if run else None
        if run and isinstance(block, KerasNet) and run not in entered:
            entered.add(run)
            again = "".join(shown.key.partition("#")[1:]).partition(":")[0]
            given = [slots[slot] for slot in run.inputs]
            for name, kind, array in _outputs(block, given, f"{path}{run.child}/"):
                yield name + again, kind, array
        order = [shown.axes.index(axis) for axis in range(len(shown.axes))]
        kind = title_of(block) if block else "-"
        yield path + shown.key, kind, slots[shown.slot].asnumpy().transpose(order)


def _difference(name: str, kind: str, want: Array, got: Array) -> Difference:
    want = np.asarray(want, dtype=np.float64)
    largest = float(np.abs(want).max(initial=0))
    if want.shape != got.shape:
        return Difference(name, kind, want.shape, got.shape, largest, float("inf"))
    gap = float(np.abs(want - got).max(initial=0))
    return Difference(name, kind, want.shape, got.shape, largest, gap / largest if largest else gap)
