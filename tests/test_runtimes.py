"""Run an exported net with the C predict API of libmxnet.so, called as from a C program."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_uint, c_void_p

import mxnet as mx
import numpy as np
import pytest

from gluon_same import nn

CPU = 1


class Predictor:
    """``c_predict_api.h`` for one input named ``data``. It checks the status of every call."""

    def __init__(self, library, graph, parameters, shape):
        self.library = library
        self.handle = c_void_p()
        self._keys = (c_char_p * 1)(b"data")
        self.call(
            "MXPredCreate",
            c_char_p(graph),
            c_char_p(parameters),
            c_int(len(parameters)),
            c_int(CPU),
            c_int(0),
            c_uint(1),
            self._keys,
            *self._described(shape),
            byref(self.handle),
        )

    def reshaped(self, shape):
        """Return a predictor for another size that shares the parameters."""
        other = object.__new__(Predictor)
        other.library, other._keys, other.handle = self.library, self._keys, c_void_p()
        self.call(
            "MXPredReshape",
            c_uint(1),
            self._keys,
            *self._described(shape),
            self.handle,
            byref(other.handle),
        )
        return other

    def run(self, data):
        data = np.ascontiguousarray(data, dtype=np.float32)
        pointer = data.ctypes.data_as(POINTER(c_float))
        self.call("MXPredSetInput", self.handle, c_char_p(b"data"), pointer, c_uint(data.size))
        self.call("MXPredForward", self.handle)
        sizes, ndim = POINTER(c_uint)(), c_uint()
        self.call("MXPredGetOutputShape", self.handle, c_uint(0), byref(sizes), byref(ndim))
        out = np.empty([sizes[i] for i in range(ndim.value)], dtype=np.float32)
        pointer = out.ctypes.data_as(POINTER(c_float))
        self.call("MXPredGetOutput", self.handle, c_uint(0), pointer, c_uint(out.size))
        return out

    def free(self):
        self.call("MXPredFree", self.handle)

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self.library.MXGetLastError().decode()}")

    @staticmethod
    def _described(shape):
        return (c_uint * 2)(0, len(shape)), (c_uint * len(shape))(*shape)


@pytest.fixture
def library():
    library = ctypes.CDLL(mx.libinfo.find_lib_path()[0])
    library.MXGetLastError.restype = c_char_p
    return library


def make_net():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            nn.Conv2D(8, 3, 2, "same", use_bias=False),
            nn.BatchNorm(),
            nn.LeakyReLU(0.1),
            nn.MaxPool2D(2, 2, padding="same"),
            nn.Conv2D(6, 4, padding="same"),
            nn.MaxPool2D(2, 1, padding="same"),
            nn.AvgPool2D(3, 2, padding="same"),
            nn.Conv2DTranspose(4, 3, 2, "same"),
        )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


SHAPES = [(1, 3, 40, 41), (1, 3, 33, 20), (2, 3, 17, 16)]


def test_an_exported_net_in_the_c_predict_api(library, tmp_path):
    net = make_net()
    arrays = [mx.nd.random.normal(shape=shape) for shape in SHAPES]
    wants = [net(x).asnumpy() for x in arrays]
    net.export(str(tmp_path / "net"))
    graph = (tmp_path / "net-symbol.json").read_bytes()
    parameters = (tmp_path / "net-0000.params").read_bytes()

    first = Predictor(library, graph, parameters, SHAPES[0])
    predictors = [first, Predictor(library, graph, parameters, SHAPES[1]), first.reshaped(SHAPES[2])]
    for _ in range(2):
        for predictor, x, want in zip(predictors, arrays, wants):
            got = predictor.run(x.asnumpy())
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    for predictor in predictors:
        predictor.free()


def test_errors_are_reported(library):
    with pytest.raises(RuntimeError, match="MXPredCreate: "):
        Predictor(library, b"no graph", b"", (1, 3, 8, 8))
