"""The detector YOLOv3-tiny, in one graph for every input size."""

import math
from numbers import Real
from typing import Any, Sequence, Tuple

from mxnet import autograd

from .. import nn
from ..arguments import number, whole
from ..arrays import classic
from .base import Net, make
from .darknet import STRIDE, TinyDarkNet, add_convolution

#: Widths and heights in pixels of Darknet's yolov3-tiny.cfg: three for the finer map, then three for the
#: coarser one.
ANCHORS = ((10, 14), (23, 27), (37, 58), (81, 82), (135, 169), (344, 319))


class YOLOv3TinyMaps(Net):
    """All layers of YOLOv3-tiny up to its two raw maps, in the order of Darknet's files.

    Parameters
    ----------
    classes : int
        Number of classes.
    prefix, params
        As for :class:`mxnet.gluon.HybridBlock`.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width), height and width 32 or more.

    Outputs:
        - **coarse**: shape (batch_size, 3 * (5 + classes), ceil(height / 32), ceil(width / 32)).
        - **fine**: the same with 16 for 32.

        For each of three anchors, the channels are x, y, width, height, objectness, and the classes.
    """

    _stride = STRIDE

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
        # At some sizes 2 * ceil(n / 32) exceeds ceil(n / 16) by one. Drop the surplus at the end, where
        # SAME puts its odd element.
        large = F.slice_like(large, route, axes=(2, 3))
        return self.coarse(x), self.fine(restore(F.concat(large, route, dim=1)))


class YOLOv3Tiny(Net):
    """YOLOv3-tiny as in Darknet's yolov3-tiny.cfg: raw maps in training, detections in inference.

    Parameters
    ----------
    classes : int, default 80
        Number of classes.
    anchors : sequence of six (width, height), optional
        Anchors in pixels; the first three belong to the finer map. Darknet's anchors by default.
    nms_thresh : float, default 0.45
        Largest overlap (intersection over union, from 0 to 1) of two boxes of a class. If it is
        exceeded, the box with the lower score is removed.
    valid_thresh : float, default 0.01
        Scores of detections exceed this number, from 0 to 1.
    nms_topk : int, default 400
        Number of boxes that compete, those with the highest scores; -1 for all.
    post_nms : int, default 100
        Largest number of detections to return.
    prefix, params
        As for :class:`mxnet.gluon.HybridBlock`.

    Attributes
    ----------
    maps : YOLOv3TinyMaps
        The net up to the raw maps, in both modes; ``maps.features`` is a :class:`TinyDarkNet`.

    Inputs:
        - **data**: shape (batch_size, in_channels, height, width), height and width 32 or more. For
          Darknet's weights, red, green and blue from 0 to 1.

    Outputs in inference:
        - **ids**: shape (batch_size, n, 1), the class of each box; -1 for no box.
        - **scores**: shape (batch_size, n, 1), objectness times the probability of the class, highest
          first; -1 for no box.
        - **boxes**: shape (batch_size, n, 4), x_min, y_min, x_max, y_max in pixels of the input.

        n is ``post_nms``, or fewer if the input has fewer cells. A box may be returned once for each of
        several classes, as in Darknet.

    Outputs in training (``autograd.record()`` or ``train_mode()``):
        - **coarse**: shape (batch_size, 3 * (5 + classes), ceil(height / 32), ceil(width / 32)).
        - **fine**: the same with 16 for 32.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or if the data have fewer than 32 rows or columns.

    Notes
    -----
    A hybridized net has one graph for each mode, which serves every size. ``export`` writes the graph
    for inference; ``net.maps.export`` writes the raw maps. As part of a larger hybridized block, the
    net has the mode of that block's first call.

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

    _stride = STRIDE

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
            "overlap_thresh": number("nms_thresh", nms_thresh, 1),
            "valid_thresh": number("valid_thresh", valid_thresh, 1),
            "topk": -1 if nms_topk == -1 else whole("nms_topk", nms_topk, 1),
        }
        self._post_nms = whole("post_nms", post_nms, 1)
        with self.name_scope():
            self.maps = YOLOv3TinyMaps(self._classes, prefix="")

    def forward(self, x: Any, *args: Any) -> Any:
        # A graph cannot branch on the mode. The maps therefore have a separate graph for training, and
        # this block's graph is for inference.
        return self.maps(x) if autograd.is_training() else super().forward(x, *args)

    def hybrid_forward(self, F: Any, x: Any) -> Tuple[Any, Any, Any]:
        coarse, fine, restore = classic(*self.maps(x))
        found = list(_decode(F, coarse, STRIDE, self._anchors[3:]))
        found += _decode(F, fine, STRIDE // 2, self._anchors[:3])
        boxes, scores = (F.concat(*parts, dim=2) for parts in zip(*found))
        how = dict(id_index=0, score_index=1, coord_start=2, force_suppress=False, **self._nms)
        rows = F.contrib.box_nms(_rows(F, boxes, scores, self._classes), **how)
        rows = F.slice(rows, begin=(None, 0, None), end=(None, self._post_nms, None))
        ends = (0, 1, 2, 6)
        columns = [F.slice_axis(rows, axis=2, begin=b, end=e) for b, e in zip(ends, ends[1:])]
        return tuple(map(restore, columns))


def yolov3_tiny(classes: int = 80, ctx: Any = None, **kwargs: Any) -> YOLOv3Tiny:
    """Create a :class:`YOLOv3Tiny`.

    Parameters
    ----------
    classes : int, default 80
        Number of classes.
    ctx : Context or list of Context, optional
        Where to initialize the parameters, with Gluon's default initializer. None does not initialize
        them; :func:`load_darknet_weights` does.
    **kwargs
        Arguments of the class.

    Returns
    -------
    YOLOv3Tiny

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or if ``pretrained`` is given.

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
    """Yield corners (batch, 4, cells) in pixels and scores (batch, classes, cells) for each anchor."""
    # Cell i of a map begins at pixel i * stride. ``arange_like`` creates the grid from the map, so that
    # the graph serves every size.
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
    """Return rows of class, score and corners, of shape (batch, classes * cells, 6)."""
    ids = F.broadcast_like(F.reshape(F.contrib.arange_like(scores, axis=1), (1, -1, 1)), scores)
    boxes = F.expand_dims(F.transpose(boxes, axes=(0, 2, 1)), axis=1)
    boxes = F.broadcast_axis(boxes, axis=1, size=classes)
    columns = [F.expand_dims(ids, axis=3), F.expand_dims(scores, axis=3), boxes]
    return F.reshape(F.concat(*columns, dim=3), (0, -3, 0))


def _check_anchors(anchors):
    try:
        pairs = tuple((width, height) for width, height in anchors)
    except (TypeError, ValueError):
        pairs = ()
    if len(pairs) != 6 or not all(_is_number(n) and 0 < n < math.inf for pair in pairs for n in pair):
        raise ValueError(
            f"anchors={anchors!r} is invalid: give six pairs (width, height) in pixels, above 0; the "
            "first three are those of the finer map"
        )
    return tuple((float(width), float(height)) for width, height in pairs)


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)
