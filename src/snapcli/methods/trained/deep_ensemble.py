"""Deep ensemble (Lakshminarayanan et al. 2017): networks that were trained independently."""

from collections.abc import Sequence
from typing import Any

from snapcli.methods.trained.ensemble import Ensemble
from snapcli.methods.trained.replay import LOGITS, MEMBERS, copied, plain, replayed
from snapcli.models.backbone import Backbone


def build(
    backbone: Backbone, input_shape: tuple[int, int, int], classes: int, members: int = MEMBERS
) -> Any:
    """image -> {"logits_0", ..., "logits_<members - 1>"}, each [classes]."""
    return assembled([plain(backbone, input_shape, classes) for _ in range(members)])


def assembled(models: Sequence[Any]) -> Any:
    """Trained members, image -> {..., "logits"}, side by side on one image; weights are copied."""
    from tf_keras import Input, Model

    image = Input(models[0].input.shape[1:], name="image")
    outputs = {}
    for i, model in enumerate(models):
        tensors = replayed(model, {model.input.node.layer.name: image}, copied(f"_{i}"))
        outputs[f"{LOGITS}_{i}"] = tensors[LOGITS]
    ensemble = Model(image, outputs, name="deep_ensemble")
    for i, model in enumerate(models):
        for layer in model.layers:
            if layer.weights:
                ensemble.get_layer(f"{layer.name}_{i}").set_weights(layer.get_weights())
    return ensemble


class DeepEnsemble(Ensemble):
    name = "deep-ensemble"
    source = (
        "Lakshminarayanan, Pritzel and Blundell, Simple and Scalable Predictive Uncertainty "
        "Estimation using Deep Ensembles, 2017"
    )
