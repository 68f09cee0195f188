"""The command line itself: help, versions, bad usage, and how it is started."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gluon_same  # isort: skip  before mxnet: brings back the NumPy names that it needs
import mxnet as mx

from gluon_same.cli import main as cli
from gluon_same.cli.main import main

ROOT = Path(gluon_same.__file__).parents[1]


def printed(arguments, capsys, **options):
    with pytest.raises(SystemExit) as end:
        main(arguments, **options)
    out, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    return out


def test_help_lists_the_commands_and_gives_examples_that_parse(capsys):
    out = printed(["--help"], capsys)
    assert all(re.search(rf"^    {name} ", out, re.MULTILINE) for name in cli.COMMANDS)
    lines = out[out.index("examples:") :].splitlines()[1:]
    assert len(lines) == 3
    for line in lines:
        words = line.split()
        assert words[:3] == ["python", "-m", "gluon_same"]
        assert callable(cli._parser(cli.PROGRAM, words[3]).parse_args(words[3:]).run)


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_a_command_explains_itself(name, capsys):
    out = printed([name, "--help"], capsys)
    assert out.startswith(f"usage: python -m gluon_same {name} ")
    assert max(map(len, out.splitlines())) < 120


def test_version_names_mxnet(capsys):
    expected = f"gluon_same {gluon_same.__version__} (MXNet {mx.__version__})\n"
    assert printed(["--version"], capsys) == expected


@pytest.mark.parametrize(
    "installed, words", [([("mxnet-cu112", "1.9.1")], "MXNet 1.9.1"), ([], "MXNet is not installed")]
)
def test_version_finds_other_builds_of_mxnet(installed, words, capsys, monkeypatch):
    class Found:
        def __init__(self, name, version):
            self.metadata, self.version = {"Name": name}, version

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(cli, "version", missing)
    monkeypatch.setattr(cli, "distributions", lambda: [Found(*i) for i in installed])
    assert words in printed(["--version"], capsys)


@pytest.mark.parametrize(
    "arguments, words", [([], "COMMAND"), (["dmeo"], "dmeo"), (["demo", "--imgae"], "--imgae")]
)
@pytest.mark.parametrize("program", ["python -m gluon_same", "gluon-same"])
def test_bad_usage_takes_one_line(arguments, words, program, capsys):
    with pytest.raises(SystemExit) as refusal:
        main(arguments, program)
    out, err = capsys.readouterr()
    assert (refusal.value.code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(program) and words in err and err.endswith("(see --help)\n")


def test_setup_makes_a_console_script_of_it(monkeypatch, capsys):
    target = re.search(r'"gluon-same = ([\w.]+):(\w+)"', (ROOT / "setup.py").read_text())
    module, function = target.groups()
    assert module == cli.__name__
    monkeypatch.setattr(sys, "argv", ["/usr/bin/gluon-same", "pad", "--size", "9"])
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # puts it back
    with pytest.raises(SystemExit):
        getattr(cli, function)()
    assert capsys.readouterr().err.startswith("gluon-same pad: ")


def test_the_module_hands_over():
    command = [sys.executable, "-m", "gluon_same", "--version"]
    done = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().startswith("gluon_same ")
