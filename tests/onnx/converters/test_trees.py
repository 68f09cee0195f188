"""Ensembles of decision trees, against onnxruntime."""

import numpy as np
import pytest
from imported import compared, operator_set, pipeline, recent_runtime
from onnx import TensorProto, numpy_helper

from gluon_same.onnx import import_model

MODES = ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"]
LIMITS = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf]


def model(path, operator, **given):
    outputs = ["label", "scores"] if operator.endswith("Classifier") else ["scores"]
    return pipeline(path, operator, outputs, **{**dict(features=2, version=3), **given})


def grow(random, tree, rows, levels, modes, features):
    """Add the rows of a random tree, and return the number of its first node."""
    place = len(rows)
    rows.append(None)
    row = dict(nodes_treeids=tree, nodes_nodeids=place, nodes_modes="LEAF", nodes_featureids=0)
    row.update(nodes_values=0.0, nodes_truenodeids=0, nodes_falsenodeids=0)
    row.update(nodes_missing_value_tracks_true=0)
    if levels and random.rand() < 0.8:
        drawn = float(np.float32(random.normal()))
        row.update(
            nodes_modes="BRANCH_" + random.choice(modes), nodes_featureids=random.randint(features)
        )
        row.update(nodes_values=random.choice([*LIMITS, drawn, drawn, drawn]))
        row.update(nodes_missing_value_tracks_true=random.randint(2))
        for end in ("nodes_truenodeids", "nodes_falsenodeids"):
            row[end] = grow(random, tree, rows, levels - 1, modes, features)
    rows[place] = row
    return place


def ensemble(random, trees, targets, role, modes=MODES, low=-1.0):
    """Return the attributes of random trees, whose leaves have a weight for each target."""
    rows, attributes = [], {}
    for tree in range(trees):
        own = []
        grow(random, tree, own, 4, modes, 2)
        rows += own
    for name in rows[0]:
        attributes[name] = [row[name] for row in rows]
    leaves = [row for row in rows if row["nodes_modes"] == "LEAF"]
    leaves = [
        (each["nodes_treeids"], each["nodes_nodeids"], i) for each in leaves for i in range(targets)
    ]
    trees, nodes, ids = zip(*leaves)
    attributes.update({f"{role}_treeids": trees, f"{role}_nodeids": nodes, f"{role}_ids": ids})
    attributes[f"{role}_weights"] = random.uniform(low, 1, len(ids)).astype("f").tolist()
    return attributes


def inputs(random, dtype="f"):
    """Return numbers of which many are limits, and some are missing."""
    x = random.normal(size=(60, 2))
    chosen = random.rand(60, 2)
    return np.where(
        chosen < 0.4, random.choice(LIMITS, (60, 2)), np.where(chosen > 0.9, np.nan, x)
    ).astype(dtype)


