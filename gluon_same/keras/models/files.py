"""Safe reading of Keras' JSON, zip and HDF5 files, within bounds that depend on the file's size."""

import io
import json
import mmap
import os
import zipfile
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

import numpy as np

Path = Union[str, "os.PathLike[str]"]

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"

#: Bounds of a file's unpacked size: this many bytes plus this multiple of the file's size.
_LEAST, _TIMES = 2**26, 20


class Opened(NamedTuple):
    """Configuration of a model, and the HDF5 file of its weights."""

    config: Optional[Dict[str, Any]]  # None for a file of weights alone
    version: Optional[str]  # Keras version, if the file contains it
    weights: "Hdf5"


class Hdf5:
    """HDF5 file with bounded reads and errors that name the entry.

    Parameters
    ----------
    group : h5py.Group
    path : str
        Path of the file, for error messages.
    most : int
        Maximum total size of all arrays in bytes.
    """

    def __init__(self, group: Any, path: str, most: int):
        self.path = path
        self._found = {"": group}
        self._left = most

    def names(self, where: str = "") -> List[str]:
        """Return the names in a group; an empty list if there is no such group."""
        with self._explained(where):
            group = self._find(where)
            return list(group) if hasattr(group, "keys") else []

    def has(self, where: str) -> bool:
        """Return whether the file has an entry."""
        with self._explained(where):
            return self._find(where) is not None

    def has_attribute(self, name: str, where: str = "") -> bool:
        """Return whether an entry has an attribute, which Keras splits into parts if it is long."""
        with self._explained(f"{where}@{name}"):
            attributes = self._find(where).attrs
            return name in attributes or f"{name}0" in attributes

    def text(self, name: str, where: str = "") -> Optional[str]:
        """Return a string attribute."""
        with self._explained(f"{where}@{name}"):
            value = self._find(where).attrs.get(name)
            return value.decode("utf-8") if isinstance(value, bytes) else value

    def texts(self, name: str, where: str = "") -> List[str]:
        """Return an attribute that is a list of strings. Keras splits long lists into parts."""
        with self._explained(f"{where}@{name}"):
            attributes = self._find(where).attrs
            parts = [attributes[name]] if name in attributes else []
            while f"{name}{len(parts)}" in attributes:
                parts.append(attributes[f"{name}{len(parts)}"])
            return [_decoded(text) for part in parts for text in np.asarray(part).ravel()]

    def shape(self, where: str) -> Tuple[int, ...]:
        """Return the shape of an array."""
        with self._explained(where):
            return tuple(self._find(where).shape)

    def array(self, where: str) -> np.ndarray:
        """Return a floating-point array as float32, or an integer array unchanged."""
        import h5py

        with self._explained(where):
            found = self._find(where)
            if not isinstance(found, h5py.Dataset):
                raise ValueError("there is no such array")
            kept = found.id.get_create_plist()
            if kept.get_layout() == h5py.h5d.VIRTUAL or kept.get_external_count():
                raise ValueError("it refers to another file")
            if found.dtype.kind not in "fiub":
                raise ValueError(f"it holds {found.dtype}, not numbers")
            if found.nbytes > self._left:
                raise ValueError(f"it would take {found.nbytes} bytes, more than the file can hold")
            self._left -= found.nbytes
            values = found[()]
            return values.astype(np.float32, copy=False) if found.dtype.kind == "f" else values

    def _find(self, where):
        """Return a group or dataset, or None if absent. Only links inside the file are followed."""
        import h5py

        if where not in self._found:
            above, _, name = where.rpartition("/")
            group = self._find(above)
            link = group.get(name, getlink=True) if isinstance(group, h5py.Group) else None
            if link is not None and not isinstance(link, h5py.HardLink):
                raise ValueError("it is a link to elsewhere")
            self._found[where] = None if link is None else group[name]
        return self._found[where]

    @contextmanager
    def _explained(self, where):
        try:
            yield
        except Exception as error:  # a damaged file can raise almost any error in h5py
            raise ValueError(f"{self.path}: entry {where or '/'!r} cannot be read: {error}") from error


