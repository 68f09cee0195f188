"""Functions that pick and place elements, against plain loops."""

import itertools

import mxnet as mx
import numpy as np
import pytest
from running import run

from gluon_same.importing import functions
from gluon_same.importing.block import Function

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(3, 4, 5)).astype("float32")
LARGER = RANDOM.normal(size=(5, 6, 7)).astype("float32")


def indices_of(shape, size):
    return RANDOM.randint(-size, size, shape).astype("int64")


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_takes_negative_indices_along_any_axis(axis):
    one, other = indices_of((2, 2), X.shape[axis]), indices_of((3, 1), LARGER.shape[axis])
    got = run(functions.gather, X, one, then=(LARGER, other), axis=axis)
    np.testing.assert_array_equal(got[0][0], X.take(one, axis))
    np.testing.assert_array_equal(got[1][0], LARGER.take(other, axis))


def test_gather_drops_the_axis_of_a_scalar_index():
    (got,) = run(functions.gather, X, np.array([-2]), axis=1, drop=True)
    np.testing.assert_array_equal(got, X[:, -2])


def test_gather_reaches_beyond_indices_of_float32():
    x = np.zeros(2**24 + 4, "int8")
    x[2**24 + 1] = 7
    (got,) = run(functions.gather, x, np.array([2**24 + 1, -3]))
    np.testing.assert_array_equal(got, [7, 7])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements(axis):
    pairs = []
    for x, shape in ((X, (3, 4, 5)), (LARGER, (2, 6, 3))):
        indices = indices_of(shape, x.shape[axis])
        want = np.empty(shape, "float32")
        for place in np.ndindex(*shape):
            source = list(place)
            source[axis] = indices[place]
            want[place] = x[tuple(source)]
        pairs.append((x, indices, want))
    (x, i, want), (y, j, other) = pairs
    got = run(functions.gather_elements, x, i, then=(y, j), axis=axis, rank=3)
    np.testing.assert_array_equal(got[0][0], want)
    np.testing.assert_array_equal(got[1][0], other)


@pytest.mark.parametrize("batch_dims,count", [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)])
def test_gather_nd(batch_dims, count):
    def example(x, more):
        size = min(x.shape[batch_dims : batch_dims + count])
        indices = indices_of((*x.shape[:batch_dims], *more, count), size)
        want = [
            [x[batch][tuple(row)] for row in indices[batch].reshape(-1, count)]
            for batch in np.ndindex(*x.shape[:batch_dims])
        ]
        shape = (*indices.shape[:-1], *x.shape[batch_dims + count :])
        return x, indices, np.array(want).reshape(shape)

    more = [(2, 3), (4, 1)]
    (x, i, want), (y, j, other) = (example(*each) for each in zip((X, LARGER), more))
    got = run(functions.gather_nd, x, i, then=(y, j), ranks=(i.ndim, want.ndim), batch_dims=batch_dims)
    np.testing.assert_array_equal(got[0][0], want)
    np.testing.assert_array_equal(got[1][0], other)


