"""A tf_keras backbone as a full-int8 .tflite whose taps and logits stay visible as outputs."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from snapcli.models.own import named
from snapcli.models.tensorflow import quiet


def convert_int8(model: Any, blocks: Iterable[str], samples: np.ndarray) -> bytes:
    """samples [n, h, w, c] set the activation ranges; outputs are named like the blocks. The
    logits are one of them, unless the model has several and they are named."""
    import tensorflow as tf
    from tf_keras import Model

    names = [*dict.fromkeys(blocks), *(["logits"] if "logits" in model.output else [])]
    visible = Model(model.input, {name: named(model.output[name], name) for name in names})
    with quiet():
        return converted(tf.lite.TFLiteConverter.from_keras_model(visible), samples)


def converted(converter: Any, samples: np.ndarray) -> bytes:
    """Full int8, inputs and outputs too; samples [n, ...] float32 set the activation ranges."""
    import tensorflow as tf

    def representative() -> Iterator[list[np.ndarray]]:
        for sample in samples:
            yield [sample[None]]

    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    return bytes(converter.convert())
