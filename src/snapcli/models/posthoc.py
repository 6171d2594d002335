"""Heads alone, on activations of a finished backbone that are computed once: seconds."""

from typing import Any

import numpy as np

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.heads.head import Head
from snapcli.models.activations import pooled_activations
from snapcli.models.attached import AttachedHeads
from snapcli.models.backbone import Tap

# Heads would learn a smaller set by heart: it is looked at varied, too. Of a larger one clean
# examples alone tell errors better (CIFAR-10, pooled AUROC: by 0.003 to 0.004).
_SMALL = 5_000
# Examples that are looked at as they are, and as often varied as in training.
EXAMPLES = 10_000
_VARIANTS = 3
_STEPS, _RATE = 400, 3e-2
# Rows of a step: few enough for steps of milliseconds.
_ROWS = 2048

Activations = list[dict[str, np.ndarray]]
"""What a model shows of its training examples, {block: [n, channels]} and "logits": as they are,
then, of a small set, varied."""


def heads_for(
    model: Any, taps: tuple[Tap, ...], data: Dataset, options: TrainOptions
) -> list[Head]:
    """New heads for a finished model; the same seed gives the same."""
    rng = np.random.default_rng(options.seed)
    blocks = [name for tap in taps for name in (tap.before, tap.after)]
    seen = looked_at(model, blocks, options.statistics, data, rng)
    return heads_to(seen, model, taps, len(data.class_names), options, rng)


def heads_to(
    seen: Activations,
    model: Any,
    taps: tuple[Tap, ...],
    classes: int,
    options: TrainOptions,
    rng: np.random.Generator,
) -> list[Head]:
    """As heads_for, of what was seen before; it may hold more blocks than these taps need."""
    import tf_keras

    tf_keras.utils.set_random_seed(options.seed)
    heads = AttachedHeads(taps, model, classes, options)
    _fit_to(heads, seen, options, rng)
    return heads.fitted()


def fit_heads(
    heads: AttachedHeads,
    model: Any,
    data: Dataset,
    options: TrainOptions,
    rng: np.random.Generator,
) -> None:
    """model: image -> {block: map, "logits"}, which is only looked at. In the last share qat of
    the steps the heads compute as the device does."""
    _fit_to(heads, looked_at(model, heads.blocks, heads.statistics, data, rng), options, rng)


def looked_at(
    model: Any, blocks: list[str], statistics: str, data: Dataset, rng: np.random.Generator
) -> Activations:
    """Blocks may be named twice; rng varies the examples of a small set."""
    train = data.train.spread(EXAMPLES).x

    def seen(x: np.ndarray) -> dict[str, np.ndarray]:
        return pooled_activations(model, x, blocks, statistics)

    parts = [seen(data.front_end(train))]
    if len(train) < _SMALL:
        parts += [seen(data.augmented(train, rng)) for _ in range(_VARIANTS)]
    return parts


def _fit_to(
    heads: AttachedHeads, seen: Activations, options: TrainOptions, rng: np.random.Generator
) -> None:
    import tensorflow as tf
    import tf_keras

    activations = {
        name: tf.constant(np.concatenate([part[name] for part in seen]), tf.float32)
        for name in dict.fromkeys((*heads.blocks, "logits"))
    }
    for tap, head in zip(heads.taps, heads.layers, strict=True):
        head.standardize_by(activations[tap.before], activations[tap.after])
    variables = heads.learned
    decay = tf_keras.optimizers.schedules.CosineDecay(_RATE, _STEPS)
    optimizer = tf_keras.optimizers.Adam(decay)
    optimizer.build(variables)

    def update(part: dict[str, Any]) -> None:
        with tf.GradientTape() as tape:
            surprise, penalty = heads.loss(part)
            loss = surprise + options.lambda_reg * penalty
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    count = len(activations["logits"])
    step = tf.function(update)
    for i in range(_STEPS):
        if i == round((1 - options.qat) * _STEPS):
            heads.simulate(seen[0])
            step = tf.function(update)
        if count <= _ROWS:
            step(activations)
        else:
            drawn = rng.choice(count, _ROWS, replace=False, shuffle=False)
            step({name: tf.gather(a, drawn) for name, a in activations.items()})
