"""Run contenders in turns, each in a separate process and possibly in another Python.

A benchmark script passes its own path to :class:`Contender`, which runs ``SCRIPT --serve CONTENDER``.
There the script calls :func:`serve`. Every runtime therefore has its own threads and packages, and
changes of the speed of the machine affect all contenders. This file requires only NumPy.

A *job* is a dict of plain values that describes what to compute. A *maker* receives a job and returns
``run``, which computes and waits, and ``outputs``, which returns the last results as NumPy arrays.
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
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

Maker = Callable[[Dict[str, Any]], Tuple[Callable[[], Any], Callable[[], List[np.ndarray]]]]

#: Number of threads of each contender.
THREADS = len(os.sched_getaffinity(0))
#: OpenMP's threads are bound to cores. Otherwise they may share a core after a pause, and runs take
#: twice as long until Linux moves one, after about 50 ms.
THREADED = {"OMP_NUM_THREADS": str(THREADS), "OMP_PROC_BIND": "true"}
#: glibc keeps up to 32 MiB of freed memory. By default it may return memory to the system, depending on
#: what was freed before, and new pages can take as long as a kernel.
KEPT = {
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_ARENA_MAX": "1",  # the thresholds do not apply to other arenas
}
#: CPU time is that of all threads of a process. Other load of the machine hardly affects it.
CLOCKS = {"wall": time.perf_counter, "CPU": time.process_time}
#: Seconds to wait, because threads of the last contender may still spin.
PAUSE = 0.01


class Contender:
    """A process that makes and times jobs.

    It runs the maker ``serves``, by default that of its name. The folder ``path`` comes first where it
    imports packages.
    """

    def __init__(
        self,
        name: str,
        script: str,
        python: str = sys.executable,
        serves: Optional[str] = None,
        path: Optional[Path] = None,
    ):
        self.name = name
        env = {**os.environ, **THREADED, **KEPT, "TF_CPP_MIN_LOG_LEVEL": "2"}
        if path is not None:
            env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(path), env.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [python, script, "--serve", serves or name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if "BENCHMARK_DEBUG" not in os.environ else None,
            universal_newlines=True,
            env=env,
        )

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for its answer; raise RuntimeError if it failed."""
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
        with contextlib.suppress(OSError):  # the process may have ended
            self._process.stdin.close()
        self._process.wait()


def serve(make: Maker) -> None:
    """Answer a parent's requests until it closes the pipe."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with answers
    run = outputs = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            value = None
            if "job" in request:
                run = outputs = None
                run, outputs = make(request["job"])
                run()
                np.savez(request["save"], *in_thread(outputs))
            else:
                value = _times(run, request["repeats"], CLOCKS[request["clock"]])
            answer = {"value": value}
        except Exception as error:  # the parent reports every error
            traceback.print_exc()
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        print(json.dumps(answer), file=answers, flush=True)


def in_thread(call, *args):
    """Return the result of a call, run in a thread that ends with it.

    To read an array in oneDNN's blocked layout, MXNet starts OpenMP's threads for the reading thread. If
    there are more threads than processors, idle ones sleep, and each later operator takes about 50 us
    longer.
    """
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(call, *args).result()


def _times(run, repeats, clock):
    run()
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return times


def prepare(contenders: List[Contender], job: Dict[str, Any]) -> Dict[str, List[np.ndarray]]:
    """Make a job in all contenders, and return their outputs by name.

    Contenders that fail are reported on stderr and omitted.
    """
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


def race(
    contenders: List[Contender], seconds: float = 3.0, turns: int = 12, clock: str = "wall"
) -> Dict[str, float]:
    """Return the seconds of each contender, each run for about ``seconds`` in ``turns`` turns.

    The seconds are the median of wall time, or the least CPU time.
    """
    times = {contender.name: [] for contender in contenders}
    repeats = {}
    for contender in contenders:
        once = min(contender.ask(repeats=2, clock="wall"))
        repeats[contender.name] = max(1, round(seconds / turns / once))
    for turn in range(turns):
        # Vary the order, because a contender may affect the next one.
        for contender in random.Random(turn).sample(contenders, len(contenders)):
            time.sleep(PAUSE)
            times[contender.name] += contender.ask(repeats=repeats[contender.name], clock=clock)
    best = statistics.median if clock == "wall" else min
    return {name: best(found) for name, found in times.items()}


def writable(text: str) -> str:
    """Parse an argument that is the path of a file to write."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(text))):
        raise argparse.ArgumentTypeError(f"{text!r} is in a folder that does not exist")
    return text


def add_arguments(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Declare the options of all races, with ``--python NAME=PATH`` for the contenders in ``names``."""

    def python(text):
        name, _, path = text.partition("=")
        if name not in names or shutil.which(path) is None:
            known = ", ".join(sorted(names))
            raise argparse.ArgumentTypeError(
                f"{text!r} is not NAME=PATH, the path of an interpreter, with a NAME among {known}"
            )
        return name, path

    def seconds(text):
        if not 0 < float(text) < 3600:
            raise argparse.ArgumentTypeError(f"{text!r} is not above 0 and below 3600")
        return float(text)

    parser.add_argument("--python", type=python, action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--seconds", type=seconds, default=3.0, help="seconds for each contender")
    parser.add_argument(
        "--json", type=writable, metavar="FILE", help="write times, in seconds, and errors"
    )
    parser.add_argument("--serve", help=argparse.SUPPRESS)


def processor() -> str:
    """Describe the machine by its widest vectors."""
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    vectors = [
        flag for flag in ("amx_tile", "avx512_bf16", "avx512_vnni", "avx512f", "avx2") if flag in flags
    ]
    limit = os.environ.get("DNNL_MAX_CPU_ISA")
    return (", ".join(vectors[:3]) or "no AVX2") + (f", limited to {limit}" if limit else "")
