"""What is shown of a run: idle heads before all, then stages and figures."""

import json
from dataclasses import asdict
from math import nan
from pathlib import Path

import pytest

from snapcli.config import AttachOptions, CalibrateOptions, Recipe, dump_recipe
from snapcli.errors import ConfigError
from snapcli.jsontext import dumps
from snapcli.origin.recipe import CONFIG
from snapcli.results.attach import AttachReport
from snapcli.results.calibrate import CalibrateRecord, CalibrateReport, HeadsReport
from snapcli.results.quantize import Drift, QuantizeReport
from snapcli.runs import Run, create_run, write_json
from snapcli.stages.show import Heads, show
from tests.conftest import snap

from ..report.figures import FOREIGN, SETS, figures, heads

IDLE = heads(idle=True)


def trained(folder: Path, of_heads: HeadsReport | None = None, map: str = "auto") -> Run:
    """Quantized, and nothing else."""
    run = create_run(folder, "digits")
    run.path(CONFIG).write_text(dump_recipe(Recipe(calibrate=CalibrateOptions(map=map))))
    report = QuantizeReport(
        **vars(figures(of_heads)),
        run=run.name,
        model_bytes=100,
        macs=10,
        mean_surprisal={},
        drift=Drift(0.9, 0.8, 0.95, 0.99, 0.98),
    )
    with run.write("quantize", ()) as out:
        write_json(out / "report.json", asdict(report))
    return run


def attached(folder: Path, of_heads: HeadsReport) -> Run:
    run = create_run(folder, "net")
    run.path(CONFIG).write_text(dump_recipe(Recipe(attach=AttachOptions(model="net.tflite"))))
    calibrated = CalibrateReport(
        **vars(figures(of_heads)), run=run.name, threshold_rule="coverage", test_accuracy=nan
    )
    report = AttachReport(
        run=run.name,
        calibrate=calibrated,
        model="net.tflite",
        converted=False,
        float_agreement=nan,
        model_bytes=100,
        model_sha256="",
        macs=10,
        data="inputs.npz",
        labelled=False,
        examples={},
        accuracy=nan,
        candidates=(),
        taps=(),
        taps_reason="",
        flash_bytes=0,
        overhead=0.0,
        cost_is_measured=False,
        mean_surprisal={},
        means=(),
        notes=(),
    )
    with run.write("attach", (), beside=(CONFIG,)) as out:
        write_json(out / "report.json", asdict(report))
    with run.write("calibrate", ("attach",)) as out:
        record = CalibrateRecord(CalibrateOptions(), calibrated)
        write_json(out / "calibration.json", asdict(record))
    return run


def test_idle_heads_of_a_trained_run(tmp_path: Path) -> None:
    run = trained(tmp_path, IDLE)
    assert show(run).heads == Heads(True, True, f"snap calibrate --run {run.root} --taps none")


def test_idle_heads_of_an_attached_run(tmp_path: Path) -> None:
    run = attached(tmp_path, IDLE)
    assert show(run).heads == Heads(True, True, f"snap calibrate --run {run.root} --taps none")


def test_the_command_is_one_that_the_recipe_allows(tmp_path: Path) -> None:
    """The map of the recipe may be one that reads heads."""
    found = show(trained(tmp_path, IDLE, map="gated")).heads
    assert found is not None
    assert str(found.remedy).endswith("--taps none --map auto")
    with pytest.raises(ConfigError, match="reads the heads"):
        CalibrateOptions(map="gated", taps="none")
    assert CalibrateOptions(map="auto", taps="none")


def test_heads_that_are_of_use_or_not_there_are_not_idle(tmp_path: Path) -> None:
    assert show(trained(tmp_path)).heads == Heads(True, False, None)
    bare = show(trained(tmp_path, heads(present=False)))
    assert bare.heads == Heads(False, False, None)
    assert {f.name: f.value for f in bare.figures}["heads of the monitor"] == 0


def test_before_a_calibration_nothing_is_known_of_heads(tmp_path: Path) -> None:
    run = create_run(tmp_path, "digits")
    run.path(CONFIG).write_text(dump_recipe(Recipe()))
    assert show(run).heads is None


def test_f_stands_beside_u_and_max_probability(tmp_path: Path) -> None:
    found = {f.name: f.value for f in show(trained(tmp_path)).figures}
    for name in SETS:
        words = {"U": "SNAP", "F": "SNAP's F", "max-probability": "max-probability"}
        for score, said in words.items():
            assert found[f"int8 AUROC of OOD, {name}, {said}"] == FOREIGN[score]
    assert found["int8 share called foreign, clean test"] == 0.0321


def test_idle_heads_are_said_before_anything_else(tmp_path: Path) -> None:
    run = trained(tmp_path, IDLE)
    arguments = ("show", run.name, "--runs-dir", str(tmp_path))
    first, second, third, *_ = snap(*arguments).out.splitlines()
    assert first == "HEADS IDLE: they cost, and neither U nor F is worse without them."
    assert second == f"Run: {show(run).heads.remedy}"  # type: ignore[union-attr]
    assert third.startswith(run.name)
    assert list(snap(*arguments, "--json").json)[:2] == ["run", "heads"]


def test_a_monitor_without_heads_is_a_plain_figure(tmp_path: Path) -> None:
    run = trained(tmp_path, heads(present=False))
    shown = snap("show", run.name, "--runs-dir", str(tmp_path)).out
    assert [line.split("│")[2].strip() for line in shown.splitlines() if "heads of" in line] == [
        "none"
    ]
    assert "IDLE" not in shown


def test_heads_come_first_in_the_json_of_a_calibration(tmp_path: Path) -> None:
    assert next(iter(json.loads(dumps(figures())))) == "heads"
    stored = json.loads((attached(tmp_path, IDLE).path("attach") / "report.json").read_text())
    assert list(stored)[:2] == ["run", "calibrate"]
    assert next(iter(stored["calibrate"])) == "heads"
