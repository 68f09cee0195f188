import warnings

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon

from gluon_same import specialize
from gluon_same.model_zoo import YOLOv3Tiny, yolov3_tiny
from gluon_same.model_zoo.yolo import ANCHORS

CLASSES = 4


def make(**kwargs):
    mx.random.seed(1)
    net = YOLOv3Tiny(**{"classes": CLASSES, **kwargs})
    net.initialize(mx.init.Xavier(magnitude=6))
    return net


@pytest.fixture(scope="module")
def net():
    return make()


def picture(height, width=None, batch=1):
    return mx.nd.random.uniform(shape=(batch, 3, height, width or height))


def same(have, want):
    assert len(have) == len(want)
    for a, b in zip(have, want):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-3)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def detections(maps, anchors, overlap, least, most):
    """Return (class, score, corners) of one image by Darknet's formulas: a slow reference."""
    found = []
    for raw, stride, own in zip(maps, (32, 16), (anchors[3:], anchors[:3])):
        raw = raw.astype("float64").reshape(3, -1, *raw.shape[1:])
        for anchor, i, j in np.ndindex(3, *raw.shape[2:]):
            x, y, w, h, objectness, *classes = raw[anchor, :, i, j]
            cx, cy = (j + sigmoid(x)) * stride, (i + sigmoid(y)) * stride
            w, h = own[anchor][0] * np.exp(w), own[anchor][1] * np.exp(h)
            box = cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2
            for c, logit in enumerate(classes):
                score = sigmoid(objectness) * sigmoid(logit)
                if score > least:
                    found.append((score, c, box))
    kept = []
    for score, c, box in sorted(found, reverse=True):
        if all(c != other or iou(box, b) <= overlap for _, other, b in kept):
            kept.append((score, c, box))
    return kept[:most]


def iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return width * height / (sum(areas) - width * height)


@pytest.mark.parametrize("height, width, coarse, fine", [(416, 416, 13, 26), (320, 320, 10, 20)])
def test_training_returns_the_raw_maps(net, height, width, coarse, fine):
    with autograd.train_mode():
        shapes = [out.shape for out in net(picture(height, width))]
    channels = 3 * (5 + CLASSES)
    assert shapes == [(1, channels, coarse, coarse), (1, channels, fine, fine)]


def test_an_upsampled_map_larger_than_the_route_is_cut(net):
    assert [out.shape[2:] for out in net.maps(picture(33, 70))] == [(2, 3), (3, 5)]


def test_darknets_net_has_its_number_of_parameters():
    net = yolov3_tiny(ctx=mx.cpu())
    assert net.maps(picture(32))[0].shape == (1, 255, 1, 1)
    # The authors' yolov3-tiny.weights has 35,434,956 bytes, 20 of them in the header.
    count = sum(int(np.prod(p.shape)) for p in net.collect_params().values())
    assert 4 * count + 20 == 35434956


@pytest.mark.parametrize("height, width", [(64, 96), (33, 70)])
def test_inference_follows_darknets_formulas(height, width):
    anchors = tuple((w / 4, h / 4) for w, h in ANCHORS)
    net = make(anchors=anchors, nms_thresh=0.3, valid_thresh=0.05, nms_topk=-1, post_nms=60)
    x = picture(height, width, batch=2)
    raw = [out.asnumpy() for out in net.maps(x)]
    ids, scores, boxes = (out.asnumpy() for out in net(x))
    for n in range(2):
        want = detections([out[n] for out in raw], anchors, 0.3, 0.05, 60)
        assert len(want) > 10
        k = len(want)
        np.testing.assert_allclose(scores[n, :k, 0], [score for score, _, _ in want], rtol=1e-4)
        assert ids[n, :k, 0].tolist() == [c for _, c, _ in want]
        np.testing.assert_allclose(boxes[n, :k], [box for _, _, box in want], rtol=1e-3, atol=1e-2)
        assert (ids[n, k:] == -1).all() and (scores[n, k:] == -1).all()


def test_a_hybridized_net_equals_the_eager_net_at_every_size(net):
    pictures = [picture(64), picture(417), picture(33, 70), picture(96, 64, batch=2)]
    want = [net(x) for x in pictures]
    net.hybridize()
    for x, outs in zip(pictures, want):
        same(net(x), outs)
    net.hybridize(False)


@pytest.mark.parametrize("hybridize", [False, True])
def test_modes_may_alternate(hybridize):
    net = make()
    net.hybridize(hybridize)
    x = picture(64)
    for _ in range(2):
        with autograd.record():
            assert [out.shape[1] for out in net(x)] == [27, 27]
        with autograd.record(train_mode=False):
            assert len(net(x)) == 3
        assert len(net(x)) == 3


