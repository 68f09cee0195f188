"""``python -m gluon_same pad``, as a user and as a program meet it."""

import json
import os
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import gluon_same  # isort: skip  before mxnet: brings back the NumPy names that it needs
from gluon_same.__main__ import main

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(gluon_same.__file__)))
POOL = ["--size", "13x13", "--kernel", "2", "--op", "pool"]


def start(*arguments):
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "gluon_same", "pad", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        universal_newlines=True,
    )


def said(arguments, capsys):
    assert main(["pad", *arguments]) == 0
    return capsys.readouterr().out


def facts(arguments, capsys):
    return json.loads(said([*arguments, "--json"], capsys))


def told(output, name):
    """What follows a framework's name, joined to one line."""
    lines = iter(output.splitlines())
    first = next(line for line in lines if line.startswith(f"  {name}  "))
    words = [first[16:].strip()]
    for line in lines:
        if not line.startswith(" " * 16):
            break
        words.append(line.strip())
    return " ".join(words)


def test_a_fresh_process_answers_and_writes_nothing_to_stderr():
    process = start(*POOL)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.startswith("MaxPool2D 2x2, stride 1, padding='same': 13x13 -> 13x13\n")


def test_the_pool_that_keeps_13x13(capsys):
    out = said(POOL, capsys)
    row = next(line for line in out.splitlines() if line.startswith("height "))
    assert row.split() == ["height", "13", "2", "1", "1", "13", "0", "1"]
    assert told(out, "gluon_same") == "nn.MaxPool2D(2, strides=1, padding='same')"
    assert told(out, "TensorFlow") == "padding='SAME'"
    assert told(out, "ONNX") == "pads=[0, 0, 1, 1]; for every size, auto_pad='SAME_UPPER'"
    assert told(out, "PyTorch") == "F.pad(x, (0, 1, 0, 1), value=float('-inf')), then padding=0"
    assert told(out, "stock Gluon").startswith(
        "no padding= gives it: 0 makes 12x12, 1 makes 14x14. Pad first, by F.pad("
    )
    assert told(out, "every size").startswith("height, width: pads both ends by 1; drops the first")
    assert told(out, "it costs").startswith("2 operators: Pooling, slice; 196 outputs computed for 169")
    assert out.count("height and width: 13 -> 13") == 1  # one picture serves both
    assert "    x x-x\n    0   #=#\n" in out


def test_axes_that_differ_are_drawn_each(capsys):
    out = said(["--size", "100x20", "--kernel", "4x1"], capsys)
    assert "height: 100 -> 100, 1 of padding before, 2 after" in out
    assert "width: 20 -> 20, 0 of padding before, 0 after" in out
    assert told(out, "gluon_same") == "nn.Conv2D(64, (4, 1), padding='same')"
    assert told(out, "ONNX").startswith("pads=[1, 0, 2, 0]")
    assert "F.pad(x, (0, 0, 1, 2))" in told(out, "PyTorch")  # the last axis first


