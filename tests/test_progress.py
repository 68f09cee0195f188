"""Progress on a terminal is one line that is cleared; in a log, it is a line for each step."""

import io
import re
import sys
import time

import pytest

from gluon_same import progress
from gluon_same.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1)


def shown(stream, monkeypatch, period=60.0, wait=0.0):
    monkeypatch.setattr(progress, "PERIOD", period)
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress() as show:
        for text in ("one", "one", "two"):
            show(text)
        time.sleep(wait)
    return stream.getvalue()


def test_a_log_has_one_line_for_each_step(monkeypatch):
    text = shown(io.StringIO(), monkeypatch, period=0.01, wait=0.1)
    assert re.sub(r"\d+", "N", text) == "one (N s)\ntwo (N s)\n"


def test_a_terminal_has_one_line_that_is_cleared(monkeypatch):
    text = shown(Terminal(), monkeypatch)
    assert "\n" not in text and text.count("two (") == 1
    assert re.search(r"\rtwo \(\d+ s\) *\r +\r$", text)


def test_the_time_runs_during_a_step(monkeypatch):
    text = shown(Terminal(), monkeypatch, period=0.01, wait=0.5)
    assert text.count("two (") > 2


def test_nothing_is_shown_at_first(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 60)
    assert shown(Terminal(), monkeypatch, period=0.01, wait=0.1) == ""


def test_without_standard_error_nothing_fails(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress() as show:
        show("one")
