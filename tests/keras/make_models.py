"""Write the golden models: files of Keras, and Keras' results from the reloaded files.

Each generation of Keras has a separate environment::

    python3.11 -m venv k3 && k3/bin/pip install keras tensorflow-cpu
    python3.11 -m venv k2 && k2/bin/pip install tensorflow-cpu==2.15.1 "numpy<2"
    python3.8 -m venv k23 && k23/bin/pip install tensorflow-cpu==2.2.3 "protobuf<3.21" "h5py<3"
    python3.8 -m venv k22  # as k23, and keras==2.2.5; once more with keras==2.2.0

    k3/bin/python tests/keras/make_models.py [--archive PART] [--only NAME ...] [--into FOLDER]

README.md describes the files.
"""

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo
from zlib import crc32

import attention_cases  # noqa: F401  registers its models
import function_cases  # noqa: F401
import mask_cases  # noqa: F401
import model_cases  # noqa: F401
import nested_cases  # noqa: F401
import numpy as np
import numpy_cases  # noqa: F401
import operation_cases  # noqa: F401
import preprocessing_cases  # noqa: F401
import recurrent_cases  # noqa: F401
from activations import recorded
from forms import FORMS
from value_cases import GROUPS

HERE = Path(__file__).parent
RATE, STEPS = 0.05, 3

#: Groups whose layers contain nested layers with weights. They are saved as files of every kind.
EVERY_KIND = ["batch_norm", "normalization", "rnn", "bidirectional", "time_distributed"]
#: Groups that are also made with old versions.
OLD = {(2, 2): ["conv2d", "depthwise", "borders2d", "reshape", "activation_layers"], (2, 3): []}
IN_ALL = ["batch_norm", "activations", "rnn", "bidirectional"]
#: Version of Keras that wrote a Sequential as a bare list, and the models that are made with it.
OLDEST = "2.2.0"
OF_OLDEST = ["sequential", "sequential_input_shape", "nested_frozen", "shared_models"]


def import_keras():
    """Import the Keras of this environment: the package, or else TensorFlow's."""
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow", CUDA_VISIBLE_DEVICES="-1")
    os.environ["KERAS_HOME"] = tempfile.mkdtemp()
    import tensorflow

    try:
        from importlib.metadata import version

        if version("keras").startswith("2.2"):
            tensorflow.compat.v1.disable_v2_behavior()
            sys.modules["tensorflow"] = tensorflow.compat.v1  # Keras 2.2 was written for TensorFlow 1
        import keras
    except ImportError:
        from tensorflow import keras
    return keras


def number(keras):
    """Return a version as a pair of integers."""
    return tuple(map(int, keras.__version__.split("-")[0].split(".")[:2]))


def generation(keras):
    """Return the name of the folder, such as ``keras2.15`` and ``keras3``."""
    major, minor = number(keras)
    if keras.__version__ == OLDEST:
        return "keras" + OLDEST
    return f"keras{major}.{minor}" if major == 2 else f"keras{major}"


class LeftOut(Exception):
    """This version of Keras does not have the layer or argument."""


def build_layer(keras, kind, arguments, named):
    arguments = [
        build_layer(keras, *each)
        if isinstance(each, tuple) and len(each) == 3 and isinstance(each[0], str)
        else each
        for each in arguments
    ]
    return getattr(keras.layers, kind)(*arguments, **named)


def build_group(keras, name, group):
    """Build a model in which all layers of a group read one input."""
    major = keras.__version__[0]
    start = keras.layers.Input(group.shape, name="data")
    outputs = []
    for each, (kind, arguments, named) in group.layers.items():
        if each[:-1].endswith("_keras") and each[-1] != major:
            continue
        try:
            outputs.append(build_layer(keras, kind, arguments, {**named, "name": each})(start))
        except (TypeError, AttributeError, ValueError, NotImplementedError) as error:
            print(f"  {name} without {each}: {str(error).splitlines()[0][:90]}")
    if not outputs:
        raise LeftOut("is left out, with all its layers")
    return keras.models.Model(start, outputs)


