"""QUTE (Ghanathe and Wilton 2024): heads at the end that early exits assist while training.

Each further head at the end has a twin at an early block, whose weights it takes over before
every step: it looks at the last features with early eyes. The twins are left out afterwards.
"""

from typing import Any

from snapcli.methods.trained.ensemble import Ensemble
from snapcli.methods.trained.lesson import Lesson
from snapcli.methods.trained.replay import EARLY, LOGITS, MEMBERS, plain
from snapcli.models.backbone import Backbone
from snapcli.models.layers import normalised_relu6

TWIN = "early"


def build(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """image -> {"logits_0": the backbone's own, "logits_1", "logits_2": the assisted heads'}."""
    return deployed(build_training(backbone, input_shape, classes))


def build_training(backbone: Backbone, input_shape: tuple[int, int, int], classes: int) -> Any:
    """As build, and {"early_1", "early_2"}: logits of the exits that assist the heads.

    A head is a 3x3 depthwise convolution, pooling and a classifier; a twin first widens its
    block to that of the last one.
    """
    from tf_keras import Model, layers

    model = plain(backbone, input_shape, classes)
    last = model.output[backbone.blocks[-1]]

    def head(x: Any, name: str) -> Any:
        x = layers.DepthwiseConv2D(3, padding="same", use_bias=False, name=f"{name}_depthwise")(x)
        x = normalised_relu6(x, f"{name}_spatial")
        x = layers.GlobalAveragePooling2D(name=f"{name}_pool")(x)
        return layers.Dense(classes, name=name)(x)

    own = layers.Dense(classes, name=f"{LOGITS}_0")(model.get_layer(LOGITS).input)
    outputs = {f"{LOGITS}_0": own}
    for i, letter in enumerate(EARLY, start=1):
        outputs[f"{LOGITS}_{i}"] = head(last, f"{LOGITS}_{i}")
        block, name = model.output[backbone.letters[letter]], f"{TWIN}_{i}"
        wide = layers.Conv2D(last.shape[-1], 1, use_bias=False, name=f"{name}_widen")(block)
        outputs[name] = head(normalised_relu6(wide, f"{name}_wide"), name)
    return Model(model.input, outputs, name="qute")


def deployed(model: Any) -> Any:
    """Without the early exits."""
    from tf_keras import Model

    kept = {name: output for name, output in model.output.items() if name.startswith(LOGITS)}
    return Model(model.input, kept, name="qute")


class Assisted(Lesson):
    """All classifiers learn the same; each head starts every step from its twin's weights."""

    @property
    def deployed(self) -> Any:
        return deployed(self.model)

    def prepare_step(self) -> None:
        for i in range(1, MEMBERS):
            for part in ("_depthwise", "_spatial_bn", ""):
                head = self.model.get_layer(f"{LOGITS}_{i}{part}")
                twin = self.model.get_layer(f"{TWIN}_{i}{part}")
                pairs = zip(head.trainable_weights, twin.trainable_weights, strict=True)
                for weight, assisting in pairs:
                    weight.assign(assisting)


class Qute(Ensemble):
    name = "qute"
    source = (
        "Ghanathe and Wilton, QUTE: Quantifying Uncertainty in TinyML models with "
        "Early-exit-assisted ensembles, 2024"
    )
