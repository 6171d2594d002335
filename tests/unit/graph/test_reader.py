"""read_tflite against LiteRT's reference kernels, on files that are whole, foreign or damaged."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from snapcli.errors import ArtifactError, SnapError
from snapcli.graph import read_tflite

from ...golden.tflite_op import packed, run_reference
from ..tiny_monitor import INPUT_SHAPE, OUTPUTS, random_inputs, tiny_tflite

pytestmark = pytest.mark.slow

STEM, BLOCK, MEAN, LOGITS = 0, 2, 3, 4


def edited(change: Callable[[Any, Any], None]) -> bytes:
    """The tiny model after change(model, its only subgraph)."""
    model = schema.ModelT.InitFromPackedBuf(tiny_tflite(), 0)
    change(model, model.subgraphs[0])
    return packed(model)


def test_every_output_equals_the_reference_kernels() -> None:
    x = random_inputs(100, seed=3)
    graph = read_tflite(tiny_tflite())
    found = graph.run(x, set(graph.outputs.values()))
    for name, expected in zip(OUTPUTS, run_reference(tiny_tflite(), x), strict=True):
        np.testing.assert_array_equal(found[graph.outputs[name]], expected, err_msg=name)


def test_a_converted_network_equals_the_reference_kernels() -> None:
    """What TensorFlow's converter writes for our own backbone, untrained."""
    pytest.importorskip("tensorflow", reason="needs the extra train")
    from snapcli.models import load_backbone
    from snapcli.models.convert import convert_int8
    from snapcli.models.tensorflow import require_tensorflow

    require_tensorflow()
    import tf_keras

    tf_keras.utils.set_random_seed(5)
    rng = np.random.default_rng(5)
    backbone = load_backbone("dscnn-digits")
    model = backbone.build((16, 16, 1), 10)
    samples = rng.random((20, 16, 16, 1), np.float32)
    content = convert_int8(model, backbone.blocks, samples)
    graph = read_tflite(content)
    assert set(graph.outputs) == {*backbone.blocks, "logits"}

    x = rng.integers(-128, 128, (100, 16, 16, 1)).astype(np.int8)
    found = graph.run(x, set(graph.outputs.values()))
    # The file lists its outputs in an order of its own: its signature says which is which.
    packed = schema.ModelT.InitFromPackedBuf(content, 0)
    names = {m.tensorIndex: m.name.decode() for m in packed.signatureDefs[0].outputs}
    order = [names[i] for i in packed.subgraphs[0].outputs]
    for name, expected in zip(order, run_reference(content, x), strict=True):
        np.testing.assert_array_equal(found[graph.outputs[name]], expected, err_msg=name)


def test_tensors_are_named_by_signature_or_layer() -> None:
    graph = read_tflite(tiny_tflite())
    assert [layer.name for layer in graph.layers] == [
        *("stem", "spatial", "block", "layer_3", "logits")
    ]
    assert graph.tensors[graph.input].shape == INPUT_SHAPE
    assert all(name.isidentifier() for name in graph.tensors)


def test_a_layer_without_bias_has_a_zero_bias() -> None:
    def drop_bias(model: Any, graph: Any) -> None:
        graph.operators[STEM].inputs = [*graph.operators[STEM].inputs[:2], -1]

    def zero_bias(model: Any, graph: Any) -> None:
        bias = model.buffers[graph.tensors[graph.operators[STEM].inputs[2]].buffer]
        bias.data = np.zeros_like(bias.data)

    x = random_inputs(10)
    (without, zero) = (
        read_tflite(edited(change)).run(x, {"stem"})["stem"] for change in (drop_bias, zero_bias)
    )
    np.testing.assert_array_equal(without, zero)


def test_work_is_counted() -> None:
    graph = read_tflite(tiny_tflite())
    # Kernel elements per output, times outputs, layer by layer.
    macs = [27 * 9 * 8 * 6, 9 * 5 * 4 * 6, 6 * 5 * 4 * 9, 5 * 4 * 9, 9 * 5]
    assert [layer.macs for layer in graph.layers] == macs
    assert graph.macs == sum(macs)


def operator(code: int) -> Callable[[Any, Any], None]:
    def change(model: Any, graph: Any) -> None:
        found = model.operatorCodes[graph.operators[BLOCK].opcodeIndex]
        found.builtinCode, found.deprecatedBuiltinCode = code, min(code, 127)

    return change


def activation_type(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[BLOCK].outputs[0]].type = schema.TensorType.FLOAT32


def weights_type(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[BLOCK].inputs[1]].type = schema.TensorType.INT16


def weights_zero_point(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[BLOCK].inputs[1]].quantization.zeroPoint = [3] * 9


