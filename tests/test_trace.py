"""A trace records what each block receives and returns, and leaves the net as it is."""

import mxnet as mx
import pytest
from mxnet.gluon import Block, HybridBlock

import keras_nets
from gluon_same import model_zoo, nn, to_same
from gluon_same.trace import Trace, nest, structure_of
from small_nets import blocks_of, make_net, normal, operators_of, same

SHAPE = (2, 3, 32, 33)


def test_calls_are_recorded_in_order_with_their_shapes():
    net = make_net()
    trace = Trace(net, [SHAPE])
    assert [call.block for call in trace.calls] == [net, *net]
    assert [call.block for call in trace.layers()] == list(net)
    want = [SHAPE, (2, 8, 16, 17), (2, 8, 16, 17), (2, 8, 8, 9), (2, 8, 8, 9), (2, 8, 4, 5)]
    assert [trace.shapes_of(call.inputs)[0] for call in trace.layers()] == want[:-1]
    assert [trace.shapes_of(call.outputs)[0] for call in trace.layers()] == want[1:]
    assert trace.shapes == {"data": SHAPE} and trace.free and not trace.fixed


def test_the_graph_has_the_numbers_of_the_net():
    net = make_net()
    x = normal(SHAPE)
    want = net(x)
    for sized in (True, False):
        graph = Trace(net, [SHAPE], sized=sized).symbol()
        block = mx.gluon.SymbolBlock(graph, [mx.sym.var("data")], params=net.collect_params())
        same(block(x), want)
        assert ("slice_like" in operators_of(graph) or "Crop" in operators_of(graph)) is not sized


def test_shapes_are_known_before_the_net_ran():
    net = model_zoo.yolov3_tiny(classes=2)
    trace = Trace(net, [(1, 3, 64, 96)])
    assert net.collect_params() and all(p._data is None for p in net.collect_params().values())
    sizes = [trace.size(p) for p in net.collect_params().values()]
    net.initialize()
    outputs = net(mx.nd.ones((1, 3, 64, 96)))
    assert trace.shapes_of(trace.outputs) == tuple(y.shape for y in outputs)
    assert sizes == [p.data().size for p in net.collect_params().values()] and not trace.unknown


def test_the_net_does_not_change_even_by_an_error():
    class Failing(HybridBlock):
        def hybrid_forward(self, F, x):
            raise ZeroDivisionError("told why")

    net = make_net()
    for fails in (False, True):
        if fails:
            net.add(Failing())
        before = [dict(vars(block)) for block in blocks_of(net)]
        try:
            Trace(net, [SHAPE])
            assert not fails
        except ValueError as error:
            assert fails and "told why" in str(error) and "a Failing)" in str(error)
        assert [dict(vars(block)) for block in blocks_of(net)] == before
        assert not any(block._forward_hooks or block._forward_pre_hooks for block in blocks_of(net))


def test_a_layer_receives_the_size_of_each_call():
    class Twice(HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.pool = nn.MaxPool2D(3, 2, padding="same")

        def hybrid_forward(self, F, x):
            return self.pool(self.pool(x))

    net, seen = Twice(), []
    original = net.pool.hybrid_forward

    def recorded(*args):
        seen.append(net.pool._data_shape)
        return original(*args)

    vars(net.pool)["hybrid_forward"] = recorded
    trace = Trace(net, [(1, 2, 30, 31)])
    assert seen[-2:] == [(1, 2, 30, 31), (1, 2, 15, 16)]
    assert operators_of(trace.symbol()) == ["Pooling"] * 2
    seen.clear()
    trace = Trace(net, [(1, 2, 30, 31)], sized=False)
    assert seen == [None, None]
    assert operators_of(trace.symbol()) != ["Pooling"] * 2


def test_a_stock_layer_that_was_changed_to_same_receives_its_size():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.MaxPool2D(3, 2, 1))
    to_same(net)
    assert operators_of(Trace(net, [(1, 2, 30, 30)]).symbol()) == ["Pooling"]
    assert len(operators_of(Trace(net, [(1, 2, 30, 30)], sized=False).symbol())) > 1