@pytest.mark.parametrize(
    "arguments, framework, words",
    [
        ("--size 9 --kernel 3", "stock Gluon", "padding=1"),
        ("--size 9 --kernel 3", "PyTorch", "padding=1, or padding='same'"),
        ("--size 9x9 --kernel 4 --mode valid", "TensorFlow", "padding='VALID'"),
        ("--size 112x112 --kernel 3 --stride 2 --op pool", "stock Gluon", "padding=0, ceil_mode=True"),
        ("--size 10 --kernel 4 --mode same_lower", "TensorFlow", "tf.pad(x, [[0, 0], [2, 1], [0, 0]])"),
        ("--size 9 --kernel 3 --mode same_lower", "TensorFlow", "padding='SAME' (at this size"),
        ("--size 9x9 --kernel 3 --dilation 2", "ONNX", "pads=[2, 2, 2, 2]. Not auto_pad"),
        ("--size 9x9 --kernel 3 --dilation 2 --stride 2", "TensorFlow", "Keras' layers refuse"),
        (
            "--size 7x7 --kernel 4 --stride 2 --op transpose --mode same_lower",
            "TensorFlow",
            "padding='SAME'",
        ),
        ("--size 7 --kernel 3 --op transpose --mode same_lower", "TensorFlow", "padding='SAME'"),
        (
            "--size 7 --kernel 3 --stride 2 --op transpose --mode same_lower",
            "TensorFlow",
            "padding='VALID' makes 15; keep y[:, 1:15]",
        ),
        ("--size 7x7 --kernel 3 --stride 2 --op transpose", "PyTorch", "padding=0, then keep"),
        ("--size 7 --kernel 1 --stride 2 --op transpose", "ONNX", "pads=[0, 0], output_padding=[1]"),
        (
            "--size 7 --kernel 3 --stride 2 --op transpose --mode same_lower",
            "PyTorch",
            "padding=1, output_padding=1",
        ),
        ("--size 8x8 --kernel 3 --op pool --average", "PyTorch", "padding=1, count_include_pad=False"),
    ],
)
def test_frameworks_are_told_what_fits(arguments, framework, words, capsys):
    assert told(said(arguments.split(), capsys), framework).startswith(words) or words in told(
        said(arguments.split(), capsys), framework
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "--size 99999 --kernel 1000 --stride 1000 --dilation 1000",
        "--size 99999x99999x99999 --kernel 1000x999x1000 --op pool --mode same_lower",
        "--size 224x224 --kernel 7 --stride 2",
        "--size 9x8x7 --kernel 3x2x1 --stride 2 --op pool --average --mode same_lower",
        "--size 99999x3 --kernel 5 --stride 3 --op transpose --mode valid",
        "--size 64x64 --kernel 3 --dilation 12 --stride 2",
    ],
)
def test_it_fits_a_terminal_of_80_columns_and_is_ascii(arguments, capsys):
    out = said(arguments.split(), capsys)
    assert max(map(len, out.splitlines())) <= 80
    assert out.isascii()


def test_channels_choose_the_lowering_and_are_named(capsys):
    window = ["--size", "224x224", "--kernel", "3", "--stride", "2"]
    shallow = said([*window, "--channels", "3", "--filters", "32"], capsys)
    assert "What gluon_same does with it, 3 > 32 channels" in shallow
    assert "lengthens the input by 1 at the end" in told(shallow, "this size")
    deep = said(["--size", "56x56", *window[2:]], capsys)
    assert "64 > 64 channels" in deep
    assert "drops the first window" in told(deep, "this size")


def test_json_holds_the_same_facts(capsys):
    found = facts(POOL, capsys)
    assert set(found) == {
        *("op", "mode", "average", "channels", "filters", "batch", "input", "output"),
        *("axes", "tell", "lowering", "seconds"),
    }
    assert (found["op"], found["mode"], found["input"], found["output"]) == (
        *("pool", "same"),
        *([13, 13], [13, 13]),
    )
    axis = found["axes"][0]
    assert {key: axis[key] for key in axis if key != "drawn"} == {
        "name": "height",
        "size": 13,
        "kernel": 2,
        "stride": 1,
        "dilation": 1,
        "span": 2,
        "output": 13,
        "padding": [0, 1],
        "extra": 0,
        "operator": [1, 1],
        "windows": 14,
        "dropped": 1,
    }
    assert axis["drawn"][0] == {"first": -1, "taps": 2, "kept": False}
    assert axis["drawn"][1] == {"first": 0, "taps": 2, "kept": True}
    assert set(found["tell"]) == {"gluon_same", "TensorFlow", "ONNX", "PyTorch", "stock Gluon"}
    assert all(set(entry) == {"say", "arguments"} for entry in found["tell"].values())
    assert found["tell"]["PyTorch"]["arguments"] == {
        "padding": [0, 0],
        "F.pad": [0, 1, 0, 1],
        "ceil_mode": False,
    }
    assert set(found["lowering"]) == {"this_size", "every_size"}
    form = found["lowering"]["this_size"]
    assert set(form) == {"words", "axes", "operators", "computed", "kept", "copied"}
    assert form["operators"] == {"Pooling": 1, "slice": 1}
    assert (form["computed"], form["kept"], form["copied"]) == (196, 169, 169)


