"""What is not supported is refused by layer, class and argument, and all of it in one error."""

import re

import pytest
from small_models import functional, image, layer, write

from gluon_same.keras import load_model

#: Shapes of the inputs, by name.
INPUTS = {
    "image": (4, 5, 2),
    "vector": (6,),
    "words": (4, 3),
    "other": (5, 2),
    "open": (None, None),
    "open_image": (None, None, 3),
    "single": (),
}

#: A model with two outputs.
FORK = functional(image(3), layer("ReLU", "one", "image"), layer("ReLU", "two", "image"))
FORK["config"]["output_layers"] = [["one", 0, 0], ["two", 0, 0]]

#: Class, input or inputs, arguments, and words of the message.
LAYERS = [
    (
        "Activation",
        "image",
        {"activation": "strange"},
        "activation='strange' is not an activation of Keras",
    ),
    ("Activation", "image", {"activation": 5}, "activation=5 is not an activation of Keras"),
    ("Activation", "words", {"activation": "glu"}, "glu halves the last axis"),
    ("Dense", "words", {"units": 2, "activation": "glu"}, "which only the layer Activation may do"),
    (
        "Dense",
        "vector",
        {"units": 2, "activation": {"class_name": "PReLU", "config": {}}},
        "an inner layer of class 'PReLU' is not supported: only Activation, ReLU",
    ),
    (
        "Dense",
        "words",
        {"units": 2, "activation": {"class_name": "Softmax", "config": {"axis": 1}}},
        "activation=Softmax(axis=1): only -1 is supported",
    ),
    ("Dense", "words", {"units": 2, "activation": {"value": ["4wEA", None]}}, "its activation is code"),
    (
        "Dense",
        "vector",
        {"units": 2, "dtype": {"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8"}}},
        "weights in int8: save the model before it is quantized",
    ),
    ("GlobalAveragePooling1D", ("words", "other"), {}, "it is called with 2 arrays"),
    ("Attention", ("image", "words"), {}, "has 3 axes, not 4"),
    (
        "Resizing",
        "open_image",
        {"height": 2, "width": 3, "crop_to_aspect_ratio": True},
        "images of unknown size are not supported",
    ),
    ("LSTM", "words", {"units": 2, "activation": {"value": ["4wEA", None]}}, "its activation is code"),
    ("Activation", "image", {"activation": {"value": ["4wEA", None, None]}}, "its activation is code"),
    (
        "LSTM",
        "words",
        {"units": 2, "recurrent_activation": {"class_name": "function", "config": None}},
        "its activation is code",
    ),
    ("ReLU", "image", {"max_value": -1.0}, "max_value=-1.0 is negative"),
    ("ReLU", "image", {"max_value": "six"}, "max_value='six' is not a finite number"),
    ("Softmax", "image", {"axis": [1, 7]}, "axis=[1, 7] are not axes of an input with 4 axes"),
    ("Softmax", "image", {"axis": "last"}, "axis='last' does not consist of whole numbers"),
    ("PReLU", "image", {"shared_axes": [4]}, "shared_axes=[4] are not axes of an input with 4 axes"),
    ("Conv2D", "words", {"filters": 2, "kernel_size": [3, 3]}, "has 3 axes, not 4"),
    ("Conv2D", "image", {"filters": 2, "kernel_size": [9, 9]}, "spans more than the 4 elements"),
    ("Conv2D", "image", {"filters": 2, "kernel_size": [3, 3], "padding": "causal"}, "padding='causal'"),
    ("Conv2D", "image", {"kernel_size": [3, 3]}, "filters is missing"),
    ("Conv2D", "image", {"filters": 2, "kernel_size": [1, 1], "use_bias": 1}, "neither True nor False"),
    ("DepthwiseConv1D", "open", {"kernel_size": 3}, "the channels of its input are not known"),
    ("Conv2DTranspose", "image", {"filters": 2, "kernel_size": [3, 3], "groups": 2}, "groups=2"),
    ("MaxPooling2D", "image", {"pool_size": [5, 5]}, "spans more than the 4 elements"),
    ("Dense", "single", {"units": 2}, "has only the batch axis"),
    ("Dense", "vector", {"units": 0}, "units"),
    ("Reshape", "vector", {"target_shape": [-1, -1]}, "target_shape=[-1, -1] is not a shape"),
    ("Reshape", "vector", {"target_shape": [4, 2]}, "does not fit an input of shape (None, 6)"),
    ("Permute", "image", {"dims": [1, 2]}, "dims=[1, 2] do not name each axis"),
    ("RepeatVector", "image", {"n": 2}, "has 4 axes, not 2"),
    ("Embedding", "vector", {"input_dim": 5, "output_dim": 2, "mask_zero": 1}, "mask_zero=1 is neither"),
    ("Masking", "words", {"mask_value": "zero"}, "mask_value='zero' is not a finite number"),
    ("Dropout", "vector", {"rate": 1.5}, "a rate of 1.5"),
    ("Dropout", "image", {"rate": 0.5, "noise_shape": [1, 1]}, "noise_shape=[1, 1] does not fit"),
    ("BatchNormalization", "image", {"axis": [1, 3]}, "axis=[1, 3]: only one axis is supported"),
    ("BatchNormalization", "image", {"axis": 7}, "axis=[7] are not axes of an input with 4 axes"),
    ("BatchNormalization", "open", {"axis": 1}, "an axis of unknown size"),
    ("BatchNormalization", "image", {"renorm": True}, "renorm=True: only False is supported"),
    ("RMSNormalization", "image", {}, "axis is missing"),
    ("RMSNormalization", "image", {"axis": 1}, "factors of shape (4,) do not fit the last axes"),
    ("LayerNormalization", "image", {"axis": [1, 7]}, "axis=[1, 7] are not axes"),
    ("GroupNormalization", "image", {"axis": [1, 2]}, "one axis of known size is supported"),
    ("GroupNormalization", "image", {"groups": 3}, "groups=3 does not divide 2 channels"),
    ("Normalization", "image", {"mean": [1, 2, 3], "variance": 1}, "is not a numeric array"),
    ("Rescaling", "image", {"scale": ["a"], "offset": 0}, "is not a numeric array"),
    ("Resizing", "image", {"height": 2, "width": 2, "interpolation": "best"}, "interpolation='best'"),
    ("CenterCrop", "open", {"height": 2, "width": 2}, "has 3 axes, not 4"),
    ("StringLookup", "vector", {}, "strings are not supported: turn them into numbers outside"),
    ("IntegerLookup", "vector", {}, "its vocabulary is not in the file"),
    ("Discretization", "vector", {"num_bins": 3}, "Keras does not save those of adapt()"),
    ("CategoryEncoding", "words", {"num_tokens": 3, "output_mode": "count"}, "output_mode='count'"),
    ("AdaptiveMaxPooling1D", "open", {"output_size": 2}, "inputs of unknown size"),
    (
        "LocallyConnected1D",
        "words",
        {"filters": 2, "kernel_size": 2, "implementation": 3},
        "only 1 and 2",
    ),
    ("Cropping2D", "image", {"cropping": [[2, 2], [0, 0]]}, "removes all of an input"),
    ("ZeroPadding2D", "image", {"padding": [[1, 1]]}, "give 2 pairs (before, after), one for each axis"),
    ("UpSampling3D", "image", {"size": 2, "interpolation": "bilinear"}, "is only for images"),
    ("UpSampling2D", "image", {"size": 2, "interpolation": "cubic"}, "interpolation='cubic'"),
    ("LSTM", "image", {"units": 2}, "has 4 axes, not 3"),
    ("LSTM", "words", {"units": 2, "time_major": True}, "time_major=True: only False is supported"),
    ("LSTM", ("words", "vector", "vector"), {"units": 2, "stateful": True}, "with initial states"),
    ("RNN", "words", {"cell": {"class_name": "Mine", "config": {}}}, "inner layer of class 'Mine'"),
    (
        "RNN",
        "words",
        {"cell": {"class_name": "StackedRNNCells", "config": {"cells": []}}},
        "an inner layer of class ''",
    ),
    ("ConvLSTM2D", "image", {"filters": 2, "kernel_size": 3}, "has 4 axes, not 5"),
    ("MultiHeadAttention", "words", {"num_heads": 2, "key_dim": 3}, "is called with query"),
    ("Attention", "words", {}, "it has 1 inputs, not query, value"),
    ("Attention", ("words", "words"), {"dropout": 1.0}, "dropout=1.0: only 0 to below 1"),
    (
        "EinsumDense",
        "words",
        {"equation": "abc,cd->bad", "output_shape": [4, 2]},
        "equation='abc,cd->bad': the batch must stay first",
    ),
    ("EinsumDense", "words", {"equation": "abc,cd->abd", "output_shape": [2]}, "does not fit equation="),
    ("EinsumDense", "words", {"equation": "abc,cd->abd", "output_shape": [4, None]}, "kernel of shape"),
    ("LSTM", ("words", "vector"), {"units": 2}, "initial states of shapes"),
    ("Bidirectional", "words", {"layer": {"class_name": "Dense"}}, "class 'Dense'"),
    ("TimeDistributed", "words", {"layer": {"class_name": "Functional"}}, "inner layer of class"),
    ("TimeDistributed", "vector", {"layer": {"class_name": "ReLU", "config": {}}}, "has no time axis"),
    ("TimeDistributed", "words", {"layer": FORK}, "an inner model with 2 outputs is not supported"),
    ("TimeDistributed", "vector", {"layer": FORK}, "has no time axis"),
    ("TimeDistributed", "words", {"layer": FORK, "strange": 1}, "strange=1 is not known"),
    ("Add", ("image", "words"), {}, "do not fit each other"),
    ("Subtract", ("image", "image", "image"), {}, "it has 3 inputs"),
    ("Multiply", ("words", "other"), {}, "do not fit each other"),
    ("Concatenate", ("words", "vector"), {"axis": -1}, "axis=-1 of inputs of shapes"),
    ("Concatenate", ("words", "other"), {"axis": 1}, "do not fit each other"),
    ("AdaptiveMaxPooling1D", "words", {"output_size": 2**30}, "output_size=[1073741824]: at most 4096"),
    ("Resizing", "image", {"height": 2**30, "width": 2}, "a size of [1073741824, 2]: at most 1048576"),
    (
        "UpSampling2D",
        "image",
        {"size": 2**30, "interpolation": "bilinear"},
        "at most 4096 are supported",
    ),
    ("IntegerLookup", "vector", {"vocabulary": [1], "num_oov_indices": 2**30}, "num_oov_indices="),
    ("Dot", ("image", "image"), {"axes": 0}, "of inputs with 4 and 4 axes"),
    ("Dot", ("words", "words"), {"axes": 3}, "axes=[3, 3] of inputs with 3 and 3 axes"),
]

