"""Nets with ``padding='same'``, with the interface of ``mxnet.gluon.model_zoo``.

Each net is a class and a lower-case function that creates an instance: ``yolov3_tiny(classes=20)``. The
package contains no weights; :func:`load_darknet_weights` reads Darknet's files.
"""

from .. import _mxnet  # noqa: F401  isort: skip  before mxnet

from typing import List

from .darknet import TinyDarkNet, tiny_darknet
from .weights import load_darknet_weights
from .yolo import YOLOv3Tiny, yolov3_tiny

__all__ = ["TinyDarkNet", "YOLOv3Tiny", "load_darknet_weights", "tiny_darknet", "yolov3_tiny"]


def __dir__() -> List[str]:
    return __all__
