"""Export a net of torchvision or timm as an ONNX file; run by onnx_models.py in PyTorch's environment.

    python make_onnx.py tv:resnet18 old FOLDER      # torchvision's, by the exporter that traces
    python make_onnx.py vit_tiny_patch16_224 new FOLDER      # timm's, by torch.export

Writes model.onnx, the inputs x0.npy and x1.npy of two sizes, one odd, and for each the outputs in
float32 and float64. Prints which axes the file leaves open. Weights are random; running statistics are
those of random images.
"""

import contextlib
import copy
import io
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import torch


def create(name):
    """Return a net and its image size."""
    if name.startswith("tv:"):
        import torchvision

        more = (
            {"aux_logits": False, "init_weights": False}
            if name[3:] in ("googlenet", "inception_v3")
            else {}
        )
        return torchvision.models.get_model(name[3:], weights=None, **more), 224
    import timm

    net = timm.create_model(name, pretrained=False)
    return net, net.default_cfg["input_size"][-1]


def calibrate(net, size):
    """Set running statistics to those of random images, so that no layer vanishes or explodes."""
    for module in net.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.momentum = None  # averages over all batches
            torch.nn.init.uniform_(module.weight, 0.5, 1.0)
            torch.nn.init.uniform_(module.bias, -0.2, 0.2)
        elif isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.normal_(module.weight, std=0.02)  # a head, whose results would all be 0
    net.train()
    with torch.no_grad():
        for _ in range(3):
            net(torch.randn(4, 3, size, size))
    net.eval()


def export(net, x, exporter, path, axes):
    """Write a file that leaves the given axes open."""
    names = {axis: ("batch", None, "height", "width")[axis] for axis in axes}
    with contextlib.redirect_stdout(io.StringIO()):
        if exporter == "old":
            torch.onnx.export(
                net, (x,), path, dynamo=False, opset_version=17, input_names=["x"],
                output_names=["y"], dynamic_axes={"x": names, "y": {0: "batch"}},
            )  # fmt: skip
        else:
            shapes = (dict.fromkeys(axes, torch.export.Dim.DYNAMIC),)
            torch.onnx.export(
                net, (x,), path, dynamo=True, opset_version=18, input_names=["x"],
                output_names=["y"], dynamic_shapes=shapes, external_data=False,
            )  # fmt: skip


def main():
    name, exporter, folder = sys.argv[1:]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net, size = create(name)
    calibrate(net, size)
    double = copy.deepcopy(net).double()
    path, inputs = str(Path(folder, "model.onnx")), [torch.randn(2, 3, size, size)]
    for axes in (0, 2, 3), (0,):
        shape = (3, 3, size, size) if axes == (0,) else (1, 3, size + 1 - size % 2, size + 33)
        inputs[1:] = [torch.randn(shape)]
        try:
            with torch.no_grad():
                wanted = net(inputs[1]).numpy()
            export(net, inputs[0], exporter, path, axes)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            found = session.run(None, {"x": inputs[1].numpy()})[0]
            np.testing.assert_allclose(found, wanted, atol=1e-3 * np.abs(wanted).max())
            break
        except Exception:  # the net has one size, or the exporter writes a file for one
            if axes == (0,):
                raise
    for i, x in enumerate(inputs):
        with torch.no_grad():
            np.save(Path(folder, f"x{i}.npy"), x.numpy())
            np.save(Path(folder, f"float32_{i}.npy"), net(x).numpy())
            np.save(Path(folder, f"float64_{i}.npy"), double(x.double()).numpy())
    print("batch" if axes == (0,) else "batch, height, width")


if __name__ == "__main__":
    main()
