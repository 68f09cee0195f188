"""Measured times, in the process and in files."""

import json
import os
import platform
from typing import Dict

import mxnet as mx

#: Seconds of each way, by a description of the layer and its neighbors.
measured: Dict[str, Dict[str, float]] = {}


def results() -> Dict[str, Dict[str, float]]:
    """Return the times that were measured in this process or loaded.

    Returns
    -------
    dict
        Seconds of each way, by a description of the layer and its neighbors.

    Examples
    --------
    >>> forget()
    >>> results()
    {}
    """
    return {key: dict(times) for key, times in measured.items()}


def forget() -> None:
    """Forget all measured times.

    Examples
    --------
    >>> forget()
    """
    measured.clear()


def save(path: str) -> None:
    """Write the measured times and a description of the machine to a JSON file.

    Parameters
    ----------
    path : str
        The file, which is replaced as a whole or not at all.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), 'times.json')
    >>> save(path)
    >>> os.path.exists(path)
    True
    """
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump({"machine": machine(), "seconds": measured}, file, indent=1)
    os.replace(part, path)


def load(path: str) -> None:
    """Read the times that :func:`save` wrote, so that they are not measured again.

    Parameters
    ----------
    path : str

    Raises
    ------
    ValueError
        If :func:`save` did not write the file, or if it comes from another machine.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), 'times.json')
    >>> save(path)
    >>> load(path)
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        found = {
            str(key): {str(way): float(seconds) for way, seconds in times.items()}
            for key, times in content["seconds"].items()
        }
        there = content["machine"]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path!r} is not a file of gluon_same.tuning.save: {error!r}") from error
    if there != machine():
        raise ValueError(
            f"{path!r} was measured on {there}, and this machine is {machine()}: tune on this machine"
        )
    measured.update(found)


def machine() -> Dict[str, str]:
    """Return what measured times depend on: processor, instructions, threads and MXNet's version."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    instructions = next(
        (os.environ[key] for key in ("DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA") if key in os.environ),
        "all",
    )
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return {"processor": name, "instructions": instructions, "threads": threads, "mxnet": mx.__version__}
