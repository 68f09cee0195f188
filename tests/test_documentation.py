"""Every public name says what it takes and gives, with an example that the suite runs."""

import doctest
import importlib
import inspect

import pytest

import gluon_same

#: What a user imports from. ``geometry`` has no ``__all__``: all its functions are public.
MODULES = (
    "",
    ".functional",
    ".geometry",
    ".model_zoo",
    ".nn",
    ".onnx",
    ".picture",
    ".figure",
    ".report",
)


def public():
    """Each public class and function of ours, by its full name."""
    found = {}
    for suffix in MODULES:
        module = importlib.import_module("gluon_same" + suffix)
        for name in getattr(
            module, "__all__", [n for n in vars(module) if n[0].isupper() or n.islower()]
        ):
            value = getattr(module, name)
            own = getattr(value, "__module__", "").startswith("gluon_same")
            here = hasattr(module, "__all__") or getattr(value, "__module__", "") == module.__name__
            if (
                own
                and here
                and not name.startswith("_")
                and (inspect.isroutine(value) or inspect.isclass(value))
            ):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


PUBLIC = public()


def test_the_names_of_all_kinds_are_found():
    assert {
        *("gluon_same.nn.conv.Conv3DTranspose", "gluon_same.functional.pooling"),
        *("gluon_same.geometry.explain", "gluon_same.model_zoo.yolo.yolov3_tiny"),
        *("gluon_same.onnx.export_model", "gluon_same.specialize.specialize"),
        *("gluon_same.summary.summary", "gluon_same.picture.Picture"),
    } <= set(PUBLIC)
    assert len(PUBLIC) > 35


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_docstring_has_its_sections(name):
    doc = inspect.cleandoc(vars(PUBLIC[name]).get("__doc__") or PUBLIC[name].__doc__ or "")
    sections = {
        above for above, line in zip(doc.splitlines(), doc.splitlines()[1:]) if set(line) == {"-"}
    }
    wanted = {"Examples", "Parameters"}
    if inspect.isroutine(PUBLIC[name]):
        gives = inspect.signature(PUBLIC[name]).return_annotation is not None
        wanted |= {"Returns"} if gives else set()
    assert wanted <= sections


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_an_example_is_collected(name, request):
    assert request.config.getoption("doctestmodules")
    assert "gluon_same" in request.config.getini("testpaths")
    module = importlib.import_module(PUBLIC[name].__module__)
    tests = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, module)
    assert any(test.examples for test in tests)


def test_examples_are_not_skipped():
    for value in PUBLIC.values():
        assert "+SKIP" not in (value.__doc__ or "")


def test_the_package_exports_what_its_docstring_lists():
    for name in gluon_same.__all__:
        assert f"gluon_same.{name}`" in gluon_same.__doc__
