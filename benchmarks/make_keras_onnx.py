"""Export a net of keras.applications as an ONNX file; run by onnx_models.py in TensorFlow's environment.

    python make_keras_onnx.py MobileNetV2 tf2onnx FOLDER

Writes what make_onnx.py writes. The environment has tensorflow-cpu==2.15.1, tf2onnx and onnxruntime.
"""

import sys
from pathlib import Path

import make_application as applications
import numpy as np


def main():
    name, _, folder = sys.argv[1:]
    keras = applications.import_keras()
    import tensorflow as tf
    import tf2onnx

    model = applications.build(keras, name, False, applications.SIZES[0])
    applications.randomize(model, name)
    fixed = name in applications.FIXED
    signature = [tf.TensorSpec((None, *model.input_shape[1:]), tf.float32, name="x")]
    tf2onnx.convert.from_keras(model, signature, opset=17, output_path=str(Path(folder, "model.onnx")))
    for i, size in enumerate(applications.SIZES):
        x = applications.data(model, applications.SIZES[0] if fixed else size, 2 + i)
        double = applications.variant(keras, model, x.shape[1], "float64")
        applications.set_weights(double, [w.astype("float64") for w in model.get_weights()])
        applications.split_groups(double)
        np.save(Path(folder, f"x{i}.npy"), x)
        np.save(Path(folder, f"float32_{i}.npy"), np.asarray(model(x, training=False)))
        np.save(
            Path(folder, f"float64_{i}.npy"), np.asarray(double(x.astype("float64"), training=False))
        )
    print("batch" if fixed else "batch, height, width")


if __name__ == "__main__":
    main()
