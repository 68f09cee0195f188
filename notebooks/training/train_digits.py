"""Train the convolutional autoencoder on scikit-learn's handwritten digits, in one or more processes.

    python notebooks/training/train_digits.py [--epochs 6] [--batch-size 32] [--learning-rate 0.003]
        [--seed 0] [--dtype float32|float64] [--eager] [--kvstore none|local|dist_sync] [--save FILE]

Requires scikit-learn, and takes about ten seconds. The 1,797 images of 8x8 are enlarged to the 28x28
of the net. The loss is the mean binary cross-entropy of a pixel over all images. Shades of gray keep it
above 0.361, the loss of the images themselves. The loss of the mean image is 0.501. The default run ends
below 0.40.

With ``--kvstore dist_sync``, ``launch.py`` starts this program on every machine, and MXNet's
parameter servers store the weights. All workers draw the same batches, and each takes its share of every
batch. The servers add up the gradients of the shares, which gives the gradient of the joint batch. So
the weights equal those of one process up to rounding. Rounding decides which of two nearly equal
elements is the maximum of a window, so after some dozen batches the weights can drift apart, with
similar losses. This usually happens in float32, and rarely in float64.
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional, Sequence

import gluon_same  # noqa: F401  isort: skip  before mxnet: it prepares NumPy

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

sys.path.append(str(Path(__file__).resolve().parents[1]))
from keras_nets import ConvAutoencoder  # noqa: E402

SIZE = 28  #: Height and width of the training images.
EVALUATED_AT_ONCE = 256
KVSTORES = ("none", "local", "dist_sync")

_loss = gluon.loss.SigmoidBCELoss(from_sigmoid=True)


class Trained(NamedTuple):
    """The result of :func:`train`."""

    net: ConvAutoencoder
    losses: List[float]  #: Over all images, before the first epoch and after each.
    worker: int  #: Number of this process among the workers; 0 if it is the only one.


def load_images(dtype: str = "float32") -> mx.nd.NDArray:
    """Return scikit-learn's digits, enlarged.

    Parameters
    ----------
    dtype : str

    Returns
    -------
    NDArray
        Shape (1797, 1, 28, 28), from 0 to 1.
    """
    from sklearn.datasets import load_digits  # here: parameter servers need no data

    images = mx.nd.array(load_digits().images / 16).expand_dims(axis=1)
    return mx.nd.contrib.BilinearResize2D(images, height=SIZE, width=SIZE).astype(dtype)


def mean_loss(net: Callable[[mx.nd.NDArray], mx.nd.NDArray], images: mx.nd.NDArray) -> float:
    """Return the mean binary cross-entropy of a pixel, over all images.

    Parameters
    ----------
    net : callable
        Maps images to images from 0 to 1.
    images : NDArray
        Shape (count, 1, height, width).

    Returns
    -------
    float
    """
    starts = range(0, len(images), EVALUATED_AT_ONCE)
    parts = [images[start : start + EVALUATED_AT_ONCE] for start in starts]
    return sum(_loss(net(part), part).sum().asscalar() for part in parts) / len(images)


def train(
    images: mx.nd.NDArray,
    epochs: int = 6,
    batch_size: int = 32,
    learning_rate: float = 0.003,
    seed: int = 0,
    hybridize: bool = True,
    kvstore: Optional[str] = None,
    say: Callable[[str], None] = print,
) -> Trained:
    """Train a new autoencoder with Adam.

    Parameters
    ----------
    images : NDArray
        Shape (count, 1, 28, 28), from 0 to 1. The net has their type.
    epochs : int
        Passes over the images, each in a new order. A last batch that is not full is skipped, because
        MXNet's servers divide every sum of gradients by the same batch size.
    batch_size : int
        Size of the joint batch, of which each worker takes every ``num_workers``-th image.
    learning_rate : float
    seed : int
        Seed of the initial weights and of the order of the images; the same in all workers.
    hybridize : bool
    kvstore : str, optional
        None, ``'local'``, or ``'dist_sync'`` in a worker that MXNet's launcher started.
    say : callable
        Takes each line of progress.

    Returns
    -------
    Trained

    Raises
    ------
    ValueError
        If there are fewer images than one batch has, or fewer in a batch than there are workers.
    """
    store = mx.kv.create(kvstore) if kvstore else None
    worker, workers = (store.rank, store.num_workers) if store else (0, 1)
    if not workers <= batch_size <= len(images):
        raise ValueError(
            f"batch_size={batch_size} does not fit: give {workers} (one image for each worker) to "
            f"{len(images)} (all images)"
        )
    mx.random.seed(seed)
    shuffler = np.random.default_rng(seed)
    net = ConvAutoencoder(size=images.shape[2:])
    net.initialize(mx.init.Xavier())
    net.cast(images.dtype)
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": learning_rate}, kvstore=store
    )
    who = f"worker {worker} of {workers}, " if workers > 1 else ""
    losses = [mean_loss(net, images)]
    say(f"{who}before the first epoch: loss {losses[0]:.4f}")
    for epoch in range(1, epochs + 1):
        start = time.perf_counter()
        order = shuffler.permutation(len(images))
        for at in range(0, len(images) - batch_size + 1, batch_size):
            joint = order[at : at + batch_size]
            share = images.take(mx.nd.array(joint[worker::workers]))
            with autograd.record():
                loss = _loss(net(share), share)
            loss.backward()
            # The servers add up the workers' gradients, each a sum over its share, so divide by the
            # size of the joint batch.
            trainer.step(batch_size)
        losses.append(mean_loss(net, images))
        taken = time.perf_counter() - start
        say(f"{who}epoch {epoch} of {epochs}: loss {losses[-1]:.4f} ({taken:.1f} s)")
    return Trained(net, losses, worker)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Train, print a line for each epoch and the final loss, and save the weights if asked to.

    Parameters
    ----------
    arguments : sequence of str, optional
        ``sys.argv[1:]`` by default.

    Returns
    -------
    int
        0, or 1 if the final loss is not finite.
    """
    parser = argparse.ArgumentParser(description="Train the convolutional autoencoder on digits.")
    parser.add_argument("--epochs", type=_at_least(1), default=6)
    parser.add_argument("--batch-size", type=_at_least(1), default=32, help="of all workers together")
    parser.add_argument("--learning-rate", type=_above_zero, default=0.003)
    parser.add_argument("--seed", type=_at_least(0), default=0)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--eager", action="store_true", help="do not hybridize the net")
    parser.add_argument("--kvstore", choices=KVSTORES, default="none")
    parser.add_argument("--save", metavar="FILE", help="for the weights; worker N > 0 appends .N")
    args = parser.parse_args(arguments)
    if args.kvstore == "dist_sync" and "DMLC_ROLE" not in os.environ:
        parser.error("--kvstore dist_sync is for processes that MXNet's launcher starts")
    if args.save and not os.path.isdir(os.path.dirname(os.path.abspath(args.save))):
        parser.error(f"--save {args.save!r} is in a folder that does not exist")
    try:
        trained = train(
            load_images(args.dtype),
            args.epochs,
            args.batch_size,
            args.learning_rate,
            args.seed,
            hybridize=not args.eager,
            kvstore=None if args.kvstore == "none" else args.kvstore,
            # In one piece, because several workers write at once.
            say=lambda line: print(f"{line}\n", end="", flush=True),
        )
    except ValueError as error:
        parser.error(str(error))
    print(f"final loss {trained.losses[-1]:.4f}\n", end="", flush=True)
    if not math.isfinite(trained.losses[-1]):
        return 1
    if args.save:
        trained.net.save_parameters(args.save + (f".{trained.worker}" if trained.worker else ""))
    return 0


def _above_zero(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0 and finite")
    return value


def _at_least(least):
    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is less than {least}")
        return value

    return number


if __name__ == "__main__":
    sys.exit(main())
