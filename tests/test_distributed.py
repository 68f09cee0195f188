"""Train in several processes with MXNet's parameter server, on the loopback interface.

``dist_sync`` adds up the gradients of all workers, and ``Trainer.step(batch_size)`` divides the sum by
``batch_size``. A worker's loss is the sum over its share, so all workers pass the size of the *joint*
batch. The update is then that of one process with the joint batch.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest

import gluon_same

PROGRAM = Path(__file__).parents[1] / "notebooks" / "training" / "train_digits.py"
ROLES = ("scheduler", "server", "worker", "worker")
SECONDS = 240  #: Time limit of a run, which takes about ten seconds.


def environment(**variables):
    """Return this process's environment with the package in PYTHONPATH, one thread and ``variables``."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("DMLC_", "PS_"))}
    path = [str(Path(gluon_same.__file__).parents[1]), inherited.get("PYTHONPATH", "")]
    inherited.update(PYTHONPATH=os.pathsep.join(filter(None, path)), OMP_NUM_THREADS="1", **variables)
    return inherited


def run_alone(folder, *options):
    """Train in one process; return the file of its weights and its output."""
    weights = folder / "alone.params"
    command = [sys.executable, str(PROGRAM), *options, "--save", str(weights)]
    done = subprocess.run(
        command, env=environment(), stdout=subprocess.PIPE, check=True, timeout=SECONDS
    )
    return weights, done.stdout.decode()


def run_distributed(folder, *options):
    """Train with two workers and a server; return the workers' files of weights and their outputs."""
    variables = {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(free_port()),
        "DMLC_NUM_SERVER": str(ROLES.count("server")),
        "DMLC_NUM_WORKER": str(ROLES.count("worker")),
        "DMLC_INTERFACE": "lo",
    }
    weights = folder / "together.params"
    # Schedulers and servers run the same program. The import of MXNet starts their role.
    command = [sys.executable, str(PROGRAM), *options, "--kvstore", "dist_sync", "--save", str(weights)]
    logs = [folder / f"{number}-{role}.log" for number, role in enumerate(ROLES)]
    with contextlib.ExitStack() as stack:
        children = []
        for role, log in zip(ROLES, logs):
            out = stack.enter_context(open(log, "wb"))
            env = environment(DMLC_ROLE=role, **variables)
            child = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
            stack.callback(end, child)
            children.append(child)
        problem = wait(children)
    if problem:
        output = "".join(f"--- {log.stem}\n{log.read_text(errors='replace')}" for log in logs)
        pytest.fail(f"{problem}\n{output}", pytrace=False)
    saved = [weights, Path(f"{weights}.1")]
    return saved, [log.read_text() for log, role in zip(logs, ROLES) if role == "worker"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait(children):
    """Wait until all children have ended; return a description of a failure, or None."""
    deadline = time.monotonic() + SECONDS
    while True:
        codes = [child.poll() for child in children]
        if any(codes):  # the others would wait forever
            return "exit statuses: " + ", ".join(f"{r} {c}" for r, c in zip(ROLES, codes))
        if None not in codes:
            return None
        if time.monotonic() > deadline:
            return f"not done after {SECONDS} seconds: {codes}"
        time.sleep(0.05)


def end(child):
    child.kill()
    child.wait()


def assert_same_weights(file, expected_file, tolerance):
    """Compare within ``tolerance`` times the largest weight of each parameter."""
    weights, expected = mx.nd.load(str(file)), mx.nd.load(str(expected_file))
    assert weights.keys() == expected.keys()
    for name, want in expected.items():
        got, want = weights[name].asnumpy(), want.asnumpy()
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * abs(want).max(), err_msg=name)


def test_two_workers_give_the_weights_of_one_process_with_the_joint_batch(tmp_path):
    """In float32. The notebook on several machines compares them in float64."""
    # 14 batches. In a longer run, rounding decides between two nearly equal maxima of a window, and the
    # weights diverge.
    options = ["--epochs", "1", "--batch-size", "128"]
    alone, said = run_alone(tmp_path, *options)
    together, both_said = run_distributed(tmp_path, *options)
    for weights in together:
        assert_same_weights(weights, alone, 1e-4)
    final = said.splitlines()[-1]
    assert final.startswith("final loss 0.")
    assert sorted(text.split(",")[0] for text in both_said) == ["worker 0 of 2", "worker 1 of 2"]
    assert all(text.splitlines()[-1] == final for text in both_said)


def test_a_worker_that_fails_ends_the_run_and_shows_its_output(tmp_path):
    with pytest.raises(pytest.fail.Exception, match="batch_size=1 does not fit: give 2 "):
        run_distributed(tmp_path, "--batch-size", "1")
