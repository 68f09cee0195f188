"""Base class of the nets, which checks their input, and the function that creates them."""

from typing import Any, Dict, Tuple, Type

from mxnet.gluon import HybridBlock

from ..arrays import contexts
from ..nn.base import Checked


class Net(Checked):
    """A net with one input that raises an error for an array that does not fit."""

    _layout = "NCHW"
    _stride = 1  # pixels from one cell of the last map to the next

    def _check_array(self, x: Any) -> None:
        super()._check_array(x)
        self._check_input(x.shape)

    def _check_input(self, shape: Tuple[int, ...]) -> None:
        """Raise a ValueError for a shape of four axes that does not fit.

        The tracer also calls this method, with the shape of a symbol.
        """
        if min(shape[2:]) < self._stride:
            raise ValueError(
                f"data for {self.name} of shape {shape} is smaller than the stride of the net: give at "
                f"least {self._stride} rows and {self._stride} columns"
            )


def make(cls: Type[HybridBlock], ctx: Any, kwargs: Dict[str, Any]) -> HybridBlock:
    """Create a net of class ``cls``, and initialize its parameters on ``ctx`` unless it is None."""
    if "pretrained" in kwargs:
        raise TypeError(
            f"pretrained={kwargs['pretrained']!r} is not supported, because gluon_same contains no "
            "weights: omit it, and load weights with net.load_parameters(path) or, for Darknet's "
            "files, gluon_same.model_zoo.load_darknet_weights(net, path)"
        )
    found = None if ctx is None else contexts(ctx)
    net = cls(**kwargs)
    if found:
        net.initialize(ctx=found)
    return net