@pytest.mark.parametrize("hybridize", [False, True])
def test_gradients_reach_the_first_layer(hybridize):
    net = make()
    net.hybridize(hybridize)
    with autograd.record():
        loss = sum((out**2).mean() for out in net(picture(64)))
    loss.backward()
    for parameter in net.collect_params(".*weight|.*bias|.*gamma|.*beta").values():
        assert abs(parameter.grad()).sum().asscalar() > 0, parameter.name


def test_an_exported_net_gives_the_same_numbers_at_several_sizes(tmp_path):
    net = make()
    net.hybridize()
    net(picture(64))
    stem = str(tmp_path / "yolo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.export(stem)
        loaded = gluon.SymbolBlock.imports(f"{stem}-symbol.json", ["data"], f"{stem}-0000.params")
    for size in ((64, 64), (320, 320), (33, 70)):
        x = picture(*size)
        same(loaded(x), net(x))


def test_a_net_that_has_not_run_in_inference_cannot_be_exported(tmp_path):
    net = make()
    net.hybridize()
    with autograd.record():
        net(picture(64))
    with pytest.raises(RuntimeError, match="forward"):
        net.export(str(tmp_path / "yolo"))


def test_a_specialized_net_gives_the_same_numbers_and_refuses_other_sizes():
    net = make()
    x = picture(96, 64)
    want = net(x)
    block = specialize(net, x.shape)
    same(block(x), want)
    with pytest.raises(ValueError, match="specialized"):
        block(picture(64))


def test_parameter_files_load_into_another_net(net, tmp_path):
    path = str(tmp_path / "yolo.params")
    x = picture(64)
    want = net(x)
    net.save_parameters(path)
    other = yolov3_tiny(classes=CLASSES)
    other.load_parameters(path)
    same(other(x), want)


def test_a_small_image_has_as_many_rows_as_cells():
    net = make(classes=1)
    assert [out.shape for out in net(picture(32))] == [(1, 15, 1), (1, 15, 1), (1, 15, 4)]


def test_numpy_mode(numpy_mode):
    net = make()
    x = mx.np.ones((1, 3, 64, 64))
    want = net(x)
    assert all(isinstance(out, mx.np.ndarray) for out in want)
    net.hybridize()
    same(net(x), want)
    with autograd.record():
        assert [out.shape for out in net(x)] == [(1, 27, 2, 2), (1, 27, 4, 4)]


@pytest.mark.parametrize(
    "argument, value, error, allowed",
    [
        ("classes", 0, ValueError, "1 or more"),
        ("classes", -1, ValueError, "1 or more"),
        ("classes", 2.5, TypeError, "1 or more"),
        ("classes", "80", TypeError, "1 or more"),
        ("classes", True, TypeError, "1 or more"),
        ("anchors", ANCHORS[:3], ValueError, "six pairs"),
        ("anchors", (10, 14, 23, 27, 37, 58), ValueError, "six pairs"),
        ("anchors", ((0, 14), *ANCHORS[1:]), ValueError, "above 0"),
        ("anchors", ((10, float("nan")), *ANCHORS[1:]), ValueError, "above 0"),
        ("anchors", (("a", "b"), *ANCHORS[1:]), ValueError, "six pairs"),
        ("anchors", None, ValueError, "six pairs"),
        ("nms_thresh", 1.5, ValueError, "0 to 1"),
        ("nms_thresh", float("nan"), ValueError, "0 to 1"),
        ("valid_thresh", -0.1, ValueError, "0 to 1"),
        ("valid_thresh", "much", TypeError, "0 to 1"),
        ("nms_topk", 0, ValueError, "1 or more"),
        ("post_nms", 0, ValueError, "1 or more"),
    ],
)
def test_an_invalid_argument_is_named(argument, value, error, allowed):
    with pytest.raises(error, match=f"{argument}=.*{allowed}"):
        YOLOv3Tiny(**{argument: value})


@pytest.mark.parametrize("training", [False, True])
def test_images_smaller_than_the_stride_are_refused(net, training):
    with autograd.record(train_mode=training), pytest.raises(ValueError, match="at least 32 rows"):
        net(picture(31, 64))


def test_pretrained_is_refused():
    with pytest.raises(TypeError, match="pretrained=True.*contains no weights"):
        yolov3_tiny(pretrained=True)
