"""Loading of whole Keras models."""

import os
import re
import warnings
from typing import Any, Callable, Dict, Optional, Tuple, Union

import mxnet as mx
from mxnet.gluon import HybridBlock

from ..arrays import contexts, in_thread
from ..importing.parameters import fill
from .build import build
from .calls import Settings
from .config import parse
from .files import Opened, opened
from .graph import Model
from .steps import KerasNet, axes_of
from .weights import freeze, source_of

__all__ = ["load_model"]


class OnlyWeights(ValueError):
    """File that contains weights, and no configuration."""


#: Version of files that omit it, which is later than any that changed something.
_LATEST = (3, 99)

Path = Union[str, "os.PathLike[str]"]


def load_model(
    path: Union[Path, Tuple[Path, Path]],
    *,
    custom: Optional[Dict[str, Callable[..., HybridBlock]]] = None,
    layout: str = "NCHW",
    ctx: Any = None,
) -> KerasNet:
    """Load a Keras model and its weights as a Gluon net.

    Neither Keras nor TensorFlow is required, and no code in the file is run. The net accepts every input
    size that the model's layers accept, whatever size the model was built for. It hybridizes, trains,
    saves its parameters and exports like any other Gluon net.

    Parameters
    ----------
    path : path, or (path, path)
        A ``.keras`` file, an ``.h5`` file of a whole model, or two files: the text of
        ``model.to_json()`` and the weights (``.weights.h5`` or ``.h5``). Keras 2.2 to 2.15 and Keras 3
        are supported.
    custom : dict of str to callable, optional
        Maps names of layers, classes (``'Scale'`` or ``'package>Scale'``), functions such as
        ``'tf.math.erfinv'``, or activations that Keras lacks to builders, called as ``builder(config,
        arrays, **keywords)``. A builder receives the layer's configuration, its arrays in Keras' layout,
        and the arguments of its call that are not arrays; that of an activation receives ``{}`` and
        ``[]``. It returns an initialized HybridBlock for channels-first data, which is called with the
        arrays of the call: those given by keyword last, in alphabetical order. The arrays of sublayers
        follow the layer's own: in ``.keras`` and ``.weights.h5`` by attribute, in ``.h5`` in Keras'
        order. Custom builders take precedence over those of Keras' layers and functions. A ``Lambda``
        requires one for its name, or ``'Lambda'``.
    layout : {'NCHW', 'NHWC'}
        Layout of inputs and outputs: channels first (NCHW), or that of Keras (NHWC). A Keras model whose
        layers have ``data_format='channels_first'`` keeps its own layout.
    ctx : Context or list of Context, optional
        Context of the parameters; the current context by default.

    Returns
    -------
    KerasNet
        A HybridBlock. Its children (``net.layers['conv1']``) and its parameters have Keras' names.
        Weights that Keras does not train have ``grad_req='null'``, and a frozen BatchNormalization uses
        its running averages, as in Keras.

    Raises
    ------
    ImportError
        If h5py is not installed.
    OSError
        If a file cannot be opened.
    TypeError
        If an argument is of the wrong type.
    ValueError
        If a file is damaged or malicious; if the model contains unsupported layers or arguments, all of
        which the message lists; if it calls more than 200,000 layers, where nested models count each
        time that they are called; or if MXNet's NumPy mode is active.

    Warns
    -----
    UserWarning
        If the model has layers that change their input at random in Keras' training, such as
        ``GaussianNoise`` and ``RandomFlip``, because they have no effect here.

    Notes
    -----
    The net computes in float32. In training, Keras updates running variances with the sample variance
    (n - 1), and MXNet with the population variance (n). A layer or nested model called with
    ``training=False`` runs in inference mode even in training if Keras 2 wrote the file. Keras 3 ignores
    that argument.

    Masks have no effect on the statistics of BatchNormalization in training. If recurrent layers are
    ``stateful``, the net keeps their states from call to call until ``net.reset_states()``.
    Inputs that are whole numbers in Keras are cast to them, and results that are true or false are 1 and
    0 in float32. Layers whose names contain line breaks or control characters have names without them;
    ``net.layers`` keeps those of the file.

    Examples
    --------
    >>> import h5py, json, os, tempfile
    >>> weights, text = (os.path.join(tempfile.mkdtemp(), name) for name in ('w.weights.h5', 'c.json'))
    >>> with h5py.File(weights, 'w') as file:
    ...     file['layers/dense/vars/0'] = [[1., 2.], [3., 4.], [5., 6.]]
    ...     file['layers/dense/vars/1'] = [0., 1.]
    >>> layer = {'name': 'dense', 'units': 2, 'batch_input_shape': [None, 3]}
    >>> layers = [{'class_name': 'Dense', 'config': layer}]
    >>> with open(text, 'w') as file:                       # a short form of model.to_json()
    ...     json.dump({'class_name': 'Sequential', 'config': {'name': 'net', 'layers': layers}}, file)
    >>> net = load_model((text, weights))                   # or 'model.keras', or 'model.h5'
    >>> net.hybridize()
    >>> net(mx.nd.array([[1, 0, 1]])).asnumpy()
    array([[6., 9.]], dtype=float32)
    >>> list(net.collect_params())
    ['net_dense_weight', 'net_dense_bias']
    """
    if mx.util.is_np_array():
        raise ValueError("load_model creates nets for classic arrays: call mx.npx.reset_np() first")
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"layout={layout!r} is unknown: use 'NCHW' or 'NHWC'")
    if custom is not None and not (isinstance(custom, dict) and all(map(callable, custom.values()))):
        raise TypeError(f"custom={custom!r} is not a dict of class names to functions")
    placed = contexts(ctx)
    with opened(path) as found:
        where = path[0] if isinstance(path, (tuple, list)) else path
        if found.config is None:
            raise OnlyWeights(
                f"{where} contains only weights: give (config.json, {where}), or read them into your "
                "own net with gluon_same.keras.load_keras_weights(net, path)"
            )
        model = parse(found.config, os.fspath(where))
        source = source_of(found, model)
        settings = settings_of(found, model, source, custom)
        try:
            net, layers, problems = build(model, settings, layout)
        except ValueError as error:
            raise ValueError(f"{os.fspath(where)}: {error}") from None
        freeze(layers)
        in_thread(fill, source.assignments(layers), placed)
    fill(problems.constants, placed)
    for parameter, _ in problems.constants:
        parameter.is_constant = True  # not counted by summary
    for parameter in net.collect_params().values():
        if parameter._data is None:  # such as a bias that Keras lacks
            parameter.initialize(ctx=placed)
            parameter.is_constant = parameter.grad_req == "null"
    if problems.inference_only:
        names = ", ".join(problems.inference_only)
        warnings.warn(f"In training, these layers behave differently from Keras: {names}", stacklevel=2)
    return net


def settings_of(found: Opened, model: Model, source: Any, custom: Any = None) -> Settings:
    """Return the settings for building the model of an open file, whose arrays a source reads."""
    shapes = [model.layers[ref.layer].input_shape for ref in model.inputs]
    sizes = [shape[0] if isinstance(shape, list) and shape else None for shape in shapes]
    fixed = bool(sizes) and type(sizes[0]) is int and all(n == sizes[0] for n in sizes)
    return Settings(
        _version_of(found), dict(custom or {}), axes_of(model), source.arrays, {}, model.originals,
        sizes[0] if fixed else None,
    )  # fmt: skip


def _version_of(found):
    """Return the version of Keras. The 2.2 line of TensorFlow's Keras counts as 2.3."""
    if found.version is None:  # Keras 3 omits its version from JSON but adds modules
        return _LATEST if "module" in found.config else (2, 3)
    numbers = re.match(r"(\d+)\.(\d+)", found.version)
    version = tuple(map(int, numbers.groups())) if numbers else (2, 3)
    return max(version, (2, 3)) if "tf" in found.version else version
