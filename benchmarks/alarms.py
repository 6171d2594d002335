"""The tables of "What it reaches" in docs/alarm.md: of what `snap alarm` left in runs, and of the
same score watched by detectors of the library river (the extra `benchmarks`).

    python benchmarks/alarms.py [--without-river] RUN...

Runs of the same data set and model are seeds of one experiment: figures and the ends of intervals
are means over them. Each detector of river sees the same frames as ours: 512 clean ones, 128 more,
then 400 of a shift, five tries for each. Its threshold (for Page and Hinkley also what a step
forgives) is the keenest of a grid with at most four alarms in 40,000 clean dev frames; where none
is so quiet, the quietest. The score is U, a number from 0 to 1.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.config import DETECTORS
from snapcli.judging.alarms import WATCHED, Asked, clean_alarms, delays
from snapcli.judging.shifts import PLAIN, Shift, SplitFrames, split_frames
from snapcli.metrics.bootstrap import Interval
from snapcli.results.alarm import AlarmReport, Group, alarm_report
from snapcli.runs import Run, open_run

EVERY, BASELINE, BEFORE, TRIES, QUIET_FRAMES = 10_000, 512, 128, 5, 40_000
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Watcher:
    """A detector of river: make(sharpness) with the sharpnesses from keen to quiet."""

    name: str
    make: Callable[[Any], Any]
    grid: Sequence[Any]


def main() -> None:
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    if not names:
        sys.exit("usage: python benchmarks/alarms.py [--without-river] RUN...")
    groups: dict[str, list[Run]] = {}
    for name in names:
        run = open_run(Path(name), Path(name).parent)
        groups.setdefault(run.name.rpartition("-")[0], []).append(run)
    reports = {title: [_report(run) for run in runs] for title, runs in groups.items()}
    _events(reports)
    _shifts(reports)
    _promises(reports)
    _scenes(reports)
    watchers = [] if "--without-river" in sys.argv else _watchers()
    for title, runs in groups.items():
        _side_by_side(title, [split_frames(run) for run in runs], watchers)


def _report(run: Run) -> AlarmReport:
    return alarm_report(run.path("alarm"))


Reports = dict[str, list[AlarmReport]]


def _events(reports: Reports) -> None:
    print("\nAUPRC of the frames in events, test streams\n")
    titles = ("detector", "streams", "events", "in events, %", "AUPRC", "on max-probability")
    titles += ("ahead", "single frames", "of max-probability")
    print(f"| | {' | '.join(titles)} |\n|{'---|' * (1 + len(titles))}")
    for title, found in reports.items():
        for kind in ("paper_stream", "test_stream"):
            of_kind = [getattr(report, kind) for report in found]
            cells = [
                ", ".join(dict.fromkeys(f"{r.detector} on {r.signal}" for r in found)),
                {"paper_stream": "the paper's", "test_stream": "long"}[kind],
                f"{np.mean([s.events for s in of_kind]):.0f}",
                f"{100 * np.mean([s.share for s in of_kind]):.0f}",
                _interval([s.auprc for s in of_kind], "{:.3f}"),
                f"{np.mean([s.plain for s in of_kind]):.3f}",
                _interval([s.ahead for s in of_kind], "{:+.3f}"),
                f"{np.mean([s.single for s in of_kind]):.3f}",
                f"{np.mean([s.plain_single for s in of_kind]):.3f}",
            ]
            print(f"| {title} | {' | '.join(cells)} |")


def _shifts(reports: Reports) -> None:
    print("\nTest shifts that begin suddenly: how many, found, median delay, 90 %\n")
    kinds = ("harmful", "slight", "harmless", "foreign")
    print(f"| | {' | '.join(kinds)} | clears | late, % |\n|{'---|' * (3 + len(kinds))}")
    for title, found in reports.items():
        cells = [_group([g for r in found for g in r.groups if g.name == kind]) for kind in kinds]
        cells.append(f"{np.mean([r.test_stream.clears for r in found]):.0f}")
        cells.append(f"{100 * np.mean([r.test_stream.late for r in found]):.1f}")
        print(f"| {title} | {' | '.join(cells)} |")


def _group(groups: Sequence[Group]) -> str:
    if not any(g.shifts for g in groups):
        return "-"
    return (
        f"{np.mean([g.shifts for g in groups]):.0f}, {100 * np.mean([g.found for g in groups]):.0f}"
        f" %, {_delay([g.median for g in groups])}, {_delay([g.slow for g in groups])}"
    )


def _delay(frames: Sequence[float]) -> str:
    mean = float(np.mean(frames))
    return "-" if mean >= WATCHED else f"{mean:.0f}"


def _promises(reports: Reports) -> None:
    print("\nFalse alarms: asked for one per 10,000 frames; estimated accuracy\n")
    titles = ("clean dev examples", "expected, frames", "at least, frames", "on test, per 10,000")
    titles += ("on long test streams", "accuracy off by, dev", "test", "conditions off by 5 points")
    print(f"| | {' | '.join(titles)} |\n|{'---|' * (1 + len(titles))}")
    for title, found in reports.items():
        quiet, accuracy = [r.silence for r in found], [r.accuracy for r in found if r.accuracy]
        cells = [
            f"{quiet[0].clean_examples:,}",
            _rare(min(s.expected for s in quiet)),
            _rare(min(s.at_least for s in quiet)),
            f"{1e4 * sum(s.test_alarms for s in quiet) / sum(s.test_frames for s in quiet):.2f}",
            f"{np.mean([r.test_stream.false_alarms for r in found]):.2f}",
            f"{100 * np.mean([a.dev for a in accuracy]):.1f} %",
            f"{100 * np.mean([a.test for a in accuracy]):.1f} %",
            f"{np.mean([len(a.off) for a in accuracy]):.0f} of {accuracy[0].conditions}",
        ]
        print(f"| {title} | {' | '.join(cells)} |")


def _rare(frames: float) -> str:
    return f"{frames:,.0f}" if frames < 1e7 else "over 10,000,000"


def _scenes(reports: Reports) -> None:
    print("\nTest streams of scenes: false alarms per 10,000, found of 10 points\n")
    print("| | block | false, without | with | found, without | with |\n|---|---|---|---|---|---|")
    for title, found in reports.items():
        for scenes in (report.scenes for report in found):
            other = scenes.with_block
            cells = [
                str(scenes.block),
                f"{scenes.without.false_alarms:.1f}",
                f"{other.false_alarms:.1f}" if other else "-",
                f"{scenes.without.found} of {scenes.without.harmful}",
                f"{other.found} of {other.harmful}" if other else "-",
            ]
            print(f"| {title} | {' | '.join(cells)} |")


def _interval(values: Sequence[Interval], form: str) -> str:
    value, low, high = (
        form.format(np.mean([getattr(v, end) for v in values])) for end in ("value", "low", "high")
    )
    return f"{value} [{low}, {high}]"


# ---- Side by side, on the same score --------------------------------------------------------


def _side_by_side(
    title: str, seeds: Sequence[dict[str, SplitFrames]], watchers: Sequence[Watcher]
) -> None:
    print(f"\n{title}: detectors on the same frames\n")
    titles = ("false per 10,000", "harmful found", "mean delay", "median", "harmless found")
    print(f"| detector | {' | '.join(titles)} |\n|{'---|' * (1 + len(titles))}")
    for signal in ("U", PLAIN):
        for detector in DETECTORS:
            rows = [_ours(detector, splits, signal) for splits in seeds]
            print(f"| {detector} on {signal} | {_cells(np.mean(rows, axis=0))} |", flush=True)
    for watcher in watchers:
        rows = [_theirs(watcher, splits) for splits in seeds]
        print(f"| {watcher.name} on U | {_cells(np.mean(rows, axis=0))} |", flush=True)


def _cells(row: Values) -> str:
    false, found, mean, median, harmless = row
    return f"{false:.1f} | {100 * found:.1f} % | {mean:.0f} | {median:.0f} | {100 * harmless:.0f} %"


def _ours(detector: str, splits: dict[str, SplitFrames], signal: str) -> list[float]:
    test = splits["test"]
    fitted = Asked(EVERY, 1, BASELINE).fit(detector, splits["dev"].scores(signal)).device
    alarms, frames, _ = clean_alarms(fitted, test, signal)
    harmful, harmless = (delays(fitted, test, s, signal) for s in (test.harmful, test.harmless))
    return [1e4 * alarms / frames, *_summed_up(harmful, harmless)]


def _summed_up(harmful: Values, harmless: Values) -> list[float]:
    counted = np.where(np.isnan(harmful), WATCHED, harmful)
    found, sounded = (float(np.mean(~np.isnan(d))) for d in (harmful, harmless))
    return [found, float(counted.mean()), float(np.median(counted)), sounded]


def _theirs(watcher: Watcher, splits: dict[str, SplitFrames]) -> list[float]:
    make = _tuned(watcher, _values(splits["dev"].clean.values("U")))
    test = splits["test"]
    clean = _values(test.clean.values("U"))
    rng = np.random.default_rng(3)
    quiet = [
        len(_drifts(make(), rng.choice(clean, BASELINE + 2_500)))
        for _ in range(QUIET_FRAMES // 2_500)
    ]

    def watched(shifts: Sequence[Shift]) -> Values:
        rows = [[_one(make(), clean, shift, rng) for _ in range(TRIES)] for shift in shifts]
        return np.array(rows, float)

    found = _summed_up(watched(test.harmful), watched(test.harmless))
    return [1e4 * sum(quiet) / QUIET_FRAMES, *found]


def _one(detector: Any, clean: Values, shift: Shift, rng: np.random.Generator) -> float:
    """Frames of the shift until the detector says so."""
    before = rng.choice(clean, BASELINE + BEFORE)
    shown = rng.choice(_values(shift.frames.values("U")), WATCHED)
    after = [at for at in _drifts(detector, np.concatenate([before, shown])) if at >= BEFORE]
    return after[0] - BEFORE + 1.0 if after else float("nan")


def _tuned(watcher: Watcher, clean: Values) -> Callable[[], Any]:
    rng = np.random.default_rng(4)
    frames = rng.choice(clean, BASELINE + QUIET_FRAMES)
    for sharpness in watcher.grid:
        most = QUIET_FRAMES // EVERY
        if len(_drifts(watcher.make(sharpness), frames, most + 1)) <= most:
            break
    print(f"    {watcher.name}: {sharpness}", file=sys.stderr)
    return lambda: watcher.make(sharpness)


def _drifts(detector: Any, values: Values, most: int = sys.maxsize) -> list[int]:
    """Frames behind the baseline at which it says that something has changed, at most so many."""
    found = []
    for at, value in enumerate(values):
        detector.update(float(value))
        if detector.drift_detected and at >= BASELINE:
            found.append(at - BASELINE)
            if len(found) == most:
                break
    return found


def _values(u_q16: NDArray[np.uint32]) -> Values:
    return u_q16 / 65536


def _watchers() -> list[Watcher]:
    from river import drift  # type: ignore[import-not-found]

    def page_hinkley(at: tuple[float, float]) -> Any:
        return drift.PageHinkley(delta=at[0], threshold=at[1], mode="up")

    powers = [10.0**-k for k in (2, 3, 4, 5, 6, 8, 10, 12)]
    thresholds = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96]
    return [
        *(
            Watcher(f"PageHinkley, delta {delta}", page_hinkley, [(delta, t) for t in thresholds])
            for delta in (0.005, 0.05)
        ),
        Watcher("ADWIN", lambda delta: drift.ADWIN(delta=delta), powers),
        Watcher("KSWIN", lambda alpha: drift.KSWIN(alpha=alpha, seed=0), powers),
    ]


if __name__ == "__main__":
    main()
