"""The page of a fleet: which devices, builds and days drift, and how accurate they say they are."""

import re
from collections.abc import Callable, Sequence
from math import isnan

from snapcli.report.document import Section, document, figure, grid, header, legend
from snapcli.report.markup import tag, text
from snapcli.report.numbers import DASH, joined, percent, plural
from snapcli.report.plot import Axis, Line, plot
from snapcli.report.scale import around
from snapcli.report.table import Column, table
from snapcli.report.table import Row as Cells
from snapcli.results.fleet import Curve, FleetReport, Point, Portrait, Row, Table

GENERATOR = "snap fleet"
_ROWS = 50
_LOOKS = ("m-snap", "m-base", "m-4 d-1", "m-3 d-2")
_BINS = 16


def fleet_page(report: FleetReport) -> str:
    """All of it: HTML, style and script."""
    sections = [
        Section("verdict", "Verdict", "Verdict", _verdict(report)),
        Section("days", "By day", "By day", _by_day(report.curves)),
        Section("drifting", "Drifting", "What drifts", _portraits(report.portraits)),
        Section("devices", "Devices", "Devices", _devices(report)),
        Section("each-day", "Days", "Days", _days(report)),
        Section("builds", "Builds", "Builds", _builds(report)),
        Section("records", "Records", "What was read", _records(report)),
    ]
    total = report.total
    facts = [
        plural(total.devices, "device"),
        plural(total.records, "record"),
        plural(total.frames, "frame"),
        f"{report.first} to {report.last}" if report.first else "no clock",
    ]
    return document(
        "SNAP fleet",
        header("SNAP fleet", plural(total.devices, "device"), facts[1:]),
        sections,
        "Written by snap fleet.",
        generator=GENERATOR,
    )


# ---- Verdict ----------------------------------------------------------------


def lead(report: FleetReport) -> str:
    """Which devices and days drift, in two or three sentences."""
    devices, days = report.devices, report.days
    if not devices.judged and not days.judged:
        return (
            "Nothing can be compared yet: that takes five devices of a build with 500 frames in "
            "the same week, or five days with as many."
        )
    said = []
    if devices.judged:
        since = [row.drift.since for row in devices.rows if row.drift.found and row.drift.since]
        begun = f", the first since {min(since)}" if since else ""
        count = f"{devices.drifting:,}" if devices.drifting else "No"
        verb = "drifts" if devices.drifting == 1 else "drift"
        said.append(f"{count} of {plural(devices.judged, 'device')} {verb}{begun}.")
    else:
        said.append("Too few devices to compare them with each other.")
    if days.judged:
        drifting = sorted(row.name for row in days.rows if row.drift.found)
        if not drifting:
            said.append("No day differs from the first week.")
        else:
            verb = "differs" if len(drifting) == 1 else "differ"
            said.append(
                f"{days.drifting:,} of {plural(days.judged, 'day')} {verb} from the first week, "
                f"the first of them {drifting[0]}."
            )
    if report.builds.drifting:
        names = joined([row.name for row in report.builds.rows if row.drift.found])
        said.append(f"Unlike the build before it: {names}.")
    return " ".join(said)


def _verdict(report: FleetReport) -> str:
    total, devices, days = report.total, report.devices, report.days
    alarms = DASH if isnan(total.alarms_per_10000) else f"{total.alarms_per_10000:.2f}"
    cards = [
        _card(
            "Devices that drift",
            f"{devices.drifting:,} of {devices.judged:,}" if devices.judged else DASH,
            "Compared with the others of their build in the same week.",
            _tone(devices),
        ),
        _card(
            "Days that drift",
            f"{days.drifting:,} of {days.judged:,}" if days.judged else DASH,
            "Compared with the first week of their build.",
            _tone(days),
        ),
        _card(
            "Estimated accuracy",
            percent(total.accuracy),
            "1 minus the mean of U, over all frames: what U claims, not what anybody checked.",
        ),
        _card(
            "Alarms per 10,000 frames",
            alarms,
            f"On during {percent(total.alarm_share, 2)} of the frames. "
            f"{percent(total.abstained)} were abstained from, {percent(total.foreign)} foreign.",
        ),
    ]
    return tag("p", text(_unbroken(lead(report))), class_="lead") + tag(
        "div", *cards, class_="cards"
    )


def _unbroken(words: str) -> str:
    """A date stays on its line."""
    hyphen = "\N{NON-BREAKING HYPHEN}"
    return re.sub(r"(\d{4})-(\d\d)-(\d\d)", rf"\1{hyphen}\2{hyphen}\3", words)


