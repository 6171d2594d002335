"""What a network of a method learns from, step by step."""

from typing import Any

from snapcli.config import TrainOptions
from snapcli.methods.trained.replay import LOGITS
from snapcli.models.loss import classifier_loss


class Lesson:
    """model: image -> {"logits...": [classes], ...}. All of its classifiers learn the same."""

    def __init__(self, model: Any, options: TrainOptions) -> None:
        self.model, self.options = model, options

    @property
    def deployed(self) -> Any:
        """What is kept of the model when it has learned."""
        return self.model

    def begin(self, epoch: int) -> None:
        """Before an epoch (from 0)."""

    def prepare_step(self) -> None:
        """Before a step, a part of what is compiled."""

    def loss(self, batch: Any, outputs: Any, epoch: Any) -> Any:
        """A scalar; epoch: from 0, a tensor."""
        losses = [classifier_loss(self.options, batch, each) for each in outputs.values()]
        return sum(losses) / len(losses)

    def answers(self, outputs: Any) -> Any:
        """[n, classes]: the mean posterior of what is kept."""
        import tensorflow as tf

        kept = [output for name, output in outputs.items() if name.startswith(LOGITS)]
        return tf.reduce_mean(tf.nn.softmax(tf.stack(kept)), axis=0)
