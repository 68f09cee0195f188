"""Make ONNX files with PyTorch, and onnx.npz with its results, for the notebook about PyTorch.

PyTorch has a separate environment::

    python3.11 -m venv /tmp/pt
    /tmp/pt/bin/pip install torch onnx onnxscript scikit-learn \\
        --extra-index-url https://download.pytorch.org/whl/cpu
    /tmp/pt/bin/python notebooks/golden/make_onnx.py

``digits.onnx`` is a small net that was trained on the digits 0 to 4 of scikit-learn, for every batch and
image size, written by ``torch.export``. ``snake.onnx`` has an operator that ONNX lacks, and a crop that
depends on the size of the image; it is written by the exporter that traces. ``onnx.npz`` contains inputs
and outputs of both by ``<file>, <number>, x`` and ``y``.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).parent


def convolution(inputs, outputs, **options):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False, **options),
        nn.BatchNorm2d(outputs),
        nn.Hardswish(),
    )


class Digits(nn.Module):
    """A net of two sizes: the features of the smaller maps are added to the larger ones."""

    def __init__(self):
        super().__init__()
        self.stem = convolution(1, 16)
        self.small = convolution(16, 32, stride=2)
        self.smaller = nn.Sequential(nn.MaxPool2d(2, ceil_mode=True), convolution(32, 32, groups=4))
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        x = self.small(self.stem(x))
        x = x + F.interpolate(self.smaller(x), size=x.shape[-2:], mode="bilinear")
        return self.head(F.dropout(x.mean((2, 3)), 0.2, self.training))


class Snake(torch.autograd.Function):
    """``x + sin(alpha x)^2 / alpha``, as an operator of its own in the file."""

    @staticmethod
    def forward(context, x, alpha):
        return x + (alpha * x).sin() ** 2 / alpha

    @staticmethod
    def symbolic(graph, x, alpha):
        return graph.op("audio::Snake", x, alpha_f=alpha).setType(x.type())


class Waves(nn.Module):
    """A convolution with snake, whose result is cropped to the middle half."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, padding=2)

    def forward(self, x):
        x = Snake.apply(self.conv(x), 0.5)
        quarter = x.shape[-1] // 4
        return x[:, :, quarter:-quarter]


def trained():
    """Return the net for digits, trained on 0 to 4."""
    digits = load_digits()
    few = digits.target[:1200] < 5
    x = torch.from_numpy(digits.images[:1200][few, None] / 16).float()
    target = torch.from_numpy(digits.target[:1200][few])
    net = Digits()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(20):
        for batch in torch.randperm(len(x)).split(50):
            optimizer.zero_grad()
            F.cross_entropy(net(x[batch]), target[batch]).backward()
            optimizer.step()
    return net.eval()


def strip(path):
    """Delete the exporter's notes, which contain paths of this machine."""
    model = onnx.load(path)
    graph = model.graph
    for each in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        each.ClearField("metadata_props")
        each.ClearField("doc_string")
    graph.ClearField("value_info")
    onnx.save(model, path)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net, waves = trained(), Waves().eval()
    torch.onnx.export(
        net, (torch.zeros(2, 1, 8, 8),), HERE / "digits.onnx",
        dynamo=True, opset_version=18, external_data=False, verbose=False,
        dynamic_shapes=({0: "batch", 2: "height", 3: "width"},),
    )  # fmt: skip
    torch.onnx.export(
        waves, (torch.zeros(2, 1, 64),), str(HERE / "snake.onnx"),
        dynamo=False, opset_version=17, custom_opsets={"audio": 1}, input_names=["x"],
        dynamic_axes={"x": {0: "batch", 2: "length"}},
    )  # fmt: skip
    for path in HERE.glob("*.onnx"):
        strip(path)
    found = {"version": torch.__version__.split("+")[0]}
    for name, model, shapes in (
        ("digits", net, [(2, 1, 8, 8), (1, 1, 15, 21)]),
        ("snake", waves, [(2, 1, 64)]),
    ):
        for number, shape in enumerate(shapes):
            x = torch.rand(shape)
            found[f"{name}, {number}, x"] = x.numpy()
            with torch.no_grad():
                found[f"{name}, {number}, y"] = model(x).numpy()
    np.savez_compressed(HERE / "onnx.npz", **found)


if __name__ == "__main__":
    main()
