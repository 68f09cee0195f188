"""The commands of ``python -m gluon_same``, each in a module that :mod:`.main` imports when it runs."""