#: Function of Keras 2, its named arguments, and words of the message. The input is an image.
FUNCTIONS = [
    ("math.bessel_i0", {}, "'bessel_i0' is not supported: give custom={'tf.math.bessel_i0': builder}"),
    ("strings.split", {}, "the function 'strings.split' is not supported"),
    ("math.add", {}, "add of 1 operands"),
    ("math.add", {"y": ["vector", 0, 0]}, "add of shapes"),
    ("math.add", {"y": [[1, 2], [3]]}, "add with"),
    ("math.add", {"y": [[[[[1.0]]]]]}, "add of shapes"),
    ("math.add", {"y": [1.0, 2.0, 3.0]}, "do not fit each other"),
    ("nn.relu", {"max_value": 3}, "relu with max_value=3 is not known"),
    ("nn.relu", {"strange": 3}, "relu with strange=3 is not known"),
    ("abs", {"y": 1.0}, "abs with y=1.0 is not known"),
    ("cast", {"dtype": "string"}, "cast to 'string'"),
    ("nn.softmax", {"axis": 9}, "softmax along axis=9"),
    ("math.reduce_sum", {"axis": 0}, "sum along axis=[0]"),
    ("math.reduce_mean", {}, "mean along axis=[None]: only axes after the batch are supported"),
    ("concat", {"y": 1.0}, "concatenate with y=1.0 is not known"),
    ("__operators__.getitem", {"slice_spec": [0]}, "a slice of the batch"),
    ("__operators__.getitem", {"slice_spec": [{}, {"start": -5}]}, "a slice from -5 of an axis of 4"),
    ("__operators__.getitem", {"slice_spec": ["x"]}, "a slice by 'x'"),
    ("__operators__.getitem", {"slice_spec": [{"start": None}] * 5}, "a slice by"),
    ("__operators__.getitem", {"slice_spec": [{}, {"start": "a"}]}, "a slice by"),
    ("__operators__.getitem", {"slice_spec": [{}, {"step": 0}]}, "a slice with a step of 0"),
    ("__operators__.getitem", {"slice_spec": [{}, {"start": 9}]}, "a slice from 9 of an axis of 4"),
    ("__operators__.getitem", {"slice_spec": [{}, {"stop": 0}]}, "would be empty"),
    ("reshape", {"shape": [2, -1]}, "reshape to [2, -1]"),
    ("slice", {"begin": [0, 0, 0, 0], "size": [2, 1, 1, 1]}, "a slice of the batch"),
    ("squeeze", {"axis": 0}, "squeeze of axis=[0]"),
    ("squeeze", {"axis": 1}, "have more than one element"),
    ("pad", {"paddings": [[1, 1], [0, 0], [0, 0], [0, 0]]}, "pad by"),
    ("pad", {"paddings": [[0, 0]] * 4, "mode": "ODD"}, "with mode='odd'"),
    ("split", {"num_or_size_splits": 3, "axis": 3}, "split into 3 at axis=3"),
    ("nn.space_to_depth", {"block_size": 0}, "space_to_depth by 0"),
    ("tile", {"multiples": [2, 1, 1, 1]}, "give one count of 1 for the batch"),
    ("tile", {"multiples": "x"}, "tile with repeats='x'"),
    ("image.resize", {"size": [2, 3], "method": "best"}, "interpolation='best'"),
    ("image.resize", {"size": [2, 3], "keep_aspect_ratio": True}, "keep_aspect_ratio"),
    ("linalg.matmul", {}, "matmul of 1 operands: y is missing"),
    ("linalg.matmul", {"b": [[1.0, 2.0]]}, "matmul of shapes"),
    ("gather", {"indices": [7], "axis": 1}, "gather of [7] along an axis of 4"),
    ("math.top_k", {"k": 3}, "top_k of 3 elements of 2"),
    ("nn.conv2d", {"filters": [1.0], "strides": 1, "padding": "SAME"}, "not a constant array"),
    ("math.argmax", {}, "argmax along axis=None"),
    ("sort", {"axis": None}, "sort with axis=None"),
    ("gather_nd", {"indices": ["vector", 0, 0]}, "gather_nd with batch_dims=0: the batch must stay"),
    ("norm", {"ord": 3, "axis": 1}, "norm with ord=3"),
    ("one_hot", {"depth": 3, "axis": 0}, "one_hot with axis=0"),
    ("roll", {"shift": [5, 1], "axis": 1}, "roll by [5, 1] along axis=[1]"),
    ("slice", {"begin": [1, 0, 0, 0], "size": [-1, 1, 1, 1]}, "a slice of the batch"),
    ("tile", {"multiples": [1, 2, 1, 1, 1]}, "give one count of 1 for the batch"),
    ("split", {"num_or_size_splits": 2**30, "axis": 1}, "split into 1073741824: at most 4096"),
    ("diff", {"n": 2**30}, "diff with n=1073741824: at most 4096"),
    ("extract_patches", {"size": [2**20, 1], "padding": "same"}, "patches of 2097152 elements"),
]


