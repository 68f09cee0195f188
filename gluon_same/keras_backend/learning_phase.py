"""Replacements for functions of keras-mxnet, which respect the learning phase."""

from functools import wraps
from typing import Any, Callable, List, Sequence

import mxnet as mx
import numpy as np

# Whether each running call of `in_train_phase` received `training=True`, the innermost last.
_training = [False]


def forcing(in_train_phase: Callable) -> Callable:
    """Wrap ``K.in_train_phase`` so that ``training=True`` also applies in inference."""

    @wraps(in_train_phase)
    def forced(x, alt, training=None):
        _training.append(isinstance(training, (int, np.bool_)) and bool(training))
        try:
            return in_train_phase(x, alt, training)
        finally:
            _training.pop()

    return forced


def dropout(x, level, noise_shape, seed):
    """Replace ``K.dropout``; also drop in inference if the layer was called with ``training=True``."""
    from keras.backend import mxnet_backend

    if not 0 <= level <= 1:
        raise ValueError(f"The `level` argument must be between 0 and 1. Received: level={level}")
    mx.random.seed(seed or int(10e6))  # as keras-mxnet does
    mode = "always" if _training[-1] else "training"
    name = mxnet_backend._prepare_name(None, "dropout")
    return type(x)(mx.sym.Dropout(x.symbol, p=level, mode=mode, name=name))


def obeying(function: Callable) -> Callable:
    """Wrap ``K.function`` so that its functions respect the learning phase."""

    @wraps(function)
    def obedient(*args, **kwargs):
        return Function(function(*args, **kwargs))

    return obedient


class Function:
    """A function of ``K.function``, which accepts the learning phase after its inputs.

    keras-mxnet's function skips Dropout in both phases, because MXNet removes it from a graph without
    gradients. It also ignores BatchNormalization's moving statistics and, after training, the weights of
    the model.
    """

    inputs: Any
    output: Any
    is_train: Any

    def __init__(self, stock: Any):
        vars(self).update(vars(stock))

    def __call__(self, inputs: Sequence[Any]) -> List[np.ndarray]:
        from keras.backend import mxnet_backend

        phase = self.is_train
        if len(inputs) > len(self.inputs):
            *inputs, phase = inputs
        if mxnet_backend._MODEL is not None:
            mxnet_backend._MODEL._sync_weights()
        values = {}
        for x in self.output:
            values.update(mxnet_backend.dfs_get_bind_values(x))
        given = {x.name: value for x, value in zip(self.inputs, inputs)}
        values.update(given)
        executor = _bind([_symbol(x, phase) for x in self.output], given, phase)
        for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
            if name in values:
                array[:] = values[name]
        outputs = executor.forward(is_train=bool(phase))
        return [out.asnumpy() for out, _ in zip(outputs, self.output)]


def _symbol(x, phase):
    symbol = x._train_sym if phase else x._pred_sym
    return (x.symbol if symbol is None else symbol)[0]


def _bind(symbols, given, phase):
    # MXNet keeps Dropout if one variable has a gradient. This one is not used by the outputs.
    keep = mx.sym.var("keep_dropout", shape=(1,))
    graph = mx.sym.Group([*symbols, keep])
    names = set(graph.list_arguments())
    shapes = {name: np.shape(value) for name, value in given.items() if name in names}
    return graph.simple_bind(mx.cpu(), {keep.name: "write" if phase else "null"}, **shapes)
