"""Which array of a file belongs to which layer, and putting it there."""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import mxnet as mx
import numpy as np
from mxnet.gluon import Parameter

from .build import Owner
from .config import Model
from .files import Hdf5
from .layers import Weight
from .names import role_of, snake_case

Path = Tuple[str, ...]


class Entry(NamedTuple):
    """An array of a legacy file that is not read yet."""

    where: str
    name: str  # 'conv/kernel:0'

    @property
    def role(self) -> str:
        """What the file calls it: 'kernel'."""
        return role_of(self.name)


class Grouped:
    """The weights of ``.keras`` and ``.weights.h5`` files: groups by class, arrays by number.

    Parameters
    ----------
    file : Hdf5
    model : Model
        Whose layers the groups are of.
    """

    def __init__(self, file: Hdf5, model: Model):
        self.file = file
        # Keras 2.13 has another name for the same group.
        self._layers = "layers" if file.has("layers") else "_layer_checkpoint_dependencies"
        self.groups: Dict[Path, str] = {}  # by the path of a layer
        self._name_groups(model, (), "")

    def _name_groups(self, model: Model, path: Path, group: str) -> None:
        """Name the group of each layer: its class in snake case, and a number from the second on."""
        counts: Dict[str, int] = {}
        for layer in model.layers.values():
            kind = snake_case(layer.class_name)
            count = counts[kind] = counts.get(kind, -1) + 1
            own = "/".join(filter(None, (group, self._layers, f"{kind}_{count}" if count else kind)))
            self.groups[(*path, layer.name)] = own
            if layer.model is not None:
                self._name_groups(layer.model, (*path, layer.name), own)

    def arrays(self, path: Path) -> List[np.ndarray]:
        """All arrays of a layer."""
        group = f"{self.groups[path]}/vars"
        return [
            self.file.array(f"{group}/{name}") for name in sorted(self.file.names(group), key=number_of)
        ]

    def fill(self, owners: Sequence[Owner], put: "Put", path: Path = ()) -> None:
        """Put every weight of these layers in its place."""
        for owner in owners:
            own = (*path, owner.name)
            if owner.owners is not None:
                self.fill(owner.owners, put, own)
                continue
            for part in dict.fromkeys(weight.part for weight in owner.weights):
                weights = [weight for weight in owner.weights if weight.part == part]
                group = "/".join(filter(None, (self.groups[own], part, "vars")))
                found = sorted(self.file.names(group), key=number_of)
                if len(found) != len(weights):
                    raise ValueError(
                        f"{self.file.path}: entry {group!r} holds {len(found)} arrays, and layer "
                        f"{'/'.join(own)} ({owner.class_name}) has {len(weights)}: {_roles(weights)}"
                    )
                for weight, name in zip(weights, found):
                    put(own, weight, self.file, f"{group}/{name}")


class Legacy:
    """The weights of ``.h5`` files of Keras 2: a group for each layer, by its name.

    Parameters
    ----------
    file : Hdf5
    root : str
        The group that holds them.
    model : Model
        Whose weights they are.
    """

    def __init__(self, file: Hdf5, root: str, model: Model):
        self.file = file
        self._entries: Dict[str, List[Entry]] = {}
        for layer in file.texts("layer_names", root):
            group = f"{root}/{layer}" if root else layer
            names = file.texts("weight_names", group)
            self._entries[layer] = [Entry(f"{group}/{name}", name) for name in names]

    def arrays(self, path: Path) -> List[np.ndarray]:
        """All arrays of a layer, which nobody else gets then.

        Those of a layer in a nested model are the ones whose names hold the layer's.
        """
        held = self._entries.get(path[0], [])
        entries = [entry for entry in held if len(path) == 1 or f"/{path[-1]}/" in f"/{entry.name}"]
        self._entries[path[0]] = [entry for entry in held if entry not in entries]
        return [self.file.array(entry.where) for entry in entries]

    def fill(self, owners: Sequence[Owner], put: "Put") -> None:
        """Put every weight of these layers in its place."""
        owners = [owner for owner in owners if _all_weights(owner)]
        held = {name: entries for name, entries in self._entries.items() if entries}
        if not {owner.name for owner in owners} <= held.keys():
            held = self._by_order(owners, held)
        for owner in owners:
            entries = held[owner.name]
            weights = _matched(owner, entries)
            if weights is None:
                wanted = _roles(weight for _, weight, _ in _all_weights(owner))
                raise ValueError(
                    f"{self.file.path}: layer {owner.name!r} holds {_roles(entries)}, and the model's "
                    f"{owner.name} ({owner.class_name}) has {wanted}"
                )
            for (path, weight), entry in zip(weights, entries):
                put(path, weight, self.file, entry.where)

    def _by_order(self, owners, held):
        """The layers of the file for the model's, as Keras has it where their names differ."""
        if len(held) != len(owners):
            missing = [owner.name for owner in owners if owner.name not in held]
            raise ValueError(
                f"{self.file.path} holds weights of {len(held)} layers, and the model has "
                f"{len(owners)} with weights: there are none for {', '.join(missing[:5])}"
            )
        return {owner.name: entries for owner, entries in zip(owners, held.values())}