@contextmanager
def opened(path: Union[Path, Tuple[Path, Path]]) -> Iterator[Opened]:
    """Open the file or files of a model.

    Parameters
    ----------
    path : path, or (path, path)
        A ``.keras`` file; an ``.h5`` file of a model or of weights alone; or a file with the text of
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
    ValueError
        If a file is damaged or of another kind. The message names the file and the entry.
    """
    _require_h5py()
    if isinstance(path, (tuple, list)):
        if len(path) != 2:
            raise ValueError(f"path={path!r} is no model: give one file, or (config.json, weights.h5)")
        text, weights = (os.fspath(part) for part in path)
        config = _parsed(_read(text), text)
        with opened(weights) as found:
            yield found._replace(config=config, version=_version(config))
        return
    path = os.fspath(path)
    with open(path, "rb") as file:
        start = file.read(8)
    if start.startswith(b"PK"):
        with _zipped(path) as found:
            yield found
    elif start == b"\x89HDF\r\n\x1a\n":
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            _check_heaps(path, content)
        with _hdf5(path, path, os.path.getsize(path)) as weights:
            text = weights.text("model_config")
            config = None if text is None else _parsed(text, f"{path}: entry 'model_config'")
            yield Opened(config, weights.text("keras_version") or _version(config), weights)
    else:
        raise ValueError(
            f"{path} is neither a .keras file (zip) nor an .h5 file (HDF5): it begins with {start!r}. A "
            "configuration in JSON goes with its weights, (config.json, weights.h5)"
        )


@contextmanager
def _zipped(path):
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            missing = [name for name in (CONFIG, WEIGHTS) if name not in sizes]
            if missing:
                raise ValueError(f"it has no {' and no '.join(missing)}, which every .keras file has")
            wanted = [name for name in (CONFIG, METADATA, WEIGHTS) if name in sizes]
            if sum(sizes[name] for name in wanted) > _most(os.path.getsize(path)):
                raise ValueError("its entries would unpack to many times its size")
            contents = {name: _member(archive, name) for name in wanted}
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    config = _parsed(contents[CONFIG], f"{path}: entry {CONFIG!r}")
    metadata = _parsed(contents.get(METADATA, b"{}"), f"{path}: entry {METADATA!r}")
    weights = contents[WEIGHTS]
    _check_heaps(f"{path}: {WEIGHTS}", weights)
    with _hdf5(f"{path}: {WEIGHTS}", io.BytesIO(weights), len(weights)) as found:
        yield Opened(config, _version(metadata), found)


def _member(archive, name):
    try:
        return archive.read(name)  # verifies length and checksum
    except Exception as error:  # zlib, lzma and zipfile raise different errors
        raise ValueError(f"entry {name!r} is damaged: {error}") from error


def _check_heaps(path, content):
    """Raise if string heaps hold objects beyond their end, on which HDF5 may loop forever."""
    at = content.find(b"GCOL\x01")
    while at >= 0:
        end = at + int.from_bytes(content[at + 8 : at + 16], "little")
        here = at + 16
        while here + 16 <= end <= len(content):
            size = int.from_bytes(content[here + 8 : here + 16], "little")
            if content[here : here + 2] != b"\0\0":  # else free space, whose size includes its header
                size = 16 + (size + 7) // 8 * 8
            here += size
            if size < 16 or here > end:
                raise ValueError(f"{path} cannot be read: its heap at byte {at} is damaged")
        at = content.find(b"GCOL\x01", at + 4)


@contextmanager
def _hdf5(path, source, size):
    import h5py

    try:
        file = h5py.File(source, "r")
    except Exception as error:  # damage raises OSError or errors of Python's buffers
        raise ValueError(f"{path} is no HDF5 file that can be read: {error}") from error
    try:
        yield Hdf5(file, path, _most(size))
    finally:
        file.close()


def _parsed(text, what):
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} holds no JSON that can be read: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{what} holds {type(config).__name__} where a dict is needed")
    return config


def _read(path):
    with open(path, "rb") as file:
        text = file.read(_LEAST + 1)
    if len(text) > _LEAST:
        raise ValueError(f"{path} has more than {_LEAST} bytes: that is no configuration of a model")
    return text


def _version(config):
    version = (config or {}).get("keras_version")
    return version if isinstance(version, str) else None


def _most(size):
    return _LEAST + _TIMES * size


def _decoded(text):
    return text.decode("utf-8") if isinstance(text, bytes) else str(text)


def _require_h5py():
    try:
        import h5py  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Reading Keras' files needs the h5py package ({error}): pip install "
            "'gluon-same[keras-models]'"
        ) from error
