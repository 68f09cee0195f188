"""Fix the input sizes of a net, for the fewest operators."""

from typing import Sequence, Union

import numpy as np
from mxnet.gluon import Block

from . import crops, gradients
from .arguments import shape_of
from .blocks import check_for_graphs
from .graph import Graph
from .sized import EverySize, Sized
from .trace import Trace

__all__ = ["specialize"]


def specialize(net: Block, *input_shapes: Sequence[int], graphs: int = 16) -> Union[Sized, EverySize]:
    """Return a block that runs the fewest operators for given input shapes.

    The block shares the net's parameters, so it trains with them, and a Trainer, ``save_parameters``,
    running averages, ``grad_req``, ``cast`` and several contexts work as with the net. The net itself
    does not change. The operators depend only on the sizes, and are the same on every machine.

    Parameters
    ----------
    net : Block
        A net. Its code may read shapes, and call operators of ``mx.nd`` or ``mx.np``.
    *input_shapes : tuple of int or NDArray
        Shape of each input, the batch first, or an array of that shape. The batch size stays free.
        Without any shape, the block serves every size: at the first call with a new shape it makes the
        graph for it.
    graphs : int
        Number of graphs that a block for every size keeps, the most recently used ones.

    Returns
    -------
    Block
        It always runs its graph; ``hybridize`` sets the flags of the graph, such as ``static_alloc``. It
        begins with the flags of the net.

    Raises
    ------
    TypeError, ValueError
        If ``net`` is not a block, if a shape does not consist of positive whole numbers, or if the
        shapes do not match the net. When the block is called, if the inputs have another shape, or if
        it is recorded and the net calls an ``autograd.Function``, whose gradient a graph lacks.

    Notes
    -----
    A layer that the net calls at several sizes is specialized to each. A size that depends on the batch
    size, or that cannot be inferred, as inside of a loop, is served by the graph for every size. If the
    net cannot be traced with another batch size, the batch size is fixed too. So it is if the net's code
    reads ``x.shape``, ``x.ndim`` or ``x.size``. Hybridized nets cannot do so, and can neither slice, as
    in ``x[:, 1:]``, nor broadcast the operands of ``x * y``.

    Changes of the net's structure do not affect the block. If the net's code branches on the training
    mode, the block contains the branch for inference. Hooks of the net's blocks are not called.

    Several threads may call a block for given shapes: a lock lets one in at a time. Training, changes of
    the parameters, and a block for every size, which traces the net, are for one thread at a time.

    In training, the block has what gradients require on CPUs: copies around a BatchNorm over one or
    three axes and behind joined parts of few channels, and transposed convolutions of one filter in two
    parts.

    A crop moves past the activations and poolings that follow it, and in inference also past a
    BatchNorm, so that these run in the memory layout of the convolution. Results do not change.

    A new shape takes about a millisecond for each layer of the net.

    Examples
    --------
    >>> import mxnet as mx
    >>> from gluon_same import nn, specialize
    >>> net = nn.Conv2D(8, 3, strides=2, padding='same')
    >>> net.initialize()
    >>> block = specialize(net, (1, 3, 224, 224))
    >>> block(mx.nd.ones((5, 3, 224, 224))).shape
    (5, 8, 112, 112)
    >>> [specialize(net)(mx.nd.ones((1, 3, n, n))).shape for n in (13, 26)]
    [(1, 8, 7, 7), (1, 8, 13, 13)]
    """
    check_for_graphs(net)
    if not input_shapes:
        return EverySize(net, specialize, graphs)
    trace = Trace(net, [shape_of("input shape", shape) for shape in input_shapes])
    training, free = Graph(trace.symbol(), inputs=trace.shapes), trace.free
    for node in training.nodes():
        # MXNet does not check the number of elements, and would read beyond the input's memory.
        free = free and not (node.op == "Reshape" and np.min(node.get("shape") or 0) > 0)
        for name in ("__dtype__", "__init__"):  # those of the parameter may change
            node.attrs.pop(name, None)
    inference = training.copy()
    inference.rewrite(*gradients.INFERENCE)
    training.rewrite(*gradients.TRAINING)
    graphs_of = {False: inference}
    if not trace.varies:  # crops end at sizes, which other batches would change
        training.rewrite(*crops.TRAINING)
        inference.rewrite(*crops.INFERENCE)
    if inference.symbol().tojson() != training.symbol().tojson():
        graphs_of[True] = training
    symbols = {key: graph.symbol() for key, graph in graphs_of.items()}
    inputs = {name: (None if free else n, *rest) for name, (n, *rest) in trace.shapes.items()}
    parameters = net._collect_params_with_prefix()
    block = Sized((net.name, net.prefix), symbols, inputs, parameters, structure=trace.structure)
    block.custom, block.mode = trace.custom, trace.mode
    if getattr(net, "_active", False):
        block.hybridize(**dict(net._flags))
    return block
