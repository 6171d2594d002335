"""Training of a backbone together with its heads (needs the extra `train`).

L = L_clf + lambda_ss L_ss + lambda_reg R. Joint mode lets L_ss shape the backbone, detach
stops its gradient at the pooled activations, posthoc trains the backbone on L_clf alone and
then the heads on activations that are computed once.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.heads.head import surprisals
from snapcli.models import adaptive, checkpoint, own, qat
from snapcli.models.activations import pooled_activations
from snapcli.models.adaptive import AdaptiveLambda
from snapcli.models.attached import AttachedHeads
from snapcli.models.average import WeightAverage
from snapcli.models.backbone import Backbone, Tap
from snapcli.models.feed import Feed
from snapcli.models.loss import classifier_loss
from snapcli.models.optimize import build_optimizer, learning_rate, with_weight_decay
from snapcli.models.posthoc import fit_heads
from snapcli.models.qat import SimulatedBackbone
from snapcli.score.weights import tap_weights
from snapcli.stored import stored_arrays

# Dev examples that weigh the taps.
_WEIGHING = 1000


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


class Trainer:
    """Holds the model, the heads and the optimizers; every epoch depends on (seed, epoch) only.

    model is the plain backbone. Its weights are those of the training when fit() has returned;
    while int8 is simulated they move in a copy.
    """

    def __init__(
        self, backbone: Backbone, taps: tuple[Tap, ...], data: Dataset, options: TrainOptions
    ) -> None:
        import tensorflow as tf
        import tf_keras

        tf.config.experimental.enable_op_determinism()
        tf_keras.utils.set_random_seed(options.seed)
        self.data, self.options, self.name = data, options, backbone.name
        self.model = _built(backbone, taps, data)
        self.heads = AttachedHeads(taps, self.model, len(data.class_names), options)
        self.steps = -(-len(data.train) // options.batch_size)
        self.epoch = 0
        self.history: list[Progress] = []
        self.times: list[EpochTime] = []
        # Seconds that heads took which were fitted after the epochs.
        self.posthoc_s = 0.0
        self.lambda_ss = AdaptiveLambda(options.lambda_ss)
        self._simulated: SimulatedBackbone | None = None
        self._average = WeightAverage(self._kept(), options.ema) if options.ema else None
        self._prepare()

    def _prepare(self) -> None:
        """Optimizers and the compiled step for what is trained from now on."""
        import tensorflow as tf
        import tf_keras

        self._optimizers = (build_optimizer(self.options), tf_keras.optimizers.Adam())
        for optimizer, variables in zip(self._optimizers, self._trained(), strict=True):
            optimizer.build(variables)
        self._step = tf.function(self._train_step)

    @property
    def _network(self) -> Any:
        return self._simulated.model if self._simulated else self.model

    @property
    def _alone(self) -> bool:
        """Whether the backbone is trained without its heads."""
        return self.options.mode == "posthoc"

    def _trained(self) -> tuple[list[Any], list[Any]]:
        """Variables of the backbone and of the heads, each with an optimizer of its own."""
        return self._network.trainable_variables, [] if self._alone else self.heads.learned

    def _kept(self) -> list[Any]:
        """What is averaged and saved in the end, always in the same order."""
        backbone = self.model.variables
        if self._simulated:
            backbone = self._simulated.twins(backbone)
        return [*backbone, *([] if self._alone else self.heads.variables)]

    def _train_step(
        self, batch: Any, scalars: Any, weights: Any, settled: bool, stop: bool, measured: bool
    ) -> tuple[Any, Any, Any]:
        """(loss, accuracy, |grad L_ss| / |grad L_clf| in the backbone where it is measured).

        settled: batch statistics stand still; stop: no gradient of L_ss in the backbone.
        """
        import tensorflow as tf

        options, ratio = self.options, tf.constant(0.0)
        variables = self._trained()
        # A simulated backbone holds its batch statistics itself; its ranges go on moving.
        moving = not settled or self._simulated is not None
        with tf.GradientTape(persistent=measured) as tape:
            outputs = self._network(batch["x"], training=moving)
            loss = classifier_loss(options, batch, outputs["logits"])
            if not self._alone:
                surprise, penalty = self.heads.loss(
                    self.heads.activations(outputs), stop, not settled, weights
                )
                loss += scalars["lambda_ss"] * surprise + options.lambda_reg * penalty
        gradients = tape.gradient(loss, variables)
        if measured:
            pull = tape.gradient(surprise, variables[0], unconnected_gradients="zero")
            own = [g - scalars["lambda_ss"] * p for g, p in zip(gradients[0], pull, strict=True)]
            ratio = tf.linalg.global_norm(pull) / tf.linalg.global_norm(own)
        gradients = (with_weight_decay(options, gradients[0], variables[0]), gradients[1])
        rates = (scalars["rate"], options.head_rate * scalars["rate"])
        for optimizer, grads, var, r in zip(
            self._optimizers, gradients, variables, rates, strict=True
        ):
            optimizer.learning_rate.assign(r)
            clipped, _ = tf.clip_by_global_norm(grads, options.clip)
            optimizer.apply_gradients(zip(clipped, var, strict=True))
        if self._average:
            self._average.update(self._kept(), scalars["decay"])
        right = tf.argmax(outputs["logits"], axis=-1, output_type=tf.int64) == batch["y"]
        return loss, tf.reduce_mean(tf.cast(right, tf.float32)), ratio

    def run_epoch(self) -> Progress:
        import tensorflow as tf

        options, epoch = self.options, self.epoch
        started = time.monotonic()
        if self._simulated is None and epoch >= self._simulated_from:
            self._simulate()
        settled = epoch >= (1 - options.frozen) * options.epochs
        stop = options.mode == "detach" or 0 < options.detach_from <= epoch + 1
        ramp = min(1.0, epoch / options.ramp) if options.ramp else 1.0
        weights = self._tap_weights()
        rng = np.random.default_rng([options.seed, epoch])
        feed = Feed(self.data, options.batch_size, options.mixup, rng)
        results = []
        for k, batch in enumerate(feed):
            step = epoch * self.steps + k
            due = step % adaptive.EVERY == 0
            measured = options.adaptive and due and ramp > 0 and not stop
            scalars = {
                "rate": learning_rate(options, epoch + k / self.steps),
                "lambda_ss": ramp * self.lambda_ss.value,
                "decay": self._average.decay_at(step) if self._average else 0.0,
            }
            tensors = {name: tf.constant(v, tf.float32) for name, v in scalars.items()}
            found = self._step(batch.tensors(), tensors, weights, settled, stop, measured)
            results.append(found[:2])
            if measured:
                self.lambda_ss.update(float(found[2]))
        self.epoch += 1
        loss, accuracy = np.mean([[float(a), float(b)] for a, b in results], axis=0)
        self.times.append(EpochTime(time.monotonic() - started, feed.waited_s))
        counted = 0.0 if self._alone else ramp * self.lambda_ss.value
        return Progress(self.epoch, options.epochs, float(loss), float(accuracy), counted)

    def _tap_weights(self) -> Any:
        """[taps] with the mean 1, or None for uniform ones; heads that have not learned yet have
        no variance to go by."""
        import tensorflow as tf

        if self.options.loss_weights == "uniform" or self._alone or self.epoch == 0:
            return None
        count = len(self.data.dev)
        rows = np.linspace(0, count - 1, min(count, _WEIGHING)).astype(int)
        heads, x = self.heads.fitted(), self.data.front_end(self.data.dev.x[rows])
        found = pooled_activations(self._network, x, self.heads.blocks, self.options.statistics)
        weights = tap_weights(surprisals(heads, found), self.options.loss_weights)
        return tf.constant(len(heads) * weights, tf.float32)

    @property
    def _simulated_from(self) -> int:
        """The first epoch (from 0) with int8 simulated; beyond the last one if there is none."""
        share, epochs = self.options.qat, self.options.epochs
        return epochs - max(1, round(share * epochs)) if share else epochs

    def _simulate(self) -> None:
        x = self.data.front_end(self.data.train.x[: qat.SAMPLES])
        self._simulated = SimulatedBackbone(self.model, x, self.name)
        if not self._alone:
            self.heads.simulate(
                pooled_activations(self.model, x, self.heads.blocks, self.options.statistics)
            )
        self._prepare()

    def fit(self, path: Path, on_epoch: Callable[[Progress], None]) -> None:
        """All remaining epochs; what was reached is in a checkpoint after each of them."""
        while self.epoch < self.options.epochs:
            progress = self.run_epoch()
            self.history.append(progress)
            self.save(path)
            on_epoch(progress)
        if self._average:
            self._average.assign_to(self._kept())
        if self._simulated:
            self._simulated.give()
        if self._alone:
            started = time.monotonic()
            rng = np.random.default_rng([self.options.seed, self.options.epochs])
            fit_heads(self.heads, self._network, self.data, self.options, rng)
            self.posthoc_s = time.monotonic() - started

    def _state(self) -> list[Any]:
        optimizers = [v for o in self._optimizers for v in o.variables]
        simulated = self._simulated.model.variables if self._simulated else []
        average = self._average.variables if self._average else []
        return [*self.model.variables, *self.heads.variables, *optimizers, *simulated, *average]

    def save(self, path: Path) -> None:
        history = [[p.loss, p.accuracy, p.lambda_ss] for p in self.history]
        times = [[t.seconds, t.waited_s] for t in self.times]
        checkpoint.save(
            path,
            self._state(),
            history=np.array(history),
            times=np.array(times),
            adaptive=np.array(self.lambda_ss.state()),
        )

    def restore(self, path: Path) -> None:
        """Raises ArtifactError for a checkpoint that is damaged or of another model."""
        epochs = self.options.epochs
        with stored_arrays(path, "Start again: snap train") as saved:
            rows = checkpoint.epochs(saved, "history", 3, epochs)
            history = [Progress(n + 1, epochs, *figures) for n, figures in enumerate(rows)]
            if len(history) > self._simulated_from:
                self._simulate()
            checkpoint.assign(saved, self._state())
            times = [EpochTime(*t) for t in checkpoint.epochs(saved, "times", 2, epochs)]
            self.lambda_ss.restore(saved.any("adaptive"))
        self.history, self.times, self.epoch = history, times, len(history)


def _built(backbone: Backbone, taps: tuple[Tap, ...], data: Dataset) -> Any:
    """One of ours, or a user's own with its taps made visible."""
    shape, classes = data.input_shape, len(data.class_names)
    if backbone.blocks:
        return backbone.build(shape, classes)
    given = own.built(backbone.build, shape, classes, backbone.name)
    model = own.with_taps(given, [(tap.before, tap.after) for tap in taps], backbone.name)
    own.check_built(model, shape, classes, backbone.name)
    return model
