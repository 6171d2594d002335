"""A classifier of somebody else: its ends, its logits, its taps."""

from dataclasses import replace

import numpy as np
import pytest

from snapcli.errors import ArtifactError, UsageError
from snapcli.graph import Graph, read_tflite
from snapcli.graph.foreign import classifier, logits_of, named_pairs, tap_pairs
from snapcli.monitor.body import deployed_graph

from ...golden import tflite_op as op
from ..tiny_foreign import float_ended_tflite, foreign_ops, foreign_tflite
from ..tiny_monitor import OUTPUTS, random_inputs, tiny_tflite


def foreign() -> Graph:
    return classifier(read_tflite(foreign_tflite()))


def test_the_logits_are_what_the_softmax_reads() -> None:
    graph = foreign()
    (softmax,) = (layer for layer in graph.layers if layer.operator == "SOFTMAX")
    assert logits_of(graph) == softmax.sources[0]
    assert logits_of(graph) != next(iter(graph.outputs.values()))


def test_a_model_without_a_softmax_gives_logits() -> None:
    graph = classifier(read_tflite(op.flatbuffer(foreign_ops()[:-1], {"Identity": 4})))
    assert logits_of(graph) == graph.outputs["Identity"]


def test_a_model_of_ours_is_read_as_it_is() -> None:
    graph = deployed_graph(tiny_tflite())
    assert set(graph.outputs) == set(OUTPUTS)
    assert logits_of(graph) == graph.outputs["logits"]


def test_between_its_ends_of_real_numbers_the_network_is_the_same() -> None:
    """TFLite's own kernels run the whole; the int8 network between the ends must agree."""
    graph = classifier(read_tflite(float_ended_tflite()))
    source = graph.tensors[graph.input]
    (output,) = graph.outputs.values()
    x = random_inputs(8)
    real = (x.astype(np.float32) - source.zero_point) * np.float32(source.scale)
    found = graph.run(source.quantize(real), {output})[output]
    assert source.dtype == graph.tensors[output].dtype == "int8"
    np.testing.assert_array_equal(
        found, foreign().run(x, foreign().outputs.values())[next(iter(foreign().outputs.values()))]
    )
    expected = [op.run_reference(float_ended_tflite(), one[None])[0] for one in real]
    scale, zero_point = graph.tensors[output].scale, graph.tensors[output].zero_point
    np.testing.assert_array_equal((found - float(zero_point)) * scale, np.concatenate(expected))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (op.flatbuffer(foreign_ops(), {"a": 4, "b": 5}), "1 inputs and 2 outputs"),
        (op.flatbuffer(foreign_ops()[:3], {"map": 2}), "output is 5x4x9, no classifier's"),
    ],
)
def test_what_is_no_classifier_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        classifier(read_tflite(content))


def test_candidates_are_the_ends_of_neighbouring_blocks() -> None:
    graph = foreign()
    ((before, after),) = tap_pairs(graph)
    layers = [layer.target for layer in graph.layers]
    assert (before, after) == (layers[0], layers[2])


def test_a_tap_is_predicted_from_the_block_in_front_of_it() -> None:
    graph = foreign()
    stem, spatial, block = (layer.target for layer in graph.layers[:3])
    assert named_pairs(graph, (block,)) == [(stem, block)]
    assert named_pairs(graph, (spatial, f"{spatial}:{block}")) == [
        (stem, spatial),
        (spatial, block),
    ]
    # In the order of depth, and once.
    assert named_pairs(graph, (block, spatial, block)) == [(stem, spatial), (stem, block)]


def test_a_view_is_tapped_where_its_bytes_are() -> None:
    graph = foreign()
    stem, _, block = (layer.target for layer in graph.layers[:3])
    shown = replace(
        graph,
        tensors={**graph.tensors, "flat": replace(graph.tensors[block], name="flat")},
        views={**graph.views, "flat": block},
    )
    assert named_pairs(shown, ("flat",)) == [(stem, block)]


def test_a_tensor_is_predicted_once() -> None:
    with pytest.raises(UsageError, match="two taps predict 'layer_2'"):
        named_pairs(foreign(), ("layer_2", "layer_1:layer_2"))


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("layr_2", "no tensor 'layr_2'", "layer_2"),
        ("layer_0", "no block in front", "Name another: layer_2"),
        ("layer_2:layer_0", "does not come before", "Swap them"),
        ("layer_2:layer_2", "does not come before", "Swap them"),
    ],
)
def test_a_wrong_name_is_told(name: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        named_pairs(foreign(), (name,))
    assert hint in str(caught.value.hint)
