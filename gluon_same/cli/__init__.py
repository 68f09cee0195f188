"""The commands of ``python -m gluon_same``: :mod:`.main` imports the module of the one that is run."""
