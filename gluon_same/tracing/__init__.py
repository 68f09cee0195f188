"""Nets traced with symbols: fixed to their sizes, adapted to each, and summed up in a table."""
