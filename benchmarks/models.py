"""MLPerf Tiny's keyword and image models in shape, with seeded random weights, as int8 .tflite."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from snapcli.models.tensorflow import quiet, require_tensorflow


def kws(batch: int | None = None) -> bytes:
    """DS-CNN: a 10x4 stem of 64 channels, four separable blocks; 49x10x1 to 12 classes."""
    return random_tflite(_kws, (49, 10, 1), batch=batch)


def ic(batch: int | None = None) -> bytes:
    """ResNet-8: 16, 32 and 64 channels; 32x32x3 to 10 classes."""
    return random_tflite(_ic, (32, 32, 3), batch=batch)


def random_tflite(
    build: Callable[[Any, Any], Any],
    shape: tuple[int, ...],
    float_ends: bool = False,
    seed: int = 0,
    batch: int | None = None,
) -> bytes:
    """build(tf_keras.layers, input tensor) -> output tensor. Ranges come from random inputs.

    batch: open unless said otherwise, as most models are converted.
    """
    require_tensorflow()
    import tensorflow as tf
    import tf_keras

    tf_keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    source = tf_keras.Input(shape, batch_size=batch)
    model = tf_keras.Model(source, build(tf_keras.layers, source))
    for layer in model.layers:
        if isinstance(layer, tf_keras.layers.BatchNormalization):
            # Fresh statistics would leave every channel alike.
            count = layer.gamma.shape[0]
            layer.set_weights([rng.uniform(*limits, count) for limits in _STATISTICS])

    def samples() -> Iterator[list[np.ndarray]]:
        for _ in range(8):
            yield [rng.normal(0, 1, (1, *shape)).astype(np.float32)]

    with quiet():
        converter = tf.lite.TFLiteConverter.from_keras_model(model)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        if not float_ends:
            converter.inference_input_type = tf.int8
            converter.inference_output_type = tf.int8
        return bytes(converter.convert())


# Limits of gamma, beta, moving mean and moving variance.
_STATISTICS = ((0.5, 1.5), (-0.5, 0.5), (-0.5, 0.5), (0.5, 1.5))


def _kws(layers: Any, x: Any) -> Any:
    def finish(y: Any) -> Any:
        return layers.ReLU()(layers.BatchNormalization()(y))

    x = finish(layers.Conv2D(64, (10, 4), strides=2, padding="same")(x))
    for _ in range(4):
        x = finish(layers.DepthwiseConv2D(3, padding="same")(x))
        x = finish(layers.Conv2D(64, 1, padding="same")(x))
    x = layers.AveragePooling2D((25, 5))(x)
    return layers.Dense(12, activation="softmax")(layers.Flatten()(x))


def _ic(layers: Any, x: Any) -> Any:
    def conv(y: Any, channels: int, size: int, stride: int = 1) -> Any:
        return layers.Conv2D(channels, size, strides=stride, padding="same")(y)

    def norm(y: Any) -> Any:
        return layers.BatchNormalization()(y)

    x = layers.ReLU()(norm(conv(x, 16, 3)))
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = layers.ReLU()(norm(conv(x, channels, 3, stride)))
        y = norm(conv(y, channels, 3))
        shortcut = x if stride == 1 else conv(x, channels, 1, stride)
        x = layers.ReLU()(layers.Add()([shortcut, y]))
    x = layers.AveragePooling2D(8)(x)
    return layers.Dense(10, activation="softmax")(layers.Flatten()(x))
