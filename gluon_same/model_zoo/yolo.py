"""YOLOv3-tiny, the detector, in one graph for every input size."""

import math
from typing import Any, Sequence, Tuple

from mxnet import autograd

from .. import nn
from ..arguments import whole
from ..symbols import classic
from .base import Net, check_extent, make
from .darknet import STRIDE, TinyDarkNet, add_convolution

#: Widths and heights in pixels, from Darknet's yolov3-tiny.cfg: three for the finer map, then three
#: for the coarser one.
ANCHORS = ((10, 14), (23, 27), (37, 58), (81, 82), (135, 169), (344, 319))


class YOLOv3TinyMaps(Net):
    """All layers of YOLOv3-tiny up to its two raw maps, in the order of Darknet's files.

    Parameters
    ----------
    classes : int
        Number of classes.
    prefix, params
        As :class:`mxnet.gluon.HybridBlock`'s.


    Inputs:
        - **data**: shape (batch_size, in_channels, height, width), height and width 32 or more.

    Outputs:
        - **coarse**: shape (batch_size, 3 * (5 + classes), ceil(height / 32), ceil(width / 32)).
        - **fine**: the same with 16 for 32.

        For each of three anchors, the channels are x, y, width, height, objectness, and the classes.
    """

    def __init__(self, classes: int = 80, **kwargs: Any):
        super().__init__(**kwargs)
        channels = 3 * (5 + whole("classes", classes, 1))
        with self.name_scope():
            # load_darknet_weights reads the children's weights in the order they have here.
            self.features = TinyDarkNet(prefix="features_")
            self.neck = _layers("neck_", (256, 1))
            self.coarse = _layers("coarse_", (512, 3), channels)
            self.lateral = _layers("lateral_", (128, 1))
            self.fine = _layers("fine_", (256, 3), channels)

    def hybrid_forward(self, F: Any, x: Any) -> Tuple[Any, Any]:
        route, x = self.features(x)
        x = self.neck(x)
        small, route, restore = classic(self.lateral(x), route)
        large = F.UpSampling(small, scale=2, sample_type="nearest")
        # Twice a map of ceil(n / 32) is one more than ceil(n / 16) at some sizes: drop the surplus at
        # the end, which is where SAME has its odd element.
        large = F.slice_like(large, route, axes=(2, 3))
        return self.coarse(x), self.fine(restore(F.concat(large, route, dim=1)))

    def _check_input(self, shape):
        check_extent(self.name, shape, STRIDE)


