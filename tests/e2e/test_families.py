"""Networks of the usual families, as TensorFlow converts them, through every link of the chain."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.models import ic, kws, random_tflite

from snapcli.config import VerifyOptions
from snapcli.emit import Reference, build_program
from snapcli.emit.steps import MoveStep
from snapcli.graph import Graph, read_tflite
from snapcli.stages.verify import verify_model
from tests.conftest import need

SHAPE = (24, 24, 3)


def mobilenet_v1(layers: Any, x: Any) -> Any:
    x = layers.ReLU(6.0)(layers.Conv2D(8, 3, strides=2, padding="same")(x))
    for channels, stride in ((16, 1), (24, 2), (24, 1)):
        x = layers.ReLU(6.0)(layers.DepthwiseConv2D(3, strides=stride, padding="same")(x))
        x = layers.ReLU(6.0)(layers.Conv2D(channels, 1)(x))
    x = layers.GlobalAveragePooling2D()(x)
    return layers.Softmax()(layers.Dense(5)(x))


def mobilenet_v3(layers: Any, x: Any) -> Any:
    """Inverted residuals with hard-swish and squeeze-and-excite; strided layers pad unevenly."""
    import tensorflow as tf

    def swish(y: Any) -> Any:
        return layers.Activation(lambda z: z * tf.nn.relu6(z + 3.0) * (1.0 / 6.0))(y)

    def squeeze(y: Any, channels: int) -> Any:
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        gate = layers.ReLU()(layers.Conv2D(4, 1)(gate))
        gate = layers.Activation("sigmoid")(layers.Conv2D(channels, 1)(gate))
        return layers.Multiply()([y, gate])

    x = swish(layers.Conv2D(8, 3, strides=2, padding="same")(x))
    for channels, stride in ((8, 1), (12, 2), (12, 1)):
        y = swish(layers.Conv2D(24, 1)(x))
        if stride == 2:
            y = layers.ZeroPadding2D(((0, 1), (0, 1)))(y)
        y = layers.DepthwiseConv2D(3, strides=stride, padding="valid" if stride == 2 else "same")(y)
        y = squeeze(swish(y), 24)
        y = layers.Conv2D(channels, 1)(y)
        x = layers.Add()([x, y]) if stride == 1 else y
    x = layers.GlobalMaxPooling2D()(x)
    return layers.Dense(7)(layers.Dropout(0.5)(x))


def inception(layers: Any, x: Any) -> Any:
    """Branches of different depth, concatenated."""
    x = layers.Conv2D(8, 3, activation="relu")(x)
    one = layers.Conv2D(4, 1, activation="relu")(x)
    two = layers.Conv2D(6, 3, padding="same", activation="relu", dilation_rate=2)(one)
    three = layers.AveragePooling2D(3, strides=1, padding="same")(x)
    x = layers.Concatenate()([one, two, three])
    x = layers.MaxPooling2D(2)(layers.LeakyReLU(0.1)(layers.Conv2D(10, 3)(x)))
    return layers.Dense(4, activation="softmax")(layers.Flatten()(x))


def autoencoder(layers: Any, x: Any) -> Any:
    y = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    y = layers.Conv2D(4, 3, strides=2, padding="same", activation="tanh")(y)
    y = layers.Dense(16, activation="relu")(layers.Flatten()(y))
    y = layers.Reshape((6, 6, 4))(layers.Dense(6 * 6 * 4)(y))
    y = layers.Conv2D(8, 3, padding="same", activation="relu")(layers.UpSampling2D(2)(y))
    return layers.Conv2D(3, 3, padding="same")(layers.UpSampling2D(2)(y))


def sequence(layers: Any, x: Any) -> Any:
    """A one-dimensional network: TensorFlow wraps it into reshapes."""
    x = layers.Reshape((24, 72))(x)
    x = layers.Conv1D(16, 5, activation="relu", padding="same")(x)
    x = layers.Conv1D(16, 3, activation="relu", padding="same", dilation_rate=2)(x)
    x = layers.SeparableConv1D(16, 3, activation="relu")(x)
    x = layers.Dense(8, activation="relu")(x)
    return layers.Dense(3, activation="sigmoid")(layers.GlobalAveragePooling1D()(x))


FAMILIES: dict[str, Callable[[int | None], bytes]] = {
    "ds-cnn": kws,
    "resnet": ic,
    "mobilenet-v1": lambda batch: random_tflite(mobilenet_v1, SHAPE, batch=batch),
    "mobilenet-v3": lambda batch: random_tflite(mobilenet_v3, SHAPE, batch=batch),
    "inception": lambda batch: random_tflite(inception, SHAPE, float_ends=True, batch=batch),
    "autoencoder": lambda batch: random_tflite(autoencoder, SHAPE, batch=batch),
    "sequence": lambda batch: random_tflite(sequence, SHAPE, batch=batch),
}
# What makes a family worth testing: operators that the others lack.
USES = {
    "ds-cnn": {"DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "SOFTMAX"},
    "resnet": {"ADD"},
    "mobilenet-v1": {"MEAN"},
    "mobilenet-v3": {"HARD_SWISH", "LOGISTIC", "MUL", "REDUCE_MAX"},
    "inception": {"CONCATENATION", "MAX_POOL_2D", "LEAKY_RELU", "QUANTIZE_F32", "DEQUANTIZE"},
    "autoencoder": {"TANH", "RESIZE_NEAREST_NEIGHBOR"},
    "sequence": {"FULLY_CONNECTED", "LOGISTIC"},
}


# Sums that our own kernels write from within a convolution.
RESIDUALS = {"resnet": 3, "mobilenet-v3": 2}


@cache
def model_of(family: str, batch: int | None = None) -> bytes:
    need(tensorflow=True)
    return FAMILIES[family](batch)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("kernels", "target"),
    [
        *(("snap", "qemu-m4"), ("snap", "qemu-m7")),
        *(("reference", "qemu-m4"), ("cmsis-nn", "qemu-m4"), ("reference", "qemu-m7")),
    ],
)
def test_every_layer_is_equal_on_every_link(
    family: str, kernels: str, target: str, tmp_path: Path, cmsis_nn: Path
) -> None:
    need(host=True, compiler=True, emulator=True)
    path = tmp_path / f"{family}.tflite"
    path.write_bytes(model_of(family))
    report = verify_model(path, VerifyOptions(target, kernels, inputs=3))
    assert [link.difference for link in report.links] == [None] * 3
    layers = len(read_tflite(model_of(family)).layers)
    fused = RESIDUALS.get(family, 0) if kernels != "cmsis-nn" else 0
    assert report.links[0].steps == layers - fused


@pytest.mark.parametrize("family", FAMILIES)
def test_the_family_has_what_it_is_tested_for(family: str) -> None:
    assert USES[family] <= {layer.operator for layer in read_tflite(model_of(family)).layers}


def test_a_ds_cnn_moves_its_tensors() -> None:
    """So that the test above proves moves, too."""
    program = build_program(read_tflite(model_of("ds-cnn")), None, Reference())
    assert any(isinstance(step, MoveStep) for step in program.steps)


def run_micro(content: bytes, graph: Graph, x: np.ndarray) -> np.ndarray:
    """TFLite-Micro's own interpreter and kernels: an oracle by others than LiteRT's makers."""
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
    interpreter = runtime.Interpreter.from_bytes(content)
    outputs = []
    for sample in x:
        interpreter.set_input(sample[np.newaxis], 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0))
    (name,) = graph.outputs.values()
    return np.stack(outputs).reshape(len(x), *graph.tensors[name].shape)


@pytest.mark.parametrize("family", FAMILIES)
def test_tflite_micro_agrees(family: str) -> None:
    """To a step: its FULLY_CONNECTED rounds twice, ours once, as LiteRT's reference does.

    It takes the shapes that the file has: the batch must be closed.
    """
    content = model_of(family, batch=1)
    graph = read_tflite(content)
    tensor = graph.tensors[graph.input]
    steps = np.random.default_rng(3).integers(-128, 128, (5, *tensor.shape)).astype(np.int8)
    x = steps if tensor.dtype == "int8" else (steps / 32).astype(np.float32)
    (name,) = graph.outputs.values()
    ours, micro = graph.run(x, {name})[name], run_micro(content, graph, x)
    scale = 1 if graph.tensors[name].dtype == "int8" else 1 / 256
    difference = np.abs(ours.astype(np.float64) - micro) / scale
    dense = any(layer.operator == "FULLY_CONNECTED" for layer in graph.layers)
    assert difference.max() <= (1 if dense else 0)
    assert (difference == 0).mean() > 0.9
