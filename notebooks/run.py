"""Run the notebooks from top to bottom, each in a new kernel, and store their outputs.

    python notebooks/run.py [FILE ...]

Requires ``pip install '.[notebooks]'``. Stored outputs omit what changes from run to run: counters,
paths, and the steps of progress bars. The tests run the notebooks with the same functions and compare
the texts. A cell whose text can vary (times, trained numbers) has the tag ``varies``.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import nbformat
import traitlets
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
TIMEOUT = 120  #: Seconds for one cell.
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class OwnKernel(AsyncKernelManager):
    """Start ipykernel with this interpreter, whatever kernels are registered."""

    @traitlets.default("kernel_spec_manager")
    def _no_registered_kernels(self):
        return KernelSpecManager(kernel_dirs=[])


def paths() -> List[Path]:
    """Return all notebooks, in order."""
    return sorted(HERE.glob("[0-9]_*.ipynb"))


def execute(path: Path, **variables: str) -> Any:
    """Run a notebook in a new kernel of this interpreter, with ``variables`` in its environment.

    Returns
    -------
    NotebookNode
        With outputs as they are stored.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell raises.
    RuntimeError
        If a cell writes to standard error, because readers should not see warnings.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        kernel_manager_class=OwnKernel,
        resources={"metadata": {"path": str(HERE)}},
    )
    with tempfile.TemporaryDirectory() as settings:  # not those of the user's own IPython
        paths = [str(HERE.parent), os.environ.get("PYTHONPATH")]
        client.execute(
            env={
                "OMP_NUM_THREADS": "1",  # so that CPU time is the time that a call takes
                **os.environ,
                **variables,
                "IPYTHONDIR": settings,
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),  # this gluon_same
            }
        )
    return settle(notebook)


def settle(notebook: Any) -> Any:
    """Bring outputs and metadata into their stored form, in place."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02}"
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        outputs = []
        for output in cell.outputs:
            if output.output_type == "stream":
                if output.name == "stderr":
                    # What takes longer on a slow machine shows its progress, with the seconds.
                    if re.sub(r"(?m)^.* \(\d+ s\)\n", "", output.text):
                        raise RuntimeError(f"cell {number} wrote to standard error:\n{output.text}")
                    continue
                if outputs and outputs[-1].output_type == "stream":
                    outputs[-1].text += output.text
                    continue
            if "execution_count" in output:
                output.execution_count = None
            outputs.append(output)
        for output in outputs:
            if output.output_type == "stream":  # a progress bar's last state, as a terminal shows it
                output.text = re.sub(r"[^\n]*\r(?=[^\n])", "", output.text).replace("\r", "")
        cell.outputs = outputs
    return notebook


def texts(cell: Any) -> Iterator[Tuple[str, str]]:
    """Yield the text outputs of a cell, with their kind. The text of a figure is its description."""
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            yield output.name, output.text
        else:
            kinds = " ".join(sorted(output.data))
            yield kinds, output.data.get("text/plain", "")


def main(names: List[str]) -> int:
    """Run and store the given notebooks, or all of them."""
    for path in map(Path, names) if names else paths():
        before = os.times().elapsed
        notebook = execute(path)
        nbformat.write(notebook, path)
        taken, size = os.times().elapsed - before, path.stat().st_size / 1000
        print(f"{path.name}: {taken:.0f} s, {size:.0f} kB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
