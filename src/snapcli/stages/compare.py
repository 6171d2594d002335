"""compare: two runs beside each other, what got worse, and gates on how much may.

A figure is named by what it is and where it comes from: `flash/small-mcu`, or
`errors-auroc/int8/clean`. A gate on `flash` is one on all of its figures.
"""

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapcli.errors import ArtifactError, SnapError, UsageError, sentences, suggestion
from snapcli.methods.table import SNAP
from snapcli.metrics.bootstrap import Interval
from snapcli.origin.origin import origin_of
from snapcli.results.bench import bench_report
from snapcli.results.calibrate import calibrate_record
from snapcli.results.eval import SourceFigures, eval_report
from snapcli.results.flash import SIZE_FILE, image_size
from snapcli.results.quantize import quantize_report
from snapcli.runs import Run
from snapcli.score.calibration import DetectionReport

HIGHER, LOWER = "higher", "lower"
BETTER, WORSE, SAME, MISSING = "better", "worse", "same", "missing"
_GATE = re.compile(r"\s*([\w./-]+?)\s*([<>])\s*([+-])\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")
_MEASURED = ("quantize", "flash", "bench", "eval")
_EVAL = "eval"
# Of an eval: figures under other ones are of something else.
_CONDITIONS = {
    "schema": "formats",
    "dataset": "data set",
    "limit": "--limit",
    "replicates": "--replicates",
    "streams": "--streams",
}


@dataclass(frozen=True)
class Figure:
    """better: HIGHER or LOWER. low, high: its interval, None where it has none. stage: that
    measured it."""

    name: str
    value: float
    better: str
    low: float | None = None
    high: float | None = None
    stage: str = ""


@dataclass(frozen=True)
class Change:
    """Of the second run against the first: change is absolute, percent relative to the first, None
    where that is 0. verdict: better, worse, same or missing. beyond: whether the intervals do not
    meet, None where one of them has none."""

    name: str
    better: str
    a: Figure | None
    b: Figure | None
    change: float | None
    percent: float | None
    verdict: str
    beyond: bool | None


@dataclass(frozen=True)
class Gate:
    """sign: 1 fails a change above the amount, -1 one below. percent: of the first run's value."""

    text: str
    figure: str
    sign: int
    amount: float
    percent: bool

    def is_broken(self, change: Change) -> bool:
        assert change.change is not None
        amount = change.change
        if self.percent:
            # Any change of nothing is more than any share of it.
            endless = math.copysign(math.inf, amount) if amount else 0.0
            amount = endless if change.percent is None else change.percent
        return self.sign * amount > self.sign * self.amount


@dataclass(frozen=True)
class BrokenGate:
    gate: str
    figure: str
    change: float
    percent: float | None


@dataclass(frozen=True)
class CompareReport:
    """notes: what was left out of the comparison, and why."""

    a: str
    b: str
    changes: tuple[Change, ...]
    gates: tuple[str, ...]
    broken: tuple[BrokenGate, ...]
    notes: tuple[str, ...] = ()


def compare(a: Run, b: Run, gates: Sequence[str] = ()) -> CompareReport:
    wanted = [parse_gate(text) for text in gates]
    notes = list(dict.fromkeys([*_out_of_date(a), *_out_of_date(b)]))
    first, second = figures_of(a), figures_of(b)
    apart = _evaluated_otherwise(a, b)
    if apart:
        notes.append(apart)
        first, second = ([f for f in side if f.stage != _EVAL] for side in (first, second))
    changes = changes_between(first, second)
    broken = [broken_gate for gate in wanted for broken_gate in check(gate, changes, (a, b), notes)]
    return CompareReport(a.name, b.name, tuple(changes), tuple(gates), tuple(broken), tuple(notes))


def _out_of_date(run: Run) -> list[str]:
    """A line for every stage whose figures are there, but not up to date."""
    states = (run.state(stage) for stage in run.records() if _is_measured(run, stage))
    return [
        f"{state.stage} of {run.name} is left out: it is {state.detail}. "
        f"Run: {run.remedy(state.origin)}"
        for state in states
        if state.status != "done"
    ]


