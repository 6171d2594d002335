"""show: what a run holds, its figures, what is stale, and what to run next."""

from dataclasses import dataclass
from typing import Any

from snapcli.origin.origin import origin_of
from snapcli.results.attach import AttachReport
from snapcli.results.bench import BenchReport
from snapcli.results.calibrate import CalibrateRecord
from snapcli.results.flash import ImageSizes
from snapcli.results.quantize import QuantizeReport
from snapcli.results.stream import StreamReport
from snapcli.results.train import History
from snapcli.runs import Run, StageState
from snapcli.stored import read_json
from snapcli.targets import load_target


@dataclass(frozen=True)
class Figure:
    """unit: share (of 1), auroc, ratio, bytes, or what a counter counts."""

    name: str
    value: float | None
    unit: str


@dataclass(frozen=True)
class ShowReport:
    run: str
    root: str
    states: tuple[StageState, ...]
    figures: tuple[Figure, ...]
    next_command: str | None


def show(run: Run) -> ShowReport:
    states = run.states()
    found = [f for s in states if s.status == "done" for f in _figures(run, s.stage)]
    # Without labels nobody knows accuracy and errors.
    figures = [f for f in found if f.value is not None] if not origin_of(run).has_float else found
    command = run.next_command()
    if command and command.startswith("snap bench") and _only_boards(states):
        command += " --port PORT"
    return ShowReport(run.name, str(run.root), states, tuple(figures), command)


def _only_boards(states: tuple[StageState, ...]) -> bool:
    built = [s.stage.partition("/")[2] for s in states if s.stage.startswith("flash/")]
    return bool(built) and all(load_target(name).emulator is None for name in built)


def _figures(run: Run, stage: str) -> list[Figure]:
    """The headline figures of a finished stage; pooled AUROC never stands alone."""
    kind, _, target = stage.partition("/")
    if kind == "attach":
        report = read_json(run.path("attach/report.json"), AttachReport)
        taps = report["mean_surprisal"].items()
        return [
            Figure("int8 accuracy, clean test", report["accuracy"], "share"),
            *(Figure(f"E[e] on clean dev, {tap}", e, "ratio") for tap, e in taps),
        ]
    if kind == "calibrate" == origin_of(run).integer_stage:
        report = read_json(run.path("calibrate/calibration.json"), CalibrateRecord)["report"]
        labelled = report["test_accuracy"] is not None
        return _detection(report["detection"], "errors" if labelled else "changed answers")
    if kind == "train":
        report = read_json(run.path("train/history.json"), History)["report"]
        taps = report["mean_surprisal"].items()
        return [
            Figure("float accuracy, clean test", report["test_accuracy"], "share"),
            *(Figure(f"E[e] on clean dev, {tap}", e, "ratio") for tap, e in taps),
        ]
    if kind == "quantize":
        report = read_json(run.path("quantize/report.json"), QuantizeReport)
        drift = report["drift"]
        return [
            Figure("int8 accuracy, clean test", drift["int8_accuracy"], "share"),
            Figure("Spearman of S, int8 to float", drift["spearman_all"], "ratio"),
            *_detection(report["detection"]),
        ]
    if kind == "flash":
        size = read_json(run.path(f"build/{target}/size.json"), ImageSizes)["size"]
        stack = "included" if load_target(target).port else "not included"
        return [
            Figure(f"{target}: flash", size["flash_bytes"], "bytes"),
            Figure(f"{target}: RAM, stack {stack}", size["ram_bytes"], "bytes"),
        ]
    if kind == "bench":
        record = run.record(stage)
        assert record is not None
        report = read_json(run.path(next(iter(record["outputs"]))), BenchReport)
        return [
            Figure(f"{target}: one inference", report["timing"]["mean"], report["counter"]),
            Figure(f"{target}: overhead of the heads", report["heads_overhead"], "share"),
            Figure(f"{target}: bit-exact", report["bit_exact"], f"of {report['inputs']}"),
        ]
    if kind == "stream":
        record = run.record(stage)
        assert record is not None
        (name,) = (name for name in record["outputs"] if name.endswith(".json"))
        report = read_json(run.path(name), StreamReport)
        frames = max(report["frames"], 1)
        return [
            Figure(f"{target}: stream, bit-exact", report["bit_exact"], f"of {frames}"),
            Figure(f"{target}: stream, abstained", report["abstained"] / frames, "share"),
        ]
    return []


def _detection(report: dict[str, Any], what: str = "errors") -> list[Figure]:
    """what: what counts as wrong."""
    scores = {"U": "SNAP", "max-probability": "max-probability"}
    parts = {"pooled": "pooled", "per_cell": "per cell", "clean": "clean"}
    errors = [
        Figure(
            f"int8 AUROC of {what}, {title}, {name}", report["errors"][s][part]["auroc"], "auroc"
        )
        for part, title in parts.items()
        for s, name in scores.items()
    ]
    ood = [
        Figure(f"int8 AUROC of OOD, {ood_set}, {name}", found[s]["auroc"], "auroc")
        for ood_set, found in report["ood"].items()
        for s, name in scores.items()
    ]
    return errors + ood
