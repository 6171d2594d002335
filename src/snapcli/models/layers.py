"""Pieces that several backbones are made of (tf_keras layers, built when called)."""

from typing import Any


def normalised(x: Any, name: str, momentum: float = 0.9) -> Any:
    """Batch normalization alone; a convolution before it needs no bias."""
    from tf_keras import layers

    return layers.BatchNormalization(momentum=momentum, name=f"{name}_bn")(x)


def normalised_relu6(x: Any, name: str) -> Any:
    """Batch normalization, then the activation that carries the name."""
    from tf_keras import layers

    return layers.ReLU(6.0, name=name)(normalised(x, name))


def separable(x: Any, channels: int, stride: int, name: str) -> Any:
    """A 3x3 depthwise and a 1x1 convolution, each normalised and rectified."""
    from tf_keras import layers

    x = layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False, name=f"{name}_depthwise")(
        x
    )
    x = normalised_relu6(x, f"{name}_spatial")
    x = layers.Conv2D(channels, 1, use_bias=False, name=f"{name}_pointwise")(x)
    return normalised_relu6(x, name)


def classified(image: Any, outputs: dict[str, Any], classes: int, name: str) -> Any:
    """The model image -> {block: map, "logits": [classes]}; the last block is pooled."""
    from tf_keras import Model, layers

    pooled = layers.GlobalAveragePooling2D(name="pool")(list(outputs.values())[-1])
    logits = layers.Dense(classes, name="logits")(pooled)
    return Model(image, {**outputs, "logits": logits}, name=name)
