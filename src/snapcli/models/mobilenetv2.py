"""MobileNetV2 with half the width, for 64x64 images."""

from typing import Any

from snapcli.models.layers import classified, normalised, normalised_relu6

# (expansion, channels at full width, blocks, stride of the first): Sandler et al. 2018, table 2.
# At 64x64 three steps are enough: the stem keeps the resolution of the second row.
_ROWS = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 1),
    (6, 320, 1, 1),
)
_WIDTH = 0.5
_LAST = 1280
BLOCKS = (
    "stem",
    *(f"block{row}_{i}" for row, (_, _, n, _) in enumerate(_ROWS, 1) for i in range(1, n + 1)),
    "features",
)


def _channels(full: int) -> int:
    """Half of the width, in steps of eight, and not more than a tenth below it."""
    wanted = full * _WIDTH
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * wanted else rounded + 8


def build(input_shape: tuple[int, int, int], classes: int) -> Any:
    """Inverted residuals with expansion 6; three steps of two from the image to the features."""
    from tf_keras import Input, layers

    def pointwise(x: Any, width: int, name: str) -> Any:
        return layers.Conv2D(width, 1, use_bias=False, name=name)(x)

    def inverted(x: Any, expansion: int, width: int, stride: int, name: str) -> Any:
        inside = x
        if expansion > 1:
            wide = expansion * x.shape[-1]
            inside = normalised_relu6(pointwise(x, wide, f"{name}_expand"), f"{name}_wide")
        inside = layers.DepthwiseConv2D(
            3, stride, padding="same", use_bias=False, name=f"{name}_depthwise"
        )(inside)
        inside = normalised_relu6(inside, f"{name}_spatial")
        residual = stride == 1 and x.shape[-1] == width
        narrow = normalised(
            pointwise(inside, width, f"{name}_project"), f"{name}_inner" if residual else name
        )
        return layers.Add(name=name)([x, narrow]) if residual else narrow

    image = Input(input_shape, name="image")
    x = layers.Conv2D(_channels(32), 3, 2, padding="same", use_bias=False, name="stem_conv")(image)
    x = normalised_relu6(x, "stem")
    outputs = {"stem": x}
    for row, (expansion, full, count, first) in enumerate(_ROWS, start=1):
        for i in range(1, count + 1):
            name = f"block{row}_{i}"
            x = inverted(x, expansion, _channels(full), first if i == 1 else 1, name)
            outputs[name] = x
    outputs["features"] = normalised_relu6(pointwise(x, _LAST, "features_conv"), "features")
    return classified(image, outputs, classes, "mobilenetv2")
