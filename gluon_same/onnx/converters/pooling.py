"""Poolings."""

from typing import Any, List, Tuple, Union

import numpy as np

from ... import nn
from ...geometry import Window
from ...importing import functions
from ..pending import Padded
from ..registry import converter
from ..values import FIX, Data, Flag, Known, Unsupported
from .windows import Attributes, Placed, simple, spatial_rank


@converter("MaxPool")
def max_pool(
    net: Any, x: Union[Data, Padded], *, kernel_shape: List[int], ceil_mode: Flag = 0,
    storage_order: int = 0, **window: Attributes,
) -> Any:  # fmt: skip
    ndim, places = spatial_rank(x), net.outputs > 1  # of elements of the data, which Pad changes
    pooled = Pooled(x, kernel_shape, window, ceil_mode, None if places else -np.inf)
    data = pooled.x
    if places or data.dtype.kind != "f" or pooled.exceeds_mxnet():
        order = (0, 1, *sorted(range(2, ndim + 2), reverse=bool(storage_order)))
        y = net.call(
            functions.max_by_slices, data, padding=pooled.pairs(), order=order if places else (),
            windows=tuple(zip(pooled.kernel, pooled.stride, pooled.dilation)),
            least=-np.inf if data.dtype.kind == "f" else int(np.iinfo(data.dtype).min),
            outputs=net.outputs, dtype=(data.dtype, np.int64) if places else None,
        )  # fmt: skip
        return [net.doubted(data, each) for each in (y if places else [y])]
    layer = (nn.MaxPool1D, nn.MaxPool2D, nn.MaxPool3D)[ndim - 1]
    return net.doubted(data, net.block(layer(**pooled.layer_arguments(), prefix=net.prefix()), data))


@converter("AveragePool")
def average_pool(
    net: Any, x: Union[Data, Padded], *, kernel_shape: List[int], ceil_mode: Flag = 0,
    count_include_pad: Flag = 0, **window: Attributes,
) -> Data:  # fmt: skip
    ndim, own = spatial_rank(x), Placed(x, kernel_shape, window).padding
    known_zero = not isinstance(own, str) and not any(map(any, own))
    # Elements that Pad added count; those that the pooling adds count if its attribute says so.
    pooled = Pooled(x, kernel_shape, window, ceil_mode, 0 if count_include_pad or known_zero else None)
    counted = bool(count_include_pad) or pooled.merged
    if counted and pooled.ceil and not isinstance(pooled.padding, str):
        # Padding that rounding up adds is never counted.
        counted = any(map(any, pooled.padding))
        if counted and (pooled.exceeds_mxnet() or not pooled.plain):
            pooled.pad(net)
            counted = False
    x = pooled.x
    if pooled.exceeds_mxnet():
        if x.shape[1] is None:
            raise Unsupported(f"the number of its channels {FIX}")
        pad = pooled.padding if isinstance(pooled.padding, str) else pooled.pairs()
        ones = Known([np.ones((x.shape[1], 1, *pooled.kernel), x.dtype)])
        how = {**pooled.arguments(), "pad": pad, "counted": counted}
        return net.doubted(x, net.call(functions.dilated_average, x, ones, channels=x.shape[1], **how))
    layer = (nn.AvgPool1D, nn.AvgPool2D, nn.AvgPool3D)[ndim - 1]
    how = dict(pooled.layer_arguments(), count_include_pad=counted, prefix=net.prefix())
    return net.doubted(x, net.block(layer(**how), x))


class Pooled(Placed):
    """Window of a pooling, which takes over padding of the data with ``value``."""

    def __init__(self, x, kernel_shape, given, ceil_mode, value):
        super().__init__(x, kernel_shape, given)
        self.x = self.over(x, value)
        self.sizes = self.x.shape[2:]
        plain = given.get("auto_pad", "NOTSET") == "NOTSET"
        self.ceil = bool(ceil_mode) and plain and max(self.stride) > 1
        # No window starts behind the data and the padding in front of it.
        self.plain = not isinstance(self.padding, str) and all(
            s <= k - after and before == after
            for s, k, (before, after) in zip(self.stride, self.spans, self.padding)
        )

    def layer_arguments(self):
        """Return the arguments of Gluon's pooling."""
        padding = self.pairs() if self.ceil and not self.plain else self.padding
        if any(max(pair) >= k for k, pair in zip(self.spans, padding) if not isinstance(padding, str)):
            raise Unsupported(f"its padding {padding} is not less than its window {self.kernel}")
        ceil, padding = self.ceil and self.plain, simple(padding)
        return dict(pool_size=self.kernel, strides=self.stride, padding=padding, ceil_mode=ceil)

    def pad(self, net: Any) -> None:
        """Pad the data, and leave to the pooling what rounding up adds."""
        pairs = ((0, 0), (0, 0), *self.padding)
        self.x = net.call(functions.pad, self.x, pairs=pairs, native=self.x.dtype.kind == "f")
        ends = zip(self.pairs(), self.padding)
        self.padding = tuple((0, more - end) for (_, more), (_, end) in ends)
        self.sizes, self.ceil = self.x.shape[2:], False

    def exceeds_mxnet(self) -> bool:
        """Return whether there is a dilation, or a window fits only with padding at the end."""
        if max(self.dilation) > 1:
            return True
        pairs = self.padding if None in self.sizes else self.pairs()
        if isinstance(pairs, str):
            return False
        sizes = [min(trials) for trials in zip(*self.x.trials)][2:]
        axes = zip(sizes, self.stride, self.spans, pairs)
        return any(s > 1 and n + 2 * before < span for n, s, span, (before, _) in axes)

    def pairs(self) -> Tuple[Tuple[int, int], ...]:
        """Return the padding of each axis, with what rounding up adds to the end."""
        if isinstance(self.padding, str):
            windows = [Window(k, s, self.padding) for k, s in zip(self.spans, self.stride)]
            if None in self.sizes:
                raise Unsupported(f"its padding {FIX}")
            return tuple(window.at(n) or (0, 0) for window, n in zip(windows, self.sizes))
        if not self.ceil:
            return self.padding
        # Each window starts before the end of the data, and before what its stride adds to the padding.
        axes = zip(self.stride, self.spans, self.padding)
        return tuple((b, min(a + stride, max(span, a + 1)) - 1) for stride, span, (b, a) in axes)


def _global_pool(kind):
    layers = [getattr(nn, f"Global{kind}Pool{n}D") for n in (1, 2, 3)]

    def convert(net: Any, x: Data) -> Data:
        return net.block(layers[spatial_rank(x) - 1](prefix=net.prefix()), x)

    return convert


converter("GlobalAveragePool")(_global_pool("Avg"))
converter("GlobalMaxPool")(_global_pool("Max"))
