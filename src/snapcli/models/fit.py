"""Training of a backbone together with its heads (needs the extra `train`).

L = L_clf + lambda_ss L_ss + lambda_reg R. Joint mode lets L_ss shape the backbone, detach
stops its gradient at the pooled activations, posthoc trains the backbone on L_clf alone and
then the heads on activations that are computed once.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.errors import ArtifactError
from snapcli.heads.head import Head
from snapcli.heads.layer import build_layer, build_likelihood
from snapcli.models import own
from snapcli.models.backbone import Backbone, Tap
from snapcli.models.feed import Feed
from snapcli.models.optimize import build_optimizer, learning_rate, with_weight_decay
from snapcli.progress import OnProgress, silent


@dataclass(frozen=True)
class Progress:
    epoch: int
    epochs: int
    loss: float
    accuracy: float


@dataclass(frozen=True)
class EpochTime:
    """waited_s: seconds in which the network stood still for lack of inputs."""

    seconds: float
    waited_s: float


# Paper, "SNAP-UQ-specific settings": weights of |log sigma^2| and of the heads' weights in R.
_ALPHA_VARIANCE = 1e-4
_ALPHA_WEIGHTS = 5e-4
_BATCH = 512
_POSTHOC_STEPS, _POSTHOC_RATE = 400, 3e-2
# Examples of each kind that heads are fitted to after the training.
_POSTHOC_EXAMPLES = 10_000


class Trainer:
    """Holds the model, the heads and the optimizer; every epoch depends on (seed, epoch) only."""

    def __init__(
        self, backbone: Backbone, taps: tuple[Tap, ...], data: Dataset, options: TrainOptions
    ) -> None:
        import tensorflow as tf
        import tf_keras

        tf.config.experimental.enable_op_determinism()
        tf_keras.utils.set_random_seed(options.seed)
        self.data, self.options, self.taps = data, options, taps
        classes = len(data.class_names)
        if backbone.blocks:
            self.model = backbone.build(data.input_shape, classes)
        else:
            given = own.built(backbone.build, data.input_shape, classes, backbone.name)
            pairs = [(tap.before, tap.after) for tap in taps]
            self.model = own.with_taps(given, pairs, backbone.name)
            own.check_built(self.model, data.input_shape, classes, backbone.name)
        widths = {name: output.shape[-1] for name, output in self.model.output.items()}
        self.heads = [
            build_layer(
                widths[t.before],
                widths[t.after],
                min(t.rank, widths[t.before], widths[t.after]),
                f"head_{t.after}",
                build_likelihood(options, widths[t.after], options.nu, f"head_{t.after}"),
            )
            for t in taps
        ]
        self.steps = -(-len(data.train) // options.batch_size)
        self.epoch = 0
        self.history: list[Progress] = []
        self.times: list[EpochTime] = []
        self._optimizers = (build_optimizer(options), tf_keras.optimizers.Adam())
        for optimizer, variables in zip(self._optimizers, self._trained(), strict=True):
            optimizer.build(variables)
        self._step = tf.function(self._train_step)

    def _trained(self) -> tuple[list[Any], list[Any]]:
        """Variables of the backbone and of the heads, each with an optimizer of its own."""
        heads = [] if self.options.mode == "posthoc" else self.heads
        return self.model.trainable_variables, [v for h in heads for v in h.learned]

    def self_supervised_loss(
        self, activations: dict[str, Any], stop: bool, training: bool
    ) -> tuple[Any, Any]:
        """(L_ss, R) of pooled activations; stop keeps gradients out of the backbone."""
        import tensorflow as tf

        loss, penalty = tf.constant(0.0), tf.constant(0.0)
        for tap, head in zip(self.taps, self.heads, strict=True):
            pair = (activations[tap.before], activations[tap.after])
            if stop:
                pair = (tf.stop_gradient(pair[0]), tf.stop_gradient(pair[1]))
            predicted = tf.argmax(activations["logits"], axis=-1)
            found = head(*pair, predicted, training=training)
            loss += head.likelihood.nll(found)
            penalty += _ALPHA_VARIANCE * tf.reduce_mean(tf.abs(tf.math.log(found.variance)))
            for weights in (head.mean.kernel, head.xi.kernel):
                penalty += _ALPHA_WEIGHTS * tf.reduce_sum(weights**2)
        return loss, penalty

    def _classifier_loss(self, batch: Any, logits: Any) -> Any:
        import tensorflow as tf

        options = self.options
        if not (options.label_smoothing or options.mixup):
            return tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(batch["y"], logits)
            )
        classes, share = logits.shape[-1], batch["share"]
        targets = share * tf.one_hot(batch["y"], classes)
        targets += (1 - share) * tf.one_hot(batch["other"], classes)
        smooth = options.label_smoothing
        targets = (1 - smooth) * targets + smooth / classes
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(targets, logits))

    def _train_step(self, batch: Any, rate: Any, lambda_ss: Any, training: bool) -> tuple[Any, Any]:
        import tensorflow as tf

        options = self.options
        with tf.GradientTape() as tape:
            outputs = self.model(batch["x"], training=training)
            loss = self._classifier_loss(batch, outputs["logits"])
            if options.mode != "posthoc":
                stop = options.mode == "detach"
                activations = {name: pooled(outputs[name]) for name in self.tapped()}
                activations["logits"] = outputs["logits"]
                surprise, penalty = self.self_supervised_loss(activations, stop, training)
                loss += lambda_ss * surprise + options.lambda_reg * penalty
        variables = self._trained()
        gradients = tape.gradient(loss, variables)
        gradients = (with_weight_decay(options, gradients[0], variables[0]), gradients[1])
        rates = (rate, options.head_rate * rate)
        for optimizer, grads, var, r in zip(
            self._optimizers, gradients, variables, rates, strict=True
        ):
            optimizer.learning_rate.assign(r)
            clipped, _ = tf.clip_by_global_norm(grads, options.clip)
            optimizer.apply_gradients(zip(clipped, var, strict=True))
        right = tf.argmax(outputs["logits"], axis=-1, output_type=tf.int64) == batch["y"]
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))

    def run_epoch(self) -> Progress:
        import tensorflow as tf

        options = self.options
        rng = np.random.default_rng([options.seed, self.epoch])
        feed = Feed(self.data, options.batch_size, options.mixup, rng)
        lambda_ss = options.lambda_ss * min(1.0, self.epoch / max(1, options.ramp))
        training = self.epoch < (1 - options.frozen) * options.epochs
        started = time.monotonic()
        results = []
        for k, batch in enumerate(feed):
            rate = learning_rate(options, self.epoch + k / self.steps)
            tensors = {
                "x": tf.constant(batch.x),
                "y": tf.constant(batch.y),
                "other": tf.constant(batch.other),
                "share": tf.constant(batch.share, tf.float32),
            }
            results.append(
                self._step(
                    tensors,
                    tf.constant(rate, tf.float32),
                    tf.constant(lambda_ss, tf.float32),
                    training,
                )
            )
        self.epoch += 1
        loss, accuracy = np.mean([[float(a), float(b)] for a, b in results], axis=0)
        self.times.append(EpochTime(time.monotonic() - started, feed.waited_s))
        return Progress(self.epoch, options.epochs, float(loss), float(accuracy))

    def fit(self, checkpoint: Path, on_epoch: Callable[[Progress], None]) -> None:
        """All remaining epochs; what was reached is in the checkpoint after each of them."""
        while self.epoch < self.options.epochs:
            progress = self.run_epoch()
            self.history.append(progress)
            self.save(checkpoint)
            on_epoch(progress)
        if self.options.mode == "posthoc":
            self._fit_heads()

    def _fit_heads(self) -> None:
        """Heads alone, on activations of the finished backbone that are computed once."""
        import tensorflow as tf
        import tf_keras

        rng = np.random.default_rng([self.options.seed, self.options.epochs])
        train = self.data.train.x[:_POSTHOC_EXAMPLES]
        clean = pooled_activations(self.model, self.data.front_end(train), self.tapped())
        varied = [
            pooled_activations(self.model, self.data.augmented(train, rng), self.tapped())
            for _ in range(3)
        ]
        activations = {
            name: tf.constant(np.concatenate([a, *(v[name] for v in varied)]), tf.float32)
            for name, a in clean.items()
        }
        for tap, head in zip(self.taps, self.heads, strict=True):
            head.standardize_by(activations[tap.before], activations[tap.after])
        variables = [v for head in self.heads for v in head.learned]
        decay = tf_keras.optimizers.schedules.CosineDecay(_POSTHOC_RATE, _POSTHOC_STEPS)
        optimizer = tf_keras.optimizers.Adam(decay)
        optimizer.build(variables)

        @tf.function
        def step() -> None:
            with tf.GradientTape() as tape:
                surprise, penalty = self.self_supervised_loss(activations, False, False)
                loss = surprise + self.options.lambda_reg * penalty
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))

        for _ in range(_POSTHOC_STEPS):
            step()

    def tapped(self) -> list[str]:
        """The blocks on both sides of every tap."""
        return [name for tap in self.taps for name in (tap.before, tap.after)]

    def fitted_heads(self) -> list[Head]:
        pairs = zip(self.taps, self.heads, strict=True)
        return [head.fitted(tap.before, tap.after) for tap, head in pairs]

    def _state(self) -> list[Any]:
        heads = [v for h in self.heads for v in h.variables]
        optimizers = [v for o in self._optimizers for v in o.variables]
        return [*self.model.variables, *heads, *optimizers]

    def save(self, path: Path) -> None:
        partial = path.with_suffix(".partial.npz")
        arrays = {f"v{i}": v.numpy() for i, v in enumerate(self._state())}
        history = [[p.loss, p.accuracy] for p in self.history]
        times = [[t.seconds, t.waited_s] for t in self.times]
        try:
            np.savez(partial, history=np.array(history), times=np.array(times), **arrays)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def restore(self, path: Path) -> None:
        """Raises ArtifactError for a checkpoint that is damaged or of another model."""
        epochs = self.options.epochs
        try:
            with np.load(path) as saved:
                for i, variable in enumerate(self._state()):
                    variable.assign(saved[f"v{i}"])
                history = [
                    Progress(n + 1, epochs, float(loss), float(accuracy))
                    for n, (loss, accuracy) in enumerate(saved["history"])
                ]
                times = [EpochTime(float(s), float(w)) for s, w in saved["times"]]
        except (OSError, ValueError, KeyError, BadZipFile, EOFError):
            raise ArtifactError(f"{path} is damaged", "Start again: snap train") from None
        self.history, self.times, self.epoch = history, times, len(history)


def pooled(activation: Any) -> Any:
    """Global average over height and width: [n, h, w, c] -> [n, c] (TensorFlow)."""
    import tensorflow as tf

    return tf.reduce_mean(activation, axis=(1, 2))


def pooled_activations(
    model: Any,
    x: np.ndarray,
    blocks: Iterable[str],
    on_progress: OnProgress = silent,
) -> dict[str, np.ndarray]:
    """{block: [n, channels]} of these blocks, and "logits": [n, classes]; x [n, h, w, c]."""
    import tensorflow as tf

    names = list(dict.fromkeys(blocks))
    parts = []
    for start in range(0, len(x), _BATCH):
        outputs = model(tf.constant(x[start : start + _BATCH]), training=False)
        found = {name: pooled(outputs[name]).numpy() for name in names}
        parts.append({**found, "logits": outputs["logits"].numpy()})
        on_progress(min(start + _BATCH, len(x)), len(x), "images scored")
    return {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}


def load_model(path: Path) -> Any:
    """A backbone that train saved: image -> {block: map, "logits"}."""
    import tf_keras

    try:
        return tf_keras.models.load_model(path, compile=False)
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise ArtifactError(f"{path} cannot be loaded ({error})", "Run: snap train") from None
