"""Ensembles of decision trees, as scikit-learn, LightGBM, XGBoost and CatBoost write them."""

from itertools import takewhile
from typing import Any, Dict, Hashable, List, Literal, NamedTuple, Sequence, Set, Tuple

import numpy as np

from ...importing import functions
from ..registry import converter
from ..values import FIX, Data, Known, Unsupported, compute_dtype
from .indexing import gather
from .pipelines import label_of, linked
from .shapes import cast_to

#: Numbers that TreeEnsemble writes for comparisons and aggregations.
_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
_AGGREGATIONS = ("AVERAGE", "SUM", "MIN", "MAX")

#: The comparison that is true where another one is not.
_OPPOSITE = {"LEQ": "GT", "GT": "LEQ", "LT": "GTE", "GTE": "LT"}

#: The most levels of tests, of which each is some operators of the net.
_DEEPEST = 512


class Test(NamedTuple):
    """Comparison of a feature with a number, and the keys of the nodes of which one follows."""

    feature: int
    mode: str
    limit: Any  # the number; several for membership
    yes: Hashable
    no: Hashable
    missing: bool  # whether a feature that is not a number leads to the first one


Tests = Dict[Hashable, Test]
Leaves = Sequence[Tuple[Hashable, int, float]]  #: key, target and weight


class Nodes(NamedTuple):
    """Attributes of the nodes of all trees."""

    nodes_treeids: List[int]
    nodes_nodeids: List[int]
    nodes_featureids: List[int]
    nodes_modes: List[str]
    nodes_truenodeids: List[int]
    nodes_falsenodeids: List[int]
    nodes_values: Sequence[float] = ()
    nodes_values_as_tensor: Sequence[float] = ()
    nodes_missing_value_tracks_true: Sequence[int] = ()
    nodes_hitrates: Sequence[float] = ()
    nodes_hitrates_as_tensor: Sequence[float] = ()
    base_values: Sequence[float] = ()
    base_values_as_tensor: Sequence[float] = ()

    def ends(self, net: Any, x: Data) -> Tuple[Data, List[Hashable]]:
        """Return the result of :func:`_places` for these nodes, whose keys are (tree, node)."""
        values = [*self.nodes_values, *self.nodes_values_as_tensor]
        missing = self.nodes_missing_value_tracks_true or [0] * len(values)
        roots: Dict[int, Hashable] = {}
        tests: Tests = {}
        for tree, node, feature, mode, limit, yes, no, tracks in _rows(
            *self[:4], values, *self[4:6], missing
        ):
            roots.setdefault(tree, (tree, node))
            if mode != "LEAF":
                mode = mode.replace("BRANCH_", "")
                tests[tree, node] = Test(feature, mode, limit, (tree, yes), (tree, no), bool(tracks))
        return _places(net, x, [*roots.values()], tests, {*zip(*self[:2])})

    @property
    def base(self) -> List[float]:
        """The numbers that scores start from."""
        return [*self.base_values, *self.base_values_as_tensor]


@converter("ai.onnx.ml::TreeEnsembleRegressor")
def tree_ensemble_regressor(
    net: Any, x: Data, *, target_treeids: List[int], target_nodeids: List[int],
    target_ids: List[int], target_weights: Sequence[float] = (),
    target_weights_as_tensor: Sequence[float] = (), n_targets: int = 1,
    aggregate_function: Literal["SUM", "AVERAGE", "MIN", "MAX"] = "SUM",
    post_transform: Literal["NONE"] = "NONE", **own: Nodes,
) -> Data:  # fmt: skip
    weights = [*target_weights, *target_weights_as_tensor]
    leaves = _rows(_rows(target_treeids, target_nodeids), target_ids, weights)
    return _ensemble(net, x, own, leaves, n_targets, aggregate_function)