@pytest.mark.parametrize("aggregation", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("mode", [*MODES, "all"])
def test_regressions(tmp_path, mode, aggregation):
    random = np.random.RandomState(len(mode + aggregation))
    trees = ensemble(random, 5, 3, "target", MODES if mode == "all" else [mode])
    how = dict(n_targets=3, aggregate_function=aggregation, base_values=[0.5, -1.0, 0.25])
    compared(
        model(tmp_path, "TreeEnsembleRegressor", **how, **trees), inputs(random), inputs(random)[:1]
    )


def test_numbers_that_are_missing_are_false_by_default(tmp_path):
    random = np.random.RandomState(1)
    trees = ensemble(random, 6, 1, "target")
    del trees["nodes_missing_value_tracks_true"]
    compared(model(tmp_path, "TreeEnsembleRegressor", n_targets=1, **trees), inputs(random))


def test_limits_in_float64(tmp_path):
    random = np.random.RandomState(2)
    trees = ensemble(random, 4, 2, "target")
    x = inputs(random, "d")
    limits = np.array(trees.pop("nodes_values"))
    limits[limits == 1] = x[0, 0] = 1 + 2**-40
    for name, array in (("nodes_values", limits), ("target_weights", trees.pop("target_weights"))):
        trees[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(array, "d"))
    path = model(tmp_path, "TreeEnsembleRegressor", given=TensorProto.DOUBLE, n_targets=2, **trees)
    compared(path, x)


@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("link", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_several_classes(tmp_path, link, base):
    random = np.random.RandomState(3)
    trees = ensemble(random, 5, 3, "class")
    how = dict(classlabels_int64s=[7, 3, 2**24 + 1], post_transform=link)
    how.update(base_values=[0.5, -0.25, 1.0] if base else None)
    compared(model(tmp_path, "TreeEnsembleClassifier", **how, **trees), inputs(random))


@pytest.mark.parametrize("base", [None, [-0.25]])
@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize("link", ["NONE", pytest.param("LOGISTIC", marks=recent_runtime)])
def test_two_classes(tmp_path, link, low, base):
    random = np.random.RandomState(4)
    trees = ensemble(random, 3, 1, "class", low=low)
    how = dict(classlabels_int64s=[7, 3], post_transform=link, base_values=base)
    compared(model(tmp_path, "TreeEnsembleClassifier", **how, **trees), inputs(random))


@pytest.mark.parametrize("link", ["NONE", pytest.param("LOGISTIC", marks=recent_runtime)])
def test_opposite_scores_of_two_classes(tmp_path, link):
    random = np.random.RandomState(5)
    trees = ensemble(random, 3, 2, "class")  # whose leaves have a weight for each class, one by one
    trees["class_weights"][::2] = [-weight for weight in trees["class_weights"][1::2]]
    # onnxruntime returns 0 and 1 here, whatever the labels are.
    how = dict(classlabels_int64s=[0, 1], post_transform=link)
    compared(model(tmp_path, "TreeEnsembleClassifier", **how, **trees), inputs(random))


STUMP = dict(
    nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0],
    nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[0.5, 0.0, 0.0],
    nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
)  # fmt: skip
TARGETS = dict(
    target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0]
)
CLASSES = {name.replace("target", "class"): value for name, value in TARGETS.items()}


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(nodes_featureids=[2, 0, 0]), "does not fit 2 features"),
        (dict(nodes_modes=["BRANCH_MEMBER?", "LEAF", "LEAF"]), "does not fit 2 features"),
        (dict(nodes_truenodeids=[5, 0, 0]), "lacks nodes"),
        (dict(nodes_truenodeids=[0, 0, 0]), "512 levels of tests or more"),
        (dict(nodes_values=[0.5]), "differ in length"),
        (dict(target_weights=[1.0]), "differ in length"),
        (dict(target_ids=[0, 1]), r"its targets \{1\} are none of 1"),
        (dict(base_values=[1.0, 2.0]), "2 base values for 1 target"),
        (dict(n_targets=2, aggregate_function="MIN"), "lack weights"),
        (dict(post_transform="PROBIT"), "PROBIT"),
    ],
)
def test_nodes_that_are_no_trees_are_refused(tmp_path, changes, words):
    path = model(tmp_path, "TreeEnsembleRegressor", **{**STUMP, **TARGETS, **changes})
    with pytest.raises(ValueError, match=words):
        import_model(path)


@pytest.mark.parametrize(
    "changes",
    [
        dict(class_ids=[1, 1]),
        dict(class_ids=[0, 1], class_nodeids=[1, 1]),  # weights that are not opposite
        dict(post_transform="SOFTMAX"),
        dict(classlabels_int64s=[7]),
        dict(classlabels_int64s=[7, 3, 5], class_ids=[0, 2], post_transform="PROBIT"),
        dict(class_ids=[0, 1], class_nodeids=[1, 1], class_weights=[1.0, -1.0], base_values=[0.5]),
    ],
)
def test_other_scores_of_classes_are_refused(tmp_path, changes):
    given = {**STUMP, **CLASSES, "classlabels_int64s": [7, 3], **changes}
    with pytest.raises(ValueError, match="its post_transform="):
        import_model(model(tmp_path, "TreeEnsembleClassifier", **given))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({}, "fewer sets"),
        (dict(nodes_modes=[9]), "does not fit"),
        (dict(nodes_modes=[0], tree_roots=[1]), "lacks nodes"),
        (dict(nodes_modes=[0], nodes_truenodeids=[2]), "lacks nodes"),
    ],
)
@operator_set(21)
def test_nodes_of_one_list_that_are_no_trees_are_refused(tmp_path, changes, words):
    given = dict(nodes_truenodeids=[0], nodes_falsenodeids=[1], tree_roots=[0], nodes_modes=[6])
    given.update(changes, nodes_featureids=[0], nodes_trueleafs=[1], nodes_falseleafs=[1])
    given["nodes_modes"] = numpy_helper.from_array(np.array(given["nodes_modes"], np.uint8))
    given["nodes_splits"] = numpy_helper.from_array(np.zeros(1, "f"))
    given["leaf_weights"] = numpy_helper.from_array(np.ones(2, "f"))
    path = model(tmp_path, "TreeEnsemble", version=5, leaf_targetids=[0, 0], **given)
    with pytest.raises(ValueError, match=words):
        import_model(path)
