"""MC Dropout (Gal and Ghahramani 2016): dropout that stays on, and several passes."""

from typing import Any

from snapcli.array import Array
from snapcli.methods.method import Batch, Dev, softmax
from snapcli.methods.trained.ensemble import (
    MEMBERS,
    Ensemble,
    mutual_information,
    predictive_entropy,
)
from snapcli.methods.trained.replay import LOGITS, plain, replayed
from snapcli.methods.tuning import chosen_from, errors_auroc
from snapcli.models.backbone import Backbone

# Share of the channels that is left out, and passes over one input.
RATE, PASSES = 0.1, 10
# What is chosen from on dev data: the paper's.
_SCORES = {"entropy": predictive_entropy, "mutual information": mutual_information}
_PASSES = (5, 10)


def build(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """image -> {"logits": [classes]} of one random pass.

    Whole channels are left out of the maps behind the lettered blocks; behind the last one this
    is dropout of the pooled features.
    """
    from tf_keras import Input, Model

    model = plain(backbone, input_shape, classes)
    thinned = set(backbone.letters.values()) & set(backbone.blocks)

    def made(layer: Any) -> Any:
        if layer.name not in thinned:
            return layer
        drop = _channel_dropout(backbone.blocks.index(layer.name), f"{layer.name}_dropout")
        return lambda x: drop(layer(x))

    image = Input(input_shape, name="image")
    tensors = replayed(model, {model.input.node.layer.name: image}, made)
    return Model(image, {LOGITS: tensors[LOGITS]}, name="mc_dropout")


def restart(model: Any) -> None:
    """The next passes draw the same channels as the first ones did."""
    for layer in model.layers:
        if hasattr(layer, "draws"):
            layer.draws.assign(0)


def _channel_dropout(seed: int, name: str) -> Any:
    """A layer whose draws follow from the seed and their number, which a checkpoint holds: Keras'
    own cannot go on where a training was interrupted."""
    import tensorflow as tf
    from tf_keras import layers

    class ChannelDropout(layers.Layer):
        def build(self, shape: Any) -> None:
            self.draws = self.add_weight(
                name="draws", shape=(), dtype=tf.int32, initializer="zeros", trainable=False
            )

        def call(self, x: Any) -> Any:
            shape = (tf.shape(x)[0], 1, 1, x.shape[-1])
            drawn = tf.random.stateless_uniform(shape, tf.stack([seed, self.draws]))
            self.draws.assign_add(1)
            return x * tf.cast(drawn >= RATE, x.dtype) / (1 - RATE)

    return ChannelDropout(name=name)


class McDropout(Ensemble):
    name = "mc-dropout"
    source = (
        "Gal and Ghahramani, Dropout as a Bayesian Approximation: Representing Model Uncertainty "
        "in Deep Learning, 2016"
    )

    def fit(self, train: Batch, dev: Dev) -> None:
        def auroc(passes: int, score: str) -> float:
            self.passes_, self.score_ = passes, score
            return errors_auroc(self, dev)

        self.tuning_ = chosen_from({"passes": _PASSES, "score": tuple(_SCORES)}, auroc)
        chosen = self.tuning_.chosen
        self.passes_, self.score_ = chosen["passes"], chosen["score"]

    def posteriors(self, batch: Batch) -> Array:
        return softmax(batch.outputs[MEMBERS][:, : self.passes_])

    def score(self, batch: Batch) -> Array:
        return _SCORES[self.score_](self.posteriors(batch))