def message(folder, *layers):
    """The error of a model that ends in some layers."""
    starts = [image(*shape, name=name) for name, shape in INPUTS.items()]
    ends = [each["name"] for each in layers]
    config = functional(*starts, *layers, inputs=INPUTS, outputs=ends)
    with pytest.raises(ValueError) as error:
        load_model(write(folder, config))
    return str(error.value)


def refused_layer(name, class_name, inputs, arguments):
    inputs = (inputs,) if isinstance(inputs, str) else inputs
    made = layer(class_name, name, **arguments)
    made["inbound_nodes"] = [[[each, 0, 0, {}] for each in inputs]]
    return made


def refused_function(name, function, arguments):
    made = layer("TFOpLambda", name, function=function)
    made["inbound_nodes"] = [[["image", 0, 0, arguments]]]
    return made


@pytest.mark.parametrize("class_name, inputs, arguments, words", LAYERS)
def test_a_layer_is_refused(tmp_path, class_name, inputs, arguments, words):
    found = message(tmp_path, refused_layer("odd", class_name, inputs, arguments))
    assert re.search(rf"- odd \({class_name}\): .*{re.escape(words)}", found)


@pytest.mark.parametrize("function, arguments, words", FUNCTIONS)
def test_a_function_is_refused(tmp_path, function, arguments, words):
    found = message(tmp_path, refused_function("odd", function, arguments))
    assert re.search(rf"- odd \(TFOpLambda\): .*{re.escape(words)}", found)


