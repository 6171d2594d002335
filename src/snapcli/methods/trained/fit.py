"""Training of a method's own network by the recipe of the run that it is compared with: the same
examples, augmentation, optimizer, learning rate, epochs; only what it learns is its own."""

from typing import Any

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.methods.trained.lesson import Lesson
from snapcli.models.loop import Loop
from snapcli.models.optimize import apply_gradients, build_optimizer, with_weight_decay


class VariantTrainer(Loop):
    """The lesson's model has been built."""

    start_again = "Remove it to start again."

    def __init__(self, lesson: Lesson, data: Dataset, options: TrainOptions) -> None:
        import tensorflow as tf

        super().__init__(data, options)
        self.lesson = lesson
        self._optimizer = build_optimizer(options)
        self._optimizer.build(lesson.model.trainable_variables)
        self._start_average()
        self._step = tf.function(self._train_step)

    def _averaged(self) -> list[Any]:
        return [v for v in self.lesson.model.variables if v.dtype.is_floating]

    def _train_step(self, batch: Any, scalars: Any, settled: bool) -> tuple[Any, Any]:
        import tensorflow as tf

        lesson, variables = self.lesson, self.lesson.model.trainable_variables
        lesson.prepare_step()
        with tf.GradientTape() as tape:
            outputs = lesson.model(batch["x"], training=not settled)
            loss = lesson.loss(batch, outputs, scalars["epoch"])
        gradients = with_weight_decay(self.options, tape.gradient(loss, variables), variables)
        clip = self.options.clip
        apply_gradients(self._optimizer, gradients, variables, scalars["rate"], clip)
        if self._average:
            self._average.update(self._averaged(), scalars["decay"])
        answers = tf.argmax(lesson.answers(outputs), axis=-1, output_type=tf.int64)
        return loss, tf.reduce_mean(tf.cast(answers == batch["y"], tf.float32))

    def _learn(self, step: int, batch: Any, scalars: dict[str, Any], settled: bool) -> Any:
        return self._step(batch, scalars, settled)

    def _begin_epoch(self) -> None:
        self.lesson.begin(self.epoch)

    def _scalars(self) -> dict[str, float]:
        return {"epoch": float(self.epoch)}

    def _state(self) -> list[Any]:
        return [*self.lesson.model.variables, *self._optimizer.variables]
