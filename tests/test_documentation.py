"""Every public name documents its arguments and results, with an example that the suite runs."""

import doctest
import importlib
import inspect
import json
import pkgutil
import re
import shutil
from pathlib import Path

import mxnet as mx
import pytest

import gluon_same
from gluon_same import geometry, nn


def public():
    """Return the classes and functions of the package in all ``__all__``, by full name."""
    found = {}
    for name in [
        "gluon_same",
        *(m.name for m in pkgutil.walk_packages(gluon_same.__path__, "gluon_same.")),
    ]:
        if name.endswith("__main__") or name.startswith("gluon_same.lowering"):
            continue
        module = importlib.import_module(name)
        names = getattr(module, "__all__", ())
        if module is geometry:  # only its functions have sections
            names = [name for name in vars(module) if name.islower() and name[0] != "_"]
        for value in (getattr(module, name) for name in names):
            if inspect.isroutine(value) or inspect.isclass(value):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return {name: value for name, value in found.items() if name.startswith("gluon_same.")}


PUBLIC = public()


def test_the_names_of_all_kinds_are_found():
    assert {
        *("gluon_same.nn.conv_transpose.Conv3DTranspose", "gluon_same.functional.pooling"),
        *("gluon_same.picture.explain.explain", "gluon_same.model_zoo.yolo.yolov3_tiny"),
        *("gluon_same.onnx.export_model", "gluon_same.specializing.specialize"),
        *("gluon_same.summaries.summary", "gluon_same.picture.explain.Picture"),
    } <= set(PUBLIC)
    assert len(PUBLIC) > 35


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_docstring_has_its_sections(name):
    doc = inspect.cleandoc(vars(PUBLIC[name]).get("__doc__") or PUBLIC[name].__doc__ or "")
    if inspect.isclass(PUBLIC[name]) and "Parameters\n-" not in doc:
        doc += "\n" + (inspect.getdoc(PUBLIC[name].__init__) or "")
    sections = {
        above for above, line in zip(doc.splitlines(), doc.splitlines()[1:]) if set(line) == {"-"}
    }
    wanted = {"Examples"}
    if inspect.isroutine(PUBLIC[name]):
        signature = inspect.signature(PUBLIC[name])
        wanted |= {"Parameters"} if signature.parameters else set()
        wanted |= {"Returns"} if signature.return_annotation is not None else set()
    else:
        wanted |= {"Parameters"}
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


ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page for folder in (".", "notebooks", "benchmarks") for page in (ROOT / folder).glob("*.md")
)


def text_of(page):
    """Return the text of a page, or what a notebook's cells contain without their outputs."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


WRITTEN = [*PAGES, *sorted((ROOT / "notebooks").glob("*.ipynb"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_links_to_files_that_exist(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def code_blocks(page):
    """Return the Python blocks of a page without a prompt. Doctest runs the others."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [block for block in blocks if ">>>" not in block]


def test_python_blocks_run(tmp_path, monkeypatch):
    shutil.copy(ROOT / "notebooks" / "golden" / "classifier.keras", tmp_path / "model.keras")
    monkeypatch.chdir(tmp_path)
    ran = 0
    for page in PAGES:
        names = {"gluon_same": gluon_same, "mx": mx}  # as imported by the examples before them
        for block in code_blocks(page):
            exec(compile(block, f"{page.name}, block {ran}", "exec"), names)
            ran += 1
    assert ran and (tmp_path / "model.onnx").exists()


def test_the_readme_can_be_finished():
    assert len((ROOT / "README.md").read_bytes()) <= 9000


#: Words that the documents do not use, and what they use instead.
AVOIDED = {
    r"(the same|other|different) numbers\b": "identical, equal or different results",
    r"\b1 threads\b": "1 thread",
    r"'gluon-same\[": "'.[extra]' in a clone",
    r"padding by hand": "hand-written padding",
}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_uses_one_word_for_one_thing(page):
    text = " ".join(text_of(page).split())
    assert not [f"{found}: write {AVOIDED[found]}" for found in AVOIDED if re.search(found, text)]


def test_the_pages_mention_only_names_that_exist():
    for page in WRITTEN:
        if page.name == "CHANGELOG.md":  # names what was removed
            continue
        for path in re.findall(r"\bgluon_same\.([a-z_.]+\w)\b(?!/)", text_of(page)):
            value = gluon_same
            for name in path.split("."):
                assert hasattr(value, name), f"{page.name}: gluon_same.{path}"
                value = getattr(value, name)


@pytest.mark.parametrize(
    "layer, size",
    [(lambda: nn.Conv2D(2, 3, 65, "same", in_channels=2), 130), (lambda: nn.MaxPool2D(2, 2, "same"), 1)],
)
def test_the_two_limits_of_one_graph_raise_and_specializing_mends_them(layer, size):
    layer, x = layer(), mx.nd.ones((1, 2, size, size))
    layer.initialize()
    want = layer(x)
    layer.hybridize()
    with pytest.raises((ValueError, mx.MXNetError), match="up to a stride of 64|exceeds input"):
        layer(x)
    got = gluon_same.specialize(layer, x.shape)(x)
    assert got.shape == want.shape and (got.asnumpy() == want.asnumpy()).all()