def random_weight(name, old, rng):
    """Return a random value for a weight, such that outputs neither vanish nor explode."""
    if not np.issubdtype(old.dtype, np.floating):
        return old  # a count, or the state of a random generator
    if "variance" in name or "gamma" in name or "scale" in name:
        return rng.uniform(0.5, 1.5, old.shape)
    if "alpha" in name:
        return rng.uniform(0.05, 0.4, old.shape)
    if any(word in name for word in ("bias", "beta", "mean")):
        return rng.normal(0, 0.3, old.shape)
    if "embedding" in name:
        return rng.normal(0, 1, old.shape)
    return rng.normal(
        0, 1 / np.sqrt(max(1, old.size // max(1, old.shape[-1] if old.ndim else 1))), old.shape
    )


def randomize(model, rng):
    """Set every weight of a model, including statistics, to random values."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            randomize(layer, rng)
            continue
        # A Keras 2.2 model lists its weights and their values in two different orders; a layer does not.
        names = [getattr(weight, "path", weight.name).split("/")[-1] for weight in layer.weights]
        old = layer.get_weights()
        layer.set_weights([random_weight(*pair, rng).astype(pair[1].dtype) for pair in zip(names, old)])


def save(keras, model, kind, path, custom):
    """Save a model as one kind of file, and return the reloaded model."""
    custom = {name: make_class(keras) for name, make_class in custom.items()}
    file = path.with_name(path.name + "." + kind)
    if kind in ("h5", "keras"):
        model.save(str(file))
        return keras.models.load_model(str(file), custom_objects=custom, compile=False)
    path.with_name(path.name + ".json").write_text(model.to_json())
    model.save_weights(str(file))
    again = keras.models.model_from_json(model.to_json(), custom_objects=custom)
    again.load_weights(str(file))
    return again


def kinds_of(keras, how):
    """Return the endings of the files of a model."""
    every = {3: ["keras", "h5", "weights.h5"], 2: ["h5", "legacy.h5"]}[number(keras)[0]]
    if (2, 13) <= number(keras) < (3, 0):
        every += ["keras", "weights.h5"]
    if number(keras) >= (3, 0) and how.get("operations"):
        every.remove("h5")  # Keras 3 cannot read the operations that it writes there
    return how.get("kinds") or (every if how.get("every_kind") else every[:1])


def draw(shapes, seed, integers=None, blank=False):
    rng = np.random.RandomState(crc32(seed.encode()))
    if integers:
        return [rng.randint(0, integers, shape).astype("int32") for shape in shapes]
    arrays = [rng.normal(0, 1, shape).astype("float32") for shape in shapes]
    for array in arrays if blank else ():
        array[rng.uniform(size=array.shape[:2]) < 0.4] = 0  # steps that a mask leaves out
        array[:, 2] = 1  # no sequence is left out
    return arrays


def listed(outputs):
    """Return the outputs in the order of ``model.outputs``. Outputs by name are sorted."""
    if isinstance(outputs, dict):
        return [np.asarray(outputs[key]) for key in sorted(outputs)]
    return [np.asarray(each) for each in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def call_twin(model, twin, moved, inputs):
    """Return the outputs of another model with the same weights, with channels last if ``moved``."""
    if any(type(layer).__name__.startswith("CuDNN") for layer in model.layers):
        from keras.src.saving.legacy.hdf5_format import preprocess_weights_for_loading as converted

        for layer, other in zip(model.layers, twin.layers):
            other.set_weights(converted(other, layer.get_weights()))
    else:
        pairs = zip(model.get_weights(), twin.get_weights())
        twin.set_weights([a if a.shape == b.shape else a.reshape(b.shape) for a, b in pairs])
    if not moved:
        return listed(twin.predict_on_batch(inputs[0]))
    outputs = listed(twin.predict_on_batch(np.moveaxis(inputs[0], 1, -1)))
    return [np.moveaxis(each, -1, 1) if each.ndim > 2 else each for each in outputs]


def call(keras, model, inputs, how):
    """Return the outputs of a model, in the order of ``model.outputs``."""
    if how.get("twin"):
        return call_twin(model, *how["twin"], inputs)
    if how.get("inputs"):
        inputs = dict(zip(how["inputs"], inputs))
    elif len(inputs) == 1:
        inputs = inputs[0]
    if number(keras) < (2, 3):
        return listed(model.predict_on_batch(inputs))
    return listed(model(inputs, training=False))


def output_names(model):
    return getattr(model, "output_names", None) or [model.layers[-1].name]


def computed(keras, model, name, runs, how):
    """Return the inputs and outputs of all runs, by the names in README.md."""
    for index, shapes in enumerate(runs):
        inputs = draw(shapes, f"{name} {index}", how.get("integers"), how.get("blank", False))
        for i, each in enumerate(inputs):
            yield f"run {index} input {i}", each
        for i, (output, each) in enumerate(zip(output_names(model), call(keras, model, inputs, how))):
            yield f"run {index} output {i} {output}", each


def trained(keras, model, name, shapes, how):
    """Return the losses of a few training steps, and the outputs after them."""
    inputs = draw(shapes, f"{name} 0", blank=how.get("blank", False))[0]
    target = draw([np.shape(model(inputs))], f"{name} target")[0]
    model.compile(keras.optimizers.SGD(RATE), "mse")
    losses = [float(np.ravel(model.train_on_batch(inputs, target))[0]) for _ in range(STEPS)]
    yield "trained target", target
    yield "trained losses", np.array(losses, "float32")
    yield "trained output", np.asarray(model(inputs, training=False))


def make(keras, name, build, runs, how, folder):
    """Write the files of one model; raise LeftOut if this Keras cannot build it."""
    keras.backend.clear_session()
    known = how.get("since", (2, 2)) <= number(keras) <= how.get("until", (9, 9))
    if how.get("only", number(keras)[0]) != number(keras)[0] or not known:
        raise LeftOut("is left out: another generation has it")
    if how.get("twin"):
        how = {**how, "twin": (build(keras, **how["twin"]), "data_format" in how["twin"])}
    model = build(keras)
    if how.get("compiled"):
        model.compile("adam", "mse")
        data = draw(runs[0], name)[0]
        model.train_on_batch(data, np.zeros_like(model.predict_on_batch(data)))
    randomize(model, np.random.RandomState(crc32(name.encode())))
    arrays = {}
    for kind in kinds_of(keras, how):
        if how.get("refused"):
            model.save(str(folder / f"{name}.{kind}"))
            continue
        loaded = save(keras, model, kind, folder / name, how.get("custom", {}))
        found = dict(computed(keras, loaded, name, runs, how))
        for key, value in arrays.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6)
        arrays = arrays or found
    if how.get("trained") and number(keras) >= (2, 15) and number(keras)[0] in how["trained"]:
        arrays.update(trained(keras, loaded, name, runs[0], how))
    if how.get("activations") and number(keras) >= (2, 15):
        again = keras.models.load_model(str(folder / f"{name}.keras"), compile=False)
        found = recorded(again, draw(runs[0], f"{name} 0"))
        np.savez_compressed(folder / (name + ".activations.npz"), **found)
    if not all(np.isfinite(each).all() for each in arrays.values()):
        raise ValueError(f"{name}: its outputs are not finite")
    if arrays:
        np.savez_compressed(folder / (name + ".npz"), **arrays)


def pack(folder, archive):
    """Pack a folder into an archive whose bytes depend only on the files."""
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=9) as packed:
        for file in sorted(folder.iterdir()):
            member = ZipInfo(file.name)
            member.compress_type = ZIP_DEFLATED
            packed.writestr(member, file.read_bytes())


def all_models(keras):
    """Return the builder, the runs and the options of each model, by name."""
    models = {}
    for name, group in GROUPS.items():
        if number(keras) >= (2, 13) or name in OLD[number(keras)] + IN_ALL:
            how = {"every_kind": name in EVERY_KIND}
            models[name] = partial(build_group, name=name, group=group), [[x] for x in group.runs], how
    if keras.__version__ == OLDEST:
        return {name: FORMS[name] for name in OF_OLDEST}
    return {**models, **FORMS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these models")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="keep the files unpacked there, too")
    parser.add_argument(
        "--archive", metavar="PART", help="the models of another archive: functions or sequences"
    )
    options = parser.parse_args()
    keras = import_keras()
    part = f"_{options.archive}" if options.archive else ""
    archive = HERE / f"{generation(keras)}{part}.zip"
    folder = (options.into or Path(tempfile.mkdtemp())) / archive.stem
    folder.mkdir(parents=True, exist_ok=True)
    if options.only and archive.exists():
        with ZipFile(archive) as packed:
            packed.extractall(folder)
    models = {
        name: model
        for name, model in all_models(keras).items()
        if model[2].get("archive") == options.archive
    }
    for name in options.only or models:
        try:
            make(keras, name, *models[name], folder)
            size = sum(file.stat().st_size for file in folder.glob(name + ".*"))
            print(f"{name}: {size / 1024:.0f} KiB", flush=True)
        except LeftOut as error:
            print(f"{name} {error}")
    pack(folder, archive)
    print(f"{archive}: {archive.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
