"""The integer monitor: decisions, their files, and its agreement with the float maps."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph.body import HEADS_FILE, MODEL_FILE, save_body
from snapcli.graph.decision import (
    ONE_Q16,
    decision_from_dict,
    decision_to_dict,
    on_device,
    quantize_map,
)
from snapcli.graph.monitor import CALIBRATION_FILE, Monitor, load_monitor
from snapcli.score.maps import GatedMap, IsotonicMap, LogisticMap, Map

from ..tiny_monitor import HEADS, MAPS, random_inputs, tiny_body, tiny_monitor, tiny_tflite

FITTED: list[Map] = [
    GatedMap(-1.2, 0.9, 0.7, 0.1),
    LogisticMap(-2.5, 0.8, 1.9),
    IsotonicMap(0.5, (0.6, 0.8, 1.1), (0.01, 0.2, 0.6, 0.9)),
]


def save(monitor: Monitor, folder: Path) -> None:
    save_body(monitor.body, tiny_tflite(), folder)
    text = json.dumps({"device": decision_to_dict(monitor.decision)})
    (folder / CALIBRATION_FILE).write_text(text)


@pytest.mark.parametrize(
    ("kind", "head"), [*((k, "gaussian") for k in MAPS), *(("gated", h) for h in HEADS)]
)
def test_what_was_saved_computes_the_same(kind: str, head: str, tmp_path: Path) -> None:
    monitor = tiny_monitor(kind, head)
    save(monitor, tmp_path)
    x = random_inputs(50)
    expected, found = monitor.run(x), load_monitor(tmp_path).run(x)
    for name, values in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), values, err_msg=name, strict=True)


def test_more_than_ten_taps_keep_their_order(tmp_path: Path) -> None:
    body, decision = tiny_body(), tiny_monitor().decision
    order = [0] * 10 + [1] * 2
    many = replace(
        body,
        taps=tuple(body.taps[i] for i in order),
        heads=tuple(body.heads[i] for i in order),
    )
    monitor = Monitor(many, replace(decision, weight_q16=tuple(range(12))))
    save(monitor, tmp_path)
    assert load_monitor(tmp_path).body.taps == many.taps


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("controller", [None, fx.Budget(1, 2, 3, 4)])
def test_a_decision_survives_json(kind: str, controller: fx.Budget | None) -> None:
    decision = replace(tiny_monitor(kind).decision, controller=controller)
    text = json.dumps(decision_to_dict(decision))
    again = decision_from_dict(json.loads(text))
    assert type(again.map) is type(decision.map)
    assert again.controller == controller
    assert json.dumps(decision_to_dict(again)) == text


@pytest.mark.parametrize("name", [MODEL_FILE, HEADS_FILE, CALIBRATION_FILE])
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "garbage"])
def test_a_damaged_file_is_named_with_the_remedy(name: str, damage: str, tmp_path: Path) -> None:
    save(tiny_monitor(), tmp_path)
    path = tmp_path / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        # Only the magic number of the garbage is right.
        garbage = content[:8] + bytes(range(256)) * 4
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2]}.get(damage, garbage))
    with pytest.raises(ArtifactError) as caught:
        load_monitor(tmp_path)
    assert caught.value.hint


@pytest.mark.parametrize("fitted", FITTED, ids=lambda m: m.kind)
def test_the_integer_map_is_close_to_the_fitted_one(fitted: Map) -> None:
    monitor = tiny_monitor()
    raw = monitor.body.run(random_inputs(300))
    features = monitor.features(raw)
    difference = np.abs(on_device(fitted)(features) - fitted(features))
    # A step function may fall on the other side of a breakpoint by rounding.
    assert np.mean(difference > 3e-4) < 0.01


@pytest.mark.parametrize("fitted", FITTED, ids=lambda m: m.kind)
def test_on_device_is_what_the_monitor_decides(fitted: Map) -> None:
    """Bit for bit: thresholds are fitted on the one and applied to the other."""
    decision = replace(tiny_monitor().decision, map=quantize_map(fitted))
    monitor = Monitor(tiny_body(), decision)
    raw = monitor.body.run(random_inputs(300))
    decided = monitor.decide(raw).uncertainty_q16
    np.testing.assert_array_equal(on_device(fitted)(monitor.features(raw)) * ONE_Q16, decided)
    assert len(np.unique(decided)) > 1


def test_the_monitor_abstains_at_its_threshold() -> None:
    monitor = tiny_monitor()
    x = random_inputs(100)
    uncertainty = monitor.run(x).uncertainty_q16
    at = int(np.sort(uncertainty)[40])
    at_threshold = Monitor(monitor.body, replace(monitor.decision, threshold_q16=at)).run(x)
    np.testing.assert_array_equal(at_threshold.abstain, uncertainty >= at)
    assert at_threshold.abstain.sum() == np.sum(uncertainty >= at) == 60


def test_a_stream_is_decided_by_the_controller() -> None:
    monitor = tiny_monitor()
    scores = monitor.run(random_inputs(200))
    assert monitor.replay(scores) is scores
    controller = fx.budget_of(0.1, 0.2, 0.1, monitor.decision.threshold_q16)
    controlled = replace(monitor, decision=replace(monitor.decision, controller=controller))
    replayed = controlled.replay(controlled.run(random_inputs(200)))
    # decide stays as it is; the stream starts at its threshold and abstains less and less.
    np.testing.assert_array_equal(controlled.run(random_inputs(200)).abstain, scores.abstain)
    assert replayed.abstain[0] == scores.abstain[0]
    assert abs(replayed.abstain.mean() - 0.1) < 0.05 < abs(scores.abstain.mean() - 0.1)
    for name in ("predicted", "surprisal_q16", "score_q16", "uncertainty_q16", "logits"):
        np.testing.assert_array_equal(getattr(replayed, name), getattr(scores, name))


def test_a_slope_beyond_the_range_saturates() -> None:
    device = quantize_map(LogisticMap(-1e9, 1e9, 0.5))
    assert device == type(device)(-(2**31), 2**31 - 1, ONE_Q16 // 2)