def test_the_error_names_the_file_and_the_model(tmp_path):
    found = message(tmp_path, refused_layer("odd", "Unheard", "words", {}))
    assert found.startswith(
        f"{tmp_path / 'config.json'}: small contains unsupported layers or arguments:"
    )


def test_layers_behind_a_rejected_one_receive_real_numbers(tmp_path):
    tokens = layer("InputLayer", "image", batch_input_shape=[None, 4], dtype="int32")
    layers = tokens, layer("TokenEmbedding", "own", "image"), layer("LayerNormalization", "norm", "own")
    with pytest.raises(ValueError, match="own.*is not known") as error:
        load_model(write(tmp_path, {**functional(*layers), "keras_version": "3.15.1"}))
    assert "norm" not in str(error.value)


def test_all_of_them_are_refused_at_once(tmp_path):
    layers = [refused_layer(f"odd{i}", *case[:3]) for i, case in enumerate(LAYERS) if case[1] == "image"]
    functions = [refused_function(f"fun{i}", *case[:2]) for i, case in enumerate(FUNCTIONS)]
    found = message(tmp_path, *layers, *functions).splitlines()[1:]
    lines = [
        re.match(r"- (\w+)(?: and (\d+) more)? \(", line) for line in found if line.startswith("- ")
    ]
    assert sum(1 + int(line[2] or 0) for line in lines) == len(layers) + len(functions)
    names, listed = [each["name"] for each in (*layers, *functions)], [line[1] for line in lines]
    assert listed == [name for name in names if name in listed]  # once each, in the order of the model


