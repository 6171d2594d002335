"""The image classifier of MLPerf Tiny: a ResNet of three stages."""

from typing import Any

from snapcli.models.layers import classified, normalised

BLOCKS = ("stem", "stage1", "stage2", "stage3")
# The activation between the two convolutions of a stage.
INNER = {f"{stage}_inner": stage for stage in BLOCKS[1:]}


def build(input_shape: tuple[int, int, int], classes: int) -> Any:
    """16, 32 and 64 channels, 78 k parameters: 12.5 MMAC at 32x32."""
    from tf_keras import Input, layers

    def convolved(x: Any, width: int, stride: int, name: str, kernel: int = 3) -> Any:
        return layers.Conv2D(width, kernel, stride, padding="same", use_bias=False, name=name)(x)

    image = Input(input_shape, name="image")
    x = layers.ReLU(name="stem")(normalised(convolved(image, 16, 1, "stem_conv"), "stem"))
    outputs = {"stem": x}
    for stage, width, stride in zip(BLOCKS[1:], (16, 32, 64), (1, 2, 2), strict=True):
        y = normalised(convolved(x, width, stride, f"{stage}_conv1"), f"{stage}_inner")
        y = layers.ReLU(name=f"{stage}_inner")(y)
        outputs[f"{stage}_inner"] = y
        y = normalised(convolved(y, width, 1, f"{stage}_conv2"), stage)
        if stride > 1:
            x = normalised(convolved(x, width, stride, f"{stage}_shortcut", 1), f"{stage}_short")
        x = layers.ReLU(name=stage)(layers.Add(name=f"{stage}_add")([x, y]))
        outputs[stage] = x
    return classified(image, outputs, classes, "resnet8")
