"""The notebooks run from top to bottom, each in a new kernel, and give the stored outputs."""

import importlib.util
import re
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SECONDS, KILOBYTES = 120, 500


def script():
    spec = importlib.util.spec_from_file_location("run_notebooks", ROOT / "notebooks" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = script()
each = pytest.mark.parametrize("path", run.paths(), ids=lambda path: path.stem)


def stored(path):
    return run.nbformat.read(path, as_version=4)


def said(notebook):
    """Return the types of the outputs of each cell, and their texts if these must not vary."""
    for cell in notebook.cells:
        outputs = list(run.texts(cell))
        varies = "varies" in cell.metadata.get("tags", ())
        yield cell.source, [kind for kind, _ in outputs] if varies else outputs


def test_all_of_them_are_found():
    assert "".join(path.name[0] for path in run.paths()) == "12345678"


@each
def test_a_notebook_runs_and_says_what_is_stored(path):
    start = time.perf_counter()
    found = run.execute(path, ROUNDS="1")  # what is timed varies
    assert time.perf_counter() - start < SECONDS
    for have, want in zip(said(found), said(stored(path))):
        assert have == want


@each
def test_what_is_stored_is_small_settled_and_knows_no_machine(path):
    notebook = stored(path)
    assert path.stat().st_size < 1000 * KILOBYTES
    assert run.nbformat.writes(run.settle(stored(path))) == run.nbformat.writes(notebook)
    drawn = [cell for cell in notebook.cells if re.search(r"\bstyle\.[a-z]+\(", cell.source)]
    assert all(any("image/" in kind for kind, _ in run.texts(cell)) for cell in drawn)
    texts = " ".join(text for cell in notebook.cells for _, text in run.texts(cell))
    assert not re.search(r"(^|\s)/\w+/|\w+\.py:\d+|Warning", texts)


@each
def test_a_title_is_a_heading(path):
    title, *_ = stored(path).cells[0].source.splitlines()
    assert re.match("# [A-Z]", title)


def cell(*streams):
    new = run.nbformat.v4
    outputs = [new.new_output("stream", name=name, text=text) for name, text in streams]
    return new.new_notebook(cells=[new.new_code_cell(outputs=outputs, execution_count=3)])


def test_a_progress_bar_is_stored_as_it_ends():
    steps = [("stdout", "\r0 of 2"), ("stdout", "\r1 of 2\r2 of 2"), ("stdout", "\ndone\n")]
    (settled,) = run.settle(cell(*steps)).cells
    assert list(run.texts(settled)) == [("stdout", "2 of 2\ndone\n")]
    assert settled.execution_count is None


def test_the_progress_on_a_slow_machine_is_not_stored():
    steps = ("stderr", "deploying: oneDNN's fusion (2 s)\n"), ("stdout", "done\n")
    assert list(run.texts(run.settle(cell(*steps)).cells[0])) == [("stdout", "done\n")]


def test_a_warning_is_not_stored():
    with pytest.raises(RuntimeError, match="cell 0 wrote to standard error:\nhalt"):
        run.settle(cell(("stderr", "halt")))


def test_the_index_lists_each_of_them():
    index = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    assert all(f"]({path.name})" in index for path in run.paths())