def source_of(file: Hdf5, model: Model) -> Union[Legacy, Grouped]:
    """The weights of a file, in the form that it has."""
    root = legacy_root(file)
    return Grouped(file, model) if root is None else Legacy(file, root, model)


def legacy_root(file: Hdf5) -> Optional[str]:
    """The group of a legacy file's weights; None for a file of another form."""
    root = "model_weights" if file.has("model_weights") else ""
    return root if file.has_attribute("layer_names", root) else None


class Put:
    """Puts arrays into parameters, after a look at their shapes.

    Parameters
    ----------
    ctx : Context or list of Context
    """

    def __init__(self, ctx: Any):
        self.ctx = ctx if isinstance(ctx, (list, tuple)) else [ctx]

    def __call__(self, path: Path, weight: Weight, file: Hdf5, where: str) -> None:
        array = file.array(where)
        fits = len(array.shape) == len(weight.shape)
        if not fits or any(n not in (None, m) for n, m in zip(weight.shape, array.shape)):
            wanted = ", ".join("any" if n is None else str(n) for n in weight.shape)
            raise ValueError(
                f"{file.path}: entry {where!r} has shape {array.shape}, and the {weight.role} of layer "
                f"{'/'.join(path)} has ({wanted})"
            )
        for parameter, value in weight.put(array):
            self.set(parameter, value)

    def set(self, parameter: Parameter, value: np.ndarray) -> None:
        """Give a parameter its value, and its shape where it has none."""
        # As Gluon reads its own files: without an initial value, and with a single copy.
        parameter._load_init(_shared(value), self.ctx)

    def replace(self, parameter: Parameter, value: np.ndarray) -> None:
        """Give a parameter its value, which may have one of another dtype or in other places."""
        if parameter._data is None and not parameter._deferred_init:
            self.set(parameter, value)
        else:
            parameter.shape = value.shape
            parameter.set_data(_shared(value))


def _shared(value: np.ndarray) -> mx.nd.NDArray:
    """An array in the memory of NumPy's."""
    return mx.nd.from_numpy(np.ascontiguousarray(value, np.float32))


def _all_weights(owner: Owner, path: Path = (), frozen: bool = False) -> List[Tuple[Path, Weight, bool]]:
    """The weights of a layer or a nested model, layer by layer, and whether Keras trains each."""
    path, trainable = (*path, owner.name), owner.trainable and not frozen
    if owner.owners is None:
        never = ("moving_mean", "moving_variance", "mean", "variance", "count")
        return [(path, w, trainable and w.role not in never) for w in owner.weights]
    return [each for inner in owner.owners for each in _all_weights(inner, path, not trainable)]


def _matched(owner: Owner, entries: Sequence[Entry]) -> Any:
    """The weights that a legacy file's entries are of, in the entries' order; None if none fit.

    Keras stores what it trains first, and for nested models that reaches across layers. What it trained
    when it stored the file may differ from what the configuration says, so the other orders are tried,
    and the names in the file decide.
    """
    weights = _all_weights(owner)
    trained = [(path, weight) for path, weight, trains in weights if trains]
    kept = [(path, weight) for path, weight, trains in weights if not trains]
    as_made = [(path, weight) for path, weight, _ in weights]
    thawed = sorted(as_made, key=lambda each: each[1].role in ("moving_mean", "moving_variance"))
    for order in (trained + kept, as_made, thawed):
        roles = [weight.role for _, weight in order]
        if len(roles) == len(entries) and all(map(_same_role, roles, (e.role for e in entries))):
            return order
    return None


def _same_role(role: str, name: str) -> bool:
    """Whether a file's name may be that of a role: some layers give theirs names of their own."""
    return name == role or role.endswith(name) or name not in _KNOWN_ROLES


#: Names by which a legacy file settles what an array is.
_KNOWN_ROLES = (
    "alpha",
    "beta",
    "bias",
    "depthwise_kernel",
    "embeddings",
    "gamma",
    "kernel",
    "moving_mean",
    "moving_variance",
    "pointwise_kernel",
    "recurrent_kernel",
)


def _roles(items: Iterable[Any]) -> str:
    return ", ".join(item.role or "?" for item in items) or "nothing"


def number_of(name: str) -> Tuple[int, str]:
    return (int(name), "") if name.isdigit() else (1 << 60, name)
