"""What was measured, in the process and in files."""

import json
import os
import platform
from typing import Dict

import mxnet as mx

#: For each layer between its surroundings, in words, the seconds of each way.
measured: Dict[str, Dict[str, float]] = {}


def results() -> Dict[str, Dict[str, float]]:
    """What was measured in this process, or loaded.

    Returns
    -------
    dict
        For each layer between its surroundings, in words, the seconds of each way.

    Examples
    --------
    >>> forget()
    >>> results()
    {}
    """
    return {key: dict(times) for key, times in measured.items()}


def forget() -> None:
    """Forget all that was measured.

    Examples
    --------
    >>> forget()
    """
    measured.clear()


def save(path: str) -> None:
    """Write what was measured to a JSON file, with the machine it was measured on.

    Parameters
    ----------
    path : str
        Replaced whole, or not at all.

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
    """Take over what ``save`` wrote, so that it need not be measured again.

    Parameters
    ----------
    path : str

    Raises
    ------
    ValueError
        If the file is none of ``save``'s, or was measured on another machine.

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
        raise ValueError(f"{path!r} is no file of gluon_same.tuning.save: {error!r}") from error
    if there != machine():
        raise ValueError(f"{path!r} was measured on {there} and this is {machine()}: tune again here")
    measured.update(found)


def machine() -> Dict[str, str]:
    """What measured times hold for: the processor, its threads, and the versions that run."""
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
