"""Evidential network (Sensoy et al. 2018): logits are evidence, from which a Dirichlet follows."""

from typing import Any

import numpy as np

from snapcli.array import Array
from snapcli.methods.method import Batch, Dev, TrainedMethod
from snapcli.methods.trained.lesson import Lesson
from snapcli.methods.trained.replay import LOGITS, classifier
from snapcli.methods.tuning import chosen_from, errors_auroc
from snapcli.models.backbone import Backbone
from snapcli.models.loss import targets

# What evidence for wrong classes costs, and the epochs over which this rises.
LAMBDA, RISE = 1e-2, 10
# The paper's: how much evidence counts. Its other parameter, the weight of the regularizer, would
# need a training for each value; there is one.
_SCALES = (0.1, 0.5, 1.0)
_BY = "AUROC of errors less NLL, on dev data"


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


class EvidentialLesson(Lesson):
    def loss(self, batch: Any, outputs: Any, epoch: Any) -> Any:
        import tensorflow as tf

        logits = outputs[LOGITS]
        wanted = targets(self.options, batch, logits.shape[-1])
        weight = LAMBDA * tf.minimum(1.0, epoch / RISE)
        return tf.reduce_mean(evidential_loss(wanted, logits, weight))


class Evidential(TrainedMethod):
    name = "evidential"
    source = (
        "Sensoy, Kaplan and Kandemir, Evidential Deep Learning to Quantify Classification "
        "Uncertainty, 2018"
    )

    def fit(self, train: Batch, dev: Dev) -> None:
        def value(scale: float) -> float:
            self.scale_ = scale
            return errors_auroc(self, dev) - self._nll(dev)

        self.tuning_ = chosen_from({"scale": _SCALES}, value, _BY)
        self.scale_ = self.tuning_.chosen["scale"]

    def _nll(self, dev: Dev) -> float:
        rights = [self.probabilities(b)[np.arange(len(b)), b.y] for b in dev.batches()]
        return -float(np.log(np.concatenate(rights)).mean())

    def score(self, batch: Batch) -> Array:
        return 1.0 - self.probabilities(batch).max(axis=-1)

    def uncertainty(self, batch: Batch) -> Array:
        return self.score(batch)

    def probabilities(self, batch: Batch) -> Array:
        """alpha / sum of alpha, with alpha = scale * softplus(logits) + 1."""
        alpha = self.scale_ * np.logaddexp(0.0, batch.logits) + 1.0
        return np.asarray(alpha / alpha.sum(axis=-1, keepdims=True))
