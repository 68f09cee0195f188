"""A layer that looks up rows of a table."""

from typing import Any

from mxnet.gluon import nn as stock


class Embedding(stock.Embedding):
    """Gluon's ``Embedding``, but an index that the table lacks raises an error, as in Keras 2.

    Gluon takes the first or the last row instead, and Keras 3 counts negative indices from the end.
    """

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.take(weight, F.cast(x, dtype="int64"), axis=0, mode="raise")
