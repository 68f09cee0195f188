"""The commands of ``python -m gluon_same``."""