def _tone(table: Table) -> str:
    return "unknown" if not table.judged else "bad" if table.drifting else "good"


def _card(question: str, said: str, words: str, tone: str = "") -> str:
    inside = (tag("h3", text(question)), tag("p", text(said), class_="figure"), tag("p", words))
    return tag("div", *inside, class_=f"card {tone}".strip())


# ---- Pictures ---------------------------------------------------------------


def _by_day(curves: Sequence[Curve]) -> str:
    if not curves:
        return ""
    looks = [(_short(c.build), look) for c, look in zip(curves, _LOOKS, strict=False)]
    entries = legend(looks) if len(curves) > 1 else ""
    words = (
        "Of all frames of a day, and the band in which 8 of 10 devices lie. Dots: days that differ "
        "from the build's first week."
    )
    return grid(
        figure(_accuracy(curves), "Estimated accuracy", words, entries),
        figure(_alarms(curves), "Alarms", "Raised per 10,000 frames of a day.", entries),
    )


def _accuracy(curves: Sequence[Curve]) -> str:
    points = [point for curve in curves for point in curve.points]
    low, high = around([edge for p in points for edge in (p.low, p.high)], least=0.05)
    y = Axis("estimated accuracy", max(low, 0.0), min(high, 1.0), lambda v: percent(v, 0))
    return _over_days(curves, "Estimated accuracy by day", y, lambda p: p.accuracy, True)


def _alarms(curves: Sequence[Curve]) -> str:
    heights = [
        p.alarms_per_10000 for c in curves for p in c.points if not isnan(p.alarms_per_10000)
    ]
    y = Axis("per 10,000 frames", 0.0, 1.06 * max(heights, default=0.0) or 1.0, lambda v: f"{v:g}")
    return _over_days(curves, "Alarms by day", y, lambda p: p.alarms_per_10000, False)


