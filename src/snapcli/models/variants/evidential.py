"""Evidential network (Sensoy et al. 2018): logits are evidence, from which a Dirichlet follows."""

from typing import Any

from snapcli.models.backbone import Backbone
from snapcli.models.loss import targets
from snapcli.models.variants.lesson import Lesson
from snapcli.models.variants.replay import LOGITS, classifier

# What evidence for wrong classes costs, and the epochs over which this rises.
LAMBDA, RISE = 1e-2, 10


def build(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """image -> {"logits": [classes]}; evidence is their softplus. The paper's ReLU loses classes
    here: what has no evidence for any example has no gradient, either."""
    return classifier(backbone, input_shape, classes)


def evidential_loss(wanted: Any, logits: Any, weight: Any) -> Any:
    """[n]: the expected squared error of probabilities drawn from Dir(alpha), alpha = evidence + 1,
    and weight times the divergence from Dir(1) of what alpha says of wrong classes.

    wanted, logits: [n, classes].
    """
    import tensorflow as tf

    alpha = tf.nn.softplus(logits) + 1
    total = tf.reduce_sum(alpha, axis=-1, keepdims=True)
    mean = alpha / total
    error = tf.reduce_sum((wanted - mean) ** 2 + mean * (1 - mean) / (total + 1), axis=-1)
    return error + weight * _from_uniform(wanted + (1 - wanted) * alpha)


def _from_uniform(alpha: Any) -> Any:
    """KL(Dir(alpha) || Dir(1)) [n]."""
    import tensorflow as tf

    total = tf.reduce_sum(alpha, axis=-1, keepdims=True)
    classes = tf.constant(float(alpha.shape[-1]))
    scale = tf.math.lgamma(total[:, 0]) - tf.math.lgamma(classes)
    scale -= tf.reduce_sum(tf.math.lgamma(alpha), axis=-1)
    shape = (alpha - 1) * (tf.math.digamma(alpha) - tf.math.digamma(total))
    return scale + tf.reduce_sum(shape, axis=-1)


class Evidence(Lesson):
    def loss(self, batch: Any, outputs: Any, epoch: Any) -> Any:
        import tensorflow as tf

        logits = outputs[LOGITS]
        wanted = targets(self.options, batch, logits.shape[-1])
        weight = LAMBDA * tf.minimum(1.0, epoch / RISE)
        return tf.reduce_mean(evidential_loss(wanted, logits, weight))
