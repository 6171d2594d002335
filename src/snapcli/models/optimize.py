"""How the backbone's weights move: optimizer, learning rate over time, weight decay."""

from typing import Any

import numpy as np

from snapcli.config import ADAMW, SGD, TrainOptions

_MOMENTUM = 0.9


def build_optimizer(options: TrainOptions) -> Any:
    import tf_keras

    if options.optimizer == SGD:
        return tf_keras.optimizers.SGD(momentum=_MOMENTUM)
    if options.optimizer == ADAMW:
        optimizer = tf_keras.optimizers.AdamW(weight_decay=options.weight_decay)
        # Scales and offsets are not to be pulled towards zero.
        optimizer.exclude_from_weight_decay(var_names=["gamma", "beta", "bias"])
        return optimizer
    return tf_keras.optimizers.Adam()


def with_weight_decay(
    options: TrainOptions, gradients: list[Any], variables: list[Any]
) -> list[Any]:
    """Gradients with that of weight_decay / 2 |w|^2 for every kernel; AdamW does it by itself."""
    if options.optimizer == ADAMW or not options.weight_decay:
        return gradients
    return [
        g + options.weight_decay * v if "kernel" in v.name else g
        for g, v in zip(gradients, variables, strict=True)
    ]


def apply_gradients(
    optimizer: Any, gradients: list[Any], variables: list[Any], rate: Any, clip: float
) -> None:
    """One step; gradients are cut to the norm `clip`."""
    import tensorflow as tf

    optimizer.learning_rate.assign(rate)
    clipped, _ = tf.clip_by_global_norm(gradients, clip)
    optimizer.apply_gradients(zip(clipped, variables, strict=True))


def learning_rate(options: TrainOptions, epoch: float) -> float:
    """At a fraction of the epochs: a linear rise, then a cosine down to the last rate."""
    if epoch < options.warmup:
        return options.learning_rate * (epoch + 1) / (options.warmup + 1)
    done = (epoch - options.warmup) / max(1, options.epochs - options.warmup)
    low = options.decay_to
    return options.learning_rate * (low + (1 - low) * 0.5 * (1 + float(np.cos(np.pi * done))))