@converter("ai.onnx.ml::TreeEnsembleClassifier")
def tree_ensemble_classifier(
    net: Any, x: Data, *, class_treeids: List[int], class_nodeids: List[int], class_ids: List[int],
    class_weights: Sequence[float] = (), class_weights_as_tensor: Sequence[float] = (),
    classlabels_int64s: List[int], post_transform: str = "NONE", **own: Nodes,
) -> List[Data]:  # fmt: skip
    weights = [*class_weights, *class_weights_as_tensor]
    leaves = _rows(_rows(class_treeids, class_nodeids), class_ids, weights)
    count = len(classlabels_int64s)
    if count > 2:
        scores = _ensemble(net, x, own, leaves, count)
        return [label_of(net, scores, classlabels_int64s), linked(net, scores, post_transform)]
    one = not any(class_ids)  # whose score is that of the second class
    opposite = _are_opposite(leaves) and own.keys().isdisjoint(("base_values", "base_values_as_tensor"))
    if count < 2 or not (one or opposite) or post_transform not in ("NONE", "LOGISTIC"):
        what = f"post_transform={post_transform!r} of scores for {sorted(set(class_ids))} of {count}"
        raise Unsupported(f"its {what} classes is not supported")
    leaves = leaves if one else [(key, 0, weight) for key, target, weight in leaves if target]
    score = _ensemble(net, x, own, leaves, 1)
    offset = float(one and min(weights, default=0) >= 0)
    other = net.call(functions.linear, score, scale=-1, offset=offset)
    scores = net.call("concat", other, score, dim=1)
    label = label_of(net, scores, classlabels_int64s)
    if post_transform == "LOGISTIC":
        scores = linked(net, net.call("concat", net.call("negative", score), score, dim=1), "LOGISTIC")
    return [label, scores]


def _are_opposite(leaves: Leaves) -> bool:
    """Return whether leaves have opposite weights for both of two classes."""
    weights = {(key, target): weight for key, target, weight in leaves}
    opposite = (weights.get((key, 1 - target)) == -weight for (key, target), weight in weights.items())
    return len(weights) == len(leaves) and all(opposite)


def _ensemble(net, x, own, leaves, targets, kind="SUM"):
    nodes = Nodes(**own)
    return _scores(net, nodes.ends(net, x), leaves, targets, kind, nodes.base)


@converter("ai.onnx.ml::TreeEnsemble", 5)
def tree_ensemble(
    net: Any, x: Data, *, tree_roots: List[int], nodes_featureids: List[int],
    nodes_modes: Sequence[int], nodes_splits: Sequence[float], nodes_truenodeids: List[int],
    nodes_trueleafs: List[int], nodes_falsenodeids: List[int], nodes_falseleafs: List[int],
    leaf_targetids: List[int], leaf_weights: Sequence[float], membership_values: Sequence[float] = (),
    nodes_missing_value_tracks_true: Sequence[int] = (), nodes_hitrates: Sequence[float] = (),
    n_targets: int = 1, aggregate_function: Literal[0, 1, 2, 3] = 1, post_transform: Literal[0] = 0,
) -> Data:  # fmt: skip
    modes = [_MODES[mode] if mode < len(_MODES) else mode for mode in nodes_modes]
    yes = _rows(map(bool, nodes_trueleafs), nodes_truenodeids)
    no = _rows(map(bool, nodes_falseleafs), nodes_falsenodeids)
    missing = nodes_missing_value_tracks_true or [0] * len(modes)
    rows = _rows(nodes_featureids, modes, nodes_splits, yes, no, map(bool, missing))
    tests: Tests = {(False, node): Test(*row) for node, row in enumerate(rows)}
    members = iter(membership_values)
    for key, test in tests.items():
        if test.mode == "MEMBER":  # a NaN ends each set
            values = [*takewhile(lambda value: not np.isnan(value), members)]
            if not values:
                raise Unsupported("its membership_values have fewer sets than its nodes")
            tests[key] = test._replace(limit=values)
    leaves = [((True, i), *leaf) for i, leaf in enumerate(_rows(leaf_targetids, leaf_weights))]
    roots = [(False, root) for root in tree_roots]
    ends = _places(net, x, roots, tests, {*tests, *(key for key, *_ in leaves)})
    kind = _AGGREGATIONS[aggregate_function]
    return _scores(net, ends, leaves, n_targets, kind, dtype=compute_dtype(x.dtype))


def _rows(*columns):
    """Return the rows of columns; raise if those differ in length."""
    lists = [*map(list, columns)]
    if len({*map(len, lists)}) > 1:
        raise Unsupported("its attributes of nodes differ in length")
    return [*zip(*lists)]


