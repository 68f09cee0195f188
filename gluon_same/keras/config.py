"""Parser of Keras 2 and 3 configurations into one simple graph of calls."""

from typing import Any, Dict, List, Tuple

from .graph import TIME_DISTRIBUTED, Call, Layer, Model, Ref, mapped, ordered, printable, renumbered

#: Classes of models whose layers are called one after another.
SEQUENTIAL = ("Sequential", "Pipeline")

#: Packages of the classes of Keras and Python.
_OWN = ("keras", "keras_core", "tf_keras", "builtins")


def parse(config: Dict[str, Any], path: str) -> Model:
    """Parse a configuration.

    Parameters
    ----------
    config : dict
        The decoded text of ``model.to_json()``.
    path : str
        Path of the file, for error messages.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If ``config`` is not the configuration of a Sequential or functional model.
    """
    try:
        model = _parsed(config)
        names = [model.name, *(layer.name for layer in model.all_layers())]
        originals = {printable(name): name for name in names if not name.isprintable()}
        if originals:
            renamed = originals.values()
            model = _parsed(mapped(config, lambda v: isinstance(v, str) and v in renamed, printable))
        return model._replace(originals=originals)
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path}: its configuration is damaged: {error!r}") from error
    except ValueError as error:
        raise ValueError(f"{path}: its configuration cannot be read: {error}") from error


def _parsed(config) -> Model:
    class_name, content = config.get("class_name"), decoded(config.get("config"))
    if not isinstance(class_name, str) or not _is_model(class_name, content):
        raise ValueError(
            f"class {class_name!r} is neither Sequential nor functional. Keras does not save the "
            "computation of a subclassed model: write it as a functional model, such as "
            "keras.Model(model.inputs, model.outputs) if it has these"
        )
    return _model(content)


def decoded(value: Any) -> Any:
    """Return a JSON value with Keras' wrappers of tuples and arrays removed."""
    if isinstance(value, dict):
        kind = value.get("class_name")
        if kind == "__tuple__":
            return [decoded(item) for item in value["items"]]
        if kind in ("__numpy__", "__tensor__"):
            return value["config"]["value"]
        if kind == "__keras_tensor__":
            return _ref(value["config"]["keras_history"])
        own = "module" not in value or str(value["module"]).split(".")[0] in _OWN
        if not own and kind not in ("function", "Function"):
            registered, module = str(value.get("registered_name")), value["module"] or "__main__"
            full = registered if ">" in registered else f"{module}>{kind}"
            value = {**value, "class_name": full}  # as in .h5 files
        # Calls for containers alone take half the time of calls for everything.
        return {
            key: decoded(item) if isinstance(item, (dict, list)) else item for key, item in value.items()
        }
    if isinstance(value, list):
        return [decoded(item) if isinstance(item, (dict, list)) else item for item in value]
    return value


def _is_model(class_name, content):
    if class_name in SEQUENTIAL:
        return isinstance(content, list) or "layers" in content
    return isinstance(content, dict) and {"layers", "input_layers", "output_layers"} <= content.keys()


def _model(content) -> Model:
    if isinstance(content, list):  # Keras before 2.2.3 writes a Sequential as a list
        content = {"layers": content}
    layers: Dict[str, Layer] = {}
    for entry in content["layers"]:
        layer = _layer(entry, len(layers))
        if layer.name in layers:
            raise ValueError(f"two layers are named {layer.name!r}")
        layers[layer.name] = layer
    if not layers:
        raise ValueError("the model has no layers")
    functional = "output_layers" in content
    calls, inputs, outputs = _functional(content, layers) if functional else _sequential(content, layers)
    name, trainable = content.get("name") or "model", content.get("trainable") is not False
    if not isinstance(name, str):
        raise ValueError(f"the name {name!r} is not a string")
    return Model(name, layers, calls, inputs, outputs, trainable, {})


def _layer(entry, place) -> Layer:
    class_name, config = entry["class_name"], entry["config"]
    nested = _model_in(class_name, config)
    name = entry.get("name") or (config.get("name") if isinstance(config, dict) else None)
    if name is None and isinstance(config, list):  # Keras before 2.2.3 omits names of nested Sequentials
        name = f"sequential_{place}"
    if not isinstance(class_name, str) or not isinstance(name, str):
        raise ValueError(f"a layer has class_name={class_name!r} and name={name!r}: give strings")
    if not isinstance(config, dict):
        config = {}
    return Layer(name, printable(class_name), entry.get("module") or "", config, nested)