COMBINED = {
    "none": lambda old, new: new,
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("reduction", COMBINED)
def test_scatter_elements(reduction, axis, dtype):
    def example(x, shape):
        x = (x * 3).astype(dtype)
        updates = (RANDOM.normal(size=shape) * 3).astype(dtype)
        if reduction == "none":  # duplicates have no order
            line = RANDOM.permutation(x.shape[axis])[: shape[axis]]
            line = line.reshape([-1 if i == axis % 3 else 1 for i in range(3)])
            indices = np.broadcast_to(line - x.shape[axis] * (line % 2), shape).astype("int64")
        else:
            indices = indices_of(shape, x.shape[axis])
        want = x.copy()
        for place in np.ndindex(*shape):
            target = list(place)
            target[axis] = indices[place]
            want[tuple(target)] = COMBINED[reduction](want[tuple(target)], updates[place])
        return x, indices, updates, want

    *first, want = example(X, (2, 4, 3))
    *then, other = example(LARGER, (2, 3, 4))
    got = run(functions.scatter_elements, *first, then=then, axis=axis, rank=3, reduction=reduction)
    np.testing.assert_allclose(got[0][0], want, rtol=1e-6)
    np.testing.assert_allclose(got[1][0], other, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("reduction", COMBINED)
def test_scatter_nd(reduction, count):
    def example(x):
        every = list(itertools.product(*(range(n) for n in x.shape[:count])))
        if reduction == "none":
            chosen = [every[i] for i in RANDOM.permutation(len(every))[:3]]
        else:
            chosen = [every[i] for i in RANDOM.randint(0, len(every), 3)]
        indices = np.array(chosen).reshape(1, 3, count)
        indices = indices - (indices % 2) * x.shape[:count]
        updates = RANDOM.normal(size=(1, 3, *x.shape[count:])).astype("float32")
        want = x.copy()
        for place, update in zip(indices[0], updates[0]):
            place = tuple(place)
            want[place] = COMBINED[reduction](want[place], update)
        return x, indices, updates, want

    *first, want = example(X)
    *then, other = example(LARGER)
    got = run(functions.scatter_nd, *first, then=then, ranks=(3, 3), count=count, reduction=reduction)
    np.testing.assert_allclose(got[0][0], want, rtol=1e-6)
    np.testing.assert_allclose(got[1][0], other, rtol=1e-6)


def test_scatter_of_a_single_place():
    update = np.float32([7, 8, 9, 10, 11])
    (got,) = run(functions.scatter_nd, X, np.array([1, -1]), update, ranks=(3, 1), count=2)
    want = X.copy()
    want[1, -1] = update
    np.testing.assert_array_equal(got, want)


def test_scatter_never_writes_outside():
    x, places = np.zeros(4, "float32"), np.array([9, -9])
    (got,) = run(functions.scatter_elements, x, places, np.float32([1, 2]), axis=0, rank=1)
    np.testing.assert_array_equal(got, [2, 0, 0, 1])


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scatter_has_gradients(reduction):
    x, updates = mx.nd.array([1, 2, 3]), mx.nd.array([4, 5])
    x.attach_grad()
    updates.attach_grad()
    weights = mx.nd.array([10, 20, 30])
    with mx.autograd.record():
        y = functions.scatter_elements(
            mx.nd, x, mx.nd.array([2, 0], dtype="int64"), updates, axis=0, rank=1, reduction=reduction
        )
        total = (y * weights).sum()
    total.backward()
    kept = [0, 20, 0] if reduction == "none" else [10, 20, 30]
    np.testing.assert_array_equal(x.grad.asnumpy(), kept)
    np.testing.assert_array_equal(updates.grad.asnumpy(), [30, 10])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_one_hot_knows_negative_and_foreign_indices(axis, dtype):
    indices = np.array([[0, -1, 4], [3, 7, -6]])
    want = np.full((2, 3, 4), -2)
    for place in np.ndindex(2, 3):
        if -4 <= indices[place] < 4:
            want[place][indices[place]] = 5
    own = dict(depth=4, axis=axis, rank=2, values=(-2, 5), to=dtype)
    (got,) = run(functions.one_hot, indices, **own)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.moveaxis(want, -1, axis))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_topk_puts_the_lower_index_first_among_equals(axis, largest):
    x, other = (RANDOM.randint(0, 4, shape).astype("float32") for shape in ((9, 40), (30, 12)))
    got = run(functions.topk, x, then=(other,), k=7, axis=axis, rank=2, largest=largest)
    for each, (values, indices) in zip((x, other), got):
        order = np.argsort(-each if largest else each, axis=axis, kind="stable")
        order = order.take(range(7), axis)
        assert indices.dtype == "int64"
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, np.take_along_axis(each, order, axis))


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("name", ["gather_elements", "gather_nd", "gather_in_batch"])
def test_gradients_reach_the_elements_of_negative_indices(name, hybridized):
    """MXNet alone writes outside of the array."""
    indices, rows = np.array([[1, -1], [-4, 1], [-1, -1]]), np.arange(3)[:, None]
    if name == "gather_elements":
        arguments = dict(axis=1, rank=2)
    elif name == "gather_nd":
        indices, rows = np.stack([rows + 0 * indices - 3, indices], -1), rows - 3
        arguments = dict(ranks=(3, 2), signed=2)
    else:
        arguments = dict(ranks=(3, 2), signed=1)
    want = np.zeros((3, 4), "float32")
    np.add.at(want, (rows, indices[..., -1] if name == "gather_nd" else indices), 1)
    block = Function(getattr(functions, name), "Gather", **arguments)
    block.hybridize(hybridized)
    for _ in range(3):
        x = mx.nd.array(X[:, :, 0])
        x.attach_grad()
        with mx.autograd.record():
            y = block(x, mx.nd.array(indices, dtype="int64"))
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), want)


