"""fleet: telemetry records of many devices, merged and compared -> one page of HTML.

Takes files, not a run: devices may be in the field for longer than anybody keeps one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.errors import UsageError
from snapcli.fixedpoint import TELEMETRY_NO_ALARM, TELEMETRY_ON
from snapcli.fleet.drift import Drift
from snapcli.fleet.reading import Found, read_records
from snapcli.fleet.sums import NO_DAY, Cells, Ints, Newest, Sums, cells_of, divided, newest_of
from snapcli.fleet.units import Builds, Days, Devices, builds_of, days_of_builds, devices_of
from snapcli.limits import MIB
from snapcli.progress import OnProgress, silent
from snapcli.report.fleet_page import GENERATOR, fleet_page
from snapcli.results.fleet import (
    SCHEMA,
    Curve,
    DriftFigures,
    Figures,
    FleetReport,
    Latest,
    Point,
    Portrait,
    Row,
    Table,
)
from snapcli.runs import disk_errors, whole_file

PAGE = Path("fleet.html")
# Of a table; the page shows fewer of them.
ROWS_MAX = 1000
_CURVES, _DAYS, _PORTRAITS = 4, 366, 6
_SIGNALS = ("U", "F")
_HEAD = 4096


def fleet(paths: Sequence[Path], out: Path = PAGE, on_progress: OnProgress = silent) -> FleetReport:
    """paths: files of records, and folders with *.snpt files. out: the page, which replaces none
    but a page of its kind."""
    _check_place(out)
    found = read_records(paths, on_progress)
    size = found.size_bytes // MIB
    on_progress(size, size, "comparing")
    cells, newest = cells_of(found.records), newest_of(found.records)
    found.records = found.records[:0].copy()  # not needed any more, and large
    report = _report(found, cells, newest, str(out))
    with disk_errors(out, "--out"), whole_file(out) as partial:
        partial.write_text(fleet_page(report), "utf-8")
    return report


def _check_place(out: Path) -> None:
    hint = "Choose another file with --out."
    if out.is_dir():
        raise UsageError(f"{out} is a folder", hint)
    if not out.exists():
        return
    with disk_errors(out, "--out"), out.open("rb") as file:
        is_ours = GENERATOR.encode() in file.read(_HEAD)
    if not is_ours:
        raise UsageError(f"{out} is there already, and no page of snap fleet", hint)


def _report(found: Found, cells: Cells, newest: Newest, page: str) -> FleetReport:
    devices, days, builds = devices_of(cells), days_of_builds(cells), builds_of(cells)
    known = cells.day[cells.day != NO_DAY]
    return FleetReport(
        schema=SCHEMA,
        page=page,
        files=found.files,
        size_bytes=found.size_bytes,
        duplicates=found.duplicates,
        damaged=found.damaged,
        other_versions=found.other,
        impossible=found.impossible,
        skipped_bytes=found.skipped_bytes,
        missing=int(newest.missing.sum()),
        first=day_name(int(known.min())) if len(known) else None,
        last=day_name(int(known.max())) if len(known) else None,
        total=_total(cells),
        devices=_devices(devices, newest, cells),
        builds=_builds(builds, cells),
        days=_days(days, cells),
        curves=_curves(days, cells),
        portraits=_portraits(devices, cells),
    )


def build_name(model_id: int, check: int) -> str:
    """The model id in the order of its bytes, as in an export, and the settings check."""
    return f"{model_id.to_bytes(8, 'little').hex()}/{check:08x}"


def _build(cells: Cells, build: int) -> str:
    model_id, check = map(int, cells.builds[build])
    return build_name(model_id, check)


def device_name(number: int) -> str:
    """Serial numbers in decimal, the long ones of silicon in hex; 0: none was given."""
    if number == 0:
        return "(no number)"
    return str(number) if number < 10**10 else f"{number:#x}"


def day_name(day: int) -> str | None:
    if day == NO_DAY:
        return None
    return (datetime.fromtimestamp(0, UTC) + timedelta(days=day)).date().isoformat()


def _total(cells: Cells) -> Figures:
    everything = Sums(*(values.sum(axis=0, keepdims=True) for values in vars(cells.sums).values()))
    return _figures(everything, 0, len(np.unique(cells.device)))


def _figures(sums: Sums, i: int, devices: int) -> Figures:
    one = sums.at(np.array([i]))
    accuracy = float(one.accuracy[0])

    def share(part: Ints, whole: Ints) -> float:
        return float(divided(part, whole)[0])

    return Figures(
        records=int(one.records[0]),
        devices=devices,
        frames=int(one.frames[0]),
        abstained=share(one.abstained, one.frames),
        foreign=share(one.foreign, one.frames),
        alarms_per_10000=10_000 * share(one.alarms, one.watched),
        alarm_share=share(one.alarm_frames, one.watched),
        mean_uncertainty=1.0 - accuracy,
        accuracy=accuracy,
    )


def _drift(drift: Drift, i: int, since: int = NO_DAY, until: int = NO_DAY) -> DriftFigures:
    beyond = drift.psi[i] > drift.limit[i]
    return DriftFigures(
        found=bool(beyond.any()),
        signals=tuple(s for s, is_beyond in zip(_SIGNALS, beyond, strict=True) if is_beyond),
        psi=(float(drift.psi[i, 0]), float(drift.psi[i, 1])),
        limit=(float(drift.limit[i, 0]), float(drift.limit[i, 1])),
        since=day_name(since),
        until=day_name(until),
    )


def _worst(drift: Drift, found: Bools, sums: Sums) -> NDArray[np.int64]:
    """Those that drift first, by how far; then by what their accuracy is estimated at."""
    excess = np.where(found, np.nan_to_num(drift.psi / drift.limit, nan=0.0).max(axis=1), 0.0)
    order = np.lexsort([np.nan_to_num(sums.accuracy, nan=1.0), -excess])
    return np.asarray(order[:ROWS_MAX])


def _table(rows: Sequence[Row], drift: Drift, found: Bools) -> Table:
    judged = ~np.isnan(drift.limit).any(axis=1)
    return Table(tuple(rows), len(found), int(judged.sum()), int(found.sum()))


def _devices(devices: Devices, newest: Newest, cells: Cells) -> Table:
    rows = []
    for i in _worst(devices.drift, devices.found, devices.sums):
        until = NO_DAY if devices.lasts[i] else int(devices.until[i])
        keeps_alarm = not newest.flags[i] & TELEMETRY_NO_ALARM
        latest = Latest(
            accuracy=float(newest.right_q24[i] / (1 << 24)) if keeps_alarm else None,
            alarm_on=bool(newest.flags[i] & TELEMETRY_ON) if keeps_alarm else None,
            missing=int(newest.missing[i]),
        )
        row = Row(
            name=device_name(int(devices.device[i])),
            build=_build(cells, devices.build[i]),
            figures=_figures(devices.sums, i, 1),
            drift=_drift(devices.drift, i, int(devices.since[i]), until),
            latest=latest,
        )
        rows.append(row)
    return _table(rows, devices.drift, devices.found)


def _builds(builds: Builds, cells: Cells) -> Table:
    found = np.asarray(builds.drift.found.any(axis=1))
    rows = []
    for i in _worst(builds.drift, found, builds.sums):
        name = _build(cells, builds.order[i])
        figures = _figures(builds.sums, i, int(builds.devices[i]))
        since = int(builds.first[i]) if builds.last[i] != NO_DAY else NO_DAY
        rows.append(Row(name, name, figures, _drift(builds.drift, i, since)))
    return _table(rows, builds.drift, found)


def _days(days: Days, cells: Cells) -> Table:
    found = np.asarray(days.drift.found.any(axis=1))
    rows = [
        Row(
            name=day_name(int(days.day[i])) or "no clock",
            build=_build(cells, days.build[i]),
            figures=_figures(days.sums, i, int(days.devices[i])),
            drift=_drift(days.drift, i),
        )
        for i in _worst(days.drift, found, days.sums)
    ]
    return _table(rows, days.drift, found)


def _curves(days: Days, cells: Cells) -> tuple[Curve, ...]:
    """Of the builds with the most frames, their last days."""
    frames = np.bincount(days.build, days.sums.frames)
    alarms = 10_000 * divided(days.sums.alarms, days.sums.watched)
    accuracy, found = days.sums.accuracy, np.asarray(days.drift.found.any(axis=1))
    curves = []
    for build in np.argsort(-frames, kind="stable")[:_CURVES]:
        is_shown = (days.build == build) & (days.day != NO_DAY) & (days.sums.frames > 0)
        points = tuple(
            Point(
                day=str(day_name(int(days.day[i]))),
                accuracy=float(accuracy[i]),
                low=float(days.low[i]),
                high=float(days.high[i]),
                alarms_per_10000=float(alarms[i]),
                drifts=bool(found[i]),
            )
            for i in np.flatnonzero(is_shown)[-_DAYS:]
        )
        if points:
            curves.append(Curve(_build(cells, build), points))
    return tuple(curves)


def _portraits(devices: Devices, cells: Cells) -> tuple[Portrait, ...]:
    portraits = []
    for i in _worst(devices.drift, devices.found, devices.sums)[:_PORTRAITS]:
        if not devices.found[i]:
            break
        week = devices.worst[i]
        own = devices.week_bins[week] / devices.week_bins[week].sum(axis=1, keepdims=True)
        peers = devices.reference.share(np.array([week]))[0]
        (u, f), (peers_u, peers_f) = (
            [tuple(map(float, histogram)) for histogram in both] for both in (own, peers)
        )
        name = device_name(int(devices.device[i]))
        portraits.append(
            Portrait(name, _build(cells, devices.build[i]), (u, f), (peers_u, peers_f))
        )
    return tuple(portraits)