def two_scales(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[BLOCK].outputs[0]].quantization.scale = [0.1, 0.2]


def tanh(model: Any, graph: Any) -> None:
    options = graph.operators[BLOCK].builtinOptions
    options.fusedActivationFunction = schema.ActivationFunctionType.TANH


def grouped(model: Any, graph: Any) -> None:
    graph.tensors[graph.operators[BLOCK].inputs[1]].shape = [9, 2, 1, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (operator(schema.BuiltinOperator.SVDF), "operator SVDF of layer 'block' is not supported"),
        (operator(9999), "operator 9999 of layer 'block' is not supported"),
        (activation_type, "'block' is not int8 but float32"),
        (weights_type, "constant of layer 'block' is not int8 but int16"),
        (weights_zero_point, "weights of layer 'block' are not symmetric"),
        (two_scales, "'block' has no single scale"),
        (tanh, "CONV_2D of layer 'block' has a fused activation that is not supported"),
        (grouped, "CONV_2D of layer 'block' has weights .* do not fit 6 channels"),
    ],
)
def test_what_is_not_supported_is_named_with_its_layer(
    change: Callable[[Any, Any], None], message: str
) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        read_tflite(edited(change))
    assert caught.value.hint


def test_a_mean_over_axes_apart_is_refused() -> None:
    def apart(model: Any, graph: Any) -> None:
        axes = graph.tensors[graph.operators[MEAN].inputs[1]]
        model.buffers[axes.buffer].data = np.frombuffer(np.array([1, 3], np.int32), np.uint8)

    with pytest.raises(ArtifactError, match=r"MEAN of layer 'layer_3' is over the axes \[1, 3\]"):
        read_tflite(edited(apart))


def test_several_subgraphs_are_refused() -> None:
    def two_subgraphs(model: Any, graph: Any) -> None:
        model.subgraphs = [graph, copy.deepcopy(graph)]

    with pytest.raises(ArtifactError, match="2 subgraphs"):
        read_tflite(edited(two_subgraphs))


def reversed_order(model: Any, graph: Any) -> None:
    graph.operators.reverse()


def written_twice(model: Any, graph: Any) -> None:
    graph.operators.append(copy.deepcopy(graph.operators[LOGITS]))


def short_bias(model: Any, graph: Any) -> None:
    bias = graph.tensors[graph.operators[STEM].inputs[2]]
    bias.shape = [5]
    model.buffers[bias.buffer].data = model.buffers[bias.buffer].data[:20]


def no_dilation(model: Any, graph: Any) -> None:
    graph.operators[STEM].builtinOptions.dilationHFactor = 0


def negative_scale(model: Any, graph: Any) -> None:
    graph.tensors[0].quantization.scale = [-0.5]


def wide_zero_point(model: Any, graph: Any) -> None:
    graph.tensors[0].quantization.zeroPoint = [300]


@pytest.mark.parametrize(
    "change",
    [reversed_order, written_twice, short_bias, no_dilation, negative_scale, wide_zero_point],
)
def test_a_file_that_contradicts_itself_is_damaged(change: Callable[[Any, Any], None]) -> None:
    with pytest.raises(ArtifactError, match="damaged"):
        read_tflite(edited(change))


def test_another_file_is_refused() -> None:
    for content in (b"", b"\x7fELF" + bytes(100), b"{}"):
        with pytest.raises(ArtifactError, match=r"not a \.tflite"):
            read_tflite(content)


def reads_or_refuses(content: bytes) -> bool:
    """Whether the file could be read; then it can also be run. No other exception escapes."""
    try:
        graph = read_tflite(content)
    except SnapError:
        return False
    x = np.zeros((1, *graph.tensors[graph.input].shape), np.int8)
    computed = {layer.target for layer in graph.layers}
    assert set(graph.run(x, computed)) == computed
    return True


def test_a_truncated_file_is_refused() -> None:
    """A cut may lose only a table of padding at the very end, so the last bytes are left out."""
    content = tiny_tflite()
    read = [cut for cut in range(0, len(content) - 64, 61) if reads_or_refuses(content[:cut])]
    assert read == []


def test_a_mutated_file_is_read_or_refused() -> None:
    rng = np.random.default_rng(11)
    original = np.frombuffer(tiny_tflite(), np.uint8)
    outcomes = []
    for _ in range(600):
        content = original.copy()
        where = rng.integers(0, len(content), 2)
        # The ends of the byte range upset offsets and counts most.
        content[where] = np.where(rng.random(2) < 0.7, rng.choice([0, 1, 127, 128, 255], 2), where)
        outcomes.append(reads_or_refuses(content.tobytes()))
    # Weights may take any value and offsets may not: both outcomes have to occur.
    assert {True, False} == set(outcomes)