def _places(
    net: Any, x: Data, roots: Sequence[Hashable], tests: Tests, nodes: Set[Hashable]
) -> Tuple[Data, List[Hashable]]:
    """Return at which places trees end, of shape (rows, trees), and the leaf of each place, or None.

    The nodes that may follow a test are neighbors: the first one does, and the other one if the feature
    is at most the limit. A missing one is not, so that the first node follows it. Other comparisons are
    made of this one, by the number before the limit, and by negative features, which are behind all.
    """
    if x.ndim != 2 or x.shape[1] is None:
        raise Unsupported(f"its number of features {FIX}")
    wide, dtype = x.shape[1], np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    for test in tests.values():
        if not 0 <= test.feature < wide or test.mode not in _MODES:
            raise Unsupported(f"its {test} does not fit {wide} features")
    if not nodes.issuperset([*roots, *(key for test in tests.values() for key in (test.yes, test.no))]):
        raise Unsupported("it lacks nodes that follow others")
    tests = _inequalities(tests)
    keys, pairs, rows = [*roots], {}, []
    for place, key in enumerate(keys):  # which grow meanwhile
        if key not in tests:
            rows.append((0, np.nan, place))
            continue
        first, second, negative, limit = _at_most(tests[key], dtype.type)
        if key not in pairs:
            pairs[key] = len(keys)
            keys += [first, second]
        rows.append((tests[key].feature + wide * negative, limit, pairs[key]))
    features, limits, following = map(np.array, zip(*rows))
    tables = features, limits.astype(dtype), following, np.arange(len(roots))[None]
    x = cast_to(net, x, dtype)
    if (features >= wide).any():
        x = net.call("concat", x, net.call("negative", x), dim=1)
    y = net.call(
        functions.decide, x, *(Known([table]) for table in tables),
        depth=_depth(following, [key in tests for key in keys], len(roots)), dtype=np.int64,
    )  # fmt: skip
    return y, [None if key in tests else key for key in keys]


def _inequalities(tests: Tests) -> Tests:
    """Return tests of which none is for equality. That with each number becomes two."""
    made = {}
    for key, test in tests.items():
        if test.mode == "NEQ":  # also of missing features
            test = test._replace(mode="EQ", yes=test.no, no=test.yes, missing=False)
        if test.mode in _OPPOSITE:
            made[key] = test
            continue
        values = test.limit if test.mode == "MEMBER" else [test.limit]
        keys = [key, *((key, value) for value in values[1:]), test.no]
        for value, own, no in zip(values, keys, keys[1:]):
            made[own] = test._replace(mode="GTE", limit=value, yes=(own, "equal"), no=no)
            made[own, "equal"] = test._replace(mode="LEQ", limit=value, no=no)
    return made


def _at_most(test: Test, number: Any) -> Tuple[Hashable, Hashable, bool, Any]:
    """Return the nodes that may follow, whether the feature is negative, and its limit."""
    mode, yes, no = test.mode, test.yes, test.no
    if test.missing:
        mode, yes, no = _OPPOSITE[mode], no, yes
    negative = mode in ("GT", "GTE")
    limit = number(-test.limit if negative else test.limit)
    if mode in ("LT", "GT"):
        limit = np.nan if limit == -np.inf else np.nextafter(limit, number(-np.inf))
    return no, yes, negative, limit


def _depth(following: np.ndarray, tested: Sequence[bool], roots: int) -> int:
    """Return the most tests from a root to a leaf."""
    reached = np.arange(roots)
    for depth in range(_DEEPEST):
        reached = reached[np.array(tested)[reached]]
        if not reached.size:
            return depth
        reached = np.unique([following[reached], following[reached] + 1])
    raise Unsupported(f"its trees have {_DEEPEST} levels of tests or more")


def _scores(
    net: Any, ends: Tuple[Data, Sequence[Hashable]], leaves: Leaves, targets: int, kind: str = "SUM",
    base: Sequence[float] = (), dtype: Any = np.float32,
) -> Data:  # fmt: skip
    """Return the sum, or another aggregation, of the weights of the leaves, of shape (rows, targets).

    ``ends`` is the result of :func:`_places`.
    """
    if len(base) not in (0, targets):
        raise Unsupported(f"it has {len(base)} base values for {targets} targets")
    places, keys = ends
    unknown = {target for _, target, _ in leaves}.difference(range(targets))
    if unknown:
        raise Unsupported(f"its targets {unknown} are none of {targets}")
    order = {key: row for row, key in enumerate(dict.fromkeys(key for key, _, _ in leaves))}
    at = np.array([(order[key], target) for key, target, _ in leaves], int).reshape(-1, 2)
    sums = np.zeros((len(order) + 1, targets))  # the last row is for places of tests
    np.add.at(sums, tuple(at.T), [weight for _, _, weight in leaves])
    given = np.zeros(sums.shape, bool)
    given[tuple(at.T)] = True
    rows = np.array([order.get(key, -1) for key in keys])
    if kind in ("MIN", "MAX") and not given[rows[[key is not None for key in keys]]].all():
        raise Unsupported(f"its leaves lack weights for some targets, of which the {kind} is taken")
    name = {"MIN": "min", "MAX": "max", "SUM": "sum", "AVERAGE": "mean"}[kind]
    y = net.call(name, gather(net, Known([sums[rows].astype(dtype)]), places), axis=1)
    return net.call("broadcast_add", y, Known([np.array([base], dtype)])) if any(base) else y
