"""Compare nets of torchvision and timm, read by gluon_same.onnx.import_model, with PyTorch.

    python benchmarks/onnx_models.py --python TORCH/bin/python [--nets tv:resnet18 ...]
        [--exporters old new] [--json FILE] [--csv FILE]
    python benchmarks/onnx_models.py --python TENSORFLOW/bin/python --exporters tf2onnx ...

``--python`` is the interpreter of an environment with torch, torchvision, timm, onnx and onnxscript.
There, each net gets random weights and is exported, with open batch and image sizes where it supports
them, by both of PyTorch's exporters. For tf2onnx, the nets are those of keras.applications, and the
environment is that of make_keras_onnx.py. This script imports the file, and runs the net hybridized,
specialized, deployed, and exported again, at two sizes. An error is the distance from PyTorch's float64
net, relative to the largest value. The limit is 1e-5, or three times the distance of PyTorch's float32
net. Results are kept in the JSON file net by net; nets that it contains are not run again.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
LIMIT, TIMES = 1e-5, 3
KINDS = ["eager", "hybridized", "specialized", "deployed", "exported"]

#: Networks of torchvision (``tv:``) and timm.
NETS = """
tv:resnet18 tv:squeezenet1_1 tv:shufflenet_v2_x1_0 tv:mobilenet_v2 tv:mobilenet_v3_small
tv:mobilenet_v3_large tv:mnasnet1_0 tv:efficientnet_b0 tv:regnet_y_400mf tv:regnet_x_400mf
tv:densenet121 tv:googlenet tf_efficientnet_b0 tf_efficientnet_lite0 tf_mixnet_s mixnet_s
tf_mobilenetv3_small_100 mobilenetv3_small_100 mobilenetv4_conv_small ghostnet_100 lcnet_050
spnasnet_100 semnasnet_075 fbnetc_100 tinynet_e regnety_002 hardcorenas_a convnext_atto convnextv2_atto
vit_tiny_patch16_224 deit_tiny_patch16_224 deit_tiny_distilled_patch16_224 pit_ti_224
levit_128s mobilevit_xxs mobilevitv2_050 edgenext_xx_small efficientformer_l1 fastvit_t8
xcit_nano_12_p16_224 tiny_vit_5m_224 poolformer_s12 pvt_v2_b0 hrnet_w18_small resnest14d skresnet18
ecaresnet26t repvgg_a0 rexnet_100 cait_xxs24_224 coat_tiny crossvit_tiny_240 visformer_tiny dpn68 dla34
selecsls42 nf_resnet26 res2net50_14w_8s resnet26d tv:resnet50 swin_tiny_patch4_window7_224
tf_efficientnetv2_b0 nfnet_l0 resnetv2_50 cspresnet50 seresnet50 gmlp_s16_224
mixer_s32_224 twins_svt_small swinv2_tiny_window8_256 inception_v4 xception41 inception_resnet_v2
darknet53 vovnet39a tv:swin_t tv:maxvit_t tv:convnext_tiny volo_d1_224 beit_base_patch16_224 tv:alexnet
tv:vgg11_bn tv:resnext50_32x4d tv:wide_resnet50_2 tv:inception_v3 tv:efficientnet_v2_s tv:vit_b_32
tv:swin_v2_t convmixer_768_32
"""

#: Networks of keras.applications, for the exporter tf2onnx.
KERAS = """
MobileNet MobileNetV2 MobileNetV3Small MobileNetV3Large EfficientNetB0 EfficientNetV2B0 DenseNet121
ResNet50 ResNet50V2 Xception InceptionV3 InceptionResNetV2 NASNetMobile ResNetRS50
VGG16
"""


def check(folder):
    """Return the errors and seconds of one file, as JSON."""
    import mxnet as mx

    from gluon_same import deploy, specialize
    from gluon_same.onnx import export_model, import_model

    def error(y, i):
        wanted = np.load(folder / f"float64_{i}.npy")
        y = y if isinstance(y, np.ndarray) else y.asnumpy()
        return float(np.abs(y - wanted).max() / np.abs(wanted).max()) if y.shape == wanted.shape else 9e9

    start = time.time()
    net = import_model(folder / "model.onnx")
    found = {"seconds": time.time() - start, "failed": {}}
    inputs = [np.load(folder / f"x{i}.npy") for i in (0, 1)]
    arrays = [mx.nd.array(x) for x in inputs]
    errors = found["errors"] = {kind: [] for kind in ["float32", *KINDS]}
    errors["float32"] = [error(np.load(folder / f"float32_{i}.npy"), i) for i in (0, 1)]

    def again(i, x):
        import onnxruntime

        path = export_model(net, x.shape, folder / "again.onnx", dynamic=None in net.input_sizes[0][1:])
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(None, {session.get_inputs()[0].name: inputs[i]})[0]

    ways = {
        "eager": lambda i, x: net(x),
        "hybridized": lambda i, x: net.hybridize() or net(x),
        "specialized": lambda i, x: specialize(net, x.shape)(x),
        "deployed": lambda i, x: deploy(net, x.shape, tune=False)(x),
        "exported": again,
    }
    for kind, way in ways.items():
        for i, x in enumerate(arrays):
            try:
                errors[kind].append(error(way(i, x), i))
            except Exception as failure:  # all kinds are tried
                found["failed"][kind] = f"{type(failure).__name__}: {failure}"
    return json.dumps(found)


def limits(found):
    return [max(LIMIT, TIMES * own) for own in found["errors"]["float32"]]


def passed(found):
    """Return whether all errors are within the limits."""
    good = (
        len(got) == 2 and all(error <= limit for error, limit in zip(got, limits(found)))
        for kind, got in found["errors"].items()
    )  # fmt: skip
    return not found["failed"] and all(good)


def run_net(python, net, exporter, kept):
    """Export a net with PyTorch and compare it with ours, each in a separate process."""
    with tempfile.TemporaryDirectory(prefix="onnx-net-") as folder:
        if kept:
            folder = str(kept / f"{net}-{exporter}".replace(":", "-"))
            Path(folder).mkdir(parents=True, exist_ok=True)
        axes = Path(folder, "axes.txt")
        if not axes.exists():
            script = "make_keras_onnx.py" if exporter == "tf2onnx" else "make_onnx.py"
            maker = [python, str(HERE / script), net, exporter, folder]
            done = subprocess.run(maker, capture_output=True, text=True)
            if done.returncode:
                return {"unexported": done.stderr[-300:]}
            axes.write_text(done.stdout.splitlines()[-1])
        checker = [sys.executable, __file__, "--check", folder]
        done = subprocess.run(checker, capture_output=True, text=True)
        if done.returncode:
            return {"axes": axes.read_text(), "refused": done.stderr[-1500:]}
        return {"axes": axes.read_text(), **json.loads(done.stdout.splitlines()[-1])}


def table(results):
    """Return the rows of the table, the first with the titles: the larger error of the two sizes."""
    yield ["net", "exporter", "open axes", "PyTorch in float32", *KINDS, "passed"]
    for key, found in results.items():
        if "errors" in found:
            errors = [f"{max(found['errors'][kind], default=9e9):.1e}" for kind in ("float32", *KINDS)]
            yield [*key.split(), found["axes"], *errors, "yes" if passed(found) else "no"]
        else:
            word = "not exported" if "unexported" in found else "refused"
            yield [*key.split(), found.get("axes", ""), *[""] * 6, word]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", metavar="PATH", help="of an environment with PyTorch")
    parser.add_argument("--nets", nargs="+", metavar="NAME")
    parser.add_argument(
        "--exporters", nargs="+", choices=["old", "new", "tf2onnx"], default=["old", "new"]
    )
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="keep the exported files here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="results, kept net by net")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to a file")
    parser.add_argument("--again", action="store_true", help="run again what did not pass")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.check:
        print(check(options.check))
        return
    results = {}
    if options.json and options.json.exists():
        results = json.loads(options.json.read_text())
    nets = options.nets or (KERAS if options.exporters == ["tf2onnx"] else NETS).split()
    for key in [f"{net} {exporter}" for net in nets for exporter in options.exporters]:
        known = results.get(key)
        if known and not (options.again and not ("errors" in known and passed(known))):
            continue
        start = time.time()
        found = results[key] = run_net(options.python, *key.split(), options.files)
        good = "errors" in found and passed(found)
        words = "passed" if good else {k: v for k, v in found.items() if k != "axes"}
        print(f"{key}: {str(words)[:1500]}, {time.time() - start:.0f} s", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))
    with open(options.csv, "w", newline="") if options.csv else nullcontext(sys.stdout) as file:
        csv.writer(file, lineterminator="\n").writerows(table(results))


if __name__ == "__main__":
    main()
