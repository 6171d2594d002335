"""The verdict in a few sentences: does it fit, what does it cost, is it better; before all, whether
heads are idle.

Better and worse are said only where the whole paired interval lies on one side of 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from snapcli.metrics.bootstrap import Interval
from snapcli.report.contents import Contents
from snapcli.report.methods import BASE, main_source, named, our_name
from snapcli.report.numbers import (
    bounds,
    decimal,
    joined,
    kilobytes,
    percent,
    plural,
    signed,
)
from snapcli.report.outcome import LOSES, TIES, WINS, headlines, outcome, outcomes
from snapcli.report.words import figure_words
from snapcli.results.bench import BenchReport
from snapcli.results.flash import FlashReport

# Of these, how many the card says in full.
_SPOKEN = 2
_IDLE = (
    "The heads are idle: they cost, and wrong answers and foreign inputs are found as well without "
    "them."
)


@dataclass(frozen=True)
class Statement:
    """tone: good, plain, bad or unknown. figure: the one to remember, in a few characters. words:
    with commands between backticks."""

    question: str
    tone: str
    figure: str
    words: str


def statements(contents: Contents) -> list[Statement]:
    idle = [_idle(contents)] if contents.has_idle_heads else []
    return [*idle, *_answers(contents), _exact(contents)]


def lead(contents: Contents) -> str:
    """One sentence of the three answers; before it, one of heads that are idle."""
    summary = _summary(contents)
    if not contents.has_idle_heads:
        return summary
    return f"{_IDLE} Calibrate again: `{contents.without_heads}`. {summary}"


def _summary(contents: Contents) -> str:
    fits, costs, better = _answers(contents)
    known = [s for s in (fits, costs, better) if s.tone != "unknown"]
    if not known:
        return "Nothing was measured yet."
    parts = []
    if fits in known:
        targets = joined(list(contents.benches) or list(contents.sizes))
        parts.append(f"fits {targets}" if fits.tone == "good" else f"does not fit {targets}")
    if costs in known:
        parts.append(_price(contents))
    if better in known:
        parts.append(_comparison(contents))
    return f"SNAP {joined(parts)}."


def _answers(contents: Contents) -> tuple[Statement, Statement, Statement]:
    return _fits(contents), _costs(contents), _better(contents)


def _idle(contents: Contents) -> Statement:
    words = (
        "Heads predict activations from those before; what they cannot predict is surprise. "
        "Neither U, the uncertainty of an answer, nor F, which says how foreign an input looks, is "
        f"worse without it. Run: `{contents.without_heads}`"
    )
    return Statement("Are the heads worth their cost?", "bad", "no, idle", words)


def _price(contents: Contents) -> str:
    bench = next(iter(contents.benches.values()))
    if bench.heads_overhead is None:
        return f"takes {bench.timing.mean:,.0f} {bench.counter} per inference"
    return f"adds {percent(bench.heads_overhead)} to the {bench.counter} of an inference"


def _our_gains(contents: Contents) -> Mapping[str, Interval]:
    if contents.evaluation is None:
        return {}
    source = contents.evaluation.sources[main_source(contents.evaluation)]
    method = named(source, our_name(source))
    return headlines(method.gains) if method else {}


def _comparison(contents: Contents) -> str:
    by_outcome = outcomes(_our_gains(contents))
    judged = sum(len(by_outcome[word]) for word in (WINS, TIES, LOSES))
    if not by_outcome[WINS] and not by_outcome[LOSES]:
        return f"cannot be told from {BASE} on any of {plural(judged, 'figure')}"
    if not by_outcome[LOSES]:
        said = f"beats {BASE} on {len(by_outcome[WINS])} of {plural(judged, 'figure')}"
        return f"{said}, losing on none" if by_outcome[TIES] else said
    if not by_outcome[WINS]:
        return f"loses to {BASE} on {len(by_outcome[LOSES])} of {plural(judged, 'figure')}"
    return (
        f"beats {BASE} on {len(by_outcome[WINS])} of {plural(judged, 'figure')}, "
        f"but loses on {len(by_outcome[LOSES])}"
    )


def _fits(contents: Contents) -> Statement:
    question = "Does it fit?"
    measured: dict[str, FlashReport | BenchReport] = {**contents.sizes, **contents.benches}
    if not measured:
        return Statement(question, "unknown", "not known", contents.lack("flash"))
    words, fits = [], True
    for target, report in measured.items():
        said = []
        for what, used, limit in (
            ("flash", report.size.flash_bytes, report.flash_limit_bytes),
            ("RAM", report.size.ram_bytes, report.ram_limit_bytes),
        ):
            if not limit:
                said.append(f"{kilobytes(used)} {what}")
                continue
            fits = fits and used <= limit
            share = percent(used / limit, 0)
            said.append(f"{kilobytes(used)} of {kilobytes(limit)} {what} ({share})")
        words.append(f"{target}: {joined(said)}.")
    return Statement(question, "good" if fits else "bad", "yes" if fits else "no", " ".join(words))


def _costs(contents: Contents) -> Statement:
    question = "What does it cost?"
    if not contents.benches:
        return Statement(question, "unknown", "not known", contents.lack("bench"))
    monitor = "the monitor adds"
    if contents.figures is not None and not contents.figures.heads.present:
        monitor = "the monitor, which has no heads, adds"
    words, figure = [], ""
    for target, report in contents.benches.items():
        flash = report.size.flash_bytes - report.size_without_heads.flash_bytes
        ram = report.size.ram_bytes - report.size_without_heads.ram_bytes
        overhead = report.heads_overhead
        mean = f"{report.timing.mean:,.0f}"
        if not figure:
            figure = f"+{percent(overhead)}" if overhead is not None else mean
        words.append(
            f"{target}: {mean} {report.counter} for one inference; {monitor} "
            f"{kilobytes(flash)} of flash and {kilobytes(ram)} of RAM."
        )
    return Statement(question, "plain", figure, " ".join(words))


def _better(contents: Contents) -> Statement:
    question = f"Better than {BASE}?"
    gains = _our_gains(contents)
    if not gains:
        return _better_without_intervals(question, contents)
    by_outcome = outcomes(gains)
    tally = [f"{word} {len(by_outcome[word])}" for word in (WINS, TIES, LOSES) if by_outcome[word]]
    words = [f"{figure_words(key)} {_gained(gains[key])}." for key in list(gains)[:_SPOKEN]]
    if by_outcome[LOSES]:
        worse = [f"{figure_words(key)} {signed(gains[key].value)}" for key in by_outcome[LOSES]]
        words.append(f"Worse: {'; '.join(worse)}.")
    words = [word[:1].upper() + word[1:] for word in words]
    tone = "plain"
    if by_outcome[WINS] and not by_outcome[LOSES]:
        tone = "good"
    elif by_outcome[LOSES] and not by_outcome[WINS]:
        tone = "bad"
    return Statement(question, tone, ", ".join(tally), " ".join(words))


def _gained(gain: Interval) -> str:
    """+0.048 (+0.041 to +0.055), better."""
    between = bounds(gain)
    if between is None:
        return "has no interval"
    word = {WINS: "better", LOSES: "worse", TIES: "no difference shown"}[outcome(gain)]
    return f"{signed(gain.value)} ({signed(between[0])} to {signed(between[1])}), {word}"


def _better_without_intervals(question: str, contents: Contents) -> Statement:
    if contents.figures is None:
        return Statement(question, "unknown", "not known", contents.lack("eval"))
    ours, base = (contents.figures.detection.errors[score] for score in ("U", BASE))
    said = [
        f"{title} {decimal(by_u.auroc)} against {decimal(by_base.auroc)}"
        for title, by_u, by_base in (
            ("pooled", ours.pooled, base.pooled),
            ("per cell", ours.per_cell, base.per_cell),
            ("clean", ours.clean, base.clean),
        )
    ]
    words = f"AUROC of errors {joined(said)}, without intervals. {contents.lack('eval')}"
    return Statement(question, "unknown", "not shown", words)


def _exact(contents: Contents) -> Statement:
    question = "Does the device compute the same?"
    if not contents.benches:
        return Statement(question, "unknown", "not known", contents.lack("bench"))
    exact = sum(report.bit_exact for report in contents.benches.values())
    asked = sum(report.inputs for report in contents.benches.values())
    words = f"{exact:,} of {plural(asked, 'answer')} equal the integer reference bit for bit."
    same = contents.is_exact
    return Statement(question, "good" if same else "bad", "yes" if same else "no", words)
