"""Which of several graphs is kept."""

import itertools

import pytest

from gluon_same.deployment import timing


@pytest.mark.parametrize(
    "seconds, kept, clear",
    [
        ([1.0] * 12, "other", True),
        ([1.0] * 11 + [2.5], "other", True),  # one disturbed round
        ([1.0] * 9 + [2.5] * 3, "default", False),  # too busy a machine to tell
        ([1.99] * 12, "default", True),  # about as fast
        ([2.5] * 12, "default", True),
    ],
)
def test_a_default_gives_way_only_to_what_is_faster_in_nearly_all_rounds(
    monkeypatch, seconds, kept, clear
):
    waiting = iter([0.0, *seconds])  # the first call is not timed
    runs = {"default": lambda arrays: 0.04, "other": lambda arrays: next(waiting, 1.0) / 50}
    monkeypatch.setattr(timing, "SECONDS", 0.5)
    monkeypatch.setattr(timing, "caller", runs.get)
    monkeypatch.setattr(timing, "_seconds", lambda run: run())
    assert timing.faster({name: name for name in runs}, [], "default") == (kept, clear)


def test_what_replaces_the_default_is_clear_though_another_may_be_slower(monkeypatch):
    waiting = itertools.cycle([0.01] * 3 + [0.05])
    runs = {"default": lambda arrays: 0.04, "other": lambda arrays: 0.02}
    runs["busy"] = lambda arrays: next(waiting)
    monkeypatch.setattr(timing, "caller", runs.get)
    monkeypatch.setattr(timing, "_seconds", lambda run: run())
    assert timing.faster({name: name for name in runs}, [], "default") == ("other", True)
