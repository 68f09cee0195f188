"""Indices that are known while importing."""

from typing import Optional

import numpy as np


def beyond(indices: np.ndarray, size: Optional[int]) -> np.ndarray:
    """Return the indices that an axis lacks, which may count from its end: none if its size is open."""
    return indices[np.abs(indices + 0.5) > (np.inf if size is None else size)]
