"""Keras models as Gluon nets."""

from .loading import load_model

__all__ = ["load_model"]
