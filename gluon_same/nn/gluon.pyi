"""Types of the blocks of :mod:`mxnet.gluon.nn`, for type checkers. MXNet itself has no type hints."""

from typing import Any, Callable, Iterator, Sequence, TypeVar

import mxnet.gluon  # type: ignore

_B = TypeVar("_B", bound="Block")
_Initializer = str | Callable[..., Any] | None
_Function = str | Callable[..., Any]

class Block(mxnet.gluon.Block):  # type: ignore
    _children: dict[str, Block]
    _reg_params: dict[str, Any]
    def __init__(self, prefix: str | None = None, params: Any = None) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
    @property
    def prefix(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def params(self) -> Any: ...
    def name_scope(self) -> Any: ...
    def collect_params(self, select: str | None = None) -> Any: ...
    def initialize(
        self, init: Any = ..., ctx: Any = None, verbose: bool = False, force_reinit: bool = False
    ) -> None: ...
    def hybridize(self, active: bool = True, **kwargs: Any) -> None: ...
    def cast(self, dtype: Any) -> None: ...
    def apply(self: _B, fn: Callable[[Any], Any]) -> _B: ...
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...
    def summary(self, *inputs: Any) -> None: ...
    def register_child(self, block: mxnet.gluon.Block, name: str | None = None) -> None: ...
    def register_forward_hook(self, hook: Callable[..., Any]) -> Any: ...
    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Any: ...
    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None: ...
    def save(self, prefix: str) -> None: ...
    def load(self, prefix: str) -> None: ...
    def save_parameters(self, filename: str, deduplicate: bool = False) -> None: ...
    def load_parameters(
        self,
        filename: str,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None: ...

class HybridBlock(Block, mxnet.gluon.HybridBlock):  # type: ignore
    _kwargs: dict[str, Any]
    def hybrid_forward(self, *args: Any, **kwargs: Any) -> Any: ...
    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> Any: ...
    def infer_shape(self, *args: Any) -> None: ...
    def infer_type(self, *args: Any) -> None: ...
    def optimize_for(self, x: Any, *args: Any, backend: Any = None, **kwargs: Any) -> None: ...

class SymbolBlock(HybridBlock):
    def __init__(self, outputs: Any, inputs: Any, params: Any = None) -> None: ...
    @staticmethod
    def imports(
        symbol_file: str,
        input_names: str | Sequence[str],
        param_file: str | None = None,
        ctx: Any = None,
    ) -> SymbolBlock: ...

class Sequential(Block):
    def add(self, *blocks: mxnet.gluon.Block) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: int | slice) -> Any: ...

class HybridSequential(HybridBlock):
    def add(self, *blocks: mxnet.gluon.HybridBlock) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: int | slice) -> Any: ...

class Lambda(Block):
    def __init__(self, function: _Function, prefix: str | None = None) -> None: ...

class HybridLambda(HybridBlock):
    def __init__(self, function: _Function, prefix: str | None = None) -> None: ...

class Dense(HybridBlock):
    weight: Any
    bias: Any
    act: Any
    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: Any = "float32",
        weight_initializer: _Initializer = None,
        bias_initializer: _Initializer = "zeros",
        in_units: int = 0,
        *,
        prefix: str | None = None,
        params: Any = None,
    ) -> None: ...

class Dropout(HybridBlock):
    def __init__(
        self, rate: float, axes: Sequence[int] = (), *, prefix: str | None = None, params: Any = None
    ) -> None: ...

class Embedding(HybridBlock):
    weight: Any
    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: _Initializer = None,
        sparse_grad: bool = False,
        *,
        prefix: str | None = None,
        params: Any = None,
    ) -> None: ...

class Flatten(HybridBlock): ...
class SELU(HybridBlock): ...

class GELU(HybridBlock):
    def __init__(self, *, prefix: str | None = None, params: Any = None) -> None: ...

class Activation(HybridBlock):
    def __init__(self, activation: str, *, prefix: str | None = None, params: Any = None) -> None: ...

class LeakyReLU(HybridBlock):
    def __init__(self, alpha: float, *, prefix: str | None = None, params: Any = None) -> None: ...

class ELU(HybridBlock):
    def __init__(self, alpha: float = 1.0, *, prefix: str | None = None, params: Any = None) -> None: ...

class Swish(HybridBlock):
    def __init__(self, beta: float = 1.0, *, prefix: str | None = None, params: Any = None) -> None: ...

class PReLU(HybridBlock):
    alpha: Any
    def __init__(
        self,
        alpha_initializer: _Initializer = ...,
        in_channels: int = 1,
        *,
        prefix: str | None = None,
        params: Any = None,
    ) -> None: ...

class BatchNorm(HybridBlock):
    gamma: Any
    beta: Any
    running_mean: Any
    running_var: Any
    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: _Initializer = "zeros",
        gamma_initializer: _Initializer = "ones",
        running_mean_initializer: _Initializer = "zeros",
        running_variance_initializer: _Initializer = "ones",
        in_channels: int = 0,
        *,
        prefix: str | None = None,
        params: Any = None,
    ) -> None: ...

class BatchNormReLU(BatchNorm): ...

class InstanceNorm(HybridBlock):
    gamma: Any
    beta: Any
    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: _Initializer = "zeros",
        gamma_initializer: _Initializer = "ones",
        in_channels: int = 0,
        *,
        prefix: str | None = None,
        params: Any = None,
    ) -> None: ...

class LayerNorm(HybridBlock):
    gamma: Any
    beta: Any
    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: _Initializer = "zeros",
        gamma_initializer: _Initializer = "ones",
        in_channels: int = 0,
        *,
        prefix: str | None = None,
        params: Any = None,
    ) -> None: ...

class GroupNorm(HybridBlock):
    gamma: Any
    beta: Any
    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: _Initializer = "zeros",
        gamma_initializer: _Initializer = "ones",
        *,
        prefix: str | None = None,
        params: Any = None,
    ) -> None: ...

class ReflectionPad2D(HybridBlock):
    def __init__(
        self, padding: int | Sequence[int] = 0, *, prefix: str | None = None, params: Any = None
    ) -> None: ...
