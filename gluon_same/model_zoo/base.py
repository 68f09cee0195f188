"""What the nets share: a check of their input, and how their functions make them."""

from typing import Any, Dict, Tuple, Type

import mxnet as mx
from mxnet.gluon import HybridBlock
from mxnet.ndarray import NDArray

from .. import arguments


class Net(HybridBlock):
    """A net of one input that refuses an array it is not meant for, with an error that says why."""

    def forward(self, x: Any, *args: Any) -> Any:
        if isinstance(x, NDArray):
            arguments.check_rank(x.shape, "NCHW", f"data for {self.name}")
            self._check_input(x.shape)
        return super().forward(x, *args)

    def _check_input(self, shape: Tuple[int, ...]) -> None:
        """Raise a ValueError for a shape of four axes that does not fit.

        What traces the net by symbols, and knows their shapes, calls it too.
        """


def check_extent(name: str, shape: Tuple[int, ...], least: int) -> None:
    """Refuse images of less than ``least`` rows or columns."""
    if min(shape[2:]) < least:
        raise ValueError(
            f"data for {name} of shape {shape} is smaller than the stride of the net: give at least "
            f"{least} rows and {least} columns"
        )


def make(cls: Type[HybridBlock], ctx: Any, kwargs: Dict[str, Any]) -> HybridBlock:
    """A net of class ``cls``, with its parameters on ``ctx`` unless that is None."""
    if "pretrained" in kwargs:
        raise TypeError(
            f"pretrained={kwargs['pretrained']!r} is not offered, for no weights ship with gluon_same: "
            "leave it out, and read weights with net.load_parameters(path) or, for Darknet's files, "
            "gluon_same.model_zoo.load_darknet_weights(net, path)"
        )
    contexts = ctx if isinstance(ctx, (tuple, list)) else [ctx]
    if ctx is not None and not all(isinstance(c, mx.Context) for c in contexts):
        raise TypeError(f"ctx={ctx!r} is no context: give mx.cpu(), mx.gpu(0), or a list of such")
    net = cls(**kwargs)
    if ctx is not None:
        net.initialize(ctx=ctx)
    return net
