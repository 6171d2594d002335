"""How a run was calibrated, read from what its stages left."""

from pathlib import Path

import numpy as np
import pytest

from snapcli.config import CalibrateOptions
from snapcli.judging.calibrated import calibration_of
from snapcli.runs import Run, create_run, write_json
from snapcli.stages.eval import _correlation
from tests.unit.made_evidence import made_evidence
from tests.unit.stages.tiny_run import calibrate, tiny_run


def trained_run(runs: Path, asked: str) -> Run:
    """Whose float model took one map, and whose integers another."""
    run = create_run(runs, "two")

    def said(kind: str, auroc: float) -> dict:
        return {"map": {"kind": kind}, "dev": {kind: {"pooled": {"auroc": auroc}}}}

    with run.write("train", after=()) as out:
        (out / "model.keras").write_text("")
    with run.write("calibrate", after=("train",)) as out:
        options = vars(CalibrateOptions(map=asked, alpha=0.3, limit=70))
        write_json(out / "calibration.json", {"options": options, "report": said("gated", 0.8)})
    with run.write("quantize", after=("train", "calibrate")) as out:
        write_json(out / "report.json", said("logistic", 0.7))
    return run


@pytest.mark.parametrize(
    ("source", "kind", "auroc"),
    [("float", "gated", 0.8), ("int8", "logistic", 0.7), ("device", "logistic", 0.7)],
)
def test_integers_have_the_map_that_was_fitted_to_them(
    tmp_path: Path, source: str, kind: str, auroc: float
) -> None:
    found = calibration_of(trained_run(tmp_path, "auto"), source)
    assert (found.map, found.asked.alpha, found.asked.limit) == (kind, 0.3, 70)
    assert found.taken == found.asked.with_map(kind)
    assert found.tuning is not None
    assert (found.tuning.chosen, found.tuning.score) == ({"map": kind}, auroc)


def test_a_map_that_was_asked_for_was_not_chosen(tmp_path: Path) -> None:
    assert calibration_of(trained_run(tmp_path, "gated"), "float").tuning is None


def test_an_attached_run_keeps_the_examples_that_attach_has_scored(tmp_path: Path) -> None:
    run = tiny_run(tmp_path / "runs")
    calibrate(run, "isotonic", limit=7, weights="uniform")
    found = calibration_of(run, "int8")
    assert (found.map, found.asked.weights) == ("isotonic", "uniform")
    assert found.asked.limit == CalibrateOptions().limit
    assert found.tuning is None


def test_the_correlation_with_s_is_that_of_the_run_s_weights() -> None:
    by_rule = {
        rule: np.array(_correlation(made_evidence(), CalibrateOptions(weights=rule)))
        for rule in ("uniform", "inverse-variance")
    }
    # Of two taps that vary alike, S with equal weights agrees with both alike.
    uniform = by_rule["uniform"]
    assert uniform.shape == (3, 3)
    assert not np.allclose(uniform[:2, 2], by_rule["inverse-variance"][:2, 2])
    np.testing.assert_allclose(uniform[:2, :2], by_rule["inverse-variance"][:2, :2])