def _evaluated_otherwise(a: Run, b: Run) -> str:
    """How two evals differ in what they measured; empty where they do not, or one is not there."""
    if any(run.state(_EVAL).status != "done" for run in (a, b)):
        return ""
    first, second = (vars(eval_report(run.path(_EVAL))) for run in (a, b))
    differing = [
        f"{words} {first[key]} and {second[key]}"
        for key, words in _CONDITIONS.items()
        if first[key] != second[key]
    ]
    return f"The figures of eval are not compared: {', '.join(differing)}." if differing else ""


def parse_gate(text: str) -> Gate:
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"'{text}' is not a gate",
            "Write FIGURE>+CHANGE or FIGURE<-CHANGE, for example 'flash>+2%' or 'accuracy<-0.01'.",
        )
    figure, side, sign, amount, percent = match.groups()
    change = float(amount) * (1 if sign == "+" else -1)
    return Gate(text.strip(), figure, 1 if side == ">" else -1, change, bool(percent))


def check(
    gate: Gate, changes: Sequence[Change], runs: tuple[Run, Run], notes: Sequence[str] = ()
) -> list[BrokenGate]:
    """What breaks the gate, of its figures that both runs have; that none is in both is an error,
    not a pass. notes: what was left out."""
    meant = [c for c in changes if f"{c.name}/".startswith(f"{gate.figure}/")]
    if not meant:
        raise _unknown(gate, changes, notes)
    if all(c.change is None for c in meant):
        raise _lacking(gate, meant[0], runs)
    return [
        BrokenGate(gate.text, c.name, c.change, c.percent)
        for c in meant
        if c.change is not None and gate.is_broken(c)
    ]


def _unknown(gate: Gate, changes: Sequence[Change], notes: Sequence[str]) -> SnapError:
    if notes:
        # It may be one of those that were left out.
        return ArtifactError(
            f"no figure '{gate.figure}' can be compared: '{gate.text}' cannot be checked",
            sentences(*notes),
        )
    families = dict.fromkeys(c.name.partition("/")[0] for c in changes)
    close = suggestion(gate.figure, [*families, *(c.name for c in changes)])
    hint = close if close.startswith("Did") else f"Known: {', '.join(families)}."
    return UsageError(f"there is no figure '{gate.figure}' in these runs", hint)


def _lacking(gate: Gate, change: Change, runs: tuple[Run, Run]) -> ArtifactError:
    lacking, known = (runs[0], change.b) if change.a is None else (runs[1], change.a)
    assert known is not None
    hint = "Name a figure that both have."
    # What is trained and what is attached have not the same stages.
    if type(origin_of(runs[0])) is type(origin_of(runs[1])):
        hint = f"Run: {_command(lacking, known)}"
    return ArtifactError(
        f"{change.name} is missing in {lacking.name}: '{gate.text}' cannot be checked", hint
    )


def _command(run: Run, figure: Figure) -> str:
    """That measures a figure in a run which lacks it."""
    origin = run.state(figure.stage).origin
    command = run.remedy(origin)
    source = shlex.quote(figure.name.split("/")[1])
    return f"{command} --on {source}" if origin == _EVAL else command


def changes_between(a: Sequence[Figure], b: Sequence[Figure]) -> list[Change]:
    """In the order of the first, then what only the second has."""
    first, second = ({f.name: f for f in figures} for figures in (a, b))
    return [_change(first.get(name), second.get(name)) for name in {**first, **second}]


def _change(a: Figure | None, b: Figure | None) -> Change:
    known = a or b
    assert known is not None
    if a is None or b is None:
        return Change(known.name, known.better, a, b, None, None, MISSING, None)
    change = b.value - a.value
    beyond = None
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        beyond = b.low > a.high or b.high < a.low
    verdict = SAME
    if change:
        verdict = BETTER if (change > 0) == (known.better == HIGHER) else WORSE
    percent = 100 * change / abs(a.value) if a.value else None
    return Change(known.name, known.better, a, b, change, percent, verdict, beyond)


# ---- Figures of a run -------------------------------------------------------


def figures_of(run: Run) -> list[Figure]:
    """All that is up to date."""
    figures: list[Figure] = []
    for stage in run.records():
        if _is_measured(run, stage) and run.state(stage).status == "done":
            figures += [replace(figure, stage=stage) for figure in _figures(run, stage)]
    return figures


