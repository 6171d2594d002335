"""The integer monitor: decisions, their files, and its agreement with the float maps."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.monitor.body import HEADS_FILE, MODEL_FILE, save_body
from snapcli.monitor.decision import (
    ONE_Q16,
    decision_from_dict,
    decision_to_dict,
    on_device,
    quantize_map,
)
from snapcli.monitor.monitor import CALIBRATION_FILE, Monitor, load_monitor, trimmed
from snapcli.score.confidence import energy
from snapcli.score.maps import (
    SCORE,
    THIRD,
    ClassGatedMap,
    Gate,
    GatedMap,
    HiddenUnit,
    LogisticMap,
    Map,
    StaircaseMap,
    TapGate,
    tap_input,
    temperature,
)

from ..tiny_monitor import (
    HEADS,
    MAPS,
    body_with_distance,
    headless_monitor,
    random_inputs,
    tiny_body,
    tiny_monitor,
    tiny_tflite,
)

# By the tiny monitor whose inputs they read.
FITTED: list[tuple[str, Map]] = [
    ("temperature", temperature()),
    ("gated", GatedMap("gated", -1.2, 0.7, (Gate(SCORE, 0.9, 0.1),))),
    (
        "gated-taps",
        GatedMap(
            "gated-taps", -1.2, 0.7, (Gate(tap_input(0), 0.9, -0.2), Gate(tap_input(1), 0.4, 0.1))
        ),
    ),
    ("energy", GatedMap("gated", -1.2, 0.7, (Gate(SCORE, 0.9, 0.1), Gate(THIRD, 0.4, -3.0)))),
    ("mahalanobis", GatedMap("gated", -1.2, 0.7, (Gate(THIRD, 1.4, -0.5),))),
    (
        "class-gated",
        ClassGatedMap(
            *("class-gated", -1.2, 0.7, 0.3),
            (TapGate(0.9, -0.2, 0.4), TapGate(0.4, 0.1, 1.5)),
            *((0.1, -0.2, 0.0, 0.3, 0.0), (0.6, -0.1, 0.0, 0.2, 0.5)),
        ),
    ),
    (
        "evidence",
        ClassGatedMap(
            *("evidence", -1.2, 0.7, 0.3),
            (TapGate(0.9, -0.2, 0.4), TapGate(0.4, 0.1, 1.5)),
            *((0.1, -0.2, 0.0, 0.3, 0.0), (0.6, -0.1, 0.0, 0.2, 0.5)),
            *(0.5, 0.8),
        ),
    ),
    (
        "hidden",
        ClassGatedMap(
            *("evidence", -1.2, 0.7, 0.3),
            (TapGate(0.9, -0.2, 0.4), TapGate(0.4, 0.1, 1.5)),
            *((0.1, -0.2, 0.0, 0.3, 0.0), (0.6, -0.1, 0.0, 0.2, 0.5)),
            *(0.5, 0.8),
            (
                HiddenUnit(0.7, (0.5, -0.4, 0.3, 0.2, -0.6), (0.1, -0.2, 0.3, 0.0, 1.0)),
                HiddenUnit(-0.4, (-0.5, 0.4, 0.3, -0.2, 0.6), (0.4, 0.2, 0.3, -0.5, 0.0)),
            ),
        ),
    ),
    ("logistic", LogisticMap("logistic", -2.5, 0.8, 1.9)),
    ("isotonic", StaircaseMap("isotonic", 0.5, (0.6, 0.8, 1.1), (0.01, 0.2, 0.6, 0.9))),
    ("isotonic", StaircaseMap("percentile", 1.0, (0.6, 0.8, 1.1), (0.0, 0.5, 0.9, 1.0))),
]
every_fitted = pytest.mark.parametrize(
    ("kind", "fitted"), FITTED, ids=[f"{kind}-{m.kind}" for kind, m in FITTED]
)


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


def test_more_taps_than_a_monitor_has_are_refused(tmp_path: Path) -> None:
    body, decision = tiny_body(), tiny_monitor().decision
    order = [0] * 5 + [1]
    many = replace(
        body,
        taps=tuple(body.taps[i] for i in order),
        heads=tuple(body.heads[i] for i in order),
    )
    monitor = Monitor(many, replace(decision, weight_q16=(0,) * 5 + (ONE_Q16,)))
    save(monitor, tmp_path)
    with pytest.raises(ArtifactError, match="taps is 6, not between 0 and 5"):
        load_monitor(tmp_path)


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


@every_fitted
def test_the_integer_map_is_close_to_the_fitted_one(kind: str, fitted: Map) -> None:
    monitor = tiny_monitor(kind)
    raw = monitor.body.run(random_inputs(300))
    features = monitor.features(raw)
    difference = np.abs(on_device(fitted)(features) - fitted(features))
    # A step function may fall on the other side of a breakpoint by rounding.
    assert np.mean(difference > 3e-4) < 0.01


@every_fitted
def test_on_device_is_what_the_monitor_decides(kind: str, fitted: Map) -> None:
    """Bit for bit: thresholds are fitted on the one and applied to the other."""
    tiny = tiny_monitor(kind)
    monitor = replace(tiny, decision=replace(tiny.decision, map=quantize_map(fitted)))
    raw = monitor.body.run(random_inputs(300))
    decided = monitor.decide(raw).uncertainty_q16
    np.testing.assert_array_equal(on_device(fitted)(monitor.features(raw)) * ONE_Q16, decided)
    assert len(np.unique(decided)) > 1


@pytest.mark.parametrize("kind", ["energy", "mahalanobis"])
def test_the_third_input_reaches_the_map(kind: str) -> None:
    """It grows with U, and it is what its name says."""
    monitor, x = tiny_monitor(kind), random_inputs(300)
    raw = monitor.body.run(x)
    features = monitor.features(raw)
    assert features.third is not None
    if kind == "energy":
        scale = monitor.body.graph.tensors[monitor.body.logits_tensor].scale
        expected = energy(raw.logits * np.float64(scale), monitor.decision.temperature)
        np.testing.assert_allclose(features.third, expected, atol=0.01)
    else:
        nearest = raw.distance_q16.min(axis=-1)
        assert nearest.min() > 0
        np.testing.assert_allclose(features.third, np.log(nearest / 65536), atol=2e-4)
    higher = replace(features, third=features.third + 1)
    u, v = (on_device(dict(FITTED)[kind])(f) for f in (features, higher))
    assert np.all(v >= u)
    assert np.any(v > u)


def test_without_a_third_input_there_is_none() -> None:
    monitor = tiny_monitor()
    raw = monitor.body.run(random_inputs(5))
    assert monitor.features(raw).third is None
    assert not raw.distance_q16.any()


def test_the_monitor_abstains_at_its_threshold() -> None:
    monitor = tiny_monitor()
    x = random_inputs(100)
    uncertainty = monitor.run(x).uncertainty_q16
    at = int(np.sort(uncertainty)[40])
    at_threshold = Monitor(monitor.body, replace(monitor.decision, threshold_q16=at)).run(x)
    np.testing.assert_array_equal(at_threshold.abstain, uncertainty >= at)
    assert at_threshold.abstain.sum() == np.sum(uncertainty >= at) == 60


def test_f_is_a_map_of_its_own_with_a_threshold_of_its_own() -> None:
    monitor, x = tiny_monitor("evidence"), random_inputs(100)
    found = monitor.run(x)
    decision = monitor.decision
    as_map = Monitor(monitor.body, replace(decision, map=decision.foreign)).run(x)
    np.testing.assert_array_equal(found.foreign_q16, as_map.uncertainty_q16)
    assert np.any(found.foreign_q16 != found.uncertainty_q16)
    at = int(np.sort(found.foreign_q16)[40])
    other = Monitor(monitor.body, replace(decision, foreign_threshold_q16=at)).run(x)
    np.testing.assert_array_equal(other.foreign, found.foreign_q16 >= at)
    np.testing.assert_array_equal(other.abstain, found.abstain)


@pytest.mark.parametrize("kind", ["temperature", "class-gated", "evidence"])
def test_a_monitor_without_heads_is_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    monitor, x = headless_monitor(kind), random_inputs(100)
    save(monitor, tmp_path)
    loaded = load_monitor(tmp_path)
    assert loaded.body.taps == ()
    assert (loaded.body.distance is not None) == (kind == "evidence")
    expected, found = monitor.run(x), loaded.run(x)
    for name, values in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), values, err_msg=name, strict=True)
    assert found.surprisal_q16.shape == (100, 0)
    assert not found.score_q16.any()


def test_what_a_decision_does_not_read_is_left_out_of_the_body() -> None:
    body, bare = body_with_distance(), headless_monitor("temperature").decision
    assert trimmed(body, tiny_monitor("evidence").decision).distance is body.distance
    assert trimmed(body, tiny_monitor("gated").decision).distance is None
    assert trimmed(body, tiny_monitor("gated").decision).taps == body.taps
    assert (trimmed(body, bare).taps, trimmed(body, bare).heads) == ((), ())


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
    names = ("predicted", "surprisal_q16", "score_q16", "uncertainty_q16", "logits")
    for name in (*names, "foreign_q16", "foreign"):
        np.testing.assert_array_equal(getattr(replayed, name), getattr(scores, name))


def test_a_slope_beyond_the_range_saturates() -> None:
    device = quantize_map(LogisticMap("logistic", -1e9, 1e9, 0.5))
    assert device == type(device)(-(2**31), 2**31 - 1, ONE_Q16 // 2)
