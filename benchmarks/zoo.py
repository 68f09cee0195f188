"""Compare deployed nets of MXNet's model zoo and GluonCV with MXNet's own fusion and onnxruntime.

    python benchmarks/zoo.py [NET ...] [--threads 1] [--isa AVX2] [--seconds 1] [--minutes 6]
        [--no-tune] [--csv FILE]

Requires GluonCV (``pip install --no-deps gluoncv``, with portalocker and yacs). The weights are random,
and the running statistics those of one batch. Each net has a process of its own, where these take turns
with a batch of one:

- *stock*: the net, hybridized with ``static_alloc`` and ``static_shape``;
- *optimize_for*: ``net.optimize_for(x, backend='MKLDNN')``, MXNet's own fusion;
- *deployed*: ``gluon_same.deploy(net, shape)``; *onnxruntime*: on the file of ``export_model``.

With one thread, times are the least CPU time of all turns, otherwise the least wall time. An error is
the largest difference from the net in float64, over the largest number. Deployed nets are correct if it
is at most 1e-5, or three times that of the stock net. Where MXNet cannot run that in float64, errors are
differences from it in float32, and may be three times that of onnxruntime. Names with ``mx:`` are of
MXNet's model zoo. With ``--isa``, which onnxruntime ignores, it has no time.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

FORMS = ("stock", "optimize_for", "deployed", "onnxruntime")
COLUMNS = ("net", "threads", "isa", *(f"{form}, ms" for form in FORMS))
COLUMNS += (*(f"{form}, error" for form in FORMS), "ready, s", "operators", "notes")

#: The largest error of a correct net, and how often that of the stock net it may be.
LIMIT, TIMES = 1e-5, 3

#: Maps the size of an image to the names of nets.
IMAGES = {
    (224, 224): """mx:alexnet mx:vgg11 mx:squeezenet1.0 mx:squeezenet1.1 mx:mobilenet1.0
        mx:mobilenetv2_1.0 mx:densenet121 mx:resnet18_v1 mx:resnet50_v2 googlenet darknet53 mobilenet0.5
        mobilenetv2_0.5 mobilenetv3_small mobilenetv3_large shufflenet_v1 shufflenet_v2 resnest14
        resnest26 resnet18_v2 resnet34_v1b resnet50_v1d resnext50_32x4d se_resnet18_v1 se_resnet18_v2
        se_resnext50_32x4d senet_154 dla34 hrnet_w18_small_v1_c residualattentionnet56 vgg11_bn""",
    (299, 299): "mx:inceptionv3 xception",
    (32, 32): "cifar_resnet20_v2 cifar_resnext29_16x64d cifar_wideresnet16_10",
    (331, 331): "nasnet_4_1056",
    (300, 300): "ssd_300_vgg16_atrous_voc ssd_300_mobilenet1.0_lite_coco",
    (256, 256): "ssd_512_resnet18_v1_voc yolo3_mobilenet1.0_voc center_net_resnet18_v1b_voc",
    (256, 192): "simple_pose_resnet18_v1b mobile_pose_mobilenetv3_small mobile_pose_mobilenet1.0 "
    "alpha_pose_resnet101_v1b_coco",
    (192, 192): "fcn_resnet50_voc deeplab_resnet50_ade psp_resnet50_ade danet_resnet50_citys "
    "icnet_resnet50_citys fastscnn_citys hrnet_w18_small_v1_s",
    (192, 640): "monodepth2_resnet18_kitti_mono_640x192",
}
SIZES = {name: size for size, names in IMAGES.items() for name in names.split()}


def make_net(name, size):
    """Build a net with random weights."""
    import mxnet as mx
    from mxnet.gluon.model_zoo import vision

    if name.startswith("mx:"):
        net = vision.get_model(name[3:])
    else:
        from gluoncv.model_zoo import get_model

        given = {} if name == "darknet53" else {"pretrained_base": False}
        if name.startswith(("fcn", "deeplab", "psp", "danet", "icnet", "hrnet")) and name[-2:] != "_c":
            given["crop_size"] = size[0]
        if name.startswith("fastscnn"):
            given.update(height=size[0], width=size[1])
        for omitted in ((), ("crop_size",), ("crop_size", "pretrained_base")):
            try:
                net = get_model(name, **{k: v for k, v in given.items() if k not in omitted})
                break
            except TypeError:  # an argument that the net does not have
                continue
    with warnings.catch_warnings():  # GluonCV initializes some parameters itself
        warnings.simplefilter("ignore")
        for parameter in net.collect_params().values():
            if "predictor" in parameter.name or "yolooutput" in parameter.name:
                parameter.init = mx.init.Normal(0.01)  # detectors take its exponential
            elif parameter.init is None:  # that of a SymbolBlock, which knows no initializer
                parameter.init = _initializer(parameter.name)
        net.initialize(mx.init.MSRAPrelu())
    if hasattr(net, "set_nms"):  # equal scores may change places, and ONNX has no such operator
        net.set_nms(0)
    if hasattr(net, "cls_decoder"):  # rounding may move a score across its threshold
        net.cls_decoder._thresh = 0
    return net


def _initializer(name):
    import mxnet as mx

    if name.endswith("weight"):
        return mx.init.MSRAPrelu()
    return mx.init.One() if name.endswith(("gamma", "var")) else mx.init.Zero()


def fill_statistics(net, x):
    """Set the running averages of normalizations to the statistics of a batch."""
    import mxnet as mx

    found = []
    net.apply(lambda block: found.append(block) if hasattr(block, "running_var") else None)
    for block in found:
        block._kwargs["momentum"] = 0
    # Detectors would ask for boxes of the batch.
    with mx.autograd.record(), mock.patch("mxnet.autograd.is_training", lambda: False):
        net(mx.nd.random.normal(shape=(4, *x.shape[1:])))
    mx.nd.waitall()
    for block in found:
        block._kwargs["momentum"] = 0.9


def flat(results):
    if isinstance(results, (list, tuple)):
        return [y for each in results for y in flat(each)]
    return [] if results is None else [results]


def as_numpy(results):
    import race

    return [y if isinstance(y, np.ndarray) else race.in_thread(y.asnumpy) for y in flat(results)]


def error(got, want):
    """Return the largest difference over the largest number, of the worst output."""
    if [x.shape for x in got] != [x.shape for x in want]:
        return math.inf
    pairs = [(x.astype("float64"), y) for x, y in zip(got, want)]
    return float(np.max([np.abs(x - y).max() / (np.abs(y).max() or 1) for x, y in pairs]))


def prepare(name, tune):
    """Return functions that run each form, the row of what was found, and the results in float64."""
    import gluon_same  # isort: skip  first: it readies NumPy for MXNet
    import mxnet as mx
    import onnxruntime

    from gluon_same.onnx import export_model

    mx.random.seed(1)
    np.random.seed(1)  # noqa: NPY002  of which GluonCV's initializers draw
    size, row, runs, notes = SIZES[name], {}, {}, []
    x = mx.nd.random.normal(shape=(1, 3, *size))
    net, twin, double = (make_net(name, size) for _ in range(3))
    net(x)
    try:
        fill_statistics(net, x)
    except Exception as failure:
        notes.append(f"statistics: {_line(failure)}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net")
        net.save_parameters(path)
        for other in (twin, double):
            other.load_parameters(path)

        def stock():
            net.hybridize(static_alloc=True, static_shape=True)
            return lambda: net(x)

        def optimize_for():
            twin.optimize_for(x, backend="MKLDNN", static_alloc=True, static_shape=True)
            return lambda: twin(x)

        def deployed():
            start = time.process_time()
            block = gluon_same.deploy(net, x.shape, tune=tune)
            row["ready, s"] = round(time.process_time() - start, 1)
            row["operators"] = block.report.rows[-1].after
            notes.extend(f"{each.name}: {each.note}" for each in block.report.rows if each.note)
            return lambda: block(x)

        def exported():
            export_model(net, [x.shape], path, check=False)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
            options.log_severity_level = 3
            session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
            (given,), values = session.get_inputs(), x.asnumpy()
            return lambda: session.run(None, {given.name: values})

        try:
            double.cast("float64")
            want = as_numpy(double(x.astype("float64")))
        except Exception as failure:
            notes.append(f"float64: {_line(failure)}")
            want = [y.astype("float64") for y in as_numpy(net(x))]
        for form, make in zip(FORMS, (stock, optimize_for, deployed, exported)):
            try:
                run = make()
                run()
                row[f"{form}, error"] = error(as_numpy(run()), want)
                runs[form] = run
            except Exception as failure:
                notes.append(f"{form} fails: {_line(failure)}")
    row["notes"] = "; ".join(notes)
    return runs, row


def _line(failure):
    lines = [line.strip() for line in str(failure).strip().splitlines()] or [repr(failure)]
    return next((line for line in lines if "Error" in line), lines[-1])[:160]


def serve(args):
    """Print the row of one net as JSON."""
    import race

    runs, row = race.in_thread(prepare, args.nets[0], not args.no_tune)

    least = least_times(runs, args.seconds, args.threads)
    row.update((f"{form}, ms", 1000 * seconds) for form, seconds in least.items())
    print(json.dumps(row))


def least_times(runs, seconds, threads):
    """Return the least seconds of a call of each of several functions that take turns.

    Below half of the median is an error of the clock, which may miss the time of another thread.
    """

    def wait(run):
        for y in flat(run()):
            if not isinstance(y, np.ndarray):
                y.wait_to_read()

    clock = time.process_time if threads == 1 else time.perf_counter
    turn = 0.02 if threads == 1 else 0.2  # threads that have slept share a core for about 50 ms
    found, end, turns = {form: [] for form in runs}, time.time() + seconds * len(runs), 0
    while turns < 5 or time.time() < end:
        for form, run in runs.items():
            wait(run)  # the first call after a turn of the others finds a cold cache
            begin, calls = time.perf_counter(), 0
            while calls < 2 or time.perf_counter() - begin < turn:
                start = clock()
                wait(run)
                found[form].append(clock() - start)
                calls += 1
        turns += 1
    return {form: min(t for t in times if t >= np.median(times) / 2) for form, times in found.items()}


def measure(name, args):
    """Return the row of one net, from a process of its own."""
    env = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "MXNET_SUBGRAPH_VERBOSE": "0"}
    if args.isa:
        env["DNNL_MAX_CPU_ISA"] = args.isa
    options = ["--threads", str(args.threads), "--seconds", str(args.seconds), "--serve"]
    command = [sys.executable, __file__, name, *options, *(["--no-tune"] if args.no_tune else [])]
    row = {"net": name, "threads": args.threads, "isa": args.isa}
    try:
        done = subprocess.run(command, env=env, capture_output=True, timeout=60 * args.minutes)
        lines = done.stdout.decode().splitlines()
        row.update(json.loads(lines[-1]) if done.returncode == 0 else {"notes": _failed(done)})
        if args.isa:  # which onnxruntime ignores
            row.pop("onnxruntime, ms", None)
    except subprocess.TimeoutExpired:
        row["notes"] = f"takes more than {args.minutes} minutes"
    return row


def _failed(done):
    return f"ends with {done.returncode}: {done.stderr.decode().strip().splitlines()[-1:]}"


def ratio(row, other):
    """Return the time of the deployed net over that of another form; None if one is missing."""
    times = [row.get(f"{form}, ms") for form in ("deployed", other)]
    return times[0] / times[1] if all(times) else None


def is_correct(row):
    noise = row.get("stock, error") or row.get("onnxruntime, error", 0)
    least = max(LIMIT, TIMES * noise)
    return row.get("deployed, error", math.inf) <= least


def show(row):
    cells = [f"{row[f'{form}, ms']:9.2f}" if f"{form}, ms" in row else f"{'-':>9}" for form in FORMS]
    found = [ratio(row, form) for form in FORMS if form != "deployed"]
    cells += ["     -" if each is None else f"{each:6.2f}" for each in found]
    off = "".join(f"{row.get(f'{form}, error', math.nan):9.1e}" for form in ("stock", "deployed"))
    wrong = "" if is_correct(row) else "  WRONG"
    notes = row.get("notes", "")
    print(
        f"{row['net']:<34}{''.join(cells)}{off}{row.get('ready, s', 0):6.1f}s{wrong}  {notes}",
        flush=True,
    )


def write(rows, path):
    with open(path, "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for row in rows:
            short = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
            table.writerow(short)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"all by default: {', '.join(SIZES)}")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", default="", help="DNNL_MAX_CPU_ISA, such as AVX2")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds for each form")
    parser.add_argument("--minutes", type=float, default=6.0, help="limit for each net")
    parser.add_argument("--no-tune", action="store_true", help="deploy by fixed rules")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the rows")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not set(args.nets) <= set(SIZES):
        parser.error(f"the nets are {', '.join(SIZES)}")
    if args.serve:
        serve(args)
        return
    rows = []
    print(f"{'':<34}" + "".join(f"{form[:8]:>9}" for form in FORMS) + " /stock /opt /onnx")
    for name in args.nets or SIZES:
        rows.append(measure(name, args))
        show(rows[-1])
        if args.csv:
            write(rows, args.csv)
    for form in FORMS:
        found = [each for each in (ratio(row, form) for row in rows) if each and form != "deployed"]
        if found:
            mean = math.exp(sum(map(math.log, found)) / len(found))
            print(f"deployed / {form:<13}{mean:6.2f}, at most {max(found):.2f}, of {len(found)} nets")
    wrong = [row["net"] for row in rows if not is_correct(row)]
    print(f"wrong or failed: {', '.join(wrong) or 'none'}")


if __name__ == "__main__":
    main()
