"""The order of the passes, and the choice among optional ones."""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Collection, Dict, NamedTuple, Optional, Sequence, Set

import mxnet as mx
import numpy as np

from .. import crops
from ..graph import Graph, Rule
from ..progress import Progress
from . import (
    activations,
    attention,
    branches,
    channels,
    clean,
    convolutions,
    fold_batchnorm,
    gates,
    group_norms,
    joins,
    layer_norms,
    layouts,
    matrices,
    moves,
    pools,
    products,
    sums,
    windows,
)
from .bfloat16 import to_bfloat16
from .fuse import computes_weights, fuse, has_avx512, kinds, shares_an_output, unfuse
from .int8 import to_int8
from .report import Report, Row
from .running import Check, as_numpy, caller, error, error_by_channel
from .timing import faster, times

#: Why a pass was left out.
DIFFERS, FAILS = "left out: gives different results", f"left out: fails in MXNet {mx.__version__}"

#: That a default stays, because the times of repeated calls vary too much.
BUSY = "the default: times on this machine vary too much to choose"


class Pass(NamedTuple):
    """Graph transformation that consists of rules.

    Passes with a ``choice`` are faster only for some nets and processors. Tuning times them. Without
    tuning, the choice says whether to apply them.
    """

    name: str
    rules: Sequence[Rule]
    onednn: bool = False  #: whether the pass requires oneDNN
    choice: Optional[bool] = None
    dtypes: Sequence[str] = ("float32", "bfloat16", "int8")  #: dtypes to which the pass applies
    general: bool = False  #: whether the rules serve numbers of any dtype

    def apply(self, graph: Graph, refused: Collection[Rule] = ()) -> Optional[Graph]:
        """Return the graph after the pass without refused rules; None if nothing changed."""
        rules = [rule for rule in self.rules if rule not in refused]
        dtype = None if self.general else np.float32
        if not graph.matches(*rules, dtype=dtype):
            return None
        changed = graph.copy()
        changed.rewrite(*rules, dtype=dtype)
        return changed


_FOLD = (*fold_batchnorm.RULES, clean.fold_constants)

#: A pass on oneDNN's float32 operators that is chosen by timing, and applied without tuning.
_optional = partial(Pass, onednn=True, choice=True, dtypes=["float32"])

#: The passes in order. Fusion or conversion to another dtype follows.
PASSES = (
    Pass("drop and fold constants", clean.RULES, general=True),
    Pass("join slices", joins.RULES, general=True),
    Pass("join normalizations", layer_norms.RULES, dtypes=["float32"]),
    Pass("drop taps in padding", [windows.drop_taps]),
    Pass("grow depthwise kernels", [windows.grow_depthwise], onednn=True, choice=True),
    _optional("normalize groups by rows", group_norms.RULES),
    Pass("fold normalizations", _FOLD),
    Pass("move crops", crops.INFERENCE),
    Pass("activations", (*activations.RULES, *_FOLD, pools.stride_in_layer), onednn=True),
    _optional("compute rows of images", convolutions.ROWS),
    Pass("add kernels", [sums.add_kernels], dtypes=["float32"]),
    _optional("join convolutions", [branches.join_convolutions]),
    _optional("compute slices", (*attention.RULES, *_FOLD)),
    _optional("multiply one by one", [matrices.multiply_one_by_one]),
    _optional("slopes by convolutions", [convolutions.prelu_by_depthwise]),
    _optional("subtract by convolutions", [convolutions.subtract_by_depthwise]),
    _optional("ungroup convolutions", [partial(convolutions.ungroup, block=16 if has_avx512() else 8)]),
    _optional("merge groups", [convolutions.merge_groups], choice=not has_avx512()),
    _optional("sum by convolutions", sums.RULES),
    _optional("average by layers", [layer_norms.average_by_layer]),
    _optional("pad channels to 16s", channels.padding_to(16), choice=has_avx512()),
    _optional("pad channels to 8s", channels.padding_to(8)),
    _optional("pad first", [convolutions.pad_first], choice=not has_avx512()),
    _optional("join by convolutions", [branches.join_by_depthwise]),
    _optional("split convolutions", branches.MOVES),
    _optional("crop in blocks", [windows.crop_in_blocks]),
    _optional("normalize by convolutions", [convolutions.normalize_by_depthwise]),
    Pass("slice channels", [channels.slice_selection], onednn=True, dtypes=["float32"]),
    _optional("transpose by dense layers", [convolutions.transpose_by_dense]),
    _optional("shift by convolutions", [convolutions.shift_by_depthwise]),
    Pass("merge transposes and reshapes", moves.RULES, onednn=True),
    _optional("resize by products", products.RULES),
    _optional("repeat by convolutions", [products.repeat_by_depthwise]),
    _optional("pool in blocks", [pools.pool_in_blocks], choice=not has_avx512()),
    _optional("scale by normalizations", [gates.scale_by_normalization, fold_batchnorm.fold_after]),
    _optional("scale by convolutions", [gates.scale_by_depthwise]),
    _optional("clip by convolutions", [convolutions.clip_by_depthwise]),
    _optional("add by convolutions", [convolutions.add_by_depthwise]),
    _optional("copy to plain memory", [layouts.copy_to_plain_memory]),
    _optional("join by copies", [branches.join_by_copies]),
    Pass("copy to plain memory", [layouts.copy_for_activations], onednn=True, dtypes=["int8"]),
)


