"""Compare nets with OpenCV's DNN module, an independent reader of Darknet's files."""

import cv2
import mxnet as mx
import numpy as np
import pytest
from darknet_files import (
    features_cfg,
    features_shapes,
    file_of,
    random_weights,
    yolov3_tiny_cfg,
    yolov3_tiny_shapes,
)

from gluon_same import nn
from gluon_same.model_zoo import load_darknet_weights, tiny_darknet, yolov3_tiny
from gluon_same.model_zoo.yolo import ANCHORS, _decode

pytestmark = pytest.mark.skipif(
    not hasattr(cv2.dnn, "readNetFromDarknet"), reason="OpenCV 5 does not read Darknet's files"
)

TOLERANCE = 1e-4  #: Largest difference, relative to the largest number.


def files(folder, cfg, shapes):
    (folder / "net.cfg").write_text(cfg)
    (folder / "net.weights").write_bytes(file_of(random_weights(shapes)))
    return str(folder / "net.cfg"), str(folder / "net.weights")


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    cfg, weights = files(tmp_path_factory.mktemp("yolo"), yolov3_tiny_cfg(), yolov3_tiny_shapes())
    net = yolov3_tiny()
    load_darknet_weights(net, weights)
    net.hybridize()
    return net, cfg, weights


def picture(size):
    return np.random.uniform(size=(1, 3, size, size)).astype("float32")


def run(cfg, weights, x, outputs=None):
    # Read a new net each time, because some of OpenCV's layers keep the sizes of the first input.
    net = cv2.dnn.readNetFromDarknet(cfg, weights)
    net.setInput(x)
    return net.forward(outputs) if outputs else net.forward()


def difference(have, want):
    assert have.shape == want.shape
    assert np.isfinite(want).all() and 0.5 < want.std() < 50  # the numbers are meaningful
    return abs(have - want).max() / abs(want).max()


@pytest.mark.parametrize("size", [416, 320])
def test_raw_maps_are_those_of_opencv(detector, size):
    net, *paths = detector
    x = picture(size)
    want = run(*paths, x, ["conv_15", "conv_22"])
    for have, expected in zip(net.maps(mx.nd.array(x)), want):
        assert difference(have.asnumpy(), expected) <= TOLERANCE


@pytest.mark.parametrize("size", [416, 320])
def test_boxes_and_scores_are_those_of_opencv(detector, size):
    net, *paths = detector
    x = picture(size)
    maps = net.maps(mx.nd.array(x))
    found = run(*paths, x, ["yolo_16", "yolo_23"])
    for raw, rows, stride, anchors in zip(maps, found, (32, 16), (ANCHORS[3:], ANCHORS[:3])):
        # OpenCV returns a row for each cell and anchor: center, width and height relative to the image,
        # objectness, scores.
        rows = rows.reshape(-1, 3, 85)
        for n, (boxes, scores) in enumerate(_decode(mx.nd, raw, stride, anchors)):
            center, extent = rows[:, n, :2] * size, rows[:, n, 2:4] * size
            corners = np.concatenate([center - extent / 2, center + extent / 2], axis=1)
            np.testing.assert_allclose(boxes[0].asnumpy().T, corners, rtol=1e-3, atol=1e-2)
            np.testing.assert_allclose(scores[0].asnumpy().T, rows[:, n, 5:], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("size", [96, 97, 131, 417])
def test_features_are_those_of_opencv_at_other_sizes_too(tmp_path, size):
    cfg, weights = files(tmp_path, features_cfg(size), features_shapes())
    net = tiny_darknet()
    load_darknet_weights(net, weights)
    x = picture(size)
    assert difference(net(mx.nd.array(x))[1].asnumpy(), run(cfg, weights, x)) <= TOLERANCE


def spoil_epsilon(block):
    if isinstance(block, nn.BatchNorm):
        block._kwargs["eps"] = 1e-5  # Gluon's default


def spoil_slope(block):
    if isinstance(block, nn.LeakyReLU):
        block._alpha = 0.11


def spoil_pool(block):
    if isinstance(block, nn.MaxPool2D):
        block._pad_by("same_lower")


@pytest.mark.parametrize("spoil", [spoil_epsilon, spoil_slope, spoil_pool])
def test_the_comparison_detects_a_wrong_net(detector, spoil):
    _, *paths = detector
    net = yolov3_tiny()
    load_darknet_weights(net, paths[1])
    net.apply(spoil)
    x = picture(320)
    want = run(*paths, x, ["conv_15", "conv_22"])
    for have, expected in zip(net.maps(mx.nd.array(x)), want):
        assert difference(have.asnumpy(), expected) > 5 * TOLERANCE
