"""Bounded reading of HDF5 files, with errors that name the entry."""

import io
import math
import re
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import numpy as np

_FLOAT = np.dtype("<f4")


class Hdf5:
    """HDF5 file with bounded reads and errors that name the entry.

    Parameters
    ----------
    group : h5py.Group
    path : str
        Path of the file, for error messages.
    content : bytes
        The whole file.
    most : int
        Maximum total size of all arrays in bytes.
    """

    def __init__(self, group: Any, path: str, content: bytes, most: int):
        import h5py

        self._h5py = h5py  # which may not be installed
        self.path = path
        self._content = content
        self._checked = False  # whether the heaps have been checked
        self._root = group.id
        self._left = most
        self._inside: Dict[str, bool] = {"": True}  # whether each entry is in the file itself
        self._names: Dict[str, List[str]] = {}  # names in each group
        with self._explained(""):
            self._root.links.visit(self._note, info=True)

    def _note(self, name, link):
        where = name.decode("utf-8", "surrogateescape")
        above, _, own = where.rpartition("/")
        self._inside[where] = link.type == self._h5py.h5l.TYPE_HARD
        self._names.setdefault(above, []).append(own)

    def names(self, where: str = "") -> List[str]:
        """Return the names in a group; an empty list if there is no such group."""
        return list(self._names.get(where, ()))

    def numbered(self, where: str) -> List[str]:
        """Return the entries of a group, in the order of their numbers."""
        names = sorted(self.names(where), key=lambda name: (not name.isdigit(), len(name), name))
        return [f"{where}/{name}" for name in names]

    def has(self, where: str) -> bool:
        """Return whether the file has an entry."""
        return where in self._inside

    def text(self, name: str) -> Optional[str]:
        """Return a string attribute of the file."""
        found = self.texts(name)
        return found[0] if found else None

    def texts(self, name: str, where: str = "") -> Optional[List[str]]:
        """Return an attribute that is a list of strings, split by Keras if long; None if absent."""
        with self._explained(f"{where}@{name}"):
            attributes = self._h5py.AttributeManager(self._h5py.Group(self._opened(where)))
            if name not in attributes and f"{name}0" not in attributes:
                return None
            self._check_heaps()  # which reads the whole file
            parts = [attributes[name]] if name in attributes else []
            while name not in attributes and f"{name}{len(parts)}" in attributes:
                parts.append(attributes[f"{name}{len(parts)}"])
            found = [text for part in parts for text in np.asarray(part).ravel()]
            return [text.decode() if isinstance(text, bytes) else str(text) for text in found]

    def shape(self, where: str) -> Tuple[int, ...]:
        """Return the shape of an array."""
        with self._explained(where):
            return self._dataset(where).shape

    def array(self, where: str) -> np.ndarray:
        """Return a floating-point array as float32, or an integer array unchanged.

        An array that is stored in one piece as float32 is a view of the content, which cannot be
        written to.
        """
        with self._explained(where):
            found = self._dataset(where)
            kind, shape = found.get_type(), found.shape
            if shape is None:
                raise ValueError("it is empty")
            dtype = _FLOAT if kind.equal(self._h5py.h5t.IEEE_F32LE) else kind.dtype  # which takes long
            if dtype.kind not in "fiub":
                raise ValueError(f"it contains {dtype}, not numbers")
            size = math.prod(shape) * max(dtype.itemsize, 4)
            if size > self._left:
                raise ValueError(f"it requires {size} bytes, more than the file can contain")
            self._left -= size
            start = found.get_offset()  # None unless the array is stored in one piece
            if start is not None and dtype == _FLOAT:
                return np.ndarray(shape, dtype, self._content, start)
            array = np.empty(shape, np.float32 if dtype.kind == "f" else dtype)
            if array.size:
                found.read(self._h5py.h5s.ALL, self._h5py.h5s.ALL, array)
            return array

    def _dataset(self, where):
        found = self._opened(where)
        if not isinstance(found, self._h5py.h5d.DatasetID):
            raise ValueError("there is no such array")
        kept = found.get_create_plist()
        if kept.get_layout() == self._h5py.h5d.VIRTUAL or kept.get_external_count():
            raise ValueError("it refers to another file")
        return found

    def _opened(self, where):
        """Return an entry's identifier. Only links inside the file are followed."""
        if not where:
            return self._root
        if where not in self._inside:
            raise ValueError("there is no such entry")
        if not self._inside[where]:
            raise ValueError("it is a link to another place")
        return self._h5py.h5o.open(self._root, where.encode("utf-8", "surrogateescape"))

    def _check_heaps(self):
        """Raise if string heaps contain objects beyond their end, on which HDF5 may loop forever."""
        if self._checked:
            return
        self._checked = True
        for found in re.finditer(b"GCOL\x01", self._content):
            at = found.start()
            end = at + int.from_bytes(self._content[at + 8 : at + 16], "little")
            here = at + 16
            while here + 16 <= end <= len(self._content):
                size = int.from_bytes(self._content[here + 8 : here + 16], "little")
                if self._content[here : here + 2] != b"\0\0":  # else free space, its header included
                    size = 16 + (size + 7) // 8 * 8
                here += size
                if size < 16 or here > end:
                    raise ValueError(f"the heap at byte {at} is damaged")

    @contextmanager
    def _explained(self, where):
        try:
            yield
        except Exception as error:  # a damaged file can raise almost any error in h5py
            raise ValueError(f"{self.path}: entry {where or '/'!r} cannot be read: {error}") from error


@contextmanager
def open_hdf5(path: str, source: Union[str, io.BytesIO], most: int) -> Iterator[Hdf5]:
    """Open an HDF5 file.

    Parameters
    ----------
    path : str
        Name of the file, for error messages.
    source : path or BytesIO
    most : int
        Maximum total size of all arrays in bytes.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    import h5py

    try:
        file = h5py.File(source, "r")
    except Exception as error:  # damage raises OSError or errors of Python's buffers
        raise ValueError(f"{path} is not a readable HDF5 file: {error}") from error
    with file:
        yield Hdf5(file, path, _content(source), most)


def _content(source: Union[str, io.BytesIO]) -> bytes:
    """Return the content of a file. A map of the file would end the process if the file shrinks."""
    if isinstance(source, io.BytesIO):
        return source.getvalue()
    with open(source, "rb") as file:
        return file.read()
