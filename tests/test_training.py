"""Training on real data: scikit-learn's digits, through ``notebooks/training/train_digits.py``."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "notebooks" / "training"))
import train_digits  # noqa: E402

TARGET = 0.40  #: Loss below which the default run ends, as the script's docstring says.
MEAN_IMAGE = 0.501  #: Loss of the mean image.
FLOOR = 0.361  #: Loss of the images themselves, which is the lowest possible.


@pytest.fixture(scope="module")
def images():
    return train_digits.load_images()


def test_the_digits_are_real_and_fill_the_range_from_0_to_1(images):
    assert images.shape == (1797, 1, 28, 28)
    assert (images.min().asscalar(), images.max().asscalar()) == (0, 1)


def test_the_stated_bounds_of_the_loss_are_those_of_the_images(images):
    images = images.clip(1e-6, 1 - 1e-6)
    mean = images.mean(axis=0, keepdims=True)
    assert train_digits.mean_loss(mean.broadcast_like, images) == pytest.approx(MEAN_IMAGE, abs=5e-4)
    assert train_digits.mean_loss(lambda part: part, images) == pytest.approx(FLOOR, abs=5e-4)


def test_the_program_trains_below_the_stated_loss(tmp_path, capsys):
    assert train_digits.main(["--save", str(tmp_path / "weights")]) == 0
    lines = capsys.readouterr().out.splitlines()
    losses = [float(line.split("loss ")[1].split()[0]) for line in lines]
    assert len(lines) == 1 + 6 + 1  # before the first epoch, each epoch, final
    assert losses[0] > MEAN_IMAGE > TARGET > losses[-1] > FLOOR
    assert losses[-1] == losses[-2]
    net = train_digits.ConvAutoencoder()
    net.load_parameters(str(tmp_path / "weights"))
    assert train_digits.mean_loss(net, train_digits.load_images()) == pytest.approx(losses[-1], abs=1e-4)


def test_eager_and_hybridized_training_give_the_same_losses(images):
    eager, hybrid = (
        train_digits.train(images[:640], epochs=2, hybridize=hybridize, say=lambda line: None)
        for hybridize in (False, True)
    )
    np.testing.assert_allclose(hybrid.losses, eager.losses, rtol=1e-4)
    assert eager.losses[-1] < eager.losses[0] - 0.05


def test_the_local_kvstore_and_none_give_the_same_weights(images):
    nets = [
        train_digits.train(images[:320].astype("float64"), 1, kvstore=kvstore, say=lambda line: None).net
        for kvstore in (None, "local")
    ]
    for plain, stored in zip(*(net.collect_params().values() for net in nets)):
        np.testing.assert_allclose(stored.data().asnumpy(), plain.data().asnumpy(), rtol=1e-9)


def test_the_seed_decides_the_run(images):
    def losses(seed):
        return train_digits.train(images[:96], 1, seed=seed, say=lambda line: None).losses

    assert losses(1) == losses(1) != losses(2)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--learning-rate", "nan"], "'nan' is not above 0"),
        (["--save", "/no/such/file"], "--save '/no/such/file' is in a folder that does not exist"),
        (["--epochs", "0"], "--epochs: '0' is less than 1"),
        (["--batch-size", "1798"], "batch_size=1798 does not fit: give 1 .* to 1797"),
        (["--kvstore", "dist_sync"], "MXNet's launcher"),
        (["--kvstore", "dist"], "invalid choice: 'dist'"),
    ],
)
def test_bad_arguments_are_named(arguments, message, capsys, monkeypatch):
    monkeypatch.delenv("DMLC_ROLE", raising=False)
    with pytest.raises(SystemExit, match="2"):
        train_digits.main(arguments)
    assert re.search(message, capsys.readouterr().err)
