"""Imports run downward only, and modules that do not require MXNet do not import it."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import gluon_same

ROOT = Path(gluon_same.__file__).parent

#: Layers from the bottom to the top. A module imports only earlier groups and its own.
ORDER = [
    ("_compat",),
    ("_mxnet",),
    ("progress", "files", "tables", "geometry", "replacing"),
    ("arguments",),
    ("arrays", "blocks", "saving"),
    ("graph", "lowering"),
    ("classic", "gradients", "like_arrays", "whole_inputs"),
    ("functional",),
    ("nn",),
    ("trace",),
    ("crops", "sized"),
    ("specializing",),
    ("summaries", "same_rules"),
    ("window_places",),
    ("converting",),
    ("picture",),
    ("model_zoo",),
    ("deployment",),
    ("importing",),
    ("onnx",),
    ("speed",),
    ("keras_backend",),
    ("keras",),
    ("cli",),
    ("__main__",),
]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported(name, path):
    """Yield the modules of the package that a module imports, at its top or in a function."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
            base = ".".join(filter(None, base))
            known = dict(modules())
            inner = [f"{base}.{alias.name}".strip(".") for alias in node.names]
            yield from (target if target in known else base for target in inner)


def rank(name):
    (found,) = (i for i, group in enumerate(ORDER) for g in group if f"{name}.".startswith(f"{g}."))
    return found


@pytest.mark.parametrize("name", [name for name, _ in modules() if name])
def test_imports_run_downwards(name):
    for other in imported(name, dict(modules())[name]):
        room = other.split(".")[0] == name.split(".")[0]
        assert not other or room or rank(other) < rank(name), (
            f"{name} imports {other}, which is above it"
        )


def test_no_imports_run_in_a_circle():
    below = {name: set(imported(name, path)) - {name, ""} for name, path in modules() if name}
    done = set()
    while below:
        free = [name for name, others in below.items() if others <= done]
        assert free, f"a circle among {sorted(below)}"
        done.update(free)
        for name in free:
            del below[name]


@pytest.mark.parametrize(
    "program",
    [
        "import gluon_same",
        "import gluon_same.geometry",
        "from gluon_same import explain; print(explain(13, 2))",
        "import gluon_same.lowering",
    ],
)
def test_mxnet_is_not_imported(program):
    program += "; import sys; assert 'mxnet' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


def test_names_are_listed():
    assert set(dir(gluon_same)) == {*gluon_same.__all__, "__version__"}
    for name in gluon_same.__all__:
        assert getattr(gluon_same, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        gluon_same.nope  # noqa: B018


@pytest.mark.parametrize(
    "name",
    [
        "functional",
        "geometry",
        "keras",
        "keras_backend",
        "keras_backend.mxnet_backend",
        "model_zoo",
        "nn",
        "onnx",
    ],
)
def test_dir_shows_the_public_names(name):
    module = importlib.import_module(f"gluon_same.{name}")
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def nodes():
    """Yield the file and each node of the syntax trees of the package."""
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield name, node


def test_one_class_reads_and_rewrites_graphs():
    found = [name for name, node in nodes() if isinstance(node, ast.ClassDef) and node.name == "Graph"]
    assert found == ["graph"]


def test_no_object_changes_its_class():
    changed = []
    for name, node in nodes():
        if isinstance(node, ast.Attribute) and node.attr == "__class__":
            changed += [f"{name}:{node.lineno}"] * isinstance(node.ctx, (ast.Store, ast.Del))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            *("setattr", "__setattr__"),
        ):
            names = [each.value for each in node.args if isinstance(each, ast.Constant)]
            changed += [f"{name}:{node.lineno}"] * ("__class__" in names)
    assert not changed


def signatures():
    """Return the file and the line of each public function and of each constructor of a public class."""
    found = set()
    for name, path in modules():
        if "__all__" not in path.read_text(encoding="utf-8"):
            continue
        module = importlib.import_module(f"gluon_same.{name}".rstrip("."))
        for value in (getattr(module, public) for public in getattr(module, "__all__", ())):
            code = getattr(value.__init__ if isinstance(value, type) else value, "__code__", None)
            if code:
                found.add((code.co_filename, code.co_firstlineno))
    return found


def test_functions_outside_the_public_api_have_at_most_seven_parameters():
    public, long = signatures(), []
    for name, path in modules():
        if name.startswith("onnx.converters"):  # their signatures are those of ONNX's operators
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (str(path), node.lineno) not in public:
                calls = [each.func for each in node.decorator_list if isinstance(each, ast.Call)]
                if "computes" in [getattr(each, "id", "") for each in calls]:
                    continue  # the signature of a function of Keras
                names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs) if a.arg != "self"]
                if len(names) > 7:
                    long.append(f"{path.name}: {node.name}({', '.join(names)})")
    assert not long


def test_folders_of_tests_are_those_of_the_package():
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    others = {Path(name) for name in ("benchmarks", "notebooks")}
    assert {folder for folder in folders - others if not (ROOT / folder).is_dir()} == set()
