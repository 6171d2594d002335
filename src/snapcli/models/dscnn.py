"""Depthwise-separable CNNs: a stem and four blocks."""

from typing import Any

from snapcli.models.layers import classified, normalised_relu6, separable

BLOCKS = ("stem", "block1", "block2", "block3", "block4")


def build_digits(input_shape: tuple[int, int, int], classes: int) -> Any:
    """32-32-64-64 channels: about 0.3 MMAC at 16x16."""
    from tf_keras import Input, layers

    image = Input(input_shape, name="image")
    x = layers.Conv2D(16, 3, padding="same", use_bias=False, name="stem_conv")(image)
    return _blocks(image, x, (32, 32, 64, 64), (2, 1, 2, 1), classes, "dscnn_digits")


def build(input_shape: tuple[int, int, int], classes: int) -> Any:
    """64 channels throughout, for log-Mel spectrograms: 5.3 MMAC at 98x40.

    The stem steps by four in time and band, so that the grid of all blocks is 25x10.
    """
    from tf_keras import Input, layers

    image = Input(input_shape, name="image")
    x = layers.Conv2D(64, (10, 4), 4, padding="same", use_bias=False, name="stem_conv")(image)
    return _blocks(image, x, (64, 64, 64, 64), (1, 1, 1, 1), classes, "dscnn")


def _blocks(
    image: Any,
    stem: Any,
    widths: tuple[int, ...],
    strides: tuple[int, ...],
    classes: int,
    name: str,
) -> Any:
    x = normalised_relu6(stem, "stem")
    outputs = {"stem": x}
    for block, width, stride in zip(BLOCKS[1:], widths, strides, strict=True):
        x = separable(x, width, stride, block)
        outputs[block] = x
    return classified(image, outputs, classes, name)
