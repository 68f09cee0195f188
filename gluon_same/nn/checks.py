"""Check arguments of the blocks that are not integers."""

from typing import Any, Dict

import mxnet as mx
from mxnet.gluon import HybridBlock

#: Activations of every MXNet 1.x; later versions have more.
_ACTIVATIONS = ("relu", "sigmoid", "softrelu", "softsign", "tanh")

#: Names of arguments in MXNet's operators and other frameworks, and the names in Gluon's blocks.
CONVOLUTION_NAMES = {
    "kernel": "kernel_size",
    "pool_size": "kernel_size",
    "stride": "strides",
    "pad": "padding",
    "dilate": "dilation",
    "dilations": "dilation",
    "dilation_rate": "dilation",
    "num_group": "groups",
    "num_filter": "channels",
    "filters": "channels",
    "out_channels": "channels",
    "bias": "use_bias",
    "kernel_initializer": "weight_initializer",
    "data_format": "layout",
}
DEPTHWISE_NAMES = {
    **CONVOLUTION_NAMES,
    **dict.fromkeys(("channels", "filters", "num_filter", "out_channels"), "depth_multiplier"),
    **dict.fromkeys(("groups", "num_group"), "in_channels"),
    "depthwise_initializer": "weight_initializer",
}
SEPARABLE_NAMES = {
    **CONVOLUTION_NAMES,
    **dict.fromkeys(("groups", "num_group"), "in_channels"),
    "weight_initializer": "depthwise_initializer",
    "kernel_initializer": "depthwise_initializer",
}
POOLING_NAMES = {
    "kernel": "pool_size",
    "kernel_size": "pool_size",
    "stride": "strides",
    "pad": "padding",
    "data_format": "layout",
}


def refuse_unknown(block: HybridBlock, unknown: Dict[str, Any], meant: Dict[str, str]) -> None:
    """Raise a TypeError for the first argument that a block does not have."""
    for name in unknown:
        kind = type(block).__name__
        hint = f": use {meant[name]!r}" if name in meant else f": help({kind}) lists the arguments"
        raise TypeError(f"{kind} has no argument {name!r}{hint}")


def check_activation(name: Any) -> None:
    """Raise an error unless MXNet has the activation."""
    if name in (None, *_ACTIVATIONS):
        return
    if not isinstance(name, str):
        raise TypeError(f"activation={name!r} is not a name: use one of {_ACTIVATIONS}, or None")
    try:
        mx.sym.Activation(mx.sym.var("data"), act_type=name)
    except mx.MXNetError:
        raise ValueError(f"activation={name!r} is unknown: use one of {_ACTIVATIONS}") from None


def check_initializer(name: str, value: Any) -> None:
    """Raise an error unless ``value`` is an initializer, the name of one, or None."""
    if value in (None, "") or callable(value):
        return
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r} is not an initializer: give one of mx.init, its name or None")
    try:
        mx.init.create(value)
    except Exception as error:  # its type depends on what is wrong
        raise ValueError(f"{name}={value!r} is unknown: give one of mx.init, or its name") from error
