"""Time possible forms of ReLU6 in MXNet, in MobileNetV2.

    python benchmarks/relu6.py [--batch 1 8] [--rounds 20]

All contenders are MXNet's own MobileNetV2 at 224x224 with the same weights, hybridized with
``static_alloc`` and ``static_shape``. They take turns in one process. The table shows medians in
milliseconds for inference, for inference after ``optimize_for('MKLDNN')``, which fuses ``clip`` into the
convolution before it, and for a forward and backward pass. The last column is the largest error of the
form on values around 0 and 6. ``relu`` is not a ReLU6; it shows the lower limit.
"""

import argparse
import time

import gluon_same  # isort: skip  before mxnet

import mxnet as mx
import numpy as np
from mxnet.gluon.model_zoo.vision import MobileNetV2, mobilenet


def relu(F, x):
    return F.Activation(x, act_type="relu")


FORMS = {
    "clip(x)": lambda F, x: F.clip(x, 0, 6),
    "clip(relu(x)), gluon_same.nn.ReLU6": lambda F, x: gluon_same.nn.ReLU6().hybrid_forward(F, x),
    "minimum(relu(x), 6)": lambda F, x: F._internal._minimum_scalar(relu(F, x), scalar=6),
    "6 - relu(6 - relu(x))": lambda F, x: 6 - relu(F, 6 - relu(F, x)),
    "6 * hard_sigmoid(x)": lambda F, x: 6 * F.hard_sigmoid(x, alpha=1 / 6, beta=0),
    "relu(x)": relu,
}
MODES = ("inference", "fused", "training")


class Form(mx.gluon.HybridBlock):
    def __init__(self, form, **kwargs):
        super().__init__(**kwargs)
        self.form = form

    def hybrid_forward(self, F, x):
        return self.form(F, x)


def net_of(form, mode, x):
    mobilenet.RELU6, before = lambda **kwargs: Form(form, **kwargs), mobilenet.RELU6
    try:
        net = MobileNetV2(1.0)
    finally:
        mobilenet.RELU6 = before
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    net(x).wait_to_read()
    if mode == "fused":
        net.optimize_for(x, backend="MKLDNN", static_alloc=True, static_shape=True)
    return net


def run(net, mode, x):
    start = time.perf_counter()
    if mode == "training":
        with mx.autograd.record():
            y = net(x)
        y.backward()
    else:
        net(x)
    mx.nd.waitall()
    return time.perf_counter() - start


def error(form):
    values = np.array([-np.inf, -1, 1e-8, 1e-3, 5.9999995, 6, 7, 1e9], "float32")
    got = form(mx.nd, mx.nd.array(values)).asnumpy()
    return np.abs(got - np.clip(values, 0, 6)).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    print(f"| form | batch | {' | '.join(MODES)} | error |\n|{' --- |' * (3 + len(MODES))}")
    for batch in given.batch:
        x = mx.nd.random.normal(shape=(batch, 3, 224, 224))
        times = {}
        for mode in MODES:
            nets = {name: net_of(form, mode, x) for name, form in FORMS.items()}
            for name, net in nets.items():
                run(net, mode, x)
                times[name, mode] = []
            for _ in range(given.rounds):
                for name, net in nets.items():
                    times[name, mode].append(1e3 * run(net, mode, x))
        for name, form in FORMS.items():
            cells = " | ".join(f"{np.median(times[name, mode]):.1f}" for mode in MODES)
            print(f"| `{name}` | {batch} | {cells} | {error(form):.1g} |", flush=True)


if __name__ == "__main__":
    main()
