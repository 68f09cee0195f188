"""keras-mxnet's ``K.function``, in the learning phase and with the weights that it should have."""

from typing import Any, List, Sequence

import mxnet as mx
import numpy as np


def call_function(self: Any, inputs: Sequence[Any]) -> List[np.ndarray]:
    """``Function.__call__``, for a list of inputs that may end in the learning phase.

    keras-mxnet's own leaves Dropout out in both phases, because MXNet removes it from a graph without
    gradients, and runs BatchNormalization without its moving statistics.
    """
    from keras.backend import mxnet_backend

    phase = self.is_train
    if np.ndim(inputs[-1]) == 0:
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
    # One gradient is enough for MXNet to keep Dropout, so a variable that no output reads has it.
    keep = mx.sym.var("keep_dropout", shape=(1,))
    graph = mx.sym.Group([*symbols, keep])
    names = set(graph.list_arguments())
    shapes = {name: np.shape(value) for name, value in given.items() if name in names}
    return graph.simple_bind(mx.cpu(), {keep.name: "write" if phase else "null"}, **shapes)
