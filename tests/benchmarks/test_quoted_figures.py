"""Figures that documents quote are those of the tables beside the benchmarks."""

import csv
import re
from pathlib import Path

import numpy as np
import test_golden
from test_documentation import text_of

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


def rows(name):
    with open(ROOT / "benchmarks" / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def mean(ratios):
    """Return a geometric mean as the documents write it."""
    return f"{np.exp(np.mean(np.log(list(ratios)))):.2f}"


def cells(label):
    """Return what a table of benchmarks/README.md has in the line that begins with a label."""
    (line,) = (line for line in BENCHMARKS.splitlines() if line.startswith(f"| {label} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def quoted(pattern, text=BENCHMARKS):
    """Return the figures in the one place that a pattern describes, which may cross lines."""
    (found,) = re.finditer(pattern.replace(" ", r"\s+"), text)
    return list(found.groups())


def test_the_times_in_the_readme_are_those_of_the_table():
    nets = {row["net"]: row for row in rows("nets.csv") if row["batch"] == row["threads"] == "1"}
    assert len(nets) == 10
    (head,) = (line for line in README.splitlines() if line.startswith("| You | Write |"))
    chosen = head.strip("|").split("|")[2:]
    for words, form in {
        "| `net.hybridize()`": "hybridized without flags",
        "| `net.hybridize(static_alloc=True, static_shape=True)`": "hybridized",
        "| `gluon_same.specialize(net, (": "specialized",
        "| `gluon_same.specialize(net)`": "specialized",
        "| `gluon_same.deploy(net, (": "deployed",
        "| `gluon_same.onnx.export_model`": "onnxruntime",
    }.items():
        chosen_nets = [nets[name.strip()] for name in chosen]
        ratios = [float(row[f"{form}, ms"]) / float(row["stock, ms"]) for row in chosen_nets]
        (line,) = (line for line in README.splitlines() if words in line)
        assert line.endswith(" | ".join(["", *(f"{ratio:.2f}" for ratio in ratios)]) + " |")


def test_the_means_over_the_ten_nets():
    nets = rows("nets.csv")
    forms = ["padding first", "hybridized without flags", "hybridized", "specialized", "deployed"]
    forms += ["deployed bfloat16", "deployed int8", "onnxruntime", "onnxruntime int8", "OpenCV"]
    forms += ["PyTorch", "PyTorch frozen", "PyTorch compiled", "TensorFlow"]
    assert [name for name in nets[0] if name.endswith(", ms")][1:] == [f"{form}, ms" for form in forms]

    def over(form, other):
        both = [row for row in nets if row[f"{form}, ms"] and row[f"{other}, ms"]]
        return mean(float(row[f"{form}, ms"]) / float(row[f"{other}, ms"]) for row in both)

    assert cells("over stock") == [over(form, "stock") for form in forms]
    assert cells("deployed over it") == [over("deployed", form) for form in forms]


def test_the_range_of_the_ten_nets():
    nets = rows("nets.csv")
    least = {}
    for form in ("hybridized", "specialized"):
        ratios = sorted(float(row[f"{form}, ms"]) / float(row["stock, ms"]) for row in nets)
        least[form] = [f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}"]
    said = quoted(r"take (\S+) to (\S+) times as long hybridized, (\S+) to (\S+) times specialized")
    assert said == least["hybridized"] + least["specialized"]


def test_the_ratios_of_the_zoo():
    zoo, forms = rows("zoo.csv"), ("stock", "optimize_for", "onnxruntime")
    found = {}
    for isa in ("", "AVX2"):
        for threads in "12":
            alike = [row for row in zoo if (row["isa"], row["threads"]) == (isa, threads)]
            assert len(alike) == len({row["net"] for row in zoo}) == 54
            pairs = [
                [(row["deployed, ms"], row[f"{form}, ms"]) for row in alike if row[f"{form}, ms"]]
                for form in forms
            ]
            ratios = [[float(one) / float(other) for one, other in each] for each in pairs]
            found[isa, threads] = [mean(each) for each in ratios if each]
            most = [f"{mean(each)}, {max(each):.2f}" if each else "" for each in ratios]
            assert cells(f"{isa or 'AVX-512'}, {threads}") == most
    pattern = r"\[(\d+) nets\](?s:.*?) take (\S+) of stock, (\S+) of `opt[^`]*` and (\S+) of"
    assert quoted(pattern, README) == ["54", *found["", "1"]]


def test_the_times_of_nets_that_were_imported():
    nets = rows("imported.csv")
    found = {
        form: [float(row["deployed, ms"]) / float(row[f"{form}, ms"]) for row in nets]
        for form in ("onnxruntime", "stock")
    }
    pattern = (
        r"The (\d+) nets take (\S+) times (?s:.*?) average, (\S+) times at most, and (\S+) of the time"
    )
    said = quoted(pattern)
    over = found["onnxruntime"]
    assert said == [str(len(nets)), mean(over), f"{max(over):.2f}", mean(found["stock"])]
    slow = {row["net"] for row, ratio in zip(nets, over) if ratio > 2}
    swish = {"hardcorenas_a", "lcnet_050", "tv-mobilenet_v3_large", "tv-mobilenet_v3_small"}
    assert slow == {*swish, "ghostnet_100"}
    assert max(float(row["error"]) for row in nets) < 1e-3


def test_the_means_over_single_layers():
    layers = rows("layers.csv")
    pattern = r"times (\d+) layers (?s:.*?) means: eager (\S+), hybridized (\S+), specialized (\S+),"
    count, *means = quoted(pattern + r" and padding first (\S+) \(")
    assert int(count) == len(layers)
    assert means == [
        mean(float(row[f"{form}, us"]) / float(row["stock, us"]) for row in layers if row[f"{form}, us"])
        for form in ("eager", "hybridized", "specialized", "padding first")
    ]


def backend(column, channels, stock):
    return [
        float(row[column])
        for row in rows("keras_backend.csv")
        if row["format"] == f"channels_{channels}" and (row["stock"] == "right") == stock
    ]


def test_the_means_over_models_of_keras_mxnet():
    columns = [(column, channels) for channels in ("last", "first") for column in ("predict", "train")]
    for words, stock in {
        "13 models whose numbers are right without `install()`": True,
        "the other 10": False,
    }.items():
        assert cells(words) == [mean(backend(*column, stock)) for column in columns]
    largest = (
        f"{max(float(row[c]) for row in rows('keras_backend.csv') for c in ('predict', 'train')):.2f}"
    )
    text = text_of(ROOT / "notebooks" / "7_for_keras_backends.ipynb")
    means = [mean(backend(*column, stock)) for column in columns for stock in (True, False)]
    said = quoted(
        r"take (\S+) to (\S+) times as long as without it on average, and at most (\S+) times", text
    )
    assert said == [min(means), max(means), largest]
    assert quoted(r"whole model: up to (\d\.\d+)") == [largest]


def test_the_nets_that_were_imported():
    nets = rows("onnx_models.csv")

    def passed(exporter, opened=""):
        return sum(
            row["passed"] == "yes" and opened in row["open axes"]
            for row in nets
            if row["exporter"] == exporter
        )

    def count(exporter):
        return sum(row["exporter"] == exporter for row in nets)

    every, good, opened = quoted(
        r"Of (\d+) nets, [^,]*, (\d+) pass in all forms, (\d+) of them with open"
    )
    assert [int(every), int(good), int(opened)] == [count("old"), passed("old"), passed("old", "height")]
    for exporter, words in {"new": r"By the other exporter", "tf2onnx": r"by tf2onnx"}.items():
        good, every = quoted(words + r" (\d+) of (\d+)")
        assert [int(good), int(every)] == [passed(exporter), count(exporter)]


def test_the_layers_that_match_tensorflow():
    layers, gradients = quoted(
        r"(\d+) layers \([^)]*\) match TensorFlow 2.15 to float rounding, (\d+) of them", README
    )
    assert int(layers) == sum(test_golden.COUNTS.values()) == len(test_golden.CASES)
    assert int(gradients) == sum(test_golden.GRADIENT_COUNTS.values())


def test_the_errors_over_nets_of_keras_applications():
    nets = rows("keras_applications.csv")
    (every,) = quoted(r"All (\d+) files pass")
    assert int(every) == len(nets) == sum(row["passed"] == "yes" for row in nets)

    def figures(summary, *columns):
        return [f"{summary([float(row[name]) for row in nets if row[name]]):.1e}" for name in columns]

    numbers = [
        f"{float(n):.1e}"
        for n in quoted(
            r"error is (\S+) hybridized and specialized, (\S+) in Keras and (\S+) in onnxruntime; "
            r"the largest, of NASNetLarge, (\S+), (\S+) and (\S+?)\. "
        )
    ]
    forms = ("specialized", "Keras in float32", "ONNX file")
    assert figures(np.median, "hybridized") == numbers[:1]
    assert [*figures(np.median, *forms), *figures(max, *forms)] == numbers