@pytest.mark.parametrize(
    "shape, free",
    [
        (lambda F, x: x, True),
        (lambda F, x: F.reshape(x, shape=(-4, 2, -1, 0, 0, 0)), True),  # an even batch
        (lambda F, x: x + F.ones((4, 3, 8, 8)), False),
    ],
)
def test_whether_the_batch_size_is_free(shape, free):
    net = nn.HybridSequential()
    net.add(nn.HybridLambda(shape), nn.HybridLambda(lambda F, x: F.reshape(x, shape=(-1, 3, 8, 8))))
    net.add(nn.MaxPool2D(3, 2, "same"))
    assert Trace(net, [(4, 3, 8, 8)]).free is free


def test_maps_that_are_smaller_than_a_kernel_fix_the_graph():
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D(2, padding="same"), nn.MaxPool2D(2, padding="same"))
    trace = Trace(net, [(1, 2, 2, 3)], sized=False)
    assert trace.fixed and trace.shapes_of(trace.outputs) == ((1, 2, 1, 1),)
    assert not Trace(net, [(1, 2, 4, 4)], sized=False).fixed


def test_symbols_inside_of_a_loop_have_no_known_shape():
    class Looped(HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.layer = nn.Conv1D(2, 3, 2, padding="same", in_channels=2)

        def hybrid_forward(self, F, x):
            out, _ = F.contrib.foreach(lambda step, state: (self.layer(step), state), x, [])
            return out, self.layer(F.reshape(x, shape=(-3, 0, 0)))

    net = Looped()
    trace = Trace(net, [(4, 1, 2, 20)])
    shapes = [trace.shapes_of(call.inputs) for call in trace.layers()]
    assert shapes == [((),), ((4, 2, 20),)]
    assert trace.shapes_of(trace.outputs) == ((4, 1, 2, 10), (4, 2, 10))


def test_several_inputs_have_the_names_of_an_exported_net():
    net = nn.HybridLambda(lambda F, x, y: (F.broadcast_add(x, y), [y, (x,)]))
    trace = Trace(net, [(2, 3), (2, 1)])
    assert trace.shapes == {"data0": (2, 3), "data1": (2, 1)}
    assert trace.structure == [0, [1, [2]]]
    assert trace.symbol().list_arguments() == ["data0", "data1"]


def test_structures_and_results_of_any_nesting():
    for value in (1, (1,), [1, (2, [3]), []], ((1, 2), (3,))):
        structure, found = structure_of(value)
        assert structure_of(nest(structure, found)) == (structure, found)
    assert nest([0, [1, [2]]], "abc") == ("a", ("b", ("c",)))


@pytest.mark.parametrize(
    "net, shapes, words",
    [
        (nn.Dense(3, in_units=4), [(1, 5)], "dense.* could not be traced"),
        (
            nn.BatchNorm(in_channels=4),
            [(1, 3, 9, 9)],
            r"gamma has shape \(4,\), and these inputs require",
        ),
        (nn.Flatten(), [(1, 3), (1, 3)], "give the shapes of all its inputs"),
        (keras_nets.keras_cnn(), [(1, 3, 33, 33)], "does not fit"),
        (nn.HybridLambda(lambda F, x: F.relu(x.copy())), [(1, 3)], "for Symbol.*, by operators"),
        (
            nn.HybridLambda(lambda F, x: F.dot(x, mx.nd.ones((3, 2)))),
            [(1, 3)],
            "must be Symbol instances.* arrays in its code by params.get_constant",
        ),
        (
            nn.HybridLambda(lambda F, x: (x, None)),
            [(1, 3)],
            "of type NoneType.*: return arrays, or lists",
        ),
        (nn.HybridLambda(lambda F, x: []), [(1, 3)], "returns nothing.*: return arrays"),
    ],
)
def test_what_does_not_fit_is_named_in_one_line(net, shapes, words):
    with pytest.raises(ValueError, match=words) as refusal:
        Trace(net, shapes)
    assert "\n" not in str(refusal.value)


def test_code_that_requires_arrays_is_refused():
    class Eager(Block):
        def forward(self, x):
            return mx.nd.relu(x) + mx.nd.ones((1, 3))

    with pytest.raises(ValueError, match="replace arrays in its code by params.get_constant"):
        Trace(Eager(), [(1, 3)])


def test_a_parameter_with_the_name_of_an_input_is_refused():
    net = nn.HybridLambda(lambda F, x: x, prefix="")
    net.params.get("data", shape=(1,), init="zeros")
    with pytest.raises(ValueError, match="named 'data' like an input: rename it"):
        Trace(net, [(1, 3)])