@pytest.mark.parametrize("hybridized", [False, True])
def test_indices_of_topk_are_without_gradients(hybridized):
    block = Function(functions.topk, "TopK", k=3, axis=1, rank=2)
    block.hybridize(hybridized)
    x = mx.nd.array(np.array([[3, 1, 2, 5]], "float32"))
    for used, want in ((False, [2, 2, 2, 2]), (True, [6, 2, 6, 6])):
        x.attach_grad()
        with mx.autograd.record():
            values, indices = block(x)
            loss = indices.astype("float32").sum() + 2 * x.sum()
            loss = loss + 4 * values.sum() if used else loss
        loss.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), [want])


def test_where_broadcasts_and_never_computes_with_the_other_element():
    condition, y = np.array([[1], [0], [2], [0]], "float32"), np.full((1, 1, 1), -np.inf, "float32")
    got = run(functions.select, condition, X, y, then=(condition[:1], LARGER, y))
    np.testing.assert_array_equal(got[0][0], np.where(condition != 0, X, y))
    np.testing.assert_array_equal(got[1][0], np.where(condition[:1] != 0, LARGER, y))


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_eye_like(k):
    got = run(functions.eye_like, X[0], then=(LARGER[0],), k=k)
    np.testing.assert_array_equal(got[0][0], np.eye(4, 5, k))
    np.testing.assert_array_equal(got[1][0], np.eye(6, 7, k))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("k", [-9, -1, 0, 2])
def test_triangles(k, upper):
    function = np.triu if upper else np.tril
    x = np.where(np.eye(4, 5), X, np.float32(np.inf))
    number = run(functions.trilu, x, then=(LARGER,), rank=3, upper=upper, diagonal=k)
    given = np.array([k])
    array = run(functions.trilu, x, given, then=(LARGER, given), rank=3, upper=upper)
    for got in (number, array):
        np.testing.assert_array_equal(got[0][0], function(x, k))
        np.testing.assert_array_equal(got[1][0], function(LARGER, k))


@pytest.mark.parametrize("kind,function", [("and", "&"), ("or", "|"), ("xor", "^")])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_bits(kind, function, dtype):
    x, y = (RANDOM.randint(0, 99, shape).astype(dtype) for shape in ((3, 4), (4,)))
    (got,) = run(functions.bitwise, x, y, kind=kind)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, eval(f"x {function} y"))
    (got,) = run(functions.bitwise, x, kind="not")
    np.testing.assert_array_equal(got, ~x)


@pytest.mark.parametrize("time_first", [True, False])
def test_sequences_are_reversed_up_to_their_lengths(time_first):
    def example(x):
        lengths = RANDOM.randint(1, x.shape[1 - time_first] + 1, x.shape[time_first])
        want = x.copy()
        for i, n in enumerate(lengths):
            part = (slice(n), i) if time_first else (i, slice(n))
            want[part] = x[part][::-1]
        return x, lengths, want

    (x, m, want), (y, n, other) = example(X), example(LARGER)
    got = run(functions.reverse_sequence, x, m, then=(y, n), time_first=time_first)
    np.testing.assert_array_equal(got[0][0], want)
    np.testing.assert_array_equal(got[1][0], other)


@pytest.mark.parametrize("ends,beyond", [((0, 0), (0, 0)), ((1, -1), (2, 0))])
def test_max_unpool(ends, beyond):
    def example(n, c, h, w):
        shape = (n, c, 2 * h + ends[0], 3 * w + ends[1])
        x = RANDOM.normal(size=(n, c, h, w)).astype("float32")
        indices = RANDOM.permutation(np.prod(shape))[: x.size].reshape(x.shape)
        want = np.zeros(np.prod(shape), "float32")
        for place in np.ndindex(*x.shape):
            want[indices[place]] = x[place]
        pads = [(0, 0), (0, 0), (0, beyond[0]), (0, beyond[1])]
        return x, indices, np.pad(want.reshape(shape), pads)

    (x, i, want), (y, j, other) = example(2, 3, 2, 4), example(1, 2, 5, 3)
    own = dict(strides=(2, 3), ends=ends, beyond=beyond)
    got = run(functions.max_unpool, x, i, then=(y, j), **own)
    np.testing.assert_array_equal(got[0][0], want)
    np.testing.assert_array_equal(got[1][0], other)
