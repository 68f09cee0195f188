"""``python -m gluon_same pad``, as users and programs run it."""

import json
import os
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import gluon_same  # isort: skip  before mxnet: brings back the NumPy names that it needs
from gluon_same.cli.main import main

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


def answer(arguments, capsys):
    assert main(["pad", *arguments]) == 0
    return capsys.readouterr().out


def facts(arguments, capsys):
    return json.loads(answer([*arguments, "--json"], capsys))


def entry(output, name):
    """Return the entry of a name in the left column, joined to one line."""
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
    assert out.startswith("MaxPool2D 2x2, stride 1x1, padding='same': 13x13 -> 13x13\n")


def test_the_pool_that_keeps_13x13(capsys):
    out = answer(POOL, capsys)
    assert "What to write at 13x13 (padding='same' works at every size)" in out
    assert entry(out, "gluon_same") == "padding='same'"
    assert entry(out, "Keras") == "padding='same'"
    assert entry(out, "TensorFlow") == "padding='SAME'"
    assert entry(out, "ONNX") == "pads=[0, 0, 1, 1]"
    padded_first = "pad x by [(0, 1), (0, 1)] of -inf first, then padding=0"
    assert entry(out, "PyTorch") == entry(out, "stock Gluon") == padded_first
    assert out.count("height and width: 13 -> 13, 0 of padding before, 1 after") == 1  # for both
    assert "\n    0 #=#\n    1   #=#\n" in out


@pytest.mark.parametrize(
    "arguments", [["pad", *POOL], ["pad", *POOL, "--json"], ["--help"], ["--version"], ["pad", "--help"]]
)
def test_it_answers_without_importing_mxnet(arguments):
    program = (
        "import sys; from gluon_same.cli.main import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        "sys.exit('mxnet' in sys.modules)"
    )
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    assert done.returncode == 0 and done.stdout


def test_one_size_is_one_axis_and_the_answer_says_how_to_give_two(capsys):
    out = answer(["--size", "224", "--kernel", "3"], capsys)
    assert "One axis (1-D). For two, such as an image's, give both: --size 224x224" in out
    assert out.startswith("Conv1D 3, stride 1,")
    assert "One axis" not in answer(["--size", "224x224", "--kernel", "3"], capsys)


def test_the_answer_says_that_one_size_is_used_on_all_axes(capsys):
    out = answer(["--size", "13", "--kernel", "3x3"], capsys)
    assert "--size 13 is used on all 2 axes." in out
    assert "13x13 -> 13x13" in out and "One axis" not in out
    assert "--size 9 is used on all 3 axes." in answer(
        ["--size", "9", "--kernel", "3", "--padding", "1,0x0x2"], capsys
    )
    assert "is used on" not in answer(["--size", "13x13", "--kernel", "3x3"], capsys)


def test_the_headline_names_a_dilation(capsys):
    assert ", dilation 11," in answer(["--size", "99", "--kernel", "3", "--dilation", "11"], capsys)
    assert "dilation" not in answer(["--size", "99", "--kernel", "3"], capsys).splitlines()[0]


def test_axes_that_differ_are_drawn_each(capsys):
    out = answer(["--size", "100x20", "--kernel", "4x1"], capsys)
    assert "height: 100 -> 100, 1 of padding before, 2 after" in out
    assert "width: 20 -> 20, 0 of padding before, 0 after" in out
    assert entry(out, "ONNX").startswith("pads=[1, 0, 2, 0]")
    assert entry(out, "PyTorch") == "padding='same'"
    out = answer(["--size", "100x20", "--kernel", "4x1", "--stride", "2"], capsys)
    assert entry(out, "PyTorch") == "padding=(1, 0)"
    out = answer(["--size", "100x20", "--kernel", "4x1", "--padding", "same_lower"], capsys)
    assert "pad x by [(2, 1), (0, 0)] first" in entry(out, "PyTorch")


