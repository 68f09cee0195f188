"""Write graphs and parameters as whole files."""

from typing import Any, Dict

import mxnet as mx
from mxnet.gluon import HybridBlock, ParameterDict

from .files import cause, replacing


class Saved(HybridBlock):
    """Block whose files replace earlier ones as a whole: after an error, those are left as they were."""

    def __init__(self, prefix: Any = None, params: Any = None, **given: Any) -> None:
        """Create the block; raise a TypeError for arguments of other types."""
        if not isinstance(prefix, (str, type(None))):
            raise TypeError(f"prefix={prefix!r} is not a string: give the start of the block's name")
        if not isinstance(params, (ParameterDict, type(None))):
            raise TypeError(
                f"params={params!r} is not a ParameterDict: give other.params, to share them"
            )
        super().__init__(prefix=prefix, params=params, **given)

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        params = self._collect_params_with_prefix()
        if deduplicate:  # keeps the last name of a shared parameter
            params = {name: p for p, name in {p: name for name, p in params.items()}.items()}
        with replacing(filename) as part:
            _save(part, {name: p._reduce() for name, p in params.items()})

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        if not self._cached_graph:
            super().export(path, epoch)  # raises Gluon's error
        write(self._cached_graph[1], self.collect_params(), path, epoch, remove_amp_cast)


def write(
    graph: mx.sym.Symbol, parameters: ParameterDict, path: str, epoch: int, remove_amp_cast: bool
) -> None:
    """Write a graph and its parameters as ``export`` of a HybridBlock does."""
    kinds = {"arg": graph.list_arguments(), "aux": graph.list_auxiliary_states()}
    names = {name: f"{kind}:{name}" for kind, found in kinds.items() for name in found}
    values = {names[name]: p._reduce() for name, p in parameters.items() if name in names}
    with replacing(f"{path}-symbol.json") as symbol, replacing(f"{path}-{epoch:04d}.params") as params:
        with open(symbol, "w", encoding="utf-8") as file:
            file.write(graph.tojson(remove_amp_cast=remove_amp_cast))
        _save(params, values)


def _save(path: str, values: Dict[str, Any]) -> None:
    """Write arrays. MXNet does not notice if the last bytes, those of the last name, do not fit."""
    (mx.npx if mx.util.is_np_array() else mx.nd).save(path, values)
    last = list(values)[-1].encode() if values else b""
    with open(path, "rb") as file:
        if not file.read(1):
            raise cause(path)
        file.seek(-len(last), 2)
        if file.read() != last:
            raise cause(path)
