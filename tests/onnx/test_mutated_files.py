"""Damaged files: an error of ours, or the numbers of onnxruntime; never a crash, much memory or time.

Files run in a process of their own. More of them than in the suite::

    python tests/onnx/test_mutated_files.py 0 2000
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"

#: Address space of the process, and seconds for a file.
MEMORY, SECONDS = 6 * 2**30, 20

SIZES = (0, 1, -1, 2, 3, 7, 64, 10**5, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63))
OPERATORS = ("Add", "Concat", "Conv", "Gather", "MatMul", "Relu", "Reshape", "Softmax", "Split", "None")


def files():
    """Return the files to damage: those of this folder, and models of ONNX's own tests if installed."""
    own = [path for path in sorted(GOLDEN.glob("*.onnx")) if path.stat().st_size < 12_000]
    return own + sorted(DATA.glob("pytorch-*/*/model.onnx"))


def bytes_changed(data, random):
    """Return a file with a few other bytes, or without its end."""
    data = bytearray(data)
    if random.rand() < 0.2:
        return bytes(data[: random.randint(len(data))])
    for _ in range(random.randint(1, 5)):
        data[random.randint(len(data))] = random.randint(256)
    return bytes(data)


def pick(random, items):
    items = list(items)
    return items[random.randint(len(items))] if items else None


def change_size(model, random):
    values = [*model.graph.input, *model.graph.output]
    value = pick(random, values)
    dim = pick(random, value.type.tensor_type.shape.dim)
    if dim is not None:
        dim.dim_value = pick(random, SIZES)


def change_type(model, random):
    value = pick(random, [*model.graph.input, *model.graph.output])
    value.type.tensor_type.elem_type = random.randint(0, 25)


def change_weight(model, random):
    tensor = pick(random, model.graph.initializer)
    if tensor is None:
        return
    kind = random.randint(4)
    if kind == 0 and tensor.dims:
        tensor.dims[random.randint(len(tensor.dims))] = pick(random, SIZES)
    elif kind == 1:
        tensor.data_type = random.randint(0, 25)
    elif kind == 2:
        tensor.dims.append(pick(random, (0, 1, 2)))
    else:
        try:
            array = numpy_helper.to_array(tensor).copy()
        except (ValueError, TypeError):  # it is damaged already
            return
        if array.size and array.dtype.kind in "if":
            other = pick(random, SIZES if array.dtype.kind == "i" else (np.nan, np.inf, 0, 1e38))
            array.flat[random.randint(array.size)] = np.clip(other, -(2**31), 2**31 - 1)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_attribute(model, random):
    node = pick(random, [node for node in model.graph.node if node.attribute])
    if node is None:
        return
    attribute = pick(random, node.attribute)
    kind = random.randint(5)
    if kind == 0:
        node.attribute.remove(attribute)
    elif kind == 1:
        attribute.name = pick(random, ("axis", "axes", "perm", "auto_pad", "mode", "nonsense"))
    elif kind == 2:
        attribute.type = random.randint(0, 15)
    elif attribute.ints:
        if random.rand() < 0.3:
            attribute.ints.append(pick(random, SIZES))
        attribute.ints[random.randint(len(attribute.ints))] = pick(random, SIZES)
    elif attribute.type == onnx.AttributeProto.INT:
        attribute.i = pick(random, SIZES)
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = pick(random, (np.nan, np.inf, -1.0, 0.0, 1e30))
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = pick(random, (b"", b"nonsense", b"SAME_UPPER", b"\xff\xfe", b"linear"))


def change_node(model, random):
    nodes = model.graph.node
    node = pick(random, nodes)
    kind = random.randint(8)
    names = [name for each in nodes for name in (*each.input, *each.output)]
    if kind == 0:
        nodes.remove(node)
    elif kind == 1:
        node.op_type = pick(random, (*OPERATORS, pick(random, nodes).op_type))
    elif kind == 2 and node.input:
        node.input[random.randint(len(node.input))] = pick(random, (*names, "", "nothing"))
    elif kind == 3 and node.output:
        node.output[random.randint(len(node.output))] = pick(random, (*names, ""))
    elif kind == 4:
        other = pick(random, nodes)
        copy = onnx.NodeProto.FromString(node.SerializeToString())
        node.CopyFrom(other)
        other.CopyFrom(copy)
    elif kind == 5 and node.input:
        del node.input[-1]
    elif kind == 6:
        node.input.append(pick(random, names))
    else:
        node.domain = pick(random, ("ai.onnx.ml", "nowhere", "ai.onnx"))


