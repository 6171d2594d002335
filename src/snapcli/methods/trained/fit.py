"""Training of a method's own network by the recipe of the run that it is compared with: the same
examples, augmentation, optimizer, learning rate, epochs; only what it learns is its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.methods.trained.lesson import Lesson
from snapcli.models import checkpoint
from snapcli.models.average import WeightAverage
from snapcli.models.feed import Feed
from snapcli.models.fit import Progress
from snapcli.models.optimize import build_optimizer, learning_rate, with_weight_decay
from snapcli.stored import stored_arrays


def seed_everything(seed: int) -> None:
    """Weights that are drawn from now on, and every step, are the same for the same seed."""
    import tensorflow as tf
    import tf_keras

    tf.config.experimental.enable_op_determinism()
    tf_keras.utils.set_random_seed(seed)


class VariantTrainer:
    """Every epoch depends on (seed, epoch) only; the lesson's model has been built."""

    def __init__(self, lesson: Lesson, data: Dataset, options: TrainOptions) -> None:
        import tensorflow as tf

        self.lesson, self.data, self.options = lesson, data, options
        self.steps = -(-len(data.train) // options.batch_size)
        self.history: list[Progress] = []
        self._optimizer = build_optimizer(options)
        self._optimizer.build(lesson.model.trainable_variables)
        self._average = WeightAverage(self._averaged(), options.ema) if options.ema else None
        self._step = tf.function(self._train_step)

    def _averaged(self) -> list[Any]:
        return [v for v in self.lesson.model.variables if v.dtype.is_floating]

    def _train_step(self, batch: Any, scalars: Any, settled: bool) -> tuple[Any, Any]:
        """(loss, accuracy); settled: batch statistics stand still."""
        import tensorflow as tf

        lesson, variables = self.lesson, self.lesson.model.trainable_variables
        lesson.prepare_step()
        with tf.GradientTape() as tape:
            outputs = lesson.model(batch["x"], training=not settled)
            loss = lesson.loss(batch, outputs, scalars["epoch"])
        gradients = with_weight_decay(self.options, tape.gradient(loss, variables), variables)
        clipped, _ = tf.clip_by_global_norm(gradients, self.options.clip)
        self._optimizer.learning_rate.assign(scalars["rate"])
        self._optimizer.apply_gradients(zip(clipped, variables, strict=True))
        if self._average:
            self._average.update(self._averaged(), scalars["decay"])
        answers = tf.argmax(lesson.answers(outputs), axis=-1, output_type=tf.int64)
        return loss, tf.reduce_mean(tf.cast(answers == batch["y"], tf.float32))

    def _run_epoch(self) -> Progress:
        import tensorflow as tf

        options, epoch = self.options, len(self.history)
        self.lesson.begin(epoch)
        settled = epoch >= (1 - options.frozen) * options.epochs
        rng = np.random.default_rng([options.seed, epoch])
        results = []
        for k, batch in enumerate(Feed(self.data, options.batch_size, options.mixup, rng)):
            step = epoch * self.steps + k
            scalars = {
                "epoch": float(epoch),
                "rate": learning_rate(options, epoch + k / self.steps),
                "decay": self._average.decay_at(step) if self._average else 0.0,
            }
            tensors = {name: tf.constant(v, tf.float32) for name, v in scalars.items()}
            results.append(self._step(batch.tensors(), tensors, settled))
        loss, accuracy = np.mean([[float(a), float(b)] for a, b in results], axis=0)
        return Progress(epoch + 1, options.epochs, float(loss), float(accuracy), 0.0)

    def fit(self, path: Path, on_epoch: Callable[[Progress], None]) -> Any:
        """The model that is kept, after all epochs that a checkpoint at this path lacks."""
        if path.is_file():
            self._restore(path)
        while len(self.history) < self.options.epochs:
            self.history.append(self._run_epoch())
            history = np.array([[p.loss, p.accuracy] for p in self.history])
            checkpoint.save(path, self._state(), history=history)
            on_epoch(self.history[-1])
        if self._average:
            self._average.assign_to(self._averaged())
        return self.lesson.deployed

    def _state(self) -> list[Any]:
        average = self._average.variables if self._average else []
        return [*self.lesson.model.variables, *self._optimizer.variables, *average]

    def _restore(self, path: Path) -> None:
        with stored_arrays(path, "Remove it to start again.") as saved:
            epochs = self.options.epochs
            rows = checkpoint.epochs(saved, "history", 2, epochs)
            history = [
                Progress(n + 1, epochs, loss, accuracy, 0.0)
                for n, (loss, accuracy) in enumerate(rows)
            ]
            checkpoint.assign(saved, self._state())
        self.history = history
