"""Tuning keeps the fastest way according to a stopwatch, and changes no number."""

import json

import mxnet as mx
import numpy as np
import pytest

from gluon_same import adapt, nn, progress, specialize, tuning
from gluon_same.__main__ import main
from gluon_same.tuning import choose
from gluon_same.tuning.timer import LEAST
from small_nets import make_net

SHAPE = (2, 8, 32, 28)


@pytest.fixture(autouse=True)
def forgotten():
    tuning.forget()
    yield
    tuning.forget()


@pytest.fixture
def stopwatch(monkeypatch):
    """Return a stopwatch that finds the ways of a list fast, in that order, and others slow."""

    class Stopwatch:
        def __init__(self):
            self.fast, self.runs = [], []

        def __call__(self, runs):
            for run in runs.values():
                run()
            self.runs.append(list(runs))
            fast = {way: 1 + i for i, way in enumerate(self.fast)}
            return {way: fast.get(way, 100.0) for way in runs}

    watch = Stopwatch()
    monkeypatch.setattr(choose, "stopwatch", watch)
    # On a busy machine, a way could otherwise seem hopeless at its first run.
    monkeypatch.setattr(choose, "timed", lambda run: run() or 1.0)
    return watch


@pytest.fixture
def net():
    return make_net()


def same(a, b):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


def operators(net):
    return [n["op"] for n in json.loads(net(mx.sym.var("data")).tojson())["nodes"]]


@pytest.mark.parametrize("way", ["portable", "pad", "join", "move", "together", "rows 4", "bands 4"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_each_way_gives_the_numbers_of_the_net(net, stopwatch, way, hybridize):
    x = mx.nd.random.normal(shape=SHAPE)
    want = net(x)
    stopwatch.fast = [way]
    assert specialize(net, SHAPE, tune=True) is net
    chosen = [layer._way for layer in net if hasattr(layer, "_way")]
    assert any(chosen) == (way != "portable") and set(chosen) <= {None, way}
    net.hybridize(hybridize)
    same(net(x), want)
    same(net(x[:1]), want[:1])  # the batch stays free


def test_the_fastest_is_kept(net, stopwatch):
    stopwatch.fast = ["move", "together"]
    specialize(net, SHAPE, tune=True)
    assert [net[i]._way for i in (0, 2, 3, 4)] == ["move", "together", "move", "together"]
    assert operators(net).count("Convolution") == 6


def test_ties_go_to_the_shortest():
    assert tuning.fastest({"portable": 1.04, "join": 1.0}) == "portable"
    assert tuning.fastest({"portable": 1.1, "pad": 1.04, "join": 1.0}) == "pad"


def test_specializing_without_tuning_measures_nothing_and_undoes_tuning(net, stopwatch):
    specialize(net, SHAPE)
    assert not stopwatch.runs
    stopwatch.fast = ["move"]
    specialize(net, SHAPE, tune=True)
    assert net[0]._way == "move"
    specialize(net, SHAPE)
    assert net[0]._way is None
    specialize(net, SHAPE, tune=True)
    assert specialize(net)[0]._way is None


def test_layers_with_one_way_are_not_measured(stopwatch):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 3, padding="same"), nn.Conv2D(8, 3, padding=1), nn.Conv2DTranspose(8, 2, 2, "same")
    )
    net.initialize()
    specialize(net, SHAPE, tune=True)
    specialize(nn.MaxPool2D(2, 1, padding="same", layout="NHWC"), (1, 9, 9, 8), tune=True)
    assert tuning.times_of(net[1], SHAPE) == {}
    assert not stopwatch.runs and not tuning.results()


def test_measured_times_are_remembered(net, stopwatch):
    specialize(net, SHAPE, tune=True)
    count = len(stopwatch.runs)
    assert count == len(tuning.results()) == 4
    specialize(make_net(), SHAPE, tune=True)
    assert len(stopwatch.runs) == count
    specialize(net, (1, *SHAPE[1:]), tune=True)  # another batch
    specialize(net, SHAPE, tune="training")
    assert len(stopwatch.runs) == 3 * count
    assert sum("training" in key for key in tuning.results()) == count


def test_results_are_saved_and_loaded(net, stopwatch, tmp_path):
    stopwatch.fast = ["move"]
    specialize(net, SHAPE, tune=True)
    found, path = tuning.results(), str(tmp_path / "times.json")
    tuning.save(path)
    tuning.forget()
    assert not tuning.results()
    tuning.load(path)
    assert tuning.results() == found
    count = len(stopwatch.runs)
    assert specialize(make_net(), SHAPE, tune=True)[0]._way == "move"
    assert len(stopwatch.runs) == count


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"machine": {}, "seconds": {"a": 1}}', "\x00"])
def test_a_file_of_another_kind_is_refused(content, tmp_path):
    path = tmp_path / "times.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="not a file of gluon_same.tuning.save"):
        tuning.load(str(path))