def change_version(model, random):
    model.opset_import[0].version = random.randint(0, 30)


CHANGES = (change_size, change_type, change_weight, change_weight, change_attribute, change_attribute)
CHANGES += (change_attribute, change_node, change_node, change_node, change_version)


def mutated(seed):
    """Return the name of a file, and its content with one or two damages."""
    random = np.random.RandomState(seed)
    path = pick(random, files())
    data = path.read_bytes()
    if random.rand() < 0.2:
        return path, bytes_changed(data, random)
    model = onnx.load_from_string(data)
    for _ in range(random.randint(1, 3)):
        if model.graph.node:
            pick(random, CHANGES)(model, random)
    return path, model.SerializeToString()


def arrays(session, random):
    """Return data for the inputs, whose open axes of one name have one size."""
    kinds = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(int32)": "i4", "tensor(double)": "f8"}
    named, found = {"batch": 2}, []
    for each in session.get_inputs():
        shape = tuple(
            n if isinstance(n, int) else named.setdefault(n, 4 * random.randint(2, 5))
            for n in each.shape
        )
        # MXNet has no arrays without elements.
        if not 0 < np.prod([float(n) for n in shape]) < 1e7 or each.type not in kinds:
            return None
        x = random.randint(0, 2, shape) if kinds[each.type][0] == "i" else random.normal(size=shape)
        found.append(x.astype(kinds[each.type]))
    return found


def outcome(data, folder):
    """Import a file, and return what came of it in a word; raise if it is wrong."""
    from gluon_same.onnx import import_model  # isort: skip  prepares NumPy for MXNet

    import mxnet as mx
    import onnxruntime

    path = os.path.join(folder, "mutated.onnx")
    Path(path).write_bytes(data)
    try:
        net = import_model(path)
    except (ValueError, OSError, ImportError):
        return "refused"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        given = arrays(session, np.random.RandomState(0))
        if given is None:
            return "unknown"
        wanted = session.run(None, {v.name: x for v, x in zip(session.get_inputs(), given)})
    except Exception:  # onnxruntime has errors of many types
        return "refused by onnxruntime"
    try:
        got = net(*(mx.nd.array(np.atleast_1d(x), dtype=x.dtype) for x in given))
        got = got if isinstance(got, (list, tuple)) else [got]
        mx.nd.waitall()
    except ValueError:
        return "refused when called"
    assert [x.shape for x in got] == [x.shape or (1,) for x in wanted]
    for one, other in zip(got, wanted):
        if np.isnan(other.astype("f8")).any():  # functions of these differ
            continue
        one, other = one.asnumpy().astype("f8").reshape(other.shape), other.astype("f8")
        largest = np.abs(other[np.isfinite(other)]).max(initial=1)
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * largest)
    return "equal"


def stop(*_):
    raise TimeoutError(f"more than {SECONDS} seconds")


def main(first, last):
    """Print a line for each file, with ``WRONG`` for one that is neither refused nor right."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    signal.signal(signal.SIGPROF, stop)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            path, data = mutated(seed)
            print(seed, f"{path.parent.name}/{path.name}", end=" ", flush=True)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor, which others may use, too
            try:
                print(outcome(data, folder), flush=True)
            except BaseException as error:
                text = str(error).strip().splitlines() or [""]
                print(f"WRONG {type(error).__name__}: {' | '.join(text)[:600]}", flush=True)
            signal.setitimer(signal.ITIMER_PROF, 0)


def test_damaged_files_are_refused_or_right():
    done = subprocess.run(
        [sys.executable, __file__, "0", "100"], capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 100, (lines[-1:], done.stderr[-2000:])
    assert not [line for line in lines if "WRONG" in line]
    assert sum(line.endswith("equal") for line in lines) >= 10


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
