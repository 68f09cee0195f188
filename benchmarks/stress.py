"""Test blocks under load with threads, many shapes and many nets, and compare with stock blocks.

    python benchmarks/stress.py [--seconds 60] [--shapes 1000] [--nets 2000]

- *threads*: eight threads, each with its own net, eager, hybridized, specialized for one shape and for
  any, with and without gradients, for ``--seconds`` each. Each case runs in a separate process, because
  errors in threads end the process;
- *shapes*: memory after ``--shapes`` input shapes in one hybridized net, and in one specialized for any;
- *nets*: memory after ``--nets`` nets were built, run and deleted;
- *forks*: 100 children, one after the other, of a process that has run the net;
- *specialized*: results and memory after specializing one net 200 times.
"""

import argparse
import gc
import multiprocessing
import os
import threading
import time

WAYS = ("eager", "hybridized", "specialized", "specialized for any shape")
THREADS, SIZE = 8, 24


def resident():
    """Return the resident memory of the process in MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def make(stock):
    from gluon_same import nn  # isort: skip  first, because it prepares NumPy for MXNet
    import mxnet as mx

    module, padding = (mx.gluon.nn, 1) if stock else (nn, "same")
    net = module.HybridSequential()
    net.add(
        module.Conv2D(8, 3, 2, padding, in_channels=3),
        module.Conv2D(8, 3, 2, padding, groups=8, in_channels=8),
        module.MaxPool2D(3, 2, padding),
        module.AvgPool2D(3, 1, padding),
    )
    net.initialize()
    return net


def run_threads(stock, way, record, seconds):
    import mxnet as mx

    import gluon_same

    lock, runs, end = threading.Lock(), [0] * THREADS, time.time() + seconds

    def work(number):
        with lock:  # only one thread may trace at a time
            net, x = make(stock), mx.nd.random.normal(shape=(1, 3, SIZE, SIZE + number))
            first = net[0]
            if way.startswith("specialized"):
                net = gluon_same.specialize(net, *([x.shape] if way == "specialized" else []))
            if way != "eager":
                net.hybridize()
            want = net(x).asnumpy()
            if record:
                with mx.autograd.record():
                    net(x).backward()
        while time.time() < end:
            if record:
                with mx.autograd.record():
                    out = net(x)
                out.backward()
                first.weight.grad().wait_to_read()
            else:
                out = net(x)
            if abs(out.asnumpy() - want).max() > 1e-4:
                os._exit(3)
            runs[number] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(runs):8} runs", end=" ", flush=True)


def run_shapes(stock, specialized, count):
    import mxnet as mx

    import gluon_same

    net = make(stock)
    if specialized:
        net = gluon_same.specialize(net)
    net.hybridize()
    net(mx.nd.ones((1, 3, SIZE, SIZE))).wait_to_read()
    before = resident()
    for i in range(count):
        net(mx.nd.ones((1, 3, SIZE + i % 40, SIZE + i // 40))).wait_to_read()
    print(f"{resident() - before:+8.1f} MiB", end=" ", flush=True)


def run_nets(stock, count):
    import mxnet as mx

    for i in range(count):
        if i == count // 4:
            gc.collect()
            before = resident()
        net = make(stock)
        net.hybridize()
        net(mx.nd.ones((1, 3, SIZE, SIZE))).wait_to_read()
    gc.collect()
    print(f"{resident() - before:+8.1f} MiB", end=" ", flush=True)


def run_forks(stock, count):
    import mxnet as mx

    net, x = make(stock), mx.nd.random.normal(shape=(1, 3, SIZE, SIZE))
    net.hybridize()
    want = net(x).asnumpy()
    for _ in range(count):
        child = os.fork()
        if not child:
            os._exit(int(abs(net(x).asnumpy() - want).max() > 1e-4))
        if os.waitpid(child, 0)[1]:
            os._exit(4)
    print(f"{count:8} runs", end=" ", flush=True)


def run_specialize(count):
    import mxnet as mx

    import gluon_same

    net, x = make(False), mx.nd.random.normal(shape=(1, 3, SIZE, SIZE))
    want, before = net(x).asnumpy(), resident()
    error = 0.0
    for _ in range(count):
        block = gluon_same.specialize(net, x.shape)
        block.hybridize()
        error = max(error, abs(block(x).asnumpy() - want).max())
    error = max(error, abs(net(x).asnumpy() - want).max())
    print(f"{resident() - before:+8.1f} MiB, off by {error:.1e}", end=" ", flush=True)


def show(title, function, *args):
    print(f"{title:<58}", end="", flush=True)
    process = multiprocessing.get_context("spawn").Process(target=function, args=args)
    process.start()
    process.join(3600)
    print("ok" if process.exitcode == 0 else f"FAILED, exit code {process.exitcode}", flush=True)
    return process.exitcode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--shapes", type=int, default=1000)
    parser.add_argument("--nets", type=int, default=2000)
    args = parser.parse_args()
    good = True
    for record in (False, True):
        for way in WAYS:
            for stock in (True, False) if way in ("eager", "hybridized") else (False,):
                whose = "stock" if stock else "ours"
                title = f"threads, {way}, {'recording' if record else 'not recording'}, {whose}"
                done = show(title, run_threads, stock, way, record, args.seconds)
                good = good and (done or stock)
    for stock in (True, False):
        whose = "stock" if stock else "ours"
        good = show(f"{args.shapes} shapes, {whose}", run_shapes, stock, False, args.shapes) and good
        good = show(f"{args.nets} nets, {whose}", run_nets, stock, args.nets) and good
        good = show(f"100 forks after use, {whose}", run_forks, stock, 100) and good
    good = show(f"{args.shapes} shapes, specialized", run_shapes, False, True, args.shapes) and good
    good = show("specialized 200 times", run_specialize, 200) and good
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