@pytest.mark.parametrize(
    "arguments, framework, words",
    [
        ("--size 9 --kernel 3", "stock Gluon", "padding=1"),
        ("--size 9 --kernel 2", "stock Gluon", "pad x by [(0, 1)] first, then padding=0"),
        ("--size 9x9 --kernel 4 --padding valid", "TensorFlow", "padding='VALID'"),
        (
            "--size 112x112 --kernel 3 --stride 2 --op pool",
            "stock Gluon",
            "pad x by [(0, 1), (0, 1)] of -inf first",
        ),
        ("--size 2x9x9 --kernel 3 --op pool --average", "PyTorch", "none: its average pooling"),
        (
            "--size 10 --kernel 4 --padding same_lower",
            "TensorFlow",
            "pad x by [(2, 1)] first, then padding='VALID'",
        ),
        ("--size 9 --kernel 3 --padding same_lower", "TensorFlow", "padding='SAME'"),
        ("--size 9x9 --kernel 3 --dilation 2", "ONNX", "pads=[2, 2, 2, 2]"),
        ("--size 9x9 --kernel 3 --dilation 2 --stride 2", "Keras", "none: its layers do not support"),
        ("--size 9 --kernel 3 --padding causal", "gluon_same", "padding='causal'"),
        ("--size 9 --kernel 3 --padding causal", "Keras", "padding='causal'"),
        ("--size 9 --kernel 3 --padding causal", "PyTorch", "pad x by [(2, 0)] first, then padding=0"),
        ("--size 9x9 --kernel 3 --padding 1,0x0,2", "gluon_same", "padding=((1, 0), (0, 2))"),
        (
            "--size 9x9 --kernel 3 --padding 1,0x0,2",
            "PyTorch",
            "pad x by [(1, 0), (0, 2)] first, then padding=0",
        ),
        (
            "--size 9x9 --kernel 3 --padding 1,0x0,2",
            "Keras",
            "pad x by [(1, 0), (0, 2)] first, then padding='valid'",
        ),
        ("--size 9 --kernel 3 --padding 2,1", "Keras", "pad x by [(2, 1)] first"),
        (
            "--size 9x9 --kernel 3 --op pool --padding 1,0x0,2",
            "Keras",
            "pad x by [(1, 0), (0, 2)] of -inf first",
        ),
        ("--size 9x9 --kernel 3 --padding 1", "PyTorch", "padding=1"),
        ("--size 9x9 --kernel 3 --padding 1x2", "stock Gluon", "padding=(1, 2)"),
        ("--size 9x9 --kernel 3 --padding 1", "TensorFlow", "padding='SAME'"),
        (
            "--size 7x7 --kernel 4 --stride 2 --op transpose --padding same_lower",
            "Keras",
            "padding='same'",
        ),
        (
            "--size 7 --kernel 3 --stride 2 --op transpose --padding same_lower",
            "Keras",
            "padding='valid', then cut [(1, 0)] off y",
        ),
        (
            "--size 7 --kernel 3 --stride 2 --op transpose --padding same_lower",
            "TensorFlow",
            "padding='VALID', output_shape=(batch, 15, filters), then cut [(1, 0)] off y",
        ),
        (
            "--size 7x7 --kernel 3 --stride 2 --op transpose",
            "PyTorch",
            "padding=0, then cut [(0, 1), (0, 1)] off y",
        ),
        ("--size 7 --kernel 1 --stride 2 --op transpose", "ONNX", "pads=[0, 0], output_padding=[1]"),
        ("--size 7 --kernel 1 --stride 2 --op transpose", "PyTorch", "padding=0, output_padding=1"),
        ("--size 8x8 --kernel 3 --op pool --average", "PyTorch", "padding=1, count_include_pad=False"),
        ("--size 8x8 --kernel 2 --op pool --average", "stock Gluon", "none: it would count"),
        ("--size 8x8 --kernel 2 --op pool --average", "PyTorch", "none: it would count"),
    ],
)
def test_the_line_fits_the_framework(arguments, framework, words, capsys):
    assert words in entry(answer(arguments.split(), capsys), framework)


@pytest.mark.parametrize(
    "arguments",
    [
        "--size 99999 --kernel 1000 --stride 1000 --dilation 1000",
        "--size 99999x99999x99999 --kernel 1000x999x1000 --op pool --padding same_lower",
        "--size 224x224 --kernel 7 --stride 2",
        "--size 9x8x7 --kernel 3x2x1 --stride 2 --op pool --average --padding same_lower",
        "--size 99999x3 --kernel 5 --stride 3 --op transpose --padding valid",
        "--size 64x64 --kernel 3 --dilation 12 --stride 2",
        "--size 99999x99999x99999 --kernel 999x998x997 --stride 2x3x4 --op pool --average",
        "--size 999x99x9 --kernel 9x8x7 --padding 1,2x3,4x5,6 --op transpose",
    ],
)
def test_it_fits_a_terminal_of_80_columns_and_is_ascii(arguments, capsys):
    out = answer(arguments.split(), capsys)
    assert max(map(len, out.splitlines())) <= 80
    assert out.isascii()


def test_json_holds_the_same_facts(capsys):
    found = facts(POOL, capsys)
    assert set(found) == {"op", "padding", "average", "axes", "frameworks"}
    assert (found["op"], found["padding"], found["average"]) == ("pool", "same", False)
    assert found["axes"] == 2 * [
        {
            "in_size": 13,
            "kernel": 2,
            "stride": 1,
            "dilation": 1,
            "span": 2,
            "before": 0,
            "after": 1,
            "extra": 0,
            "out_size": 13,
        }
    ]
    assert set(found["frameworks"]) == {
        *("gluon_same", "Keras", "TensorFlow", "ONNX", "PyTorch", "stock Gluon")
    }
    assert found["frameworks"]["gluon_same"] == "padding='same'"


