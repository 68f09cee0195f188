"""Products of arrays against NumPy's einsum."""

import numpy as np
import pytest
from checks import check, check_sizes, random

from gluon_same.importing import functions

SIZES = dict(b=2, c=3, i=4, j=5, k=6, h=2, w=3)
EQUATIONS = [
    "ij,jk->ik",
    "ij,kj->ik",
    "ji,jk->ki",
    "bij,bjk->bik",
    "bij,bkj->bik",
    "bhij,bhjk->bhik",
    "bihw,bjhw->bij",
    "bij,jk->bik",
    "bijh,hjk->bik",
    "bij,bij->b",
    "bij,bij->bij",
    "i,j->ij",
    "i,i->",
    "ij->ji",
    "ij->j",
    "ij->",
    "bii->bi",
    "bii->b",
    "ij,jk,kh->ih",
    "bi,bj,bk->bijk",
    "ij,k->ij",
    "bjhw,chw->bcj",
    "...ij,...jk->...ik",
    "bij,bjk",
]


def arrays(equation, **other):
    sizes = {**SIZES, **other}
    terms = equation.split("->")[0].replace("...", "bc").split(",")
    return [random(*(sizes[label] for label in term), seed=i) for i, term in enumerate(terms)]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_sums_of_products(equation):
    inputs = arrays(equation)
    labels, out = functions.einsum_labels(equation, [x.shape for x in inputs])

    def reference(*inputs):
        return np.atleast_1d(np.einsum(equation, *inputs))

    how = dict(labels=labels, out=out, rtol=1e-4, atol=1e-4)
    check(functions.einsum, reference(*inputs), *inputs, **how)
    check_sizes(functions.einsum, reference, inputs, arrays(equation, b=3, i=7, j=1), **how)


@pytest.mark.parametrize(
    "one,other",
    [
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((4,), (4, 5)),
        ((4,), (2, 4, 5)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (2, 6, 4, 5)),
        ((2, 1, 3, 4), (6, 4, 5)),
        ((1, 3, 4), (7, 1, 4, 5)),
        ((2, 3, 1, 4), (2, 3, 4, 1)),
    ],
)
def test_matrices_multiply_over_any_ranks(one, other):
    a, b = random(*one), random(*other, seed=1)
    labels, out = functions.matmul_labels(one, other)
    want = np.atleast_1d(np.matmul(a, b))
    check(functions.einsum, want, a, b, labels=labels, out=out, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("equation", ["ij,jk->ikk", "ij,jk,k->i", "ij->ik", "ijk,jk->ik"])
def test_equations_that_do_not_fit_are_refused(equation):
    with pytest.raises(ValueError, match="equation"):
        functions.einsum_labels(equation, [(2, 3), (3, 4)])


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(
    "axes,ranks", [((1, 1), (2, 2)), ((2, 1), (3, 3)), ((1, 1), (2, 3)), ((3, 2), (4, 3))]
)
def test_batches_multiply_along_any_axes(axes, ranks, normalize):
    def unit(x, axis):
        return x / np.sqrt((x * x).sum(axis, keepdims=True)) if normalize else x

    shapes = [[2, 3, 4, 5][:rank] for rank in ranks]
    for shape, axis in zip(shapes, axes):
        shape[axis] = 6
    a, b = (random(*shape, seed=i) for i, shape in enumerate(shapes))
    want = np.stack(
        [
            np.tensordot(*pair, [[n - 1] for n in axes])
            for pair in zip(unit(a, axes[0]), unit(b, axes[1]))
        ]
    )
    want = want[:, None] if want.ndim == 1 else want
    check(functions.dot, want, a, b, axes=axes, ranks=ranks, normalize=normalize, rtol=1e-4, atol=1e-4)
