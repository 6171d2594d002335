"""The last layer on features and on their shaped copy."""

from dataclasses import replace

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph.foreign import logits_of
from snapcli.graph.reader import read_tflite
from snapcli.graph.shaping import last_layer, with_shaped

from ..tiny_foreign import foreign_tflite
from ..tiny_monitor import random_inputs, tiny_tflite

SHAPES = (fx.ClipS8(9, -20), fx.AshS8(9, 2, -11))


@pytest.mark.parametrize("tflite", [tiny_tflite, foreign_tflite])
@pytest.mark.parametrize("kernel", SHAPES, ids=["clip", "ash"])
def test_both_rows(tflite: object, kernel: fx.ClipS8 | fx.AshS8) -> None:
    """The first is the network's own answer, the second the last layer's on shaped features."""
    graph, x = read_tflite(tflite()), random_inputs(7)  # type: ignore[operator]
    logits = logits_of(graph)
    last = last_layer(graph, logits)
    plain = graph.run(x, {logits, *last.sources, *graph.outputs.values()})
    (features,) = (plain[name] for name in last.sources)
    shape = fx.clip_s8 if isinstance(kernel, fx.ClipS8) else fx.ash_s8
    shaped = shape(kernel, features)  # type: ignore[arg-type]
    assert (shaped != features).any()
    changed = with_shaped(graph, logits, kernel)
    found = changed.run(x, set(changed.outputs.values()))
    rows = found[changed.outputs["logits"]]
    np.testing.assert_array_equal(rows[:, 0], plain[logits])
    expected = fx.fully_connected_s8(last.kernel, shaped)  # type: ignore[arg-type]
    np.testing.assert_array_equal(rows[:, 1], expected)
    for name, tensor in graph.outputs.items():
        if tensor != logits:
            np.testing.assert_array_equal(found[changed.outputs[name]], plain[tensor])


def test_a_network_without_a_dense_end_is_refused() -> None:
    graph = read_tflite(tiny_tflite())
    cut = replace(graph, layers=graph.layers[:3], outputs={"logits": "block"})
    with pytest.raises(ArtifactError, match="FULLY_CONNECTED"):
        last_layer(cut, "block")
