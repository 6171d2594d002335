"""Training of a backbone together with its heads (needs the extra `train`).

L = L_clf + lambda_ss L_ss + lambda_reg R. Joint mode lets L_ss shape the backbone, detach
stops its gradient at the pooled activations, posthoc trains the backbone on L_clf alone and
then the heads on activations that are computed once.
"""

import time
from typing import Any

import numpy as np

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.heads.head import surprisals
from snapcli.models import adaptive, own, qat
from snapcli.models.activations import pooled_activations
from snapcli.models.adaptive import AdaptiveLambda
from snapcli.models.attached import AttachedHeads
from snapcli.models.backbone import Backbone, Tap
from snapcli.models.loop import Loop, seed_everything
from snapcli.models.loss import classifier_loss
from snapcli.models.optimize import apply_gradients, build_optimizer, with_weight_decay
from snapcli.models.posthoc import fit_heads
from snapcli.models.qat import SimulatedBackbone
from snapcli.score.weights import tap_weights
from snapcli.stored import Arrays

# Dev examples that weigh the taps.
_WEIGHING = 1000


class Trainer(Loop):
    """Holds the model, the heads and the optimizers.

    model is the plain backbone. Its weights are those of the training when fit() has returned;
    while int8 is simulated they move in a copy.
    """

    start_again = "Start again: snap train"

    def __init__(
        self, backbone: Backbone, taps: tuple[Tap, ...], data: Dataset, options: TrainOptions
    ) -> None:
        super().__init__(data, options)
        seed_everything(options.seed)
        self.name = backbone.name
        self.model = _built(backbone, taps, data)
        self.heads = AttachedHeads(taps, self.model, len(data.class_names), options)
        # Seconds that heads took which were fitted after the epochs.
        self.posthoc_s = 0.0
        self.lambda_ss = AdaptiveLambda(options.lambda_ss)
        self._simulated: SimulatedBackbone | None = None
        self._start_average()
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

    def _averaged(self) -> list[Any]:
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
            apply_gradients(optimizer, grads, var, r, options.clip)
        if self._average:
            self._average.update(self._averaged(), scalars["decay"])
        right = tf.argmax(outputs["logits"], axis=-1, output_type=tf.int64) == batch["y"]
        return loss, tf.reduce_mean(tf.cast(right, tf.float32)), ratio

    def _begin_epoch(self) -> None:
        options, epoch = self.options, self.epoch
        if self._simulated is None and epoch >= self._simulated_from:
            self._simulate()
        self._stop = options.mode == "detach" or 0 < options.detach_from <= epoch + 1
        self._ramp = min(1.0, epoch / options.ramp) if options.ramp else 1.0
        self._weights = self._tap_weights()

    def _scalars(self) -> dict[str, float]:
        return {"lambda_ss": self._ramp * self.lambda_ss.value}

    @property
    def counted(self) -> float:
        return 0.0 if self._alone else self._ramp * self.lambda_ss.value

    def _learn(self, step: int, batch: Any, scalars: dict[str, Any], settled: bool) -> Any:
        due = self.options.adaptive and step % adaptive.EVERY == 0
        measured = due and self._ramp > 0 and not self._stop
        *figures, ratio = self._step(batch, scalars, self._weights, settled, self._stop, measured)
        if measured:
            self.lambda_ss.update(float(ratio))
        return figures

    def _tap_weights(self) -> Any:
        """[taps] with the mean 1, or None for uniform ones; heads that have not learned yet have
        no variance to go by."""
        import tensorflow as tf

        if self.options.loss_weights == "uniform" or self._alone or self.epoch == 0:
            return None
        heads, x = self.heads.fitted(), self.data.front_end(self.data.dev.spread(_WEIGHING).x)
        activations = pooled_activations(
            self._network, x, self.heads.blocks, self.options.statistics
        )
        weights = tap_weights(surprisals(heads, activations), self.options.loss_weights)
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

    def _finish(self) -> None:
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
        return [*self.model.variables, *self.heads.variables, *optimizers, *simulated]

    def _further(self) -> dict[str, Any]:
        return {"adaptive": np.array(self.lambda_ss.state())}

    def _restore_further(self, saved: Arrays, epochs: int) -> None:
        if epochs > self._simulated_from:
            self._simulate()
        self.lambda_ss.restore(saved.any("adaptive"))


def _built(backbone: Backbone, taps: tuple[Tap, ...], data: Dataset) -> Any:
    """One of ours, or a user's own with its taps made visible."""
    shape, classes = data.input_shape, len(data.class_names)
    if backbone.blocks:
        return backbone.build(shape, classes)
    given = own.built(backbone.build, shape, classes, backbone.name)
    model = own.with_taps(given, [(tap.before, tap.after) for tap in taps], backbone.name)
    own.check_built(model, shape, classes, backbone.name)
    return model
