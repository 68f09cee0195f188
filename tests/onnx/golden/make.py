"""Make the files of this folder: ONNX models with the numbers of onnxruntime at two sizes.

PyTorch requires a separate environment, because it requires another NumPy than MXNet::

    python3.11 -m venv /tmp/pt
    /tmp/pt/bin/pip install torch==2.13.0 transformers==5.23.0 onnx==1.23.2 onnxscript==0.7.2 onnxruntime
    /tmp/pt/bin/python tests/onnx/golden/make.py

Weights are random. Each net is written by one or both of PyTorch's exporters; onnxruntime's numbers are
compared with those of PyTorch. Names of nets as arguments make these only.
"""

import io
import re
import sys
import warnings
from pathlib import Path
from zlib import crc32

import numpy as np

try:
    import onnx
    import onnxruntime
    import torch
    import torch_nets
    from onnx import helper, numpy_helper
    from torch import nn
except ImportError:
    if __name__ == "__main__":
        raise

HERE = Path(__file__).parent
IMAGE = ("batch", 3, "height", "width")
IMAGES = {"batch": 2, "height": 16, "width": 12}, {"batch": 1, "height": 21, "width": 27}
FOURS = {"batch": 2, "height": 16, "width": 12}, {"batch": 1, "height": 8, "width": 20}
SEQUENCES = {"batch": 2, "length": 6}, {"batch": 3, "length": 9}
SIGNAL = ("batch", "length", 3)
WORDS = {"words": ("batch", "length"), "mask": ("batch", "length")}


def cases():
    """Yield name, constructor, shapes of the inputs, two sizes of open axes, and exporters."""
    state = {"h": (2, "batch", 4)}
    cell = {"h": (2, "batch", 4), "c": (2, "batch", 4)}
    late, early = ("dynamo", 18), ("script", 11)
    yield (
        "lstm",
        lambda: torch_nets.Recurrent(nn.LSTM, num_layers=2, bidirectional=True, batch_first=True),
        {"x": SIGNAL},
        SEQUENCES,
        [("script", 14), late],
    )
    yield "lstm_from_state", lambda: torch_nets.RecurrentFromState(nn.LSTM, num_layers=2), {
        "x": ("length", "batch", 3), **cell
    }, SEQUENCES, [early]  # fmt: skip
    yield (
        "gru_from_state",
        lambda: torch_nets.RecurrentFromState(nn.GRU, bidirectional=True, batch_first=True),
        {"x": SIGNAL, **state},
        SEQUENCES,
        [("script", 16), late],
    )
    yield "rnn", lambda: torch_nets.Recurrent(nn.RNN, bidirectional=True), {
        "x": ("length", "batch", 3)
    }, SEQUENCES, [early]  # fmt: skip
    yield "attention", torch_nets.Attention, {"x": ("batch", "length", 8)}, SEQUENCES, [late]
    yield "encoder", torch_nets.encoder, {"x": ("batch", "length", 8)}, SEQUENCES, [late]
    yield "encoder_decoder", torch_nets.EncoderDecoder, {
        "source": (2, 6, 8), "target": (2, 5, 8)
    }, ({}, {}), [("script", 17)]  # fmt: skip
    yield "einsum_attention", torch_nets.EinsumAttention, {"x": ("batch", "length", 6)}, SEQUENCES, [
        ("script", 12), late
    ]  # fmt: skip
    yield "rotary", torch_nets.Rotary, {"x": ("batch", "length", 8)}, SEQUENCES, [("script", 14), late]
    yield "gpt", torch_nets.gpt, WORDS, SEQUENCES, [("script", 14), late]
    yield "bert", torch_nets.bert, WORDS, SEQUENCES, [("script", 14), ("dynamo", 20)]
    yield "vision_transformer", torch_nets.VisionTransformer, {"x": ("batch", 3, 16, 16)}, (
        {"batch": 2}, {"batch": 3}
    ), [("script", 17), late]  # fmt: skip
    yield "shifted_windows", torch_nets.ShiftedWindows, {"x": ("batch", "height", "width", 3)}, FOURS, [
        ("script", 13), late
    ]  # fmt: skip
    yield "unet_bilinear", lambda: torch_nets.Unet(False), {"x": IMAGE}, FOURS, [early, late]
    yield "unet_transposed", lambda: torch_nets.Unet(True), {"x": IMAGE}, IMAGES, [("script", 13), late]
    yield "super_resolution", torch_nets.super_resolution, {
        "x": ("batch", 1, "height", "width")
    }, IMAGES, [early, late]  # fmt: skip
    yield "yolo", torch_nets.Yolo, {"x": IMAGE}, FOURS, [("script", 12), late]
    yield "ssd", torch_nets.Ssd, {"x": IMAGE}, IMAGES, [("script", 12), late]
    yield "pyramid", torch_nets.Pyramid, {"x": IMAGE}, IMAGES, [("script", 11), late]
    yield (
        "conv_lstm",
        torch_nets.ConvLstm,
        {"x": ("batch", 4, 2, "height", "width")},
        IMAGES,
        [early, late],
    )
    yield "wavenet", torch_nets.Wavenet, {"x": ("batch", 1, "length")}, SEQUENCES, [("script", 12), late]
    yield "norms", torch_nets.Norms, {"x": IMAGE}, IMAGES, [("script", 17), early, ("dynamo", 20)]
    yield "squeeze_excite", torch_nets.SqueezeExcite, {"x": ("batch", 4, "height", "width")}, IMAGES, [
        ("script", 15), late
    ]  # fmt: skip
    yield "adaptive", torch_nets.Adaptive, {"x": ("batch", 3, 12, 8)}, ({"batch": 2}, {"batch": 3}), [
        early, late
    ]  # fmt: skip
    yield "pools", torch_nets.Pools, {"x": IMAGE}, IMAGES, [("script", 12), late]
    yield "text_classifier", torch_nets.TextClassifier, WORDS, SEQUENCES, [early, late]
    yield "places", torch_nets.Places, {"x": ("batch", 5, "length"), "places": ("batch", 4, "length")}, (
        SEQUENCES
    ), [("script", 13), late]  # fmt: skip
    yield "masks", torch_nets.Masks, {"x": ("batch", "length"), "y": ("batch", 1)}, SEQUENCES, [
        ("script", 14), late
    ]  # fmt: skip
    yield "volume", torch_nets.Volume, {"x": ("batch", 1, "depth", "height", "width")}, (
        {"batch": 2, "depth": 6, "height": 6, "width": 8},
        {"batch": 1, "depth": 7, "height": 8, "width": 5},
    ), [early, late]  # fmt: skip
    yield "autoencoder", torch_nets.Autoencoder, {"x": ("batch", 2, "length")}, SEQUENCES, [early]
    yield "spatial_transformer", torch_nets.SpatialTransformer, {
        "x": ("batch", 2, "height", "width")
    }, IMAGES, [("script", 16), late]  # fmt: skip
    yield (
        "upscaling",
        torch_nets.Upscaling,
        {"x": ("batch", 2, "height", "width")},
        IMAGES,
        [early, late],
    )


