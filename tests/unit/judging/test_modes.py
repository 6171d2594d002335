"""The backbone of a run in another mode: what is trained, and what an interruption leaves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snapcli.config import DETACH, JOINT, POSTHOC, TrainOptions
from snapcli.data import load_dataset
from snapcli.judging import modes
from snapcli.judging.networks import in_mode
from snapcli.models.loop import Progress
from snapcli.runs import Run, create_run

EPOCHS = 3


class KilledError(Exception):
    pass


class CountingTrainer:
    """Writes checkpoints that hold the number of epochs, and stops at one of them."""

    stop_at = EPOCHS + 1
    trained: list[tuple[str, int]]

    def __init__(self, backbone: Any, taps: Any, data: Any, options: TrainOptions) -> None:
        self.options, self.epoch = options, 0
        self.model, self.heads = "model", self

    def restore(self, path: Path) -> None:
        self.epoch = int(path.read_text())

    def fit(self, path: Path, on_epoch: Callable[[Progress], None]) -> None:
        while self.epoch < EPOCHS:
            self.epoch += 1
            if self.epoch == self.stop_at:
                raise KilledError
            self.trained.append((self.options.mode, self.epoch))
            path.write_text(str(self.epoch))
            on_epoch(Progress(self.epoch, EPOCHS, 0.5, 0.5, 0.0))

    def fitted(self) -> list[Any]:
        return []


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = create_run(tmp_path, "digits")
    with made.write("train", after=()) as out:
        (out / "model.keras").write_text("weights")
    return made


def test_it_goes_on_where_it_was_interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "Trainer", CountingTrainer)
    CountingTrainer.trained = []
    options, data = TrainOptions(backbone="dscnn-digits", taps=("P",)), load_dataset(TrainOptions())
    told: list[int] = []

    def on_progress(done: int, total: int, detail: str) -> None:
        assert total == EPOCHS
        told.append(done)

    detached = in_mode(options, DETACH)
    monkeypatch.setattr(CountingTrainer, "stop_at", 3)
    with pytest.raises(KilledError):
        modes._fitted(run, detached, data, on_progress)
    monkeypatch.setattr(CountingTrainer, "stop_at", EPOCHS + 1)
    modes._fitted(run, detached, data, on_progress)
    modes._fitted(run, in_mode(options, POSTHOC), data, on_progress)
    assert CountingTrainer.trained == [
        *((DETACH, epoch) for epoch in (1, 2, 3)),
        *((POSTHOC, epoch) for epoch in (1, 2, 3)),
    ]
    assert told == [1, 2, 3, 1, 2, 3]
    # What a run that was trained anew left is of no use.
    with run.write("train", after=()) as out:
        (out / "model.keras").write_text("other weights")
    modes._fitted(run, detached, data, on_progress)
    assert CountingTrainer.trained[6:] == [(DETACH, epoch) for epoch in (1, 2, 3)]
    modes.forget(run)
    assert not list(run.path("ablate").iterdir())


@pytest.mark.parametrize("mode", [JOINT, DETACH, POSTHOC])
def test_a_mode_drops_what_it_has_no_use_for(mode: str) -> None:
    joint = TrainOptions(adaptive=True, detach_from=2, loss_weights="inverse-variance")
    found = in_mode(joint, mode)
    assert found.mode == mode
    assert (found == joint) == (mode == JOINT)
    assert in_mode(found, JOINT).mode == JOINT
