"""Replacement of entries and attributes for a while."""

from contextlib import contextmanager
from functools import partial
from typing import Any, Dict, Iterator


@contextmanager
def replaced(owner: Any, new: Dict[Any, Any]) -> Iterator[None]:
    """Set entries of a dict, such as ``vars`` of a module, or attributes of a class; restore them."""
    is_class = isinstance(owner, type)
    held = vars(owner) if is_class else owner
    put = partial(setattr, owner) if is_class else owner.__setitem__
    drop = partial(delattr, owner) if is_class else owner.__delitem__
    old = {key: held[key] for key in new if key in held}
    try:
        for key, value in new.items():
            put(key, value)
        yield
    finally:
        for key in new:
            if key in old:
                put(key, old[key])
            else:
                drop(key)