def test_times_of_another_machine_are_refused(tmp_path, monkeypatch):
    path = str(tmp_path / "times.json")
    tuning.save(path)
    monkeypatch.setenv("DNNL_MAX_CPU_ISA", "SSE41")
    with pytest.raises(ValueError, match="was measured on .*SSE41.*: tune on this machine"):
        tuning.load(path)


def test_no_parameter_and_no_random_state_changes(net, stopwatch):
    net(mx.nd.ones(SHAPE))
    before = {k: p.data().asnumpy() for k, p in net.collect_params().items()}
    mx.random.seed(3)
    want = mx.nd.random.normal(shape=(4,)).asnumpy()
    mx.random.seed(3)
    specialize(net, SHAPE, tune="training")
    np.testing.assert_array_equal(mx.nd.random.normal(shape=(4,)).asnumpy(), want)
    for name, parameter in net.collect_params().items():
        np.testing.assert_array_equal(parameter.data().asnumpy(), before[name])


def test_other_dtypes_use_ways_that_support_every_dtype(net, stopwatch):
    net.cast("float64")
    stopwatch.fast = ["move", "together"]
    specialize(net, SHAPE, tune=True)
    assert stopwatch.runs and all(set(runs) <= {"portable", "crop", "pad"} for runs in stopwatch.runs)


def test_a_way_that_mxnet_cannot_run_is_skipped(stopwatch, monkeypatch):
    layer = nn.MaxPool2D(2, 1, padding="same")
    x = mx.nd.random.normal(shape=SHAPE)
    run = choose._runner

    def failing(symbol, *args):
        if "Concat" in symbol.tojson():
            raise mx.MXNetError("dimensions are invalid")
        return run(symbol, *args)

    monkeypatch.setattr(choose, "_runner", failing)
    stopwatch.fast = ["join"]
    specialize(layer, x.shape, tune=True)
    assert stopwatch.runs == [["portable", "together"]] and layer._way is None


def test_an_adapted_net_is_tuned_at_each_shape_and_use(net, stopwatch):
    shapes = [SHAPE, (2, 8, 17, 16)]
    wants = [net(mx.nd.ones(shape)) for shape in shapes]
    stopwatch.fast = ["move", "together"]
    adapt(net, tune=True).hybridize()
    for _ in range(2):
        for shape, want in zip(shapes, wants):
            same(net(mx.nd.ones(shape)), want)
    count = len(stopwatch.runs)
    assert count == len(tuning.results()) > 4
    assert all(layer._way is None for layer in net if hasattr(layer, "_way"))
    twin = next(iter(net._gluon_same_twins._held.values()))
    graph = [n["op"] for n in json.loads(twin._cached_graph[1].tojson())["nodes"]]
    assert graph.count("Convolution") == 6
    x = mx.nd.ones(SHAPE)
    with mx.autograd.record():
        net(x).sum().backward()
    assert len(stopwatch.runs) > count


def test_an_adapted_layer_alone_is_tuned(stopwatch):
    layer = nn.MaxPool2D(2, 1, padding="same")
    x = mx.nd.random.normal(shape=SHAPE)
    want = layer(x)
    stopwatch.fast = ["join"]
    adapt(layer, tune=True).hybridize()
    same(layer(x), want)
    assert len(stopwatch.runs) == 1


def test_numpy_mode(numpy_mode, stopwatch):
    net = make_net()
    x = mx.np.random.normal(size=SHAPE)
    want = net(x)
    stopwatch.fast = ["move", "together"]
    specialize(net, SHAPE, tune=True).hybridize()
    assert net[0]._way == "move" and isinstance(net(x), mx.np.ndarray)
    same(net(x), want)


def test_the_stopwatch_runs_slow_functions_less_often():
    counts = {"fast": 0, "slow": 0}

    def run(name, steps):
        counts[name] += 1
        return sum(range(steps))

    times = tuning.stopwatch({"fast": lambda: run("fast", 10**4), "slow": lambda: run("slow", 10**6)})
    assert times["fast"] < times["slow"]
    assert counts["slow"] == 1 and counts["fast"] >= 1 + LEAST


def test_progress_is_shown_if_tuning_takes_long(net, stopwatch, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 1e9)
    specialize(net, SHAPE, tune=True)
    assert capsys.readouterr().err == ""
    tuning.forget()
    monkeypatch.setattr(progress, "PATIENCE", -1)
    specialize(net, SHAPE, tune=True)
    err = capsys.readouterr().err
    assert "tuning 1/4: " in err and "tuning 4/4: " in err and err.endswith("\r")


