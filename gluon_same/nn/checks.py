"""Check arguments of the blocks that are not integers."""

import inspect
from typing import TYPE_CHECKING, Any

import mxnet as mx

#: Activations of every MXNet 1.x; later versions have more.
_ACTIVATIONS = ("relu", "sigmoid", "softrelu", "softsign", "tanh")

#: For names of arguments in MXNet's operators and other frameworks, the names in Gluon's blocks. A block
#: has at most one of them, except for those that it has under the given name, too.
_NAMES = {
    "kernel kernel_size pool_size": "kernel_size pool_size",
    "stride": "strides",
    "pad": "padding",
    "dilate dilations dilation_rate": "dilation",
    "groups num_group": "groups in_channels",
    "channels num_filter filters out_channels": "channels depth_multiplier",
    "bias": "use_bias",
    "kernel_initializer weight_initializer": "weight_initializer depthwise_initializer",
    "depthwise_initializer": "weight_initializer depthwise_initializer",
    "data_format": "layout",
}
_MEANT = {name: meant.split() for names, meant in _NAMES.items() for name in names.split()}


class NamedArguments:
    """Mixin for blocks that refuse a wrong name of an argument before Python refuses missing ones."""

    if not TYPE_CHECKING:

        def __new__(cls, *_: Any, **given: Any) -> Any:
            known = cls.__signature__.parameters
            if not any(each.kind is each.VAR_KEYWORD for each in known.values()):
                for name in (name for name in given if name not in known):
                    meant = next((each for each in _MEANT.get(name, ()) if each in known), None)
                    hint = f"use {meant!r}" if meant else f"help({cls.__name__}) lists the arguments"
                    raise TypeError(f"{cls.__name__} has no argument {name!r}: {hint}")
            return super().__new__(cls)

        def __init_subclass__(cls, **given: Any) -> None:
            super().__init_subclass__(**given)
            cls.__signature__ = inspect.signature(cls.__init__.__get__(cls))  # not that of __new__


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
