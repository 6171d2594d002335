"""Several copies of a network on one input."""

import numpy as np

from snapcli.graph.ensemble import copies
from snapcli.graph.foreign import logits_of
from snapcli.graph.reader import read_tflite

from ..tiny_foreign import foreign_tflite
from ..tiny_monitor import random_inputs


def test_each_member_answers_like_the_network() -> None:
    graph, x = read_tflite(foreign_tflite()), random_inputs(5)
    logits = logits_of(graph)
    three = copies(graph, logits, 3)
    assert list(three.outputs) == ["logits_0", "logits_1", "logits_2"]
    found = three.run(x, set(three.outputs.values()))
    expected = graph.run(x, {logits})[logits]
    assert len(found) == 3
    for values in found.values():
        np.testing.assert_array_equal(values, expected)


def test_members_share_the_input_alone() -> None:
    graph = read_tflite(foreign_tflite())
    three = copies(graph, logits_of(graph), 3)
    # The softmax behind the logits is nobody's.
    assert len(three.layers) == 3 * (len(graph.layers) - 1)
    assert three.inputs == graph.inputs
    assert len({layer.target for layer in three.layers}) == len(three.layers)
