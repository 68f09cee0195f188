"""``python -m gluon_same demo``, as users run it."""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import zlib

import pytest

import gluon_same  # isort: skip  before mxnet: brings back the NumPy names that it needs
from gluon_same.cli import demo
from gluon_same.cli.main import main

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(gluon_same.__file__)))
SIZES_SEEN = {"416x416": "13x13", "320x320": "10x10", "417x417": "14x14"}


def start(*arguments):
    path = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "gluon_same", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        universal_newlines=True,
    )


@pytest.fixture(scope="module")
def finished():
    process = start("demo")
    out, err = process.communicate(timeout=120)
    return process.returncode, out.splitlines(), err


@pytest.fixture
def quick(monkeypatch):
    """Run two small sizes, an even and an odd one, without repetitions."""
    monkeypatch.setattr(demo, "SIZES", (64, 65))
    monkeypatch.setattr(demo, "ROUNDS", 1)


def png(pixels, size=None):
    """Return a PNG of rows of (red, green, blue), whose header can state another size."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes(sum(row, ())) for row in pixels)
    header = struct.pack(">IIBBBBB", *(size or (len(pixels[0]), len(pixels))), 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


PNG = png([[(255, 0, 0), (0, 255, 0), (0, 0, 255)], [(10, 20, 30)] * 3])


def test_demo_passes_and_writes_nothing_to_stderr(finished):
    code, lines, err = finished
    assert (code, err) == (0, "")
    assert any(line.startswith("Check passed") for line in lines)


def test_demo_shows_that_the_last_pool_keeps_13x13(finished):
    pools = [line.split()[1:] for line in finished[1] if re.match(r"pool\d+ ", line)]
    assert len(pools) == 6
    assert pools[-1] == ["(MaxPool2D)", "2x2/1", "same", "512x13x13", "512x13x13", "0"]


def test_demo_shows_each_layer_with_its_sizes(finished):
    convolutions = [line.split() for line in finished[1] if re.match(r"conv\d+ ", line)]
    assert [row[-2] for row in convolutions] == [
        f"{channels}x{size}x{size}"
        for channels, size in zip((16, 32, 64, 128, 256, 512), (416, 208, 104, 52, 26, 13))
    ]


def test_demo_checks_three_sizes_and_times_stock_gluon(finished):
    rows = [line.split() for line in finished[1]]
    for size, output in SIZES_SEEN.items():
        (row,) = (row for row in rows if row[:1] == [size])
        assert row[1] == row[2] == output and row[3] != row[1]
    (line,) = (line for line in finished[1] if line.startswith("Time at 416x416: "))
    assert all(float(number) > 0 for number in re.findall(r"([\d.]+) ms", line))


def test_demo_fits_a_terminal_of_80_columns(finished):
    assert max(map(len, finished[1])) <= 80


def test_demo_takes_a_png(quick, tmp_path, capsys):
    path = tmp_path / "tiny.png"
    path.write_bytes(PNG)
    assert main(["demo", "--image", str(path)]) == 0
    assert "tiny.png, 3x2" in capsys.readouterr().out


def test_demo_fails_when_a_size_is_not_that_of_same(quick, monkeypatch, capsys):
    monkeypatch.setattr(demo, "build_net", demo.build_stock_net)
    assert main(["demo"]) == 1
    assert "Check FAILED" in capsys.readouterr().out


def test_read_image_gives_rows_of_red_green_blue(tmp_path):
    path = tmp_path / "tiny.png"
    path.write_bytes(PNG)
    image = demo.read_image(str(path))
    assert image.asnumpy()[0].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    assert image.shape == (2, 3, 3)


def test_the_photograph_ships_with_its_source():
    assert demo.read_image(demo.PHOTO).shape == (512, 512, 3)
    assert os.path.getsize(demo.PHOTO) < 60_000
    with open(os.path.join(os.path.dirname(demo.PHOTO), "SOURCE.md")) as file:
        assert "public domain" in file.read()


def contents(kind):
    with open(demo.PHOTO, "rb") as file:
        photo = file.read()
    frame = photo.index(b"\xff\xc2" if b"\xff\xc2" in photo else b"\xff\xc0")
    return {
        "huge.jpg": photo[: frame + 5] + b"\xff" * 4 + photo[frame + 9 :],
        "huge.png": png([[(255, 0, 0)]], (65535, 65535)),
        "empty": b"",
        "text": b"no picture at all\n",
        "cut.jpg": photo[: len(photo) // 2],
        "headers.jpg": photo[:100],
        "cut.png": PNG[: len(PNG) // 2],
        "no-end.png": PNG[:-12],
        "spoilt.png": PNG.replace(b"IDAT", b"IDXT"),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["empty", "text", "cut.jpg", "headers.jpg", "cut.png", "no-end.png", "spoilt.png"]
    + ["huge.jpg", "huge.png"],
)
def test_a_file_that_is_no_image_is_named_in_one_line(kind, quick, tmp_path, capfd):
    path = tmp_path / kind
    path.write_bytes(contents(kind))
    _assert_refused(["demo", "--image", str(path)], str(path), capfd)


def test_a_missing_file_and_a_directory_are_named_in_one_line(tmp_path, capfd):
    missing = str(tmp_path / "missing.jpg")
    _assert_refused(["demo", "--image", missing], missing, capfd)
    _assert_refused(["demo", "--image", str(tmp_path)], str(tmp_path), capfd)


@pytest.mark.skipif(os.name != "posix", reason="special files of POSIX")
@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_what_is_no_regular_file_is_refused_unread(kind, tmp_path, capfd):
    path = "/dev/zero" if kind == "device" else str(tmp_path / kind)
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            listener.bind(path)
        _assert_refused(["demo", "--image", path], f"'{path}' is not a regular file", capfd)


def _assert_refused(arguments, words, capfd):
    assert main(arguments) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("python -m gluon_same demo: ")
    assert err.count("\n") == 1 and err.endswith("\n")
    assert words in err


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
@pytest.mark.parametrize("how, code", [("closed pipe", 141), ("Ctrl-C", 130)])
def test_an_early_end_is_quiet(how, code):
    if how == "Ctrl-C" and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("a job in the background, which Ctrl-C does not reach")
    for _ in range(3):
        process = start("demo")
        assert process.stdout.readline().startswith("gluon_same")
        if how == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        process.stdout.close()
        reported = process.stderr.read()
        if "Exception ignored in" not in reported:
            break
        process.wait(timeout=60)  # Python drops a signal that arrives while an object is deleted
    assert reported == ("python -m gluon_same demo: interrupted\n" if how == "Ctrl-C" else "")
    assert process.wait(timeout=60) == code