def array(random, name, shape, sizes):
    """Return an input by its name: words, places along an axis of 5, masks, or numbers."""
    shape = tuple(sizes.get(n, n) for n in shape)
    if name == "words":
        return random.randint(0, 20, shape)
    if name == "mask":
        lengths = random.randint(2, shape[1] + 1, (shape[0], 1))
        return (np.arange(shape[1]) < lengths).astype(np.int64)
    if name == "places":  # without repetition, so that the order of writing does not matter
        return np.argsort(random.rand(shape[0], 5, *shape[2:]), 1)[:, : shape[1]]
    return random.normal(size=shape).astype("f")


def exported(net, arrays, shapes, exporter, version):
    """Return a model that PyTorch exports."""
    axes = {
        name: {i: n for i, n in enumerate(shape) if isinstance(n, str)} for name, shape in shapes.items()
    }
    args = tuple(map(torch.from_numpy, arrays.values()))
    stream = io.BytesIO()
    if exporter == "script":
        torch.onnx.export(
            net, args, stream, dynamo=False, opset_version=version, input_names=list(shapes),
            dynamic_axes=axes,
        )  # fmt: skip
        return onnx.load_from_string(stream.getvalue())
    given = list(axes.values())
    if isinstance(net, torch_nets.RecurrentFromState):  # whose states are *args
        given = [given[0], tuple(given[1:])]
    program = torch.onnx.export(
        net, args, dynamo=True, opset_version=version, input_names=list(shapes),
        dynamic_shapes=tuple(given), verbose=False,
    )  # fmt: skip
    return program.model_proto


def clean(model):
    """Remove what tells about the machine and the source."""
    model.ir_version = min(model.ir_version, 9)
    model.doc_string = ""
    del model.metadata_props[:]
    for graph in [model.graph, *model.functions]:
        graph.doc_string = ""
        for each in (graph, *graph.node, *getattr(graph, "initializer", ())):
            each.doc_string = ""
            del each.metadata_props[:]
    del model.graph.value_info[:]
    for value in (*model.graph.input, *model.graph.output):
        value.doc_string = ""
        del value.metadata_props[:]
    return model


