"""Generalized ODIN (Hsu et al. 2020), DeConf-C: logits = h / g, h the cosine to each class."""

from typing import Any

from snapcli.array import Array
from snapcli.methods.method import Batch, Dev, TrainedMethod, softmax
from snapcli.methods.trained.lesson import Lesson
from snapcli.methods.trained.replay import LOGITS, plain
from snapcli.methods.tuning import chosen_from
from snapcli.models.backbone import Backbone

H, G, PERTURBED = "h", "g", "perturbed"
# Steps of the input along the sign of the gradient that are tried: the paper's.
MAGNITUDES = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)


def build(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """image -> {"h": [classes] in [-1, 1], "g": [1] in (0, 1), "logits": h / g}."""
    from tf_keras import Model, constraints, layers

    model = plain(backbone, input_shape, classes)
    features = model.get_layer(LOGITS).input
    # Kept on the unit sphere after every step, which undoes weight decay, too.
    directions = layers.Dense(
        classes, use_bias=False, kernel_constraint=constraints.UnitNorm(axis=0), name=H
    )
    h = directions(layers.UnitNormalization(name="unit_features")(features))
    scale = layers.BatchNormalization(momentum=0.9, name="g_bn")(
        layers.Dense(1, name="g_linear")(features)
    )
    g = layers.Activation("sigmoid", name=G)(scale)
    logits = layers.Lambda(lambda parts: parts[0] / parts[1], name="quotient")([h, g])
    return Model(model.input, {H: h, G: g, LOGITS: logits}, name="g_odin")


def observed(model: Any, x: Any) -> dict[str, Any]:
    """{"h": [n, classes], "g": [n], "perturbed": [n, magnitudes]}: the last is the largest h of the
    input after a step by each magnitude in the direction in which it grows (TensorFlow)."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = model(x, training=False)
        score = tf.reduce_max(outputs[H], axis=-1)
    step = tf.sign(tape.gradient(score, x))
    perturbed = [
        tf.reduce_max(model(x + magnitude * step, training=False)[H], axis=-1)
        for magnitude in MAGNITUDES
    ]
    return {H: outputs[H], G: outputs[G][:, 0], PERTURBED: tf.stack(perturbed, axis=-1)}


class Decomposed(Lesson):
    """The quotient learns; h and g follow."""

    def loss(self, batch: Any, outputs: Any, epoch: Any) -> Any:
        return super().loss(batch, {LOGITS: outputs[LOGITS]}, epoch)


class GOdin(TrainedMethod):
    name = "g-odin"
    source = (
        "Hsu, Shen, Jin and Kira, Generalized ODIN: Detecting Out-of-distribution Image without "
        "Learning from Out-of-distribution Data, 2020"
    )

    def fit(self, train: Batch, dev: Dev) -> None:
        """The step is the one after which clean dev data look most familiar: no error and no
        corruption is needed."""
        perturbed = dev.clean.outputs[PERTURBED]
        grid = {"magnitude": MAGNITUDES}
        by = "mean of the largest h on clean dev data"
        self.tuning_ = chosen_from(
            grid, lambda magnitude: float(perturbed[:, MAGNITUDES.index(magnitude)].mean()), by
        )
        self.column_ = MAGNITUDES.index(self.tuning_.chosen["magnitude"])

    def score(self, batch: Batch) -> Array:
        return -batch.outputs[PERTURBED][:, self.column_]

    def probabilities(self, batch: Batch) -> Array:
        return softmax(batch.outputs[H] / batch.outputs[G][:, None])
