"""A few of the damaged and edited files of fuzz.py, which can check many more."""

import fuzz
import pytest


@pytest.mark.parametrize("first", range(0, 110, 11))
def test_damaged_files_are_refused_or_served_as_they_say(first):
    """One seed for each file."""
    assert {fuzz.check(seed) for seed in range(first, first + 11)} <= {"refused", "served"}
