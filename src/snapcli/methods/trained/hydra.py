"""HYDRA (Tran et al. 2020): one body and several heads, each of which imitates a member of an
ensemble."""

from typing import Any

from snapcli.config import TrainOptions
from snapcli.methods.trained.ensemble import Ensemble
from snapcli.methods.trained.lesson import Lesson
from snapcli.methods.trained.replay import LOGITS, MEMBERS, copied, plain, replayed
from snapcli.models.backbone import Backbone

# Softens both sides of the imitation.
TEMPERATURE = 2.0


def build(
    backbone: Backbone, input_shape: tuple[int, int, int], classes: int, members: int = MEMBERS
) -> Any:
    """image -> {"logits_0", ..., "logits_<members - 1>"}; a head is the last block and the
    classifier, all before it is shared."""
    from tf_keras import Model

    model = plain(backbone, input_shape, classes)
    shared = model.output[backbone.blocks[-2]]
    maker = shared.node.layer.name
    outputs = {
        f"{LOGITS}_{i}": replayed(model, {maker: shared}, copied(f"_{i}"))[LOGITS]
        for i in range(members)
    }
    return Model(model.input, outputs, name="hydra")


class Imitation(Lesson):
    """In the first half of the epochs the first head learns the mean of the ensemble; then all
    heads start from it, and each learns one member."""

    def __init__(self, model: Any, options: TrainOptions, teachers: Any) -> None:
        """teachers: image -> {"logits_<i>"}, the ensemble."""
        super().__init__(model, options)
        self._teachers = teachers
        self._half = options.epochs // 2

    def begin(self, epoch: int) -> None:
        if epoch != self._half:
            return
        first = [layer for layer in self.model.layers if layer.name.endswith("_0")]
        for layer in first:
            for i in range(1, len(self.model.output)):
                twin = self.model.get_layer(f"{layer.name.removesuffix('_0')}_{i}")
                twin.set_weights(layer.get_weights())

    def loss(self, batch: Any, outputs: Any, epoch: Any) -> Any:
        import tensorflow as tf

        said = self._teachers(batch["x"], training=False)
        soft = tf.stack([tf.nn.softmax(said[name] / TEMPERATURE) for name in outputs])
        wanted = tf.stop_gradient(soft)
        losses = [
            _imitation(target, logits)
            for target, logits in zip(tf.unstack(wanted), outputs.values(), strict=True)
        ]
        mean = _imitation(tf.reduce_mean(wanted, axis=0), outputs[f"{LOGITS}_0"])
        return tf.where(epoch < self._half, mean, sum(losses) / len(losses))


def _imitation(wanted: Any, logits: Any) -> Any:
    """KL(wanted || softmax(logits / T)) up to what no weight changes; T^2 keeps the gradient's
    size."""
    import tensorflow as tf

    entropy = tf.nn.softmax_cross_entropy_with_logits(wanted, logits / TEMPERATURE)
    return TEMPERATURE**2 * tf.reduce_mean(entropy)


class Hydra(Ensemble):
    name = "hydra"
    source = "Tran et al., Hydra: Preserving Ensemble Diversity for Model Distillation, 2020"