def test_json_of_a_transposed_convolution_says_what_is_cut_and_added(capsys):
    found = facts(["--size", "7", "--kernel", "1", "--stride", "2", "--op", "transpose"], capsys)
    assert found["output"] == [14]
    assert (found["axes"][0]["padding"], found["axes"][0]["extra"]) == ([0, 0], 1)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("--size 13 --kernel 0", "--kernel: '0' is out of range"),
        ("--size 3x --kernel 3", "--size: '3x' is no size"),
        ("--size 3xa --kernel 3", "'3xa' is no size"),
        ("--size -1 --kernel 3", "'-1' is no size"),
        ("--size 3.5 --kernel 3", "'3.5' is no size"),
        ("--size \u0663 --kernel 3", "is no size"),
        ("--size 1x2x3x4 --kernel 3", "'1x2x3x4' is no size"),
        ("--size 100000 --kernel 3", "'100000' is out of range: give 1 to 99999"),
        ("--size 100x20 --kernel 4x4x4", "--size 100x20 has 2 axes and --kernel 4x4x4 has 3"),
        ("--size 3x9 --kernel 4 --mode valid", "kernel=4 with dilation=1 spans more than the 3"),
        ("--size 9 --kernel 3 --mode full", "'full'"),
        ("--size 9 --kernel 3 --op dense", "'dense'"),
        ("--size 9 --kernel 3 --op pool --dilation 2", "--dilation 2 is not for --op pool"),
        ("--size 9x9x9 --kernel 3 --op transpose --dilation 2", "--dilation 2x2x2 is not for"),
        ("--size 9 --kernel 3 --average", "--average is not for --op conv"),
        ("--size 9 --kernel 3 --channels 3x3", "'3x3' has several numbers"),
        ("--size 9", "--kernel"),
        ("--kernel 3", "--size"),
    ],
)
def test_nonsense_is_told_in_one_line(arguments, words, capfd):
    with pytest.raises(SystemExit) as refusal:
        main(["pad", *arguments.split()])
    out, err = capfd.readouterr()
    assert (refusal.value.code, out) == (2, "")
    assert err.startswith("python -m gluon_same pad: ")
    assert err.count("\n") == 1 and err.endswith("\n")
    assert words in err


def test_svg_writes_the_picture_as_a_figure(tmp_path, capsys):
    path = tmp_path / "pool.svg"
    path.write_text("old")
    plain = said(POOL, capsys)
    assert said([*POOL, "--svg", str(path)], capsys) == plain
    root = ElementTree.parse(str(path)).getroot()
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "MaxPool2D 2x2, stride 1, padding='same': 13x13 -> 13x13"
    assert os.listdir(str(tmp_path)) == ["pool.svg"]


def test_svg_goes_into_a_pipe_as_it_is():
    process = start(*POOL, "--svg", "/dev/stderr")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert err.startswith("<svg") and out.startswith("MaxPool2D")


def test_a_figure_that_cannot_be_written_is_told_in_one_line(tmp_path, capsys):
    for path in (tmp_path, tmp_path / "missing" / "pool.svg"):
        assert main(["pad", *POOL, "--svg", str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert err.startswith("python -m gluon_same pad: --svg ") and str(path) in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_told_in_one_line(capsys):
    assert main(["pad", *POOL, "--svg", "/dev/full"]) == 1
    assert "No space left" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_a_closed_pipe_ends_it_quietly():
    process = start(*POOL)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_ctrl_c_ends_it_quietly(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gluon_same.cli.pad.Report", interrupted)
    assert main(["pad", *POOL]) == 128 + signal.SIGINT
    assert capsys.readouterr() == ("", "")
