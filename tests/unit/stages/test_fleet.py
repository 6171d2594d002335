"""fleet: from files of records to the report and its page."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from snapcli.errors import ArtifactError, UsageError
from snapcli.fixedpoint import TELEMETRY_BYTES, TELEMETRY_NO_ALARM, telemetry_sealed
from snapcli.results.fleet import FleetReport, Row, Table
from snapcli.stages import fleet as stage
from snapcli.stages.fleet import build_name, device_name, fleet

from ..fleet.made_fleet import Made, joined

ODD = Made(devices=8, days=14, shifted=(3,), day=7)
MODEL, CHECK = "8877665544332211", "01020304"


def run(folder: Path, records: np.ndarray) -> FleetReport:
    (folder / "all.snpt").write_bytes(records.tobytes())
    return fleet([folder / "all.snpt"], folder / "fleet.html")


def test_a_fleet_with_an_odd_device(tmp_path: Path) -> None:
    records = ODD.records(1)
    report = run(tmp_path, np.concatenate([records, records[:3]]))
    assert (report.total.records, report.total.devices, report.duplicates) == (224, 8, 3)
    assert (report.first, report.last) == ("2026-01-01", "2026-01-14")
    devices = report.devices
    assert (devices.count, devices.judged, devices.drifting) == (8, 8, 1)
    worst = devices.rows[0]
    assert (worst.name, worst.build) == ("4", f"{MODEL}/{CHECK}")
    assert worst.drift.found
    assert worst.drift.signals == ("U", "F")
    assert (worst.drift.since, worst.drift.until) == ("2026-01-08", None)
    assert [p.name for p in report.portraits] == ["4"]
    assert report.days.count == 14
    assert [len(curve.points) for curve in report.curves] == [14]
    assert report.page == str(tmp_path / "fleet.html")


def test_figures_are_those_of_the_frames(tmp_path: Path) -> None:
    records = ODD.records(2)
    report = run(tmp_path, records)
    frames = int(records["frames"].sum())
    total = report.total
    assert total.frames == frames
    assert total.mean_uncertainty == records["uncertainty_sum_q16"].sum() / 65536 / frames
    assert total.accuracy == pytest.approx(1 - total.mean_uncertainty)
    assert total.abstained == records["abstained"].sum() / frames
    assert total.foreign == records["foreign"].sum() / frames
    assert total.alarms_per_10000 == pytest.approx(10_000 * records["alarms"].sum() / frames)
    assert total.alarm_share == pytest.approx(records["alarm_frames"].sum() / frames)
    own = records[records["device"] == 4]
    odd = report.devices.rows[0]
    assert odd.figures.records == len(own)
    assert odd.figures.abstained == own["abstained"].sum() / own["frames"].sum()
    assert odd.latest is not None
    assert odd.latest.accuracy == own["right_q24"][-1] / (1 << 24)
    assert odd.latest.alarm_on is bool(own["flags"][-1])


def test_the_report_does_not_depend_on_order_and_files(tmp_path: Path) -> None:
    records = joined(0, ODD, Made(devices=6, days=9, first=7, check=5, number=100, spread=0.1))
    whole = asdict(run(tmp_path, records))
    (tmp_path / "in" / "deep").mkdir(parents=True)
    parts = np.random.default_rng(0).permutation(records)
    for i, name in enumerate(("one", "two", "deep/three")):
        (tmp_path / "in" / f"{name}.snpt").write_bytes(parts[i::3].tobytes())
    split = asdict(fleet([tmp_path / "in"], tmp_path / "fleet.html"))
    assert split.pop("files") == 3
    assert whole.pop("files") == 1
    assert str(split) == str(whole)


def test_records_without_alarm_clock_and_number(tmp_path: Path) -> None:
    records = Made(devices=1, days=2, clock=False).records(0)
    records["device"], records["alarms"], records["alarm_frames"] = 0, 0, 0
    records["flags"] = TELEMETRY_NO_ALARM
    report = run(tmp_path, telemetry_sealed(records))
    (row,) = report.devices.rows
    assert row.name == "(no number)"
    assert row.latest is not None
    assert (row.latest.accuracy, row.latest.alarm_on) == (None, None)
    assert np.isnan(report.total.alarms_per_10000)
    assert (report.first, report.last, report.curves) == (None, None, ())
    assert [day.name for day in report.days.rows] == ["no clock"]


def test_records_without_a_frame(tmp_path: Path) -> None:
    records = Made(devices=6, days=2).records(0)
    for name in ("frames", "uncertainty_sum_q16", "uncertainty_bins", "foreign_bins"):
        records[name] = 0
    for name in ("abstained", "foreign", "alarms", "alarm_frames"):
        records[name] = 0
    report = run(tmp_path, telemetry_sealed(records))
    assert (report.total.records, report.total.frames) == (24, 0)
    assert np.isnan(report.total.accuracy)
    assert report.devices.drifting == 0


def test_tables_hold_the_worst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "ROWS_MAX", 3)
    report = run(tmp_path, ODD.records(3))

    def names(table: Table) -> list[str]:
        return [row.name for row in table.rows]

    assert (len(report.devices.rows), report.devices.count) == (3, 8)
    assert names(report.devices)[0] == "4"
    rest: tuple[Row, ...] = report.devices.rows[1:]
    assert rest[0].figures.accuracy <= rest[1].figures.accuracy


def test_only_a_page_of_its_own_is_replaced(tmp_path: Path) -> None:
    run(tmp_path, ODD.records(0))
    first = (tmp_path / "fleet.html").read_bytes()
    run(tmp_path, ODD.records(1))
    assert (tmp_path / "fleet.html").read_bytes() != first
    (tmp_path / "fleet.html").write_text("<!doctype html><title>mine</title>")
    with pytest.raises(UsageError, match="no page of snap fleet"):
        run(tmp_path, ODD.records(1))
    assert "mine" in (tmp_path / "fleet.html").read_text()
    with pytest.raises(UsageError, match="is a folder"):
        fleet([tmp_path / "all.snpt"], tmp_path)


def test_no_page_where_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "bad.snpt").write_bytes(ODD.records(0).tobytes()[1 : TELEMETRY_BYTES + 1])
    with pytest.raises(ArtifactError, match="no telemetry record"):
        fleet([tmp_path / "bad.snpt"], tmp_path / "fleet.html")
    assert not (tmp_path / "fleet.html").exists()


def test_names() -> None:
    assert build_name(0x1122334455667788, 0x0102) == "8877665544332211/00000102"
    assert [device_name(n) for n in (0, 42, 10**10 - 1, 2**64 - 1)] == [
        *("(no number)", "42", "9999999999", "0xffffffffffffffff"),
    ]
