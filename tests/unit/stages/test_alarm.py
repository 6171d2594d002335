"""snap alarm on a tiny run: what it writes, what it refuses, and what `snap run` makes of it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli import console
from snapcli.cli.alarm import show
from snapcli.config import DETECTORS, NO_DETECTOR, AlarmOptions
from snapcli.errors import CheckError, UsageError
from snapcli.jsontext import dumps
from snapcli.monitor.alarm import ALARM_FILE, alarm_from_dict
from snapcli.results.alarm import AlarmReport, alarm_report
from snapcli.runs import Run
from snapcli.score.alarm import ONE_Q16
from snapcli.stages import alarm as stage
from snapcli.stages.alarm import alarm
from snapcli.stages.show import _figures
from tests.unit.stages.alarm_run import alarm_run
from tests.unit.tiny_monitor import random_inputs

pytestmark = pytest.mark.slow

QUICK = AlarmOptions(detector="cusum", false_alarms="1 per 500 frames", baseline=64)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(stage, "instructions_or_none", lambda *_: None)
    return alarm_run(tmp_path / "runs", monkeypatch)


@pytest.fixture
def report(run: Run) -> AlarmReport:
    return alarm(run, QUICK)


def test_it_leaves_an_alarm_that_a_device_takes_and_its_report(
    run: Run, report: AlarmReport
) -> None:
    folder = run.inputs("alarm")
    stored = json.loads((folder / ALARM_FILE).read_text())
    field = alarm_from_dict(stored["device"])
    assert field.signal == "U"
    assert field.parameters.baseline == 64
    assert field.parameters.threshold_q16 / ONE_Q16 == pytest.approx(report.threshold)
    assert stored["options"]["detector"] == "cusum"
    assert run.records()["alarm"]["inputs"].keys() == {"attach", "calibrate"}
    # Everything that the reader checks: NaN is null, and back.
    assert dumps(alarm_report(folder)) == dumps(report)


def test_the_report_says_what_was_asked_and_found(report: AlarmReport) -> None:
    assert (report.detector, report.signal, report.baseline, report.block) == ("cusum", "U", 64, 1)
    assert report.reason.startswith("Asked for. ")
    assert report.silence.asked == 500 <= 1.1 * report.silence.expected
    assert report.silence.clean_examples == 80
    assert len(report.shifts) == 2 * 5 + 1
    assert report.test_stream.clean_frames >= 50_000
    assert report.paper_stream.frames == 74_000
    assert report.scenes.block > 1
    assert report.instructions is None
    assert report.accuracy is not None


def test_show_has_what_it_finds_and_how_often_it_is_wrong(run: Run, report: AlarmReport) -> None:
    figures = {f.name: f.value for f in _figures(run, "alarm")}
    (harmful,) = (group for group in report.groups if group.name == "harmful")
    assert figures["alarm (cusum on U): shifts of 10 points that it finds"] == harmful.found
    assert figures["alarm (cusum on U): frames until then, median"] == harmful.median
    assert figures["alarm (cusum on U): false on clean test frames"] == report.silence.test_alarms


def test_its_json_is_json(report: AlarmReport) -> None:
    def never(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(dumps(report), parse_constant=never)


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_the_console_fits_its_width(
    report: AlarmReport,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(console, "_FILE_WIDTH", columns)
    show(replace(report, frames_per_second=4.0, enough="Not enough data for this promise: few."))
    out = capsys.readouterr().out
    tables = [line for line in out.splitlines() if line.startswith(("│", "╭"))]
    assert max(map(len, tables)) <= columns
    for said in ("cusum on U", "minutes", "louder", "noisy", "Estimated accuracy"):
        assert said in out
    assert "nan" not in out


def test_auto_tells_what_it_tried(run: Run) -> None:
    report = alarm(run, replace(QUICK, detector="auto"))
    assert [t.detector for t in report.tried] == list(DETECTORS)
    assert report.detector in DETECTORS
    assert report.reason.startswith("On dev streams it found ")


def test_none_is_for_recipes(run: Run) -> None:
    with pytest.raises(UsageError, match="none is for recipes"):
        alarm(run, replace(QUICK, detector=NO_DETECTOR))


def test_data_without_corruptions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = alarm_run(tmp_path / "runs", monkeypatch, corrupted=False)
    with pytest.raises(UsageError, match="no corruptions") as refused:
        alarm(run, QUICK)
    assert refused.value.hint == "Attach with --augment-dev."


def test_a_clean_stream_sets_the_block(run: Run, tmp_path: Path) -> None:
    x = np.repeat(random_inputs(200, 5), 4, axis=0)
    np.save(tmp_path / "clean.npy", x)
    report = alarm(run, replace(QUICK, baseline=0), tmp_path / "clean.npy")
    assert report.clean_stream_frames == 800
    assert 3 <= report.block <= 6


def test_a_stream_that_hardly_moves_is_refused(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "clean.npy", np.repeat(random_inputs(10, 5), 200, axis=0))
    with pytest.raises(CheckError, match="in a row tell as much as one") as refused:
        alarm(run, QUICK, tmp_path / "clean.npy")
    assert "th frame" in str(refused.value.hint)


def test_a_bet_that_could_never_win_is_refused(run: Run) -> None:
    """A baseline of a few frames leaves so much doubt that no shift would be found."""
    with pytest.raises(CheckError, match="ot enough data for this promise"):
        alarm(run, replace(QUICK, detector="betting", baseline=1))
