"""Where the classifier begins, for the stages that a probe tells apart."""

from snapcli import fixedpoint as fx
from snapcli.emit.steps import (
    DistanceStep,
    HeadStep,
    LayerStep,
    MoveStep,
    Step,
    SumStep,
    classifier_start,
    order,
)
from snapcli.graph import Layer
from snapcli.graph.body import TapTensors
from snapcli.graph.fusion import fuse_residuals

from ..graph.test_fusion import residual
from ..tiny_monitor import tiny_body

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
    assert classifier_start([*layers()[:4], SumStep("added"), head, DENSE]) == 6
    assert classifier_start([*layers()[:4], SumStep("added"), DistanceStep("added"), DENSE]) == 6


def test_the_distance_is_taken_right_after_the_last_sum() -> None:
    graph, taps = tiny_body().graph, tiny_body().taps
    steps = order(graph.layers, taps, ())
    last = taps[-1].after
    at = steps.index(SumStep(last)) + 1
    found = order(graph.layers, taps, (), distance=True)
    assert found == [*steps[:at], DistanceStep(last), *steps[at:]]
