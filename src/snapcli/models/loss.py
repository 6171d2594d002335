"""L_clf: cross-entropy with the targets that a recipe asks for."""

from typing import Any

from snapcli.config import TrainOptions


def targets(options: TrainOptions, batch: Any, classes: int) -> Any:
    """[n, classes], rows sum to 1: mixed and smoothed as the recipe says."""
    import tensorflow as tf

    share, smooth = batch["share"], options.label_smoothing
    mixed = share * tf.one_hot(batch["y"], classes)
    mixed += (1 - share) * tf.one_hot(batch["other"], classes)
    return (1 - smooth) * mixed + smooth / classes


def classifier_loss(options: TrainOptions, batch: Any, logits: Any) -> Any:
    """Mean over the batch."""
    import tensorflow as tf

    if not (options.label_smoothing or options.mixup):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch["y"], logits))
    wanted = targets(options, batch, logits.shape[-1])
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, logits))