def test_what_a_transposed_convolution_adds_is_said(capsys):
    arguments = ["--size", "7", "--kernel", "1", "--stride", "2", "--op", "transpose"]
    assert "width: 7 -> 14, 0 cut off before, 0 after, 1 added" in answer(arguments, capsys)
    (axis,) = facts(arguments, capsys)["axes"]
    assert (axis["before"], axis["after"], axis["extra"], axis["out_size"]) == (0, 0, 1, 14)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("--size 13 --kernel 0", "--kernel: '0' is out of range"),
        ("--size 3x --kernel 3", "--size: '3x' is not a size"),
        ("--size 3xa --kernel 3", "'3xa' is not a size"),
        ("--size -1 --kernel 3", "'-1' is not a size"),
        ("--size 3.5 --kernel 3", "'3.5' is not a size"),
        ("--size \u0663 --kernel 3", "is not a size"),
        ("--size 1x2x3x4 --kernel 3", "'1x2x3x4' is not a size"),
        ("--size 100000 --kernel 3", "'100000' is out of range: give 1 to 99999"),
        ("--size 9 --kernel 3 --padding full", "'full'"),
        ("--size 9 --kernel 3 --op dense", "'dense'"),
        ("--size 9 --kernel 3 --padding 1,2,3", "'1,2,3' is not a padding"),
        ("--size 9 --kernel 3 --padding -1", "'-1' is none of same, same_lower, valid, causal"),
        ("--size 9 --kernel 3 --padding 10000000", "'10000000' is out of range"),
        ("--size 9", "--kernel"),
        ("--kernel 3", "--size"),
    ],
)
def test_bad_usage_takes_one_line(arguments, words, capfd):
    with pytest.raises(SystemExit) as refusal:
        main(["pad", *arguments.split()])
    assert refusal.value.code == 2
    assert_refused(words, capfd)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("--size 100x20 --kernel 4x4x4", "--size 100x20 has 2 axes and --kernel 4x4x4 has 3"),
        ("--size 3x9 --kernel 4 --padding valid", "kernel=4 with dilation=1 spans more than the 3"),
        ("--size 9 --kernel 3 --op pool --dilation 2", "--dilation 2 is not for --op pool"),
        ("--size 9x9x9 --kernel 3 --op transpose --dilation 2", "--dilation 2x2x2 is not for"),
        ("--size 9 --kernel 3 --average", "--average is not for --op conv"),
        ("--size 9x9 --kernel 3 --padding causal", "--padding causal is for --op conv over one axis"),
        (
            "--size 9x9x9 --kernel 3 --padding 1,0x0,2",
            "--padding 1,0x0,2 has 2 axes and --size 9x9x9 has 3",
        ),
        ("--size 9 --kernel 3 --op pool --padding 3", "contains whole windows"),
        ("--size 3 --kernel 3 --op transpose --padding 9", "cuts off the whole output"),
    ],
)
def test_options_that_do_not_fit_each_other_take_one_line(arguments, words, capfd):
    assert main(["pad", *arguments.split()]) == 1
    assert_refused(words, capfd)


def assert_refused(words, capfd):
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("python -m gluon_same pad: ")
    assert err.count("\n") == 1 and err.endswith("\n")
    assert words in err


def test_svg_writes_the_picture_as_a_figure(tmp_path, capsys):
    path = tmp_path / "pool.svg"
    path.write_text("old")
    plain = answer(POOL, capsys)
    assert answer([*POOL, "--svg", str(path)], capsys) == plain
    root = ElementTree.parse(str(path)).getroot()
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "MaxPool2D 2x2, stride 1x1, padding='same': 13x13 -> 13x13"
    assert os.listdir(str(tmp_path)) == ["pool.svg"]


def test_svg_goes_into_a_pipe_as_it_is():
    process = start(*POOL, "--svg", "/dev/stderr")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert err.startswith("<svg") and out.startswith("MaxPool2D")


def test_a_figure_that_cannot_be_written_takes_one_line(tmp_path, capsys):
    for path in (tmp_path, tmp_path / "missing" / "pool.svg"):
        assert main(["pad", *POOL, "--svg", str(path)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert err.startswith("python -m gluon_same pad: ") and str(path) in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_takes_one_line(capsys):
    assert main(["pad", *POOL, "--svg", "/dev/full"]) == 1
    assert "No space left" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_a_closed_pipe_ends_it_quietly():
    process = start(*POOL)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_ctrl_c_leaves_one_line(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gluon_same.cli.pad.lines", interrupted)
    assert main(["pad", *POOL]) == 128 + signal.SIGINT
    assert capsys.readouterr() == ("", "python -m gluon_same pad: interrupted\n")


@pytest.mark.parametrize("option", ["--padding SAME", "--mode same", "--mode SAME", "--pad 1", ""])
def test_the_padding_has_one_option_with_older_names(option, capsys):
    out = answer(["--size", "9", "--kernel", "3", *option.split()], capsys)
    padding = "((1, 1),)" if "1" in option else "'same'"
    assert f"padding={padding}: 9 -> 9" in out


def test_the_help_shows_one_word_for_the_padding(capsys):
    with pytest.raises(SystemExit):
        main(["pad", "--help"])
    out = capsys.readouterr().out
    assert "--padding" in out and "--mode" not in out and "--pad " not in out
