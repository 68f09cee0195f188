"""Check user code with mypy and pyright, both in strict mode."""

import json
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "typing"
#: Rules of pyright against values without type hints.
UNKNOWN = [f"reportUnknown{kind}Type" for kind in ("Member", "Variable", "Argument")]
USER_CODE, MISTAKES = FOLDER / "user_code.py", FOLDER / "mistakes.py"


def run(tool, *arguments):
    if find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed: pip install '.[lint]'")
    command = [sys.executable, "-m", tool, *map(str, arguments)]
    return subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, timeout=300)


def mypy(path, tmp_path):
    """Return the numbers of the lines with errors of mypy."""
    done = run(
        *("mypy", "--strict", "--follow-imports=silent", "--show-error-codes", "--no-error-summary"),
        *("--config-file=", f"--cache-dir={tmp_path}", path),
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors = [line.split(":", 2) for line in done.stdout.splitlines() if ": error:" in line]
    assert all(Path(file).name == path.name for file, *_ in errors), done.stdout
    return {int(number): text for _, number, text in errors}


def pyright(path, tmp_path):
    """Return the numbers of the lines with errors of pyright."""
    settings = {"extraPaths": [str(FOLDER.parents[1])], "typeCheckingMode": "strict"}
    settings.update(dict.fromkeys(UNKNOWN, "none"))  # MXNet's own blocks have none
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    shutil.copy(path, tmp_path)
    done = run("pyright", "--outputjson", "--pythonpath", sys.executable, "--project", tmp_path)
    if not done.stdout.startswith("{"):  # pyright requires Node.js, whose download may fail
        pytest.skip(f"pyright does not start here: {(done.stderr or done.stdout)[-300:]}")
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1, done.stdout
    return {
        found["range"]["start"]["line"] + 1: found["message"]
        for found in report["generalDiagnostics"]
        if found["severity"] == "error"
    }


def test_user_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the code writes files
    names = runpy.run_path(str(USER_CODE))
    assert names["shape"] == (1, 10) and names["out"].shape == (1, 8, 416, 416)


@pytest.mark.parametrize("check", [mypy, pyright])
def test_user_code_is_clean(check, tmp_path):
    assert check(USER_CODE, tmp_path) == {}


@pytest.mark.parametrize("check", [mypy, pyright])
def test_mistakes_are_found(check, tmp_path):
    lines = MISTAKES.read_text().splitlines()
    wrong = [number for number, line in enumerate(lines, 1) if "# refused" in line]
    assert sorted(check(MISTAKES, tmp_path)) == wrong