def test_a_function_with_the_name_of_an_activation_of_keras_has_a_warning(tmp_path):
    given = {"module": "builtins", "class_name": "function", "config": "swish"}
    model = functional(image(3), layer("Activation", "act", "image", activation=given))
    with pytest.warns(UserWarning, match="'swish' is a function of the model's author"):
        load_model(write(tmp_path, model))


def test_functions_of_what_a_rejected_layer_returns_are_not_blamed(tmp_path):
    made = refused_function("odd", "math.bessel_i0", {})
    size = layer("TFOpLambda", "size", "odd", function="shape")
    part = layer("SlicingOpLambda", "part", function="__operators__.getitem")
    part["inbound_nodes"] = [[["size", 0, 0, {"slice_spec": 1}]]]
    twice = layer("TFOpLambda", "twice", function="math.floordiv")
    twice["inbound_nodes"] = [[["part", 0, 0, {"y": 2}]]]
    tiled = layer("TFOpLambda", "tiled", function="tile")
    tiled["inbound_nodes"] = [[["image", 0, 0, {"multiples": [1, ["twice", 0, 0], 1, 1]}]]]
    later = layer("TFOpLambda", "later", "tiled", function="math.bessel_i1")
    found = message(tmp_path, made, size, part, twice, tiled, later)
    assert [line.split()[1] for line in found.splitlines()[1:]] == ["odd", "later"]


