"""Layers that prepare data, against NumPy and whole numbers of Python."""

import mxnet as mx
import numpy as np
import pytest
from small_models import functional, layer, write

from gluon_same.keras import load_model

FACTOR = 0xC6A4A7935BD1E995


def mixed(word):
    return word ^ (word >> 47)


def crossed(numbers, bins):
    """Return the bin of some numbers by the hash of TensorFlow's sparse.cross_hashed."""
    result = 0xDECAFCAFFE
    for number in numbers:
        other = mixed(int(number) * FACTOR % 2**64) * FACTOR % 2**64
        result = (result ^ FACTOR ^ other) * FACTOR % 2**64
        result = mixed(mixed(result) * FACTOR % 2**64)
    return result % bins


def crossing(folder, shape, **config):
    names = ["one", "other"]
    ids = [layer("InputLayer", n, batch_input_shape=[None, *shape], dtype="int64") for n in names]
    made = layer("HashedCrossing", "crossing", **config)
    made["inbound_nodes"] = [[[name, 0, 0, {}] for name in names]]
    return load_model(write(folder, functional(*ids, made, inputs=names)))


def test_hashes_of_two_numbers(tmp_path):
    known = [(3, 5, 412), (-7, 2, 49), (123456789, -1, 265), (0, 0, 304)]  # of Keras 3.15
    assert [crossed(pair, 1000) for *pair, _ in known] == [place for *_, place in known]
    x = np.random.RandomState(0).randint(-(2**62), 2**62, (30, 2, 1), "int64")
    x[:4, :, 0] = [pair for *pair, _ in known]
    for bins in (1000, 2**31 - 1):
        wanted = [crossed(pair, bins) for pair in x[..., 0]]
        net = crossing(tmp_path, (1,), num_bins=bins)
        given = [mx.nd.array(x[:, i], dtype="int64") for i in range(2)]
        for _ in range(2):
            np.testing.assert_array_equal(net(*given).asnumpy()[:, 0], wanted)
            net.hybridize()


def test_classes_of_hashes(tmp_path):
    net = crossing(tmp_path, (1,), num_bins=7, output_mode="one_hot")
    found = net(mx.nd.array([[3], [9]]), mx.nd.array([[5], [-2]])).asnumpy()
    np.testing.assert_array_equal(found, np.eye(7)[[crossed((3, 5), 7), crossed((9, -2), 7)]])


def test_hashes_of_several_numbers_of_a_sample_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not two or more whole numbers for each sample"):
        crossing(tmp_path, (3,), num_bins=7)
