"""Samples are split into batches."""

import mxnet as mx
import numpy as np
import pytest

from gluon_same.deployment.data import BATCHES, batches_of

SHAPE = (2, 3)


def samples(count):
    return np.arange(count * 3).reshape(count, 3)


def joined(data, shapes=(SHAPE,)):
    found = batches_of(data, shapes, mx.cpu())
    assert all(x.shape == shape for batch in found for x, shape in zip(batch, shapes))
    return [np.concatenate([batch[i].asnumpy() for batch in found]) for i in range(len(shapes))]


@pytest.mark.parametrize(
    "data",
    [
        samples(5),
        mx.nd.array(samples(5)),
        [samples(5)[:3], samples(5)[3:]],
        [(samples(5)[:1], np.zeros(1)), (samples(5)[1:], np.zeros(4))],
        mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(samples(5), np.zeros(5)), batch_size=3),
    ],
    ids=["array", "NDArray", "batches", "with labels", "DataLoader"],
)
def test_arrays_and_batches_of_any_size(data):
    (found,) = joined(data)
    np.testing.assert_array_equal(found, samples(4))


def test_several_inputs():
    batches = [(samples(2), np.ones((2, 5)), np.zeros(2))] * 2
    one, two = joined(batches, (SHAPE, (2, 5)))
    np.testing.assert_array_equal(one, np.concatenate([samples(2)] * 2))
    np.testing.assert_array_equal(two, np.ones((4, 5)))


def test_inputs_with_batches_of_their_own():
    one, two = joined([(samples(2), samples(6)), (samples(2), samples(6))], (SHAPE, (6, 3)))
    assert len(one) == 4 and len(two) == 12
    with pytest.raises(ValueError, match="4, 6 samples: give the same number of batches"):
        joined([(samples(4), samples(6))], (SHAPE, (6, 3)))


def test_an_endless_stream_ends():
    def stream():
        while True:
            yield samples(2)

    assert len(joined(stream())[0]) == 2 * BATCHES


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="1 arrays"):
        batches_of([samples(2)], (SHAPE, SHAPE), mx.cpu())
    with pytest.raises(ValueError, match="1 samples: give at least the 2"):
        batches_of(samples(1), (SHAPE,), mx.cpu())
    with pytest.raises(ValueError, match="4, 2 samples: give the same number"):
        batches_of([(samples(4), samples(2))], (SHAPE, SHAPE), mx.cpu())
    with pytest.raises(ValueError, match="not fit an input"):
        batches_of(np.zeros((2, 4)), (SHAPE,), mx.cpu())
    for value in (np.nan, np.inf, "a"):
        with pytest.raises(ValueError, match="not finite numbers"):
            batches_of(np.full(SHAPE, value), (SHAPE,), mx.cpu())