def _is_measured(run: Run, stage: str) -> bool:
    kind = stage.partition("/")[0]
    return kind in _MEASURED or kind == origin_of(run).integer_stage


def _figures(run: Run, stage: str) -> list[Figure]:
    kind, _, target = stage.partition("/")
    if kind == "quantize":
        quantized = quantize_report(run.path(kind))
        accuracy = _figure("accuracy/quantize", quantized.drift.int8_accuracy, HIGHER)
        return [*accuracy, *_detection(quantized.detection, kind)]
    if kind == "calibrate":
        calibrated = calibrate_record(run.path(kind)).report
        accuracy = _figure("accuracy/calibrate", calibrated.test_accuracy, HIGHER)
        return [*accuracy, *_detection(calibrated.detection, kind)]
    if kind == "flash":
        folder = run.path(f"build/{target}")
        if not (folder / SIZE_FILE).is_file():
            return []
        size = image_size(folder)
        return [
            *_figure(f"flash/{target}", size.flash_bytes, LOWER),
            *_figure(f"ram/{target}", size.ram_bytes, LOWER),
        ]
    if kind == "bench":
        bench = bench_report(run, stage)
        return [
            *_figure(f"{bench.counter}/{target}", bench.timing.mean, LOWER),
            *_figure(f"overhead/{target}", bench.heads_overhead, LOWER),
            *_figure(f"stack/{target}", bench.stack.used_bytes, LOWER),
            *_figure(f"bit-exact/{target}", bench.bit_exact / max(bench.inputs, 1), HIGHER),
        ]
    if kind == _EVAL:
        sources = eval_report(run.path(_EVAL)).sources
        return [f for name, source in sources.items() for f in _evaluated(name, source)]
    return []


def _detection(report: DetectionReport, stage: str) -> list[Figure]:
    figures = []
    errors = report.errors["U"]
    for part, of in (
        ("pooled", errors.pooled),
        ("per-cell", errors.per_cell),
        ("clean", errors.clean),
    ):
        figures += _figure(f"errors-auroc/{stage}/{part}", of.auroc, HIGHER)
        figures += _figure(f"errors-aupr/{stage}/{part}", of.auprc, HIGHER)
    for name, scores in report.ood.items():
        figures += _figure(f"ood-auroc/{stage}/{name}", scores["U"].auroc, HIGHER)
    return figures


def _evaluated(source: str, report: SourceFigures) -> list[Figure]:
    """Of SNAP, by a source of eval."""
    method = next((m for m in report.methods if m.name == SNAP), None)
    if method is None or method.status != "done":
        return []
    figures = _figure(f"accuracy/{source}", method.accuracy, HIGHER)
    if errors := method.errors:
        for part, of in (
            ("pooled", errors.pooled),
            ("per-cell", errors.per_cell),
            ("clean", errors.clean),
        ):
            figures += _figure(f"errors-auroc/{source}/{part}", of.auroc, HIGHER)
            figures += _figure(f"errors-aupr/{source}/{part}", of.aupr, HIGHER)
    for name, ood in method.ood.items():
        figures += _figure(f"ood-auroc/{source}/{name}", ood.auroc, HIGHER)
    if method.events:
        figures += _figure(f"events-auprc/{source}", method.events.auprc, HIGHER)
        figures += _figure(f"events-miss-rate/{source}", method.events.miss_rate, LOWER)
    for name, selective in method.selective.items():
        figures += _figure(f"risk-90/{source}/{name}", selective.risk_90, LOWER)
        figures += _figure(f"aurc/{source}/{name}", selective.aurc, LOWER)
    for what, parts in (("posterior", method.posterior), ("u", method.uncertainty)):
        for name, probabilities in (parts or {}).items():
            for figure, value in vars(probabilities).items():
                figures += _figure(f"{what}-{figure}/{source}/{name}", value, LOWER)
    return figures


def _figure(name: str, measured: float | Interval | None, better: str) -> list[Figure]:
    """None where it is undefined."""
    if isinstance(measured, Interval):
        figures = _figure(name, measured.value, better)
        return [replace(f, low=_known(measured.low), high=_known(measured.high)) for f in figures]
    if measured is None or math.isnan(measured):
        return []
    return [Figure(name, measured, better)]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