def perceptron(classes):
    """Return a model like scikit-learn's: a scaler and dense layers, with labels for classes."""
    random = np.random.RandomState(classes)
    weights = {
        "mean": random.normal(size=4), "scale": random.uniform(0.5, 2, 4),
        "w1": random.normal(size=(4, 6)), "b1": random.normal(size=6),
        "w2": random.normal(size=(6, max(classes, 1))), "b2": random.normal(size=max(classes, 1)),
    }  # fmt: skip
    steps = [
        ("Sub", "x mean", "a"), ("Div", "a scale", "b"), ("MatMul", "b w1", "c"), ("Add", "c b1", "d"),
        ("Relu", "d", "e"), ("MatMul", "e w2", "f"), ("Add", "f b2", "g"),
    ]  # fmt: skip
    tensors = [numpy_helper.from_array(value.astype("f"), name) for name, value in weights.items()]
    if classes:
        tensors.append(numpy_helper.from_array(np.arange(10, 10 + classes), "classes"))
        steps += [("Softmax", "g", "scores"), ("ArgMax", "scores", "best")]
        steps += [("Gather", "classes best", "label")]
    else:
        steps.append(("Reshape", "g flat", "y"))
        tensors.append(numpy_helper.from_array(np.array([-1, 1]), "flat"))
    extra = {"ArgMax": {"axis": 1, "keepdims": 0}, "Softmax": {"axis": -1}}
    nodes = [
        helper.make_node(kind, given.split(), [made], made, **extra.get(kind, {}))
        for kind, given, made in steps
    ]
    outputs = [("y", 1, ["batch", 1])]
    if classes:
        outputs = [("label", 7, ["batch"]), ("scores", 1, ["batch", classes])]
    graph = helper.make_graph(
        nodes, "perceptron", [helper.make_tensor_value_info("x", 1, ["batch", 4])],
        [helper.make_tensor_value_info(*each) for each in outputs], tensors,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])


def save(name, model, inputs, wanted, golden):
    """Write a model and its numbers."""
    data = clean(model).SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (HERE / f"{name}.onnx").write_bytes(data)
    for size, arrays in enumerate(inputs):
        found = session.run(None, dict(zip([each.name for each in session.get_inputs()], arrays)))
        for one, other in zip(found, wanted[size] if wanted else found):
            assert one.shape == other.shape, (one.shape, other.shape)
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
        for kind, each in (("in", arrays), ("out", found)):
            for i, x in enumerate(each):  # those of both exporters differ by rounding only
                golden.setdefault(f"{net_of(name)}/{size}/{kind}{i}", x)
    print(f"{name}: {len(data)} bytes, {len(model.graph.node)} nodes", flush=True)


def net_of(file):
    """Return the name of a net, without the exporter that wrote the file."""
    return re.sub(r"_(script|dynamo)\d+$", "", file)


def main(only):
    warnings.simplefilter("ignore")
    golden, failed = {}, []
    for name, make, shapes, sizes, exporters in cases():
        if only and name not in only:
            continue
        torch.manual_seed(crc32(name.encode()))
        random = np.random.RandomState(crc32(name.encode()))
        net = make().eval()
        for each in net.modules():  # statistics that change numbers
            if isinstance(each, nn.modules.batchnorm._BatchNorm):
                each.running_mean.normal_()
                each.running_var.uniform_(0.5, 2)
        inputs = [{n: array(random, n, s, size) for n, s in shapes.items()} for size in sizes]
        with torch.no_grad():
            wanted = [net(*map(torch.from_numpy, each.values())) for each in inputs]
        wanted = [[y.numpy() for y in (ys if isinstance(ys, tuple) else (ys,))] for ys in wanted]
        for exporter, version in exporters:
            file = f"{name}_{exporter}{version}"
            try:
                model = exported(net, inputs[0], shapes, exporter, version)
                save(file, model, [list(each.values()) for each in inputs], wanted, golden)
            except Exception as error:
                failed.append(f"{file}: {str(error).strip().splitlines()[0][:300]}")
                print("FAILED", failed[-1], flush=True)
    random = np.random.RandomState(0)
    for name, classes in (("perceptron_classifier", 3), ("perceptron_regressor", 0)):
        if not only or name in only:
            inputs = [[random.normal(size=(n, 4)).astype("f")] for n in (5, 2)]
            save(name, perceptron(classes), inputs, None, golden)
    path = HERE / "golden.npz"
    if only and path.exists():
        kept = {net_of(each.stem) for each in HERE.glob("*.onnx")}
        kept -= {name.split("/")[0] for name in golden}
        older = {name: x for name, x in np.load(path).items() if name.split("/")[0] in kept}
        golden = {**older, **golden}
    np.savez_compressed(path, **golden)
    print(*failed, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
