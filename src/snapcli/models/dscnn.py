"""Depthwise-separable CNNs."""

from typing import Any

DIGITS_BLOCKS = ("stem", "block1", "block2", "block3", "block4")


def build_digits(input_shape: tuple[int, int, int], classes: int) -> Any:
    """A stem and four blocks, 32-32-64-64 channels: about 0.3 MMAC at 16x16."""
    from tf_keras import Input, Model, layers

    def normalised_relu6(x: Any, name: str) -> Any:
        x = layers.BatchNormalization(momentum=0.9, name=f"{name}_bn")(x)
        return layers.ReLU(6.0, name=name)(x)

    def separable(x: Any, channels: int, stride: int, name: str) -> Any:
        x = layers.DepthwiseConv2D(
            3, stride, padding="same", use_bias=False, name=f"{name}_depthwise"
        )(x)
        x = normalised_relu6(x, f"{name}_spatial")
        x = layers.Conv2D(channels, 1, use_bias=False, name=f"{name}_pointwise")(x)
        return normalised_relu6(x, name)

    image = Input(input_shape, name="image")
    x = layers.Conv2D(16, 3, padding="same", use_bias=False, name="stem_conv")(image)
    outputs = {"stem": normalised_relu6(x, "stem")}
    x = outputs["stem"]
    for name, channels, stride in zip(
        DIGITS_BLOCKS[1:], (32, 32, 64, 64), (2, 1, 2, 1), strict=True
    ):
        x = separable(x, channels, stride, name)
        outputs[name] = x
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    outputs["logits"] = layers.Dense(classes, name="logits")(x)
    return Model(image, outputs, name="dscnn_digits")
