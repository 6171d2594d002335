"""Small models in every form that a finished model comes in."""

import importlib
import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.graph import read_tflite
from snapcli.models.tensorflow import quiet, require_tensorflow

SHAPE, CLASSES = (8, 8, 2), 3
KERAS = {"3": "keras", "2": "tf_keras"}


def library(version: str) -> Any:
    require_tensorflow()
    with quiet():
        return importlib.import_module(KERAS[version])


def inputs(n: int) -> np.ndarray:
    """Pixels of pictures that differ in colour."""
    rng = np.random.default_rng(5)
    colours = rng.uniform(0, 255, (n, 1, 1, SHAPE[-1]))
    return (colours * rng.uniform(0.6, 1, (n, *SHAPE))).astype(np.float32)


def classifier(keras: Any, *middle: Any) -> Any:
    """With a rescaling, a batch norm whose statistics are no longer the first ones, a branch,
    a dropout, a nested model and two layers whose names Keras chooses."""
    keras.utils.set_random_seed(3)
    layers = keras.layers
    inner = keras.Sequential(
        [keras.Input((8, 8, 4)), layers.Conv2D(4, 3, activation="relu", name="inner_conv")],
        name="inner",
    )
    x = first = keras.Input(SHAPE, name="pixels")
    x = layers.Rescaling(1 / 127.5, offset=-1.0, name="scaled")(x)
    x = layers.Conv2D(4, 3, padding="same", name="stem")(x)
    x = layers.BatchNormalization(name="stem_bn")(x)
    x = branch = layers.ReLU(name="stem_out")(x)
    x = layers.Conv2D(4, 3, padding="same", activation="relu", name="a")(x)
    x = layers.Conv2D(4, 3, padding="same", activation="relu", name="a_1")(x)
    x = layers.Add(name="joined")([x, branch])
    x = inner(x)
    for layer in middle:
        x = layer(x)
    x = layers.Dropout(0.5)(x)
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    x = layers.Dense(CLASSES, name="last")(x)
    model = keras.Model(first, layers.Softmax()(x))
    norm, rng = model.get_layer("stem_bn"), np.random.default_rng(0)
    norm.set_weights([rng.uniform(0.5, 1.5, 4).astype(np.float32) for _ in range(4)])
    last = model.get_layer("last")
    last.set_weights([rng.normal(0, 4, w.shape).astype(np.float32) for w in last.get_weights()])
    return model


def saved(model: Any, form: str, folder: Path) -> Path:
    """form: keras, h5, export (model.export), folder (model.save of Keras 2) or module
    (tf.saved_model.save)."""
    import tensorflow as tf

    path = folder / (f"model.{form}" if form in ("keras", "h5") else form)
    with quiet():
        if form == "export":
            # Keras 3 prints what it exports.
            with redirect_stdout(io.StringIO()):
                model.export(str(path))
        elif form == "module":
            tf.saved_model.save(model, str(path))
        else:
            model.save(str(path))
    return path


def answers(content: bytes, x: np.ndarray) -> np.ndarray:
    """Of an int8 .tflite, as real numbers."""
    graph = read_tflite(content)
    (output,) = graph.outputs.values()
    tensor = graph.tensors[output]
    found = graph.run(graph.tensors[graph.input].quantize(x), {output})[output]
    return (found.reshape(len(x), -1).astype(np.float32) - tensor.zero_point) * tensor.scale
