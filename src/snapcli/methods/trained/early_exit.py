"""Early exit ensemble (Qendro et al. 2021): classifiers at several depths, trained together."""

from typing import Any

from snapcli.methods.trained.ensemble import Ensemble
from snapcli.methods.trained.replay import EARLY, LOGITS, plain
from snapcli.models.backbone import Backbone
from snapcli.models.layers import separable


def build(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """image -> {"logits_0", "logits_1": early ones, "logits_2": the last one}, each [classes].

    An early exit has a separable convolution as wide as the last block, to make up for the depth
    that it lacks.
    """
    from tf_keras import Model, layers

    model = plain(backbone, input_shape, classes)
    width = model.output[backbone.blocks[-1]].shape[-1]
    outputs = {}
    for i, letter in enumerate(EARLY):
        block = model.output[backbone.letters[letter]]
        hidden = separable(block, width, 2, f"exit_{i}")
        pooled = layers.GlobalAveragePooling2D(name=f"exit_{i}_pool")(hidden)
        outputs[f"{LOGITS}_{i}"] = layers.Dense(classes, name=f"{LOGITS}_{i}")(pooled)
    pooled = model.get_layer(LOGITS).input
    last = f"{LOGITS}_{len(EARLY)}"
    outputs[last] = layers.Dense(classes, name=last)(pooled)
    return Model(model.input, outputs, name="early_exit")


class EarlyExit(Ensemble):
    name = "early-exit"
    source = (
        "Qendro, Campbell, Lio and Mascolo, Early Exit Ensembles for Uncertainty "
        "Quantification, 2021"
    )
