"""Contenders that take turns, each in a process of its own and, if need be, in another Python.

A benchmark script hands its own path to :func:`start`, which runs it as ``SCRIPT --serve CONTENDER``;
there the script calls :func:`serve`. So every runtime has its own threads and its own packages, and a
machine whose speed drifts slows all contenders alike. This file wants nothing but NumPy.

A *job* is a dict of plain values that names what to make. A *maker* takes a job and returns ``run``,
which computes and waits, and ``outputs``, which gives the last results as NumPy arrays.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Callable, Dict, Iterable, List, Tuple

import numpy as np

Maker = Callable[[Dict[str, Any]], Tuple[Callable[[], Any], Callable[[], List[np.ndarray]]]]

#: Every contender gets as many threads.
THREADS = len(os.sched_getaffinity(0))
#: Bound, for OpenMP's threads that slept share a core after they wake: the first runs after a pause take
#: twice as long, until Linux moves one, after 50 ms or so.
THREADED = {"OMP_NUM_THREADS": str(THREADS), "OMP_PROC_BIND": "true"}
#: Up to 32 MiB of memory are kept when freed. Otherwise glibc gives them back or not by what was freed
#: before, and pages that are new each time can take as long as a kernel.
KEPT = {
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_ARENA_MAX": "1",  # others are given back whatever the thresholds are
}
#: Threads of the last contender may spin on for a while.
PAUSE = 0.01


class Contender:
    """A process that makes and times what it is told."""

    def __init__(self, name: str, script: str, python: str = sys.executable):
        self.name = name
        env = {**os.environ, **THREADED, **KEPT, "TF_CPP_MIN_LOG_LEVEL": "2"}
        self._process = subprocess.Popen(
            [python, script, "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if "BENCHMARK_DEBUG" not in os.environ else None,
            universal_newlines=True,
            env=env,
        )

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for its answer; RuntimeError if it failed."""
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        answer = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        return answer["value"]

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # it may have ended by itself
            self._process.stdin.close()
        self._process.wait()


def serve(make: Maker) -> None:
    """Answer a parent's requests until it closes the pipe."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    run = outputs = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            value = None
            if "job" in request:
                run = outputs = None
                run, outputs = make(request["job"])
                run()
                np.savez(request["save"], *_aside(outputs))
            else:
                value = _times(run, request["repeats"])
            answer = {"value": value}
        except Exception as error:  # of any kind: the parent is to hear of it
            traceback.print_exc()
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        print(json.dumps(answer), file=answers, flush=True)


def _aside(call):
    """What a call returns, made by a thread that ends with it.

    To read what oneDNN left in blocks, MXNet starts OpenMP's threads for whoever reads. With more of
    them than processors none waits for work awake, and each operator takes some 50 us more from then on.
    """
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def _times(run, repeats):
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def start(script: str, pythons: Dict[str, str]) -> List[Contender]:
    """Start one process for each contender, by the Python that it names."""
    return [Contender(name, script, python) for name, python in pythons.items()]


def prepare(contenders: List[Contender], job: Dict[str, Any]) -> Dict[str, List[np.ndarray]]:
    """Have all make a job; their outputs by name. Who cannot says so on stderr, and is left out."""
    results = {}
    for contender in contenders:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "outputs.npz")
            try:
                contender.ask(job=job, save=path)
            except RuntimeError as error:
                print(f"left out: {error}", file=sys.stderr)
                continue
            with np.load(path) as arrays:
                results[contender.name] = list(arrays.values())
    return results


def race(contenders: List[Contender], seconds: float = 3.0, turns: int = 12) -> Dict[str, float]:
    """Median seconds of each contender, about ``seconds`` of runs for each, in ``turns`` turns."""
    times = {contender.name: [] for contender in contenders}
    repeats = {}
    for contender in contenders:
        once = min(contender.ask(repeats=2))
        repeats[contender.name] = max(1, round(seconds / turns / once))
    for turn in range(turns):
        # Whoever follows the same neighbor every time might pay for it every time.
        for contender in random.Random(turn).sample(contenders, len(contenders)):
            time.sleep(PAUSE)
            times[contender.name] += contender.ask(repeats=repeats[contender.name])
    return {name: statistics.median(t) for name, t in times.items()}


def relative_error(got: List[np.ndarray], want: List[np.ndarray]) -> float:
    """Norm of the difference over the norm, the largest of all outputs; infinite if shapes differ.

    By norms, for in a gradient rounding decides here and there which of two elements is the maximum.
    """
    if [x.shape for x in got] != [x.shape for x in want]:
        return np.inf
    errors = [np.linalg.norm(x - y) / np.linalg.norm(y) for x, y in zip(got, want)]
    return float(np.max(errors))


def add_python(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Declare ``--python NAME=PATH``; ``names`` are the contenders'."""

    def python(text):
        name, _, path = text.partition("=")
        if name not in names or shutil.which(path) is None:
            known = ", ".join(sorted(names))
            raise argparse.ArgumentTypeError(
                f"{text!r} is not NAME=PATH, of an interpreter, with a NAME among {known}"
            )
        return name, path

    parser.add_argument("--python", type=python, action="append", default=[], metavar="NAME=PATH")


def add_arguments(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Declare the options that all races have; ``names`` are the contenders'."""

    def writable(text):
        if not os.path.isdir(os.path.dirname(os.path.abspath(text))):
            raise argparse.ArgumentTypeError(f"{text!r} is in a folder that does not exist")
        return text

    def seconds(text):
        if not 0 < float(text) < 3600:
            raise argparse.ArgumentTypeError(f"{text!r} is not above 0 and below 3600")
        return float(text)

    add_python(parser, names)
    parser.add_argument("--seconds", type=seconds, default=3.0, help="of runs, for each contender")
    parser.add_argument("--json", type=writable, metavar="FILE", help="write the medians, in seconds")
    parser.add_argument("--serve", help=argparse.SUPPRESS)


def processor() -> str:
    """The machine by what counts: its threads and its widest vectors."""
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    vectors = [
        flag for flag in ("amx_tile", "avx512_bf16", "avx512_vnni", "avx512f", "avx2") if flag in flags
    ]
    return f"{THREADS} threads, {', '.join(vectors[:3]) or 'no AVX2'}"