def _model_in(class_name, config):
    """Return the model that a layer is, or the model in a TimeDistributed; None for other layers."""
    if class_name == TIME_DISTRIBUTED and isinstance(config.get("layer"), dict):
        class_name, config = config["layer"].get("class_name"), config["layer"].get("config")
    return _model(config) if _is_model(class_name, config) else None


def _sequential(content, layers):
    first = next(iter(layers.values()))
    if first.class_name != "InputLayer":
        shape = _first_shape(first) or content.get("build_input_shape")
        first = Layer(_unused("input", layers), "InputLayer", "", {"batch_shape": shape}, None)
        rest = list(layers)
        layers[first.name] = first
    else:
        rest = list(layers)[1:]
    at = start = Ref(first.name, 0, 0)
    calls = [Call(first.name, 0, [], {})]
    for name in rest:
        calls.append(Call(name, 0, [at], {}))
        at = Ref(name, 0, 0)
    return calls, [start], [at]


def _first_shape(layer):
    """Return the input shape if the first layer has one."""
    if layer.model is not None and not layer.distributed:
        inner = layer.model.layers[layer.model.inputs[0].layer]
        return _first_shape(inner)
    return layer.input_shape


def _unused(name, taken):
    return name if name not in taken else _unused(name + "_", taken)


def _functional(content, layers):
    calls = {}
    for entry, layer in zip(content["layers"], layers.values()):
        nodes = entry.get("inbound_nodes") or []
        if layer.class_name == "InputLayer":
            nodes = [[]]
        for index, node in enumerate(nodes):
            args, kwargs = _arguments(node, layers)
            calls[layer.name, index] = Call(layer.name, index, args, kwargs)
    inputs = _ends(content["input_layers"], layers)
    outputs = _ends(content["output_layers"], layers)
    if not outputs:
        raise ValueError("the model has no outputs")
    if any(_of_keras3(node) for entry in content["layers"] for node in entry.get("inbound_nodes") or []):
        outputs = [_numbered_as_inputs(ref, layers[ref.layer]) for ref in outputs]
    calls, inputs, outputs = renumbered(calls, inputs, outputs)
    return ordered(calls), inputs, outputs


def _of_keras3(node):
    """Return whether Keras 3 wrote a call. That of Keras 2 may be a dict, too: of the arrays."""
    return isinstance(node, dict) and node.keys() <= {"args", "kwargs"}


def _numbered_as_inputs(ref, layer):
    """Return an output of a Keras 3 model, with its call numbered as in the inputs of layers.

    Keras 3 counts the calls of nested functional models from 1 there, but from 0 everywhere else.
    """
    functional = layer.model is not None and not layer.distributed and layer.class_name not in SEQUENTIAL
    return ref._replace(call=ref.call - 1) if functional else ref


def _arguments(node, layers) -> Tuple[List[Any], Dict[str, Any]]:
    """Return positional and keyword arguments of a call."""
    if _of_keras3(node):  # `decoded` has already created the Refs
        return list(node.get("args") or []), dict(node.get("kwargs") or {})
    kwargs: Dict[str, Any] = {}

    def read(item):
        if _is_legacy_ref(item, layers):
            kwargs.update(item[3] if len(item) > 3 else {})
            return _ref(item[:3])
        if isinstance(item, list) and len(item) > 2 and item[0] == "_CONSTANT_VALUE":
            kwargs.update(item[3] if len(item) > 3 else {})
            return item[2]
        if isinstance(item, list):
            return [read(each) for each in item]
        if isinstance(item, dict):
            return {key: read(each) for key, each in item.items()}
        raise ValueError(f"{item!r} is not an input of a layer")

    given = read(node)
    if isinstance(given, list) and len(given) == 1:
        (given,) = given
    # Keyword arguments of Keras 2 refer to arrays as [layer, call, output].
    return ([] if given == [] else [given]), mapped(kwargs, lambda v: _is_legacy_ref(v, layers), _ref)


def _is_legacy_ref(item, layers):
    if not isinstance(item, list) or not 3 <= len(item) <= 4:
        return False
    layer, *numbers = item[:3]
    return isinstance(layer, str) and layer in layers and all(isinstance(n, int) for n in numbers)


def _ref(item) -> Ref:
    layer, call, output = item
    if not isinstance(layer, str) or not isinstance(call, int) or not isinstance(output, int):
        raise ValueError(f"{item!r} is not an output of a layer")
    return Ref(layer, call, output)


def _ends(value, layers) -> List[Ref]:
    """Return a model's inputs or outputs, written as one, a list, or a dict."""
    if _is_legacy_ref(value, layers):
        return [_ref(value)]
    items = [item for _, item in sorted(value.items())] if isinstance(value, dict) else value
    return [ref for item in items for ref in _ends(item, layers)]
