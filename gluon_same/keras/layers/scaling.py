"""Normalizing and scaling blocks that Gluon lacks."""

from typing import Any, Optional, Sequence

from mxnet.gluon import HybridBlock, nn


class Affine(HybridBlock):
    """Affine map ``x * scale + offset``, or ``(x - offset) / scale``, with constants.

    Parameters
    ----------
    shape : tuple of int
        Shape of both constants, with size 1 for axes along which they do not vary.
    standardize : bool
        Whether to compute ``(x - offset) / scale``.
    """

    def __init__(self, shape: Sequence[int], standardize: bool, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._standardize = standardize
        with self.name_scope():
            for name, start in (("scale", "ones"), ("offset", "zeros")):
                parameter = self.params.get(name, shape=tuple(shape), init=start, grad_req="null")
                setattr(self, name, parameter)

    def hybrid_forward(self, F: Any, x: Any, scale: Any, offset: Any) -> Any:
        if self._standardize:
            return F.broadcast_div(F.broadcast_sub(x, offset), scale)
        return F.broadcast_add(F.broadcast_mul(x, scale), offset)


class Scale(HybridBlock):
    """Product ``x * gamma`` with one factor per element of an axis, as in ConvNeXt's LayerScale.

    Parameters
    ----------
    shape : tuple of int
        Shape of the factors.
    """

    def __init__(self, shape: Sequence[int], prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        with self.name_scope():
            self.gamma = self.params.get("gamma", shape=tuple(shape))

    def hybrid_forward(self, F: Any, x: Any, gamma: Any) -> Any:
        return F.broadcast_mul(x, gamma)


class Linear(HybridBlock):
    """Affine map ``x * scale + offset`` with two numbers."""

    def __init__(self, scale: float, offset: float, prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._scale = scale
        self._offset = offset

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = x * self._scale if self._scale != 1 else x
        return x + self._offset if self._offset else x


class GroupNorm(HybridBlock):
    """Group normalization of channels-first data, with a factor and an offset per channel.

    Parameters
    ----------
    channels, groups : int
    epsilon : float
    center, scale : bool
        Whether to add an offset, and to multiply by a factor.
    """

    def __init__(
        self,
        channels: int,
        groups: int,
        epsilon: float,
        center: bool,
        scale: bool,
        prefix: Optional[str] = None,
    ):
        super().__init__(prefix=prefix)
        self._groups = groups
        self._epsilon = epsilon
        with self.name_scope():
            self.ones = self.params.get("ones", shape=(groups,), init="ones", grad_req="null")
            self.zeros = self.params.get("zeros", shape=(groups,), init="zeros", grad_req="null")
            self.gamma = self.params.get("gamma", shape=(channels,)) if scale else None
            self.beta = self.params.get("beta", shape=(channels,)) if center else None

    def hybrid_forward(
        self, F: Any, x: Any, ones: Any, zeros: Any, gamma: Any = None, beta: Any = None
    ) -> Any:
        grouped = F.InstanceNorm(F.reshape(x, (0, self._groups, -1)), ones, zeros, eps=self._epsilon)
        y = F.reshape(F.reshape_like(grouped, x), (0, 0, -1))
        if gamma is not None:
            y = F.broadcast_mul(y, F.reshape(gamma, (1, -1, 1)))
        if beta is not None:
            y = F.broadcast_add(y, F.reshape(beta, (1, -1, 1)))
        return F.reshape_like(y, x)


class TrailingLayerNorm(nn.LayerNorm):
    """Layer normalization over several trailing axes.

    Parameters
    ----------
    leading : int
        Number of axes before them.
    **kwargs
        As for :class:`mxnet.gluon.nn.LayerNorm`.
    """

    def __init__(self, leading: int, **kwargs: Any):
        super().__init__(**kwargs)
        self._leading = leading

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:
        merged = F.reshape(x, shape=(*(0,) * self._leading, -1))
        return F.reshape_like(super().hybrid_forward(F, merged, gamma, beta), x)


class RMSNorm(HybridBlock):
    """Division by the root mean square along some axes.

    Parameters
    ----------
    axis : tuple of int
    shape : tuple of int
        Shape of the factors, with size 1 for axes along which they do not vary.
    epsilon : float
    """

    def __init__(
        self, axis: Sequence[int], shape: Sequence[int], epsilon: float, prefix: Optional[str] = None
    ):
        super().__init__(prefix=prefix)
        self._axis = tuple(axis)
        self._epsilon = epsilon
        with self.name_scope():
            self.gamma = self.params.get("gamma", shape=tuple(shape), init="ones")

    def hybrid_forward(self, F: Any, x: Any, gamma: Any) -> Any:
        mean = F.mean(F.square(x), axis=self._axis, keepdims=True)
        return F.broadcast_mul(F.broadcast_div(x, F.sqrt(mean + self._epsilon)), gamma)


class UnitNorm(HybridBlock):
    """Scaling of vectors along some axes to unit length.

    Parameters
    ----------
    axis : tuple of int
    """

    def __init__(self, axis: Sequence[int], prefix: Optional[str] = None):
        super().__init__(prefix=prefix)
        self._axis = tuple(axis)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        total = F.sum(F.square(x), axis=self._axis, keepdims=True)
        return F.broadcast_div(x, F.sqrt(F.clip(total, 1e-12, 3e38)))
