"""Names of files outside ASCII, in locales that have only ASCII."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # no UTF-8 mode of Python
WRITE = """
import sys
import gluon_same, mxnet as mx
from gluon_same import nn, onnx
from gluon_same.cli.main import main

net, folder = nn.Conv2D(2, 3, padding="same", in_channels=2), sys.argv[1]
net.initialize()
try:
    onnx.export_model(net, (1, 2, 5, 5), folder + "/net.onnx")
    block = gluon_same.deploy(net, (1, 2, 5, 5), tune=False)
    block.export(folder + "/net")
    names = [folder + "/net-symbol.json", ["data"], folder + "/net-0000.params"]
    mx.gluon.SymbolBlock.imports(*names)
except ValueError as error:
    print(ascii(str(error)))
print(main(["convert", "missing.keras", folder + "/new"]))
"""


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, ASCII], ids=["utf-8", "ascii"])
def test_a_name_outside_ascii_works_or_is_refused(locale, tmp_path):
    folder = tmp_path / "Übung"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WRITE, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **locale},
        capture_output=True,
        text=True,
    )
    written = {path.name for path in folder.iterdir()}
    if locale is ASCII:
        assert done.stdout.count("is not UTF-8: set LC_ALL=C.UTF-8") == 1, done.stderr
        assert "is not UTF-8: set LC_ALL=C.UTF-8" in done.stderr
        assert not written
    else:
        assert done.returncode == 0 and "missing.keras" in done.stderr
        assert written == {"net.onnx", "net-symbol.json", "net-0000.params"}
