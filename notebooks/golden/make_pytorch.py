"""Make pytorch.npz: results of PyTorch with its own padding, with which the notebooks compare.

PyTorch has a separate environment::

    python3.11 -m venv /tmp/pt
    /tmp/pt/bin/pip install torch numpy --extra-index-url https://download.pytorch.org/whl/cpu
    /tmp/pt/bin/python notebooks/golden/make_pytorch.py

The file contains outputs by ``<case of inputs.py>, <padding>``, channels first, and the error that
PyTorch raises for a strided ``padding='same'``. The padding is one of

- a number, as the layer takes it;
- ``F.pad``: padding by hand before the layer, with zeros also for averages, which is the usual recipe;
- ``crop``: an average that does not count the padding, without its first row and column;
- ``same``: PyTorch's word.
"""

from pathlib import Path

import inputs
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

TARGET = Path(__file__).with_name("pytorch.npz")

#: What to compute: padding of the layer; four numbers are F.pad's left, right, top and bottom.
PADDINGS = {
    "max pool 2x2 on 13x13": (0, 1, (0, 1, 0, 1)),
    "average pool 2x2 on 5x5": (0, 1, (0, 1, 0, 1), "crop"),
    "conv 2x2 on 5x5": (0, 1, (0, 1, 0, 1), "same"),
    "conv 3x3 stride 2 on 6x6": (0, 1, (0, 1, 0, 1)),
    "conv 3x3 stride 2 on 7x7": (0, 1),
    "conv 4x1 on 100x20": ((1, 0), (2, 0), "same"),
}


def compute(case, padding):
    """Return the output of one layer."""
    x = torch.from_numpy(inputs.data(case).transpose(0, 3, 1, 2).copy())
    if padding == "crop":
        return nn.AvgPool2d(2, 1, padding=1, count_include_pad=False)(x)[:, :, 1:, 1:].numpy()
    by_hand = isinstance(padding, tuple) and len(padding) == 4
    if by_hand:
        x = F.pad(x, padding, value=float("-inf") if case.kind == "max" else 0)
        padding = 0
    if case.kind == "conv":
        layer = nn.Conv2d(1, 1, case.kernel, case.stride, padding, bias=False)
        layer.weight.data = torch.from_numpy(inputs.weight(case).transpose(3, 2, 0, 1).copy())
    else:
        pool = nn.MaxPool2d if case.kind == "max" else nn.AvgPool2d
        layer = pool(case.kernel, case.stride, padding)
    return layer(x).detach().numpy()


def label(padding):
    """Return the name of a padding in the file."""
    return "F.pad" if isinstance(padding, tuple) and len(padding) == 4 else str(padding)


def main():
    found = {
        f"{name}, {label(padding)}": compute(inputs.CASES[name], padding)
        for name, paddings in PADDINGS.items()
        for padding in paddings
    }
    try:
        nn.Conv2d(1, 1, 3, stride=2, padding="same")
    except ValueError as error:
        found["error"] = str(error)
    found["version"] = torch.__version__.split("+")[0]
    np.savez_compressed(TARGET, **found)


if __name__ == "__main__":
    main()
