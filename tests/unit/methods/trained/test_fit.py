"""Trainings of methods' own networks: the same for the same seed, also if they were interrupted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.methods.trained.fit import VariantTrainer
from snapcli.models.loop import Progress, seed_everything
from snapcli.models.tensorflow import require_tensorflow

from ....conftest import need
from .test_networks import KINDS, SMALL

pytestmark = pytest.mark.slow

OPTIONS = TrainOptions(epochs=2, batch_size=32, ema=0.9, mixup=0.2)


def small_set() -> Dataset:
    digits = load_dataset(TrainOptions())
    return replace(digits, train=digits.train.take(np.arange(64)))


def trainer(name: str, data: Dataset) -> VariantTrainer:
    kind = KINDS[name]
    seed_everything(OPTIONS.seed)
    sizes = data.input_shape, len(data.class_names)
    further: dict[str, Any] = {}
    if name == "hydra":
        further["teachers"] = KINDS["deep-ensemble"].build(SMALL, *sizes)
    model = (kind.learner or kind.build)(SMALL, *sizes)
    return VariantTrainer(kind.lesson(model, OPTIONS, **further), data, OPTIONS)


def interrupt(progress: Progress) -> None:
    raise KeyboardInterrupt


def ignore(progress: Progress) -> None:
    pass


@pytest.mark.parametrize("name", ["mc-dropout", "hydra"])
def test_a_resumed_training_equals_an_uninterrupted_one(name: str, tmp_path: Path) -> None:
    """Of those that carry more from step to step than weights, or change their ways half-way."""
    need(tensorflow=True)
    require_tensorflow()
    data, path = small_set(), tmp_path / "after_one.npz"
    first = trainer(name, data)
    drawn = first.lesson.model.get_weights()
    with pytest.raises(KeyboardInterrupt):
        first.fit(path, interrupt)
    # Elsewhere there is no checkpoint: it goes on with what it has in memory.
    first.fit(tmp_path / "whole.npz", ignore)
    second = trainer(name, data)
    second.restore(path)
    second.fit(path, ignore)
    whole, parts = first.lesson.deployed, second.lesson.deployed
    assert second.history == first.history
    assert [p.epoch for p in second.history] == [1, 2]
    for one, other in zip(whole.get_weights(), parts.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(np.any(a != b) for a, b in zip(drawn, whole.get_weights(), strict=True))