class YOLOv3Tiny(Net):
    """YOLOv3-tiny as in Darknet's yolov3-tiny.cfg: raw maps in training, detections in inference.

    Parameters
    ----------
    classes : int, default 80
        Number of classes.
    anchors : sequence of six (width, height), optional
        Anchors in pixels; the first three belong to the finer map. Darknet's own by default.
    nms_thresh : float, default 0.45
        Of two boxes of a class that overlap by more (intersection over union), the one of the lower
        score goes. Between 0 and 1.
    valid_thresh : float, default 0.01
        A detection has a higher score. Between 0 and 1.
    nms_topk : int, default 400
        Number of boxes with the highest scores that compete; -1 for all.
    post_nms : int, default 100
        Number of detections to return at most.
    prefix, params
        As :class:`mxnet.gluon.HybridBlock`'s.

    Attributes
    ----------
    maps : YOLOv3TinyMaps
        The net up to the raw maps, whatever the mode; ``maps.features`` is a :class:`TinyDarkNet`.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width), height and width 32 or more. For
          Darknet's weights, red, green and blue from 0 to 1.

    Outputs in inference:
        - **ids**: shape (batch_size, n, 1), a box's class, -1 for no box.
        - **scores**: shape (batch_size, n, 1), objectness times the class's probability, the highest
          first; -1 for no box.
        - **boxes**: shape (batch_size, n, 4), x_min, y_min, x_max, y_max in pixels of the input.

        n is ``post_nms``, or less where the input has fewer cells than that. A box may come once for
        each of several classes, as in Darknet.

    Outputs in training (``autograd.record()`` or ``train_mode()``):
        - **coarse**: shape (batch_size, 3 * (5 + classes), ceil(height / 32), ceil(width / 32)).
        - **fine**: the same with 16 for 32.

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, and for data of less than 32 rows or columns.

    Notes
    -----
    Hybridized, the net holds one graph for each mode, and each serves every size. ``export`` writes
    the one for inference; ``net.maps.export`` writes the raw maps. As a part of a larger hybridized
    block, the net has the mode in which that block was first called.

    Examples
    --------
    >>> import mxnet as mx
    >>> net = YOLOv3Tiny(classes=20)
    >>> net.initialize()
    >>> x = mx.nd.zeros((1, 3, 64, 64))
    >>> [out.shape for out in net(x)]
    [(1, 100, 1), (1, 100, 1), (1, 100, 4)]
    >>> with mx.autograd.record():
    ...     [out.shape for out in net(x)]
    [(1, 75, 2, 2), (1, 75, 4, 4)]
    """

    def __init__(
        self,
        classes: int = 80,
        anchors: Sequence[Tuple[float, float]] = ANCHORS,
        nms_thresh: float = 0.45,
        valid_thresh: float = 0.01,
        nms_topk: int = 400,
        post_nms: int = 100,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._classes = whole("classes", classes, 1)
        self._anchors = _check_anchors(anchors)
        self._nms = {
            "overlap_thresh": _check_share("nms_thresh", nms_thresh),
            "valid_thresh": _check_share("valid_thresh", valid_thresh),
            "topk": -1 if nms_topk == -1 else whole("nms_topk", nms_topk, 1),
        }
        self._post_nms = whole("post_nms", post_nms, 1)
        with self.name_scope():
            self.maps = YOLOv3TinyMaps(self._classes, prefix="")

    def forward(self, x: Any, *args: Any) -> Any:
        # A graph does not know its mode. So the maps have a graph of their own, for training, and
        # this block's graph, which holds them too, is for inference.
        return self.maps(x) if autograd.is_training() else super().forward(x, *args)

    def hybrid_forward(self, F: Any, x: Any) -> Tuple[Any, Any, Any]:
        coarse, fine, restore = classic(*self.maps(x))
        found = [
            *_decode(F, coarse, STRIDE, self._anchors[3:]),
            *_decode(F, fine, STRIDE // 2, self._anchors[:3]),
        ]
        boxes, scores = (F.concat(*parts, dim=2) for parts in zip(*found))
        rows = F.contrib.box_nms(
            _rows(F, boxes, scores, self._classes),
            id_index=0,
            score_index=1,
            coord_start=2,
            force_suppress=False,
            **self._nms,
        )
        rows = F.slice(rows, begin=(None, 0, None), end=(None, self._post_nms, None))
        ends = (0, 1, 2, 6)
        columns = [F.slice_axis(rows, axis=2, begin=b, end=e) for b, e in zip(ends, ends[1:])]
        return tuple(map(restore, columns))

    def _check_input(self, shape):
        check_extent(self.name, shape, STRIDE)


def yolov3_tiny(classes: int = 80, ctx: Any = None, **kwargs: Any) -> YOLOv3Tiny:
    """Make a :class:`YOLOv3Tiny`.

    Parameters
    ----------
    classes : int, default 80
        Number of classes.
    ctx : Context or list of Context, optional
        Where to initialize the parameters, with Gluon's default initializer. None leaves that to
        ``net.initialize`` or :func:`load_darknet_weights`.
    **kwargs
        Of the class.

    Returns
    -------
    YOLOv3Tiny

    Raises
    ------
    TypeError, ValueError
        For an argument that does not fit, or ``pretrained``, since no weights ship.

    Examples
    --------
    >>> yolov3_tiny(classes=3).maps.coarse[-1]
    Conv2D(None -> 24, kernel_size=(1, 1), stride=(1, 1))
    """
    return make(YOLOv3Tiny, ctx, {"classes": classes, **kwargs})


def _layers(prefix, convolution, out_channels=None):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        add_convolution(net, *convolution)
        if out_channels is not None:
            net.add(nn.Conv2D(out_channels, 1))
    return net


def _decode(F, raw, stride, anchors):
    """For each anchor, corners (batch, 4, cells) in pixels and scores (batch, classes, cells)."""
    # Cell i of a map begins at pixel i * stride, at every input size. The grid comes from the map
    # itself, so that the graph holds no size.
    columns = F.reshape(F.contrib.arange_like(raw, axis=3), (1, 1, 1, -1))
    lines = F.reshape(F.contrib.arange_like(raw, axis=2), (1, 1, -1, 1))
    for part, (width, height) in zip(F.split(raw, num_outputs=3, axis=1), anchors):
        x, y, w, h, objectness = (F.slice_axis(part, axis=1, begin=i, end=i + 1) for i in range(5))
        x = F.broadcast_add(F.sigmoid(x), columns) * stride
        y = F.broadcast_add(F.sigmoid(y), lines) * stride
        w = F.exp(w) * (width / 2)
        h = F.exp(h) * (height / 2)
        boxes = F.concat(x - w, y - h, x + w, y + h, dim=1)
        classes = F.sigmoid(F.slice_axis(part, axis=1, begin=5, end=None))
        scores = F.broadcast_mul(F.sigmoid(objectness), classes)
        yield F.reshape(boxes, (0, 0, -1)), F.reshape(scores, (0, 0, -1))


def _rows(F, boxes, scores, classes):
    """Rows of class, score and corners, (batch, classes * cells, 6)."""
    ids = F.broadcast_like(F.reshape(F.contrib.arange_like(scores, axis=1), (1, -1, 1)), scores)
    boxes = F.expand_dims(F.transpose(boxes, axes=(0, 2, 1)), axis=1)
    boxes = F.broadcast_axis(boxes, axis=1, size=classes)
    columns = [F.expand_dims(ids, axis=3), F.expand_dims(scores, axis=3), boxes]
    return F.reshape(F.concat(*columns, dim=3), (0, -3, 0))


def _check_anchors(anchors):
    try:
        pairs = tuple((_number(width), _number(height)) for width, height in anchors)
    except (TypeError, ValueError):
        pairs = ()
    if len(pairs) != 6 or not all(0 < n < math.inf for pair in pairs for n in pair):
        raise ValueError(
            f"anchors={anchors!r} does not fit: give six pairs (width, height) in pixels, above 0; the "
            "first three are those of the finer map"
        )
    return pairs


def _number(value):
    """``value`` as a float; a TypeError for text and for truth values, which float() takes."""
    if isinstance(value, (str, bytes, bool)):
        raise TypeError
    return float(value)


def _check_share(name, value):
    try:
        fits = 0 <= _number(value) <= 1
    except TypeError:
        raise TypeError(f"{name}={value!r} is not a number: give one from 0 to 1") from None
    if not fits:
        raise ValueError(f"{name}={value!r} is out of range: give a number from 0 to 1")
    return float(value)
