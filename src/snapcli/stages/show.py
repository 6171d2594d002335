"""show: what a run holds, its figures, what is stale, and what to run next."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from snapcli.origin.origin import origin_of
from snapcli.results.alarm import AlarmReport, alarm_report
from snapcli.results.attach import attach_report
from snapcli.results.bench import bench_report
from snapcli.results.calibrate import Figures, calibrate_record
from snapcli.results.flash import image_size
from snapcli.results.integers import integer_figures
from snapcli.results.quantize import quantize_report
from snapcli.results.stream import stream_report
from snapcli.results.train import history
from snapcli.runs import Run, StageState
from snapcli.score.calibration import DetectionReport
from snapcli.targets import load_target


@dataclass(frozen=True)
class Figure:
    """unit: share (of 1), auroc, ratio, bytes, number, or what a counter counts."""

    name: str
    value: float | None
    unit: str


@dataclass(frozen=True)
class Heads:
    """Whether the monitor has any, whether they cost and bring nothing (idle), and the command
    that calibrates without them, if so."""

    present: bool
    idle: bool
    remedy: str | None


@dataclass(frozen=True)
class ShowReport:
    """heads: None unless the stage that fits them for a device is up to date."""

    run: str
    heads: Heads | None
    root: str
    states: tuple[StageState, ...]
    figures: tuple[Figure, ...]
    next_command: str | None


def show(run: Run) -> ShowReport:
    states = run.states()
    done = [s.stage for s in states if s.status == "done"]
    every = [figure for stage in done for figure in _figures(run, stage)]
    # Without labels nobody knows accuracy and errors.
    figures = every if origin_of(run).has_float else [f for f in every if f.value is not None]
    command = run.next_command()
    if command and command.startswith("snap bench") and _only_boards(states):
        command += " --port PORT"
    return ShowReport(
        run=run.name,
        heads=_heads(run, done),
        root=str(run.root),
        states=states,
        figures=tuple(figures),
        next_command=command,
    )


def _heads(run: Run, done: list[str]) -> Heads | None:
    """As they are on a device."""
    if origin_of(run).integer_stage not in done:
        return None
    found = integer_figures(run).heads
    return Heads(found.present, found.idle, origin_of(run).without_heads if found.idle else None)


def _only_boards(states: tuple[StageState, ...]) -> bool:
    built = [s.stage.partition("/")[2] for s in states if s.stage.startswith("flash/")]
    return bool(built) and all(load_target(name).emulator is None for name in built)


def _figures(run: Run, stage: str) -> list[Figure]:
    """The headline figures of a finished stage; pooled AUROC never stands alone."""
    kind, _, target = stage.partition("/")
    if kind == "attach":
        attached = attach_report(run.path(kind))
        return [
            _figure("int8 accuracy, clean test", attached.accuracy, "share"),
            *_mean_surprisal(attached.mean_surprisal),
        ]
    if kind == "calibrate" == origin_of(run).integer_stage:
        calibrated = calibrate_record(run.path(kind)).report
        labelled = not math.isnan(calibrated.test_accuracy)
        return _decided(calibrated, "errors" if labelled else "changed answers")
    if kind == "train":
        trained = history(run.path(kind)).report
        return [
            _figure("float accuracy, clean test", trained.test_accuracy, "share"),
            *_mean_surprisal(trained.mean_surprisal),
        ]
    if kind == "quantize":
        quantized = quantize_report(run.path(kind))
        return [
            _figure("int8 accuracy, clean test", quantized.drift.int8_accuracy, "share"),
            _figure("Spearman of S, int8 to float", quantized.drift.spearman_all, "ratio"),
            *_decided(quantized),
        ]
    if kind == "alarm":
        return _alarm(alarm_report(run.path(kind)))
    if kind == "flash":
        size = image_size(run.path(f"build/{target}"))
        stack = "included" if load_target(target).port else "not included"
        return [
            Figure(f"{target}: flash", size.flash_bytes, "bytes"),
            Figure(f"{target}: RAM, stack {stack}", size.ram_bytes, "bytes"),
        ]
    if kind == "bench":
        bench = bench_report(run, stage)
        return [
            _figure(f"{target}: one inference", bench.timing.mean, bench.counter),
            Figure(f"{target}: overhead of the monitor", bench.heads_overhead, "share"),
            Figure(f"{target}: bit-exact", bench.bit_exact, f"of {bench.inputs}"),
        ]
    if kind == "stream":
        stream = stream_report(run, stage)
        frames = max(stream.frames, 1)
        return [
            Figure(f"{target}: stream, bit-exact", stream.bit_exact, f"of {frames}"),
            Figure(f"{target}: stream, abstained", stream.abstained / frames, "share"),
        ]
    return []


def _figure(name: str, value: float, unit: str) -> Figure:
    """value: nan where it is not known."""
    return Figure(name, None if math.isnan(value) else value, unit)


def _mean_surprisal(by_tap: Mapping[str, float]) -> list[Figure]:
    return [_figure(f"E[e] on clean dev, {tap}", e, "ratio") for tap, e in by_tap.items()]


def _alarm(report: AlarmReport) -> list[Figure]:
    name, silence = f"alarm ({report.detector} on {report.signal})", report.silence
    harmful = next(group for group in report.groups if group.name == "harmful")
    return [
        _figure(f"{name}: shifts of 10 points that it finds", harmful.found, "share"),
        _figure(f"{name}: frames until then, median", harmful.median, "number"),
        Figure(
            f"{name}: false on clean test frames", silence.test_alarms, f"of {silence.test_frames}"
        ),
    ]


def _decided(report: Figures, what: str = "errors") -> list[Figure]:
    """Of heads, U and F. what: what counts as wrong."""
    return [
        Figure("heads of the monitor", len(report.tap_weights), "number"),
        *_detection(report.detection, what),
        _figure("int8 share called foreign, clean test", report.foreign.clean_test, "share"),
    ]


def _detection(report: DetectionReport, what: str) -> list[Figure]:
    scores = {"U": "SNAP", "max-probability": "max-probability"}
    parts = {"pooled": "pooled", "per_cell": "per cell", "clean": "clean"}
    errors = [
        _figure(
            f"int8 AUROC of {what}, {title}, {name}",
            getattr(report.errors[score], part).auroc,
            "auroc",
        )
        for part, title in parts.items()
        for score, name in scores.items()
    ]
    ood = [
        _figure(f"int8 AUROC of OOD, {ood_set}, {name}", by_score[score].auroc, "auroc")
        for ood_set, by_score in report.ood.items()
        for score, name in {"U": "SNAP", "F": "SNAP's F", **scores}.items()
    ]
    return errors + ood
