"""Where the classifier begins, for the stages that a probe tells apart, and what may overlap."""

from dataclasses import replace

from snapcli import fixedpoint as fx
from snapcli.emit.lowering import Lowered
from snapcli.emit.steps import (
    DistanceStep,
    HeadStep,
    LayerStep,
    MoveStep,
    Step,
    SumStep,
    classifier_start,
    lives,
    order,
    stages,
)
from snapcli.graph import Graph, Layer, Tensor
from snapcli.graph.fusion import fuse_residuals
from snapcli.monitor.body import TapTensors

from ..graph.test_fusion import residual
from ..tiny_monitor import body_with_distance, tiny_body

DENSE = LayerStep(
    Layer("logits", "MEAN", fx.MeanS8(1, 1, 0, 0, fx.Multiplier(0, 0)), ("x",), "logits")
)


def layers() -> list[Step]:
    return [LayerStep(layer) for layer in fuse_residuals(residual(), {"logits"}).layers]


def test_a_fused_convolution_belongs_to_the_backbone() -> None:
    steps = layers()
    assert steps[3].label == "added CONV_2D+ADD"
    assert classifier_start(steps) == 4


def test_a_move_behind_the_last_convolution_changes_nothing() -> None:
    assert classifier_start([*layers(), MoveStep("logits")]) == 4


def test_what_hangs_on_the_last_block_belongs_to_it() -> None:
    head = HeadStep(0, TapTensors("stem", "added"))
    assert classifier_start([*layers()[:4], SumStep("added", 8), head, DENSE]) == 6


def test_what_waits_for_the_class_does_not() -> None:
    for waits in (HeadStep(0, TapTensors("stem", "added"), "logits"), DistanceStep("added", "y")):
        assert classifier_start([*layers()[:4], SumStep("added", 8), DENSE, waits]) == 5


def test_the_distances_are_taken_as_soon_as_the_answer_is_there() -> None:
    body = tiny_body()
    steps = order(body.graph, body.graph.layers, body, ())
    last = body.taps[-1].after
    found = order(body.graph, body.graph.layers, body_with_distance(), ())
    assert found == [*steps, DistanceStep(last, body.logits_tensor)]
    bare = order(body.graph, body.graph.layers, body_with_distance().without_taps(), ())
    assert [s for s in bare if not isinstance(s, LayerStep)] == [
        SumStep(last, body.pooled_length(last)),
        DistanceStep(last, body.logits_tensor),
    ]


def test_what_only_the_distance_reads_is_the_distance_s() -> None:
    """Sums that heads read, too, are theirs."""
    body = body_with_distance()
    last, logits = body.taps[-1].after, body.logits_tensor
    pooled, ends = SumStep(last, 8), [DENSE, DistanceStep(last, logits)]
    assert stages([*layers()[:4], pooled, *ends])[4:] == ["distance", "classifier", "distance"]
    shared = [pooled, HeadStep(0, TapTensors("stem", last)), *ends]
    assert stages([*layers()[:4], *shared])[4:] == ["heads", "heads", "classifier", "distance"]


def test_a_source_that_is_read_twice_needs_room_for_both_readers() -> None:
    """x + conv(x) in one layer: the sum alone could be written over x, the windows not."""
    both = replace(DENSE.layer, sources=("x", "x"))
    tensors = {name: Tensor(name, (4, 4, 2), 0.1, 0) for name in ("x", "logits")}
    graph = Graph(tensors, (both,), ("x",), {"y": "logits"}, {})
    for slack, expected in (((10, 0), 10), ((0, 10), 10), ((None, 0), None)):
        lowered = {"logits": Lowered("", "", 0, 0, slack)}
        found = lives(graph, ("logits",), [LayerStep(both)], lowered, ())
        assert found.slack.get(("logits", "x")) == expected