def _over_days(
    curves: Sequence[Curve], title: str, y: Axis, value: Callable[[Point], float], banded: bool
) -> str:
    """Days stand side by side in their order: one far off, of a clock that was set wrongly, does
    not push the others together."""
    days = sorted({point.day for curve in curves for point in curve.points})
    place = {day: float(i) for i, day in enumerate(days)}
    lines = []
    for curve, look in zip(curves, _LOOKS, strict=False):
        known = [p for p in curve.points if not isnan(value(p))]
        if not known:
            continue
        name = _short(curve.build)
        points = [(place[p.day], value(p)) for p in known]
        band = [(place[p.day], p.low, p.high) for p in known] if banded else []
        last = known[-1]
        tip = f"{name}\n{last.day}: {percent(last.accuracy)}, {last.alarms_per_10000:.2f} alarms"
        marks = [
            place_and_value for p, place_and_value in zip(known, points, strict=True) if p.drifts
        ]
        lines.append(Line(name, look, points, tip, band, marks=marks if banded else ()))
    step = max(1, -(-len(days) // 5))
    ticks = [float(i) for i in range(0, len(days), step)]
    x = Axis("day", -0.3, len(days) - 0.7, lambda v: days[int(v)][5:], ticks)
    return plot(title, x, y, lines)


def _portraits(portraits: Sequence[Portrait]) -> str:
    if not portraits:
        return ""
    words = (
        "Shares of frames by U and by F, in sixteenths, in the week in which a device differs most "
        "from the others of its build."
    )
    entries = legend([("device", "m-snap"), ("its peers", "m-base")])
    figures = [
        figure(_histogram(p, signal), f"Device {p.name}: {'UF'[signal]}", "", entries)
        for p in portraits
        for signal in (0, 1)
    ]
    return tag("p", text(words), class_="words") + grid(*figures)


def _histogram(portrait: Portrait, signal: int) -> str:
    name = "UF"[signal]
    high = max(*portrait.own[signal], *portrait.peers[signal])
    lines = [
        Line(who, look, _steps(shares[signal]), f"{who}\n{_said(shares[signal])}")
        for who, look, shares in (
            ("its peers", "m-base", portrait.peers),
            ("device", "m-snap", portrait.own),
        )
    ]
    return plot(
        f"{name} of {portrait.name} and its peers",
        Axis(name, 0.0, 1.0, lambda v: f"{v:.1f}"),
        Axis("share of frames", 0.0, 1.06 * high or 1.0, lambda v: percent(v, 0)),
        lines,
    )


def _steps(shares: Sequence[float]) -> list[tuple[float, float]]:
    edges = [i / _BINS for i in range(_BINS + 1)]
    return [
        (edge, share)
        for i, share in enumerate(shares)
        for edge in (edges[i], edges[i + 1])
    ]  # fmt: skip


def _said(shares: Sequence[float]) -> str:
    upper = sum(shares[_BINS // 2 :])
    return f"{percent(upper)} of frames at 0.5 or above"


# ---- Tables -----------------------------------------------------------------

_DRIFT = (Column("drifts by"), Column("since"), Column("until"))
_FIGURES = (
    Column("records"),
    Column("frames"),
    Column("est. accuracy", digits=3),
    Column("abstained", digits=3),
    Column("foreign", digits=3),
    Column("alarms / 10,000", digits=2),
    Column("alarm on", digits=3),
    Column("PSI of U", digits=3),
    Column("PSI of F", digits=3),
    Column("limit", digits=3),
)


def _of(row: Row) -> list[float | int | str | None]:
    f, drift = row.figures, row.drift
    # Where both are beyond theirs, or none, the limit of U.
    limit = drift.limit[1] if drift.signals == ("F",) else drift.limit[0]
    return [
        *(f.records, f.frames, f.accuracy, f.abstained, f.foreign),
        *(f.alarms_per_10000, f.alarm_share, *drift.psi, limit),
    ]


def _drift(row: Row) -> list[str | None]:
    """By which of U and F; since and until when."""
    drift = row.drift
    by = joined(list(drift.signals)) if drift.found else "no"
    return [None if any(map(isnan, drift.limit)) else by, drift.since or "", drift.until or ""]


def _devices(report: FleetReport) -> str:
    columns = (
        *(Column("device"), *_DRIFT, *_FIGURES, Column("acc. lately"), Column("alarm")),
        *(Column("missing"), Column("build")),
    )
    rows = []
    for row in report.devices.rows[:_ROWS]:
        latest = row.latest
        assert latest is not None
        is_on = None if latest.alarm_on is None else "on" if latest.alarm_on else "off"
        end = [latest.accuracy, is_on, latest.missing, row.build]
        rows.append(Cells([row.name, *_drift(row), *_of(row), *end], is_ours=row.drift.found))
    return _with_rest(report.devices, "device", table("Devices", columns, rows, "devices"))


def _days(report: FleetReport) -> str:
    columns = (Column("day"), _DRIFT[0], Column("devices"), *_FIGURES, Column("build"))
    rows = [
        Cells(
            [row.name, _drift(row)[0], row.figures.devices, *_of(row), row.build],
            is_ours=row.drift.found,
        )
        for row in report.days.rows[:_ROWS]
    ]
    return _with_rest(report.days, "day", table("Days", columns, rows, "days"))


def _builds(report: FleetReport) -> str:
    columns = (Column("build"), _DRIFT[0], Column("devices"), *_FIGURES)
    rows = [
        Cells([row.name, _drift(row)[0], row.figures.devices, *_of(row)], is_ours=row.drift.found)
        for row in report.builds.rows[:_ROWS]
    ]
    words = (
        "A build is a model and a calibration of it. It is compared with the one that was seen "
        "before it; another calibration alone may move U."
    )
    markup = table("Builds", columns, rows, "builds")
    return tag("p", text(words), class_="words") + _with_rest(report.builds, "build", markup)


def _with_rest(table: Table, what: str, markup: str) -> str:
    rest = table.count - min(len(table.rows), _ROWS)
    if not rest:
        return markup
    words = f"The worst {min(len(table.rows), _ROWS)}; {plural(rest, f'other {what}')} not shown."
    return markup + tag("p", text(words), class_="words")


def _records(report: FleetReport) -> str:
    counts = (
        ("records", report.total.records),
        ("came twice, counted once", report.duplicates),
        ("missing between others of their device", report.missing),
        ("damaged", report.damaged),
        ("of another version", report.other_versions),
        ("counts that contradict each other", report.impossible),
        ("bytes in no whole record", report.skipped_bytes),
    )
    rows = [Cells([name, count]) for name, count in counts if count or name == "records"]
    words = f"{plural(report.files, 'file')}, {report.size_bytes:,} bytes."
    columns = (Column("records"), Column("count"))
    return tag("p", text(words), class_="words") + table("Records", columns, rows, "records")


def _short(build: str) -> str:
    """The start of the model id and the settings check."""
    model, _, check = build.partition("/")
    return f"{model[:8]}/{check}"
