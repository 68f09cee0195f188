"""Products of arrays in ONNX files."""

import mxnet as mx
import numpy as np
import pytest
from imported import close, reference

from gluon_same import nn
from gluon_same.onnx import export_model


def compared(net, path, *inputs):
    """Export a net, and compare the file with the net in onnxruntime."""
    want = net(*map(mx.nd.array, inputs))
    export_model(net, [x.shape for x in inputs], path)
    close(want, reference(path, *inputs))


def numbers(*shape):
    return np.random.RandomState(0).normal(size=shape).astype("f")


@pytest.mark.parametrize("heads", [1, 4])
def test_attention_between_two_sequences(heads, tmp_path):
    def code(F, queries, pairs):
        scores = F.contrib.interleaved_matmul_encdec_qk(queries, pairs, heads=heads)
        weights = F.softmax(scores, axis=-1)
        return scores, F.contrib.interleaved_matmul_encdec_valatt(pairs, weights, heads=heads)

    compared(nn.HybridLambda(code), tmp_path / "net.onnx", numbers(5, 3, 8), numbers(7, 3, 16))


def test_attention_to_one_part_of_several(tmp_path):
    """The queries are one of the results of an operator."""

    def code(F, x):
        queries, *pairs = F.split(x, num_outputs=3, axis=2)
        return F.contrib.interleaved_matmul_encdec_qk(queries, F.concat(*pairs, dim=2), heads=2)

    compared(nn.HybridLambda(code), tmp_path / "net.onnx", numbers(5, 3, 12))


def test_the_check_knows_lengths_that_are_repeated(tmp_path):
    """MXNet writes outside of the array for others."""

    def code(F, x, lengths):
        lengths = F.expand_dims(F.repeat(F.identity(lengths), repeats=2, axis=0), axis=1)
        lengths = F.broadcast_like(lengths, x, lhs_axes=(1,), rhs_axes=(1,))
        return F.softmax(x, axis=-1, length=F.cast(lengths, dtype="int32"), use_length=True)

    lengths = np.float32([3, 1, 7])
    compared(nn.HybridLambda(code), tmp_path / "net.onnx", numbers(6, 5, 7), lengths)
