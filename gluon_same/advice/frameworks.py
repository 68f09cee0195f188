"""Code that gives each framework the same windows.

It follows from :mod:`..geometry` and the plans of :mod:`..lowering`. No framework is imported.
"""

from typing import List

from .case import Advice, Case
from .gluon import gluon_same, stock_gluon
from .keras import keras, tensorflow
from .pytorch import pytorch


def advise(case: Case) -> List[Advice]:
    """Return what to write in gluon_same and in the other frameworks, gluon_same first.

    Examples
    --------
    >>> for advice in advise(Case((13, 13), (2, 2), (1, 1), (1, 1), op='pool')):
    ...     print(f'{advice.framework}: {"; ".join(advice.code)}')
    gluon_same: nn.MaxPool2D(2, strides=1, padding='same')
    Keras: keras.layers.MaxPooling2D(2, strides=1, padding='same')
    TensorFlow: tf.nn.max_pool2d(x, 2, strides=1, padding='SAME')
    ONNX: pads=[0, 0, 1, 1]
    PyTorch: layer = nn.MaxPool2d(2, stride=1); y = layer(F.pad(x, (0, 1, 0, 1), value=float('-inf')))
    stock Gluon: layer = nn.MaxPool2D(2, strides=1, padding=1); y = F.slice(layer(x), \
begin=(None, None, 1, 1), end=(None,) * 4)
    """
    return [step(case) for step in (gluon_same, keras, tensorflow, _onnx, pytorch, stock_gluon)]


def _onnx(case):
    pads = [before for before, _ in case.pads] + [after for _, after in case.pads]
    arguments, code = {"pads": pads}, f"pads={pads}"
    if case.op == "transpose":
        arguments["output_padding"] = list(case.extra)
        code += f", output_padding={list(case.extra)}" if any(case.extra) else ""
    return Advice("ONNX", (code,), _about_auto_pad(case), arguments)


def _about_auto_pad(case):
    if case.mode not in ("same", "same_lower"):
        return ""
    if case.op == "transpose":
        return "Do not use auto_pad: ONNX versions differ in which end gets the odd element."
    if max(case.dilation) > 1 or any(s > span for s, span in zip(case.stride, case.spans)):
        return "Do not use auto_pad: onnxruntime is wrong for dilated windows and for larger strides."
    word = "SAME_UPPER" if case.mode == "same" else "SAME_LOWER"
    return f"For every size: auto_pad={word!r}."
