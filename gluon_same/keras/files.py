"""Safe reading of Keras' model files, within bounds that depend on the file's size."""

import io
import json
import os
import re
import zipfile
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

from .._compat import required
from ..files import check_regular
from .hdf5 import Hdf5, open_hdf5

Path = Union[str, "os.PathLike[str]"]

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"

#: Bounds of a file's unpacked size: this many bytes plus this multiple of the file's size.
_LEAST, _TIMES = 2**26, 20


class Opened(NamedTuple):
    """Configuration of a model, and the HDF5 file of its weights."""

    config: Optional[Dict[str, Any]]  # None for a file that contains only weights
    version: Optional[str]  # Keras version, if the file contains it
    weights: Hdf5
    assets: Mapping[str, bytes] = {}  # vocabularies of layers, by entry


@contextmanager
def opened(path: Union[Path, Tuple[Path, Path]]) -> Iterator[Opened]:
    """Open the file or files of a model.

    Parameters
    ----------
    path : path, or (path, path)
        A ``.keras`` file; an ``.h5`` file of a model or of only its weights; or a file with the text of
        ``model.to_json()``, and a file of weights.

    Yields
    ------
    Opened

    Raises
    ------
    ImportError
        If h5py is not installed.
    OSError
        If a file cannot be opened.
    TypeError
        If ``path`` is not a path.
    ValueError
        If a file is damaged or of another kind. The message names the file and the entry.
    """
    required("h5py", "Reading Keras files")
    if isinstance(path, (tuple, list)):
        if len(path) != 2:
            raise ValueError(
                f"path={path!r} is not a model: give one file, or (config.json, weights.h5)"
            )
        json_path = _as_path(path[0])
        config = _parsed(_read(json_path), json_path)
        with opened(path[1]) as found:
            yield found._replace(config=config, version=_version(config))
        return
    path = _as_path(path)
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"{path} is a folder, such as TensorFlow's SavedModel: load the model in Keras, and save it "
            "with model.save('model.keras')"
        )
    with open(path, "rb") as file:
        start = file.read(8)
    if start.startswith(b"PK"):
        with _zipped(path) as found:
            yield found
    elif start == b"\x89HDF\r\n\x1a\n":
        with open_hdf5(path, path, _most(os.path.getsize(path))) as weights:
            text = weights.text("model_config")
            config = None if text is None else _parsed(text, f"{path}: entry 'model_config'")
            yield Opened(config, weights.text("keras_version") or _version(config), weights)
    else:
        raise ValueError(
            f"{path} is neither a .keras file (zip) nor an .h5 file (HDF5): it begins with {start!r}. "
            "Give a JSON configuration together with its weights: (config.json, weights.h5), or in a "
            "shell --weights weights.h5"
        )


def _as_path(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path={path!r} is not a path: give one file, or (config.json, weights.h5)")
    path = os.fspath(path)
    check_regular(path)
    return path


@contextmanager
def _zipped(path):
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            missing = [name for name in (CONFIG, WEIGHTS) if name not in sizes]
            if missing:
                raise ValueError(f"it has no {' and no '.join(missing)}, which every .keras file has")
            words = [name for name in sizes if re.match("assets/.*/vocabulary.txt$", name)]
            wanted = [name for name in (CONFIG, METADATA, WEIGHTS, *words) if name in sizes]
            if sum(sizes[name] for name in wanted) > _most(os.path.getsize(path)):
                raise ValueError("its unpacked entries would be many times larger than the file")
            contents = {name: _member(archive, name) for name in wanted}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    config = _parsed(contents[CONFIG], f"{path}: entry {CONFIG!r}")
    metadata = _parsed(contents.get(METADATA, b"{}"), f"{path}: entry {METADATA!r}")
    weights = contents[WEIGHTS]
    with open_hdf5(f"{path}: {WEIGHTS}", io.BytesIO(weights), _most(len(weights))) as found:
        yield Opened(config, _version(metadata), found, {name: contents[name] for name in words})


def _member(archive, name):
    try:
        return archive.read(name)  # verifies length and checksum
    except Exception as error:  # zlib, lzma and zipfile raise different errors
        raise ValueError(f"entry {name!r} is damaged: {error}") from error


def _parsed(text, what):
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} does not contain readable JSON: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{what} contains a value of type {type(config).__name__}, not a dict")
    return config


def _read(path):
    with open(path, "rb") as file:
        text = file.read(_LEAST + 1)
    if len(text) > _LEAST:
        raise ValueError(
            f"{path} has more than {_LEAST} bytes, which is too large for the configuration of a model"
        )
    return text


def _version(config):
    version = (config or {}).get("keras_version")
    return version if isinstance(version, str) else None


def _most(size):
    return _LEAST + _TIMES * size