@pytest.mark.parametrize("tune", ["yes", 2, None, "fast"])
def test_an_unknown_use_is_refused(net, tune):
    with pytest.raises(ValueError, match=f"tune={tune!r} is unknown"):
        specialize(net, SHAPE, tune=tune)


def test_the_command_shows_the_ways_with_their_times(stopwatch, capsys):
    stopwatch.fast = ["join"]
    case = ["pad", "--size", "13x13", "--kernel", "2", "--op", "pool", "--channels", "8", "--measure"]
    assert main(case) == 0
    out = capsys.readouterr().out
    assert "Times of the single layer on this machine, at batch 1\n" in out
    assert "  join           1000.000 ms  fastest\n" in out
    assert "  together      100000.000 ms\n" in out
    assert main([*case, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"]["join"] == 1
    assert main(["pad", "--size", "9", "--kernel", "3", "--measure"]) == 0
    assert "not measured: there is only one way" in capsys.readouterr().out


def test_interrupted_tuning_leaves_the_net_unchanged(net, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(choose, "stopwatch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        specialize(net, SHAPE, tune=True)
    assert all(layer._in_shape is None and layer._way is None for layer in net if hasattr(layer, "_way"))
    assert type(net) is nn.HybridSequential


class Auxiliary(nn.HybridBlock):
    """A net whose auxiliary head is always computed, but returned only in training."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.conv, self.pool = nn.Conv2D(8, 3, 2, "same", in_channels=8), nn.MaxPool2D(3, 2, "same")

    def hybrid_forward(self, F, x):
        y = self.conv(x)
        aside = self.pool(y)
        return (y, aside) if mx.autograd.is_training() else y


class Split(nn.HybridBlock):
    """A net with a layer on the second of several results of different sizes."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.conv, self.pool = (
                nn.Conv2D(8, 2, padding="same", in_channels=8),
                nn.MaxPool2D(2, 1, "same"),
            )

    def hybrid_forward(self, F, x):
        return self.pool(F.split_v2(self.conv(x), (5,), axis=2)[1])


class Named(nn.Block):
    """A net that returns its results by name."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(8, 3, 2, "same", in_channels=8)

    def forward(self, x):
        return {"out": self.conv(x)}


@pytest.mark.parametrize("make", [Auxiliary, Split, Named])
def test_unusual_nets_are_tuned_as_far_as_possible(make, stopwatch):
    net = make()
    net.initialize()
    x = mx.nd.random.normal(shape=SHAPE)
    want = net(x)
    stopwatch.fast = ["move", "together"]
    specialize(net, SHAPE, tune=True)
    if make is not Named:
        net.hybridize()
        same(net(x), want)
        adapt(net, tune=True).hybridize()
        same(net(x), want)
    else:
        same(net(x)["out"], want["out"])


def test_no_tag_remains_in_a_graph(net, stopwatch, tmp_path):
    tuning.times_of(net[3], (2, 8, 8, 8))
    adapt(net, tune=True).hybridize()
    net(mx.nd.ones(SHAPE))
    net.export(str(tmp_path / "net"))
    assert "gluon_same" not in (tmp_path / "net-symbol.json").read_text()


@pytest.mark.parametrize("tune", [True, "training"])
def test_random_operators_are_not_run(tune):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, 2, "same"), nn.Dropout(0.5), nn.MaxPool2D(2, 1, "same"), nn.Dropout(0.5))
    net.initialize()
    net(mx.nd.ones(SHAPE))
    mx.random.seed(5)
    want = mx.nd.random.uniform(shape=(3,)).asnumpy()
    mx.random.seed(5)
    specialize(net, SHAPE, tune=tune)
    np.testing.assert_array_equal(mx.nd.random.uniform(shape=(3,)).asnumpy(), want)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_tuned_pool_of_another_dtype(dtype, stopwatch):
    layer = nn.MaxPool2D(3, 2, "same")
    x = mx.nd.random.normal(shape=SHAPE)
    want, stopwatch.fast = layer(x), ["together"]
    adapt(layer, tune=True).hybridize()
    same(layer(x), want)
    assert layer(x.astype(dtype)).dtype == np.dtype(dtype)
    specialize(layer, SHAPE, tune=True)
    with pytest.raises(ValueError, match=f"tuned for float32 and received {dtype}"):
        layer(x.astype(dtype))
    layer.cast(dtype)
    specialize(layer, SHAPE, tune=True)
    assert layer(x.astype(dtype)).dtype == np.dtype(dtype)
