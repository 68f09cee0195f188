"""The figures in the README are those that the script draws."""

import importlib.util
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "notebooks", "figures")


def script():
    path = os.path.join(FOLDER, "make_figures.py")
    spec = importlib.util.spec_from_file_location("make_figures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def test_the_files_are_what_the_script_draws():
    drawn = script().figures()
    assert {name: read(FOLDER, name) for name in drawn} == drawn
    assert {name for name in os.listdir(FOLDER) if name.endswith(".svg")} == set(drawn)


def test_the_readme_shows_each_of_them():
    shown = read(ROOT, "README.md")
    assert all(f"](notebooks/figures/{name})" in shown for name in script().figures())
