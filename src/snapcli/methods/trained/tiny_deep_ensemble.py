"""Tiny-Deep Ensemble (Ahmed et al. 2024): members share all weights but the normalisations."""

from typing import Any

from snapcli.methods.trained.ensemble import Ensemble
from snapcli.methods.trained.replay import LOGITS, MEMBERS, plain, replayed
from snapcli.models.backbone import Backbone

# Of the first scales around 1: members that start alike would stay alike.
SPREAD = 0.5


def build(
    backbone: Backbone, input_shape: tuple[int, int, int], classes: int, members: int = MEMBERS
) -> Any:
    """image -> {"logits_0", ..., "logits_<members - 1>"}, each [classes]."""
    from tf_keras import Input, Model, initializers, layers

    model = plain(backbone, input_shape, classes)
    image, outputs = Input(input_shape, name="image"), {}
    for i in range(members):

        def made(layer: Any, i: int = i) -> Any:
            if not isinstance(layer, layers.BatchNormalization):
                return layer
            own = {**layer.get_config(), "name": f"{layer.name}_{i}"}
            own["gamma_initializer"] = initializers.RandomNormal(1.0, SPREAD)
            return layers.BatchNormalization.from_config(own)

        tensors = replayed(model, {model.input.node.layer.name: image}, made)
        name = f"{LOGITS}_{i}"
        outputs[name] = layers.Activation("linear", name=name)(tensors[LOGITS])
    return Model(image, outputs, name="tiny_deep_ensemble")


class TinyDeepEnsemble(Ensemble):
    name = "tiny-deep-ensemble"
    source = (
        "Ahmed, Hefenbrock and Tahoori, Tiny Deep Ensemble: Uncertainty Estimation in Edge AI "
        "Accelerators via Ensembling Normalization Layers with Shared Weights, 2024"
    )
