"""The loop of every training: epochs of batches, a rate, an average of weights, checkpoints."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.models import checkpoint
from snapcli.models.average import WeightAverage
from snapcli.models.feed import Feed
from snapcli.models.optimize import learning_rate
from snapcli.stored import Arrays, stored_arrays


@dataclass(frozen=True)
class Progress:
    """lambda_ss: what the heads' loss counted at the end of the epoch."""

    epoch: int
    epochs: int
    loss: float
    accuracy: float
    lambda_ss: float


@dataclass(frozen=True)
class EpochTime:
    """waited_s: seconds in which the network stood still for lack of inputs."""

    seconds: float
    waited_s: float


def seed_everything(seed: int) -> None:
    """Weights that are drawn from now on, and every step, are the same for the same seed."""
    import tensorflow as tf
    import tf_keras

    tf.config.experimental.enable_op_determinism()
    tf_keras.utils.set_random_seed(seed)


class Loop(ABC):
    """Every epoch depends on (seed, epoch) only, so that a resumed training gives the same bytes.

    start_again: the hint where a checkpoint cannot be read.
    """

    start_again: ClassVar[str]

    def __init__(self, data: Dataset, options: TrainOptions) -> None:
        self.data, self.options = data, options
        self.steps = -(-len(data.train) // options.batch_size)
        self.history: list[Progress] = []
        self.times: list[EpochTime] = []
        self._average: WeightAverage | None = None

    @property
    def epoch(self) -> int:
        """The next one, from 0."""
        return len(self.history)

    @property
    def counted(self) -> float:
        """The weight that the heads' loss has now, if there are any."""
        return 0.0

    def _start_average(self) -> None:
        """Once the variables are there."""
        if self.options.ema:
            self._average = WeightAverage(self._averaged(), self.options.ema)

    @abstractmethod
    def _averaged(self) -> list[Any]:
        """What is averaged and kept in the end, always in the same order."""

    @abstractmethod
    def _learn(self, step: int, batch: Any, scalars: dict[str, Any], settled: bool) -> Any:
        """(loss, accuracy) of one batch; step: from the first epoch on; scalars: "rate", "decay"
        of the average and what _scalars() added; settled: batch statistics stand still."""

    def _begin_epoch(self) -> None:
        """What changes from epoch to epoch."""

    def _scalars(self) -> dict[str, float]:
        return {}

    def _finish(self) -> None:
        """After the last epoch; the average has been taken."""

    @abstractmethod
    def _state(self) -> list[Any]:
        """The variables that a checkpoint holds, beside the average's."""

    def _further(self) -> dict[str, Any]:
        """Arrays that a checkpoint holds as well."""
        return {}

    def _restore_further(self, saved: Arrays, epochs: int) -> None:
        """Before the variables get their values; epochs: that were reached."""

    def run_epoch(self) -> Progress:
        import tensorflow as tf

        options, epoch = self.options, self.epoch
        started = time.monotonic()
        self._begin_epoch()
        settled = epoch >= (1 - options.frozen) * options.epochs
        rng = np.random.default_rng([options.seed, epoch])
        feed = Feed(self.data, options.batch_size, options.mixup, rng)
        results = []
        for k, batch in enumerate(feed):
            step = epoch * self.steps + k
            scalars = {
                "rate": learning_rate(options, epoch + k / self.steps),
                "decay": self._average.decay_at(step) if self._average else 0.0,
                **self._scalars(),
            }
            tensors = {name: tf.constant(v, tf.float32) for name, v in scalars.items()}
            results.append(self._learn(step, batch.tensors(), tensors, settled))
        loss, accuracy = np.mean([[float(a), float(b)] for a, b in results], axis=0)
        self.times.append(EpochTime(time.monotonic() - started, feed.waited_s))
        progress = Progress(epoch + 1, options.epochs, float(loss), float(accuracy), self.counted)
        self.history.append(progress)
        return progress

    def fit(self, path: Path, on_epoch: Callable[[Progress], None]) -> None:
        """All remaining epochs; what was reached is in a checkpoint after each of them."""
        while self.epoch < self.options.epochs:
            progress = self.run_epoch()
            self.save(path)
            on_epoch(progress)
        if self._average:
            self._average.assign_to(self._averaged())
        self._finish()

    def save(self, path: Path) -> None:
        history = [[p.loss, p.accuracy, p.lambda_ss] for p in self.history]
        times = [[t.seconds, t.waited_s] for t in self.times]
        further = {"history": np.array(history), "times": np.array(times), **self._further()}
        checkpoint.save(path, self._stored(), **further)

    def restore(self, path: Path) -> None:
        """Raises ArtifactError for a checkpoint that is damaged or of another model."""
        epochs = self.options.epochs
        with stored_arrays(path, self.start_again) as saved:
            rows = checkpoint.epochs(saved, "history", 3, epochs)
            times = [EpochTime(*t) for t in checkpoint.epochs(saved, "times", 2, epochs)]
            self._restore_further(saved, len(rows))
            checkpoint.assign(saved, self._stored())
        self.history = [Progress(n + 1, epochs, *figures) for n, figures in enumerate(rows)]
        self.times = times

    def _stored(self) -> list[Any]:
        return [*self._state(), *(self._average.variables if self._average else [])]