@pytest.mark.parametrize(
    "function, arguments",
    [
        ("transpose", {"perm": [1, 0, 2, 3]}),
        ("expand_dims", {"axis": 0}),
        ("__operators__.getitem", {"slice_spec": [None, {}]}),
    ],
)
def test_the_batch_is_the_first_axis_of_outputs_and_layers(tmp_path, function, arguments):
    moved = refused_function("moved", function, arguments)
    assert "the batch is not the first axis of an output" in message(tmp_path, moved)
    for name, given in (("Dense", {"units": 2}), ("TFOpLambda", {"function": "roll"})):
        after = layer(name, "after", "moved", **given)
        found = message(tmp_path, moved, after)
        assert re.search(rf"- after \({name}\): the batch is not the first axis of its inputs", found)


def test_a_slice_that_is_empty_at_any_size_is_refused(tmp_path):
    made = layer("SlicingOpLambda", "odd", function="__operators__.getitem")
    made["inbound_nodes"] = [[["image", 0, 0, {"slice_spec": [{}, {"start": 3, "stop": 1}]}]]]
    with pytest.raises(ValueError, match="would be empty"):
        load_model(write(tmp_path, functional(image(None, 2), made)))


@pytest.mark.parametrize(
    "name, config, args",
    [
        ("Normalize", {"axis": None, "order": 2, "epsilon": None}, []),
        ("Softmax", {"axis": None}, []),
        ("Sort", {"axis": None}, []),
        ("Take", {"axis": None}, [1]),
    ],
)
def test_functions_of_flat_arrays_are_refused(tmp_path, name, config, args):
    tensor = {"shape": [None, 4, 2], "dtype": "float32", "keras_history": ["image", 0, 0]}
    node = {"args": [{"class_name": "__keras_tensor__", "config": tensor}, *args], "kwargs": {}}
    made = {**layer(name, "odd", **config), "module": "keras.src.ops", "inbound_nodes": [node]}
    with pytest.raises(ValueError, match=rf"- odd \({name}\): .*(axis=None|axis=\[None\]|flat)"):
        load_model(write(tmp_path, {**functional(image(4, 2), made), "keras_version": "3.15.1"}))


def test_nodes_of_graphs_are_refused_if_binary_or_of_unknown_attributes(tmp_path):
    node = {"op": "Relu", "input": ["image"], "attr": {"T": {"type": "DT_FLOAT"}, "leak": {"f": 0.5}}}
    for given, words in (
        (node, "relu with leak=0.5 is not known"),
        ("\n\x04Relu", "its node is binary"),
    ):
        made = layer("TensorFlowOpLayer", "odd", "image", node_def=given, constants={})
        with pytest.raises(ValueError, match=words):
            load_model(write(tmp_path, functional(image(3), made)))


@pytest.mark.parametrize(
    "function, arguments, words",
    [
        ("nn.conv2d_transpose", {"output_shape": [1, 9, 11, 1], "strides": 2}, "to [1, 9, 11, 1]"),
        ("compat.v1.nn.pool", {"window_shape": 2, "pooling_type": "SUM"}, "pooling_type='sum'"),
        ("nn.max_pool", {"ksize": 2, "data_format": "NWC"}, "4, 5, 2) with data_format='NWC'"),
        ("one_hot", {"depth": 3, "axis": 0}, "one_hot with axis=0"),
        ("strided_slice", {"begin": [0, 1], "end": [1, 2]}, "a slice of the batch"),
    ],
)
def test_functions_of_windows_are_refused(tmp_path, function, arguments, words):
    kernel = {"filters": [[[[0.5, 1.0]]]]} if "conv" in function else {}
    assert words in message(tmp_path, refused_function("odd", function, {**arguments, **kernel}))