@dataclass
class Pipeline:
    """Passes over one net.

    Parameters
    ----------
    checks : sequence of Check
        The first inputs serve for measurements, too. A pass is left out if it changes numbers by more
        than the tolerance.
    dtype : {'float32', 'bfloat16', 'int8'}
    onednn, fuses : bool
        Whether oneDNN is available, and whether it may fuse operators.
    tune, verbose, ranked : bool
        Whether to choose by timing, whether to time each pass, and whether rows may change places.

    Attributes
    ----------
    report : Report
    show : Progress
    """

    checks: Sequence[Check]
    dtype: str = "float32"
    onednn: bool = True
    fuses: bool = True
    tune: bool = False
    verbose: bool = False
    ranked: bool = False
    report: Report = field(default_factory=Report)
    show: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        fitting = [each for each in PASSES if self.dtype in each.dtypes]
        self.passes = [each for each in fitting if self.onednn or not each.onednn]
        self.arrays = self.checks[0].arrays
        self._refused: Set[Rule] = set()

    def problem(self, graph: Graph) -> str:
        """Return why a graph cannot take the net's place: its results, or a failure; "" if it can."""
        try:
            run = caller(graph)
            for arrays, want, tolerance, by_channel in self.checks:
                got = as_numpy(run(arrays))
                if not error(got, want, self.ranked) <= tolerance:
                    return DIFFERS
                if not self.ranked and not error_by_channel(got, want) <= by_channel:
                    return DIFFERS
        except mx.MXNetError:
            return FAILS
        return ""

    def optimize(self, graph: Graph, batches: Sequence[Sequence[mx.nd.NDArray]]) -> Graph:
        """Return the net's graph after all passes, and fused or converted to another dtype."""
        with self.show:
            found = self.run(graph)
            if self.problem(found):
                self.report.rows.clear()
                found = self.run(graph, check=True)
            return self.end(graph, found, batches).copy()

    def run(self, graph: Graph, check: bool = False) -> Graph:
        """Return the graph after all passes; with ``check``, but for those that bring a problem."""
        for at, each in enumerate(self.passes):
            self.show(f"deploying: {each.name}")
            note, clear = "", True
            try:
                changed = each.apply(graph, self._refused)
            except mx.MXNetError:  # while it infers the shapes
                changed, note = graph, FAILS
            if changed is None:
                continue
            if check:
                note = note or self.problem(changed)
            without = self._without_a_rule(each, graph) if note else None
            if without is not None:
                changed, note = without, ""
            if note:
                self._refused.update(each.rules)  # which later passes may contain, too
            elif each.choice is not None:
                kept = "with" if each.choice else "without"
                if self.tune:
                    kept, clear = self._choose(changed, graph, at + 1, kept)
                note = "" if kept == "with" else "left out: slower" if self.tune else "left out"
            after = graph if note else changed
            self._note(each.name, graph, after, note if clear else BUSY)
            graph = after
        return graph

    def _without_a_rule(self, each, graph):
        """Return the graph after a pass without the rule that causes a problem; None if several do."""
        for rule in each.rules:
            if rule not in self._refused:
                with suppress(mx.MXNetError):
                    changed = each.apply(graph, self._refused | {rule})
                    if changed is not None and not self.problem(changed):
                        self._refused.add(rule)
                        return changed
        return None

    def end(self, net: Graph, graph: Graph, batches: Sequence[Sequence[mx.nd.NDArray]]) -> Graph:
        """Return the net's graph after all passes fused, or converted to another dtype."""
        name, note = "oneDNN's fusion" if self.dtype == "float32" else self.dtype, ""
        self.show(f"deploying: {name}")
        if self.dtype == "float32":
            found, note = self._fused(graph)
            if self.tune and not note:
                # Fused activations may be slower, such as a sigmoid after a layer of few channels.
                graphs = {"": found, "left out: slower": graph}
                graphs.update((f"except {kind}: slower", unfuse(found, kind)) for kind in kinds(found))
                fused, failed = self._fused(net)
                if not failed:
                    graphs["alone: the other passes are slower"] = fused
                note, clear = faster(graphs, self.arrays, "")
                found, note = graphs[note], note if clear else BUSY
            elif note in (DIFFERS, FAILS) and found.operators() > net.operators():
                found, note = net, f"{note}, and so do the other passes, which prepare it"
        else:
            found = self._lowered(graph, batches)
            if self.tune:
                note = self._against_float32(graph, found)
        self._note(name, graph, found, note)
        return found

    def _lowered(self, graph, batches):
        """Return the graph in bfloat16 or int8."""
        if self.dtype == "int8":
            if computes_weights(graph):
                raise ValueError(
                    "dtype='int8' requires weights that are parameters: use dtype='float32'"
                )
            if shares_an_output(graph):
                raise ValueError(
                    "dtype='int8' does not support an output of the net that other operators use, too, "
                    "because MXNet quantizes it incorrectly: use dtype='float32'"
                )
            return to_int8(graph, batches)
        lowered = to_bfloat16(graph)
        return fuse(lowered, gates=False) or lowered

    def _against_float32(self, graph, lowered):
        found = times({"float32": self._fused(graph)[0], self.dtype: lowered}, self.arrays)
        return ", ".join(f"{name} {1e3 * seconds:.2f} ms" for name, seconds in found.items())

    def _fused(self, graph):
        """Return the graph fused, or itself and why."""
        if not self.fuses:
            return graph, "left out: portable" if self.onednn else "left out: requires oneDNN"
        try:
            fused = fuse(graph)
        except mx.MXNetError:
            return graph, FAILS
        note = "left out: nothing to fuse" if fused is None else self.problem(fused)
        return (graph, note) if note or fused is None else (fused, "")

    def _choose(self, changed, graph, at, rule):
        """Return which graph is faster after all passes and fusion, and whether it clearly is."""
        ends = {}
        try:
            for name, end in {"with": changed, "without": graph}.items():
                for each in self.passes[at:]:
                    if each.choice is not False:
                        end = each.apply(end, self._refused) or end
                ends[name], _ = self._fused(end)
            return faster(ends, self.arrays, rule)
        except mx.MXNetError:  # MXNet cannot run a later pass, which is left out when its turn comes
            return rule, True

    def _note(self, name, before, after, note=""):
        found: Dict[str, float] = {}
        if self.verbose and after is not before:
            with suppress(mx.MXNetError):  # the pass will be left out
                found = times({"ms_before": before, "ms_after": after}, self.arrays)
        ms = {key: 1e3 * seconds for key, seconds in found.items()}
        self.report.rows.append(Row(name, before.operators(), after.operators(), note=note, **ms))
