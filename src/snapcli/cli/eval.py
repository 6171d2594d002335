"""snap eval"""

import math
from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AllowCode, AsJson, NoWait, RunPath, RunsDir
from snapcli.cli.render import figure, percent, plural, ranged, signed
from snapcli.config import EvalOptions, override

if TYPE_CHECKING:
    from snapcli.results.eval import EvalReport, MethodFigures, SourceFigures

EXAMPLES = (
    "snap eval",
    "snap eval --methods snap,energy,mahalanobis-full --on int8",
    "snap eval --methods all --on float",
    "snap eval --on device",
)
_GAIN = "errors.pooled.auroc"


@takes(EvalOptions)
def eval(
    given: Given,
    allow_code: AllowCode = False,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Compare every method of the paper, with intervals."""
    from snapcli.stages.eval import evaluate

    chosen = opened(run, runs_dir, no_wait, allow_code)
    options = override(EvalOptions(), **given)
    with console.progress("eval") as on_progress:
        report = evaluate(chosen, options, on_progress)
    console.print_json(report) if json else show(report)


def show(report: "EvalReport") -> None:
    for source in report.sources.values():
        _source(report, source)
    if len(report.sources) > 1:
        _beside(report)
    console.say(
        "pooled, per cell, clean: AUROC of errors; positive is a wrong answer. pooled: clean and "
        "corrupted data together, half of the types at a time. Foreign sets: AUROC against "
        "right answers on clean data.\nevents: AUPRC of frames in an accuracy drop; delay: "
        "frames to the first alarm, median. gain: in pooled AUROC over max-probability, paired.\n"
        f"In brackets: 95 % of {report.replicates:,} bootstrap draws. The whole page: snap report"
    )


def _source(report: "EvalReport", source: "SourceFigures") -> None:
    from snapcli.results.eval import NOT_ASKED

    foreign = [name for name in source.examples if name not in ("clean", "corrupted")]
    columns = [
        *("method", "pooled", "per cell", "clean", *foreign),
        *("events", "delay", "risk@90", "ECE", "gain"),
    ]
    rows = [_row(m, foreign) for m in source.methods]
    accuracy = percent(source.accuracy["clean"])
    events = ""
    if source.stream is not None:
        events = f", {plural(len(source.stream.events), 'event')} in a stream"
    title = f"{report.run}, {source.source}: accuracy {accuracy}{events}"
    console.wide_table(title, columns, rows)
    missing = {m.name: m.why for m in source.methods if m.errors is None and m.why != NOT_ASKED}
    for why in dict.fromkeys(missing.values()):
        names = ", ".join(name for name, reason in missing.items() if reason == why)
        console.say(f"not run, {why}: {names}")


def _row(method: "MethodFigures", foreign: list[str]) -> list[str]:
    if method.errors is None:
        return [method.name, method.status, *[""] * (len(foreign) + 7)]
    errors, events = method.errors, method.events
    gain = method.gains.get(_GAIN)
    return [
        method.name,
        figure(errors.pooled.auroc.value),
        figure(errors.per_cell.auroc.value),
        figure(errors.clean.auroc.value),
        *(figure(method.ood[name].auroc.value) for name in foreign),
        figure(events.auprc.value) if events else "-",
        _frames(events.delay.value) if events else "-",
        figure(method.selective["all"].risk_90.value),
        figure(method.posterior["clean"].ece.value),
        signed(gain) if gain else "",
    ]


def _beside(report: "EvalReport") -> None:
    """The pooled AUROC of every method by every source."""
    sources = list(report.sources.values())
    pooled = [
        {m.name: ranged(m.errors.pooled.auroc) for m in s.methods if m.errors} for s in sources
    ]
    judged = dict.fromkeys(name for scores in pooled for name in scores)
    rows = [[name, *(scores.get(name, "-") for scores in pooled)] for name in judged]
    names = [source.source for source in sources]
    console.table("pooled AUROC of errors beside each other", ["method", *names], rows)


def _frames(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0f}"
