"""Contenders take turns in processes, and one that ends is an error."""

import sys
from itertools import count

import pytest

import race

SERVER = """
import itertools, race
def make(job):
    return (lambda: sum(range(job["numbers"]))), (lambda: [])
race.serve(make)
"""


def contender(tmp_path, text, name="it"):
    script = tmp_path / "script.py"
    script.write_text(text)
    return race.Contender(name, str(script), path=race.__file__.rsplit("/", 1)[0])


@pytest.mark.parametrize("clock", ["wall", "CPU"])
def test_the_slower_of_two_is_seen(tmp_path, clock):
    contenders = [contender(tmp_path, SERVER, name) for name in ("quick", "slow")]
    for each, numbers in zip(contenders, (10_000, 100_000)):
        race.prepare([each], {"numbers": numbers})
    times = race.race(contenders, seconds=0.05, turns=2, clock=clock)
    assert 0 < 3 * times["quick"] < times["slow"]
    for each in contenders:
        each.stop()


def test_the_median_of_wall_time_and_the_least_cpu_time():
    class Fake:
        def __init__(self):
            self.name, self.times = "it", count(1)

        def ask(self, repeats, clock):
            return [float(next(self.times)) for _ in range(repeats)]

    assert race.race([Fake()], turns=3) == {"it": 4.0}  # of 3 to 5, after two that set the repeats
    assert race.race([Fake()], turns=3, clock="CPU") == {"it": 3.0}


def test_a_contender_that_ends_is_an_error(tmp_path):
    ending = contender(tmp_path, "raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="it: the process ended"):
        ending.ask(repeats=1, clock="wall")
    ending.stop()


def test_a_contender_that_cannot_make_a_job_is_left_out(tmp_path, capfd):
    failing = contender(tmp_path, SERVER)
    assert race.prepare([failing], {}) == {}
    assert "left out: it: KeyError: 'numbers'" in capfd.readouterr().err
    failing.stop()


def test_a_contender_runs_in_the_python_that_it_names(tmp_path):
    with pytest.raises(FileNotFoundError):
        race.Contender("it", str(tmp_path), "/no/such/python")
    assert race.Contender("it", str(tmp_path / "none"), sys.executable).stop() is None
