"""The verdict in a few sentences: does it fit, what does it cost, is it better.

Better and worse are said only where the whole paired interval lies on one side of 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    value_of,
)
from snapcli.report.outcome import LOSES, TIES, WINS, headlines, outcome, outcomes
from snapcli.report.words import figure_words

# Of these, how many the card says in full.
_SPOKEN = 2


@dataclass(frozen=True)
class Statement:
    """tone: good, plain, bad or unknown. figure: the one to remember, in a few characters."""

    question: str
    tone: str
    figure: str
    words: str


def statements(contents: Contents) -> list[Statement]:
    return [_fits(contents), _costs(contents), _better(contents), _exact(contents)]


def lead(contents: Contents) -> str:
    """One sentence of the three answers."""
    fits, costs, better, _ = statements(contents)
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


def _price(contents: Contents) -> str:
    bench = next(iter(contents.benches.values()))
    overhead, counter = bench["heads_overhead"], bench["counter"]
    if overhead is None:
        return f"takes {bench['timing']['mean']:,.0f} {counter} per inference"
    return f"adds {percent(overhead)} to the {counter} of an inference"


def _our_gains(contents: Contents) -> Mapping[str, Any]:
    if contents.evaluation is None:
        return {}
    source = contents.evaluation["sources"][main_source(contents.evaluation)]
    method = named(source, our_name(source))
    return headlines(method["gains"]) if method else {}


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
    measured = {**contents.sizes, **contents.benches}
    if not measured:
        return Statement(question, "unknown", "not known", contents.lack("flash"))
    words, fits = [], True
    for target, report in measured.items():
        said = []
        for kind, what in (("flash", "flash"), ("ram", "RAM")):
            used, limit = report["size"][f"{kind}_bytes"], report[f"{kind}_limit_bytes"]
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
    words, figure = [], ""
    for target, report in contents.benches.items():
        flash, ram = (
            report["size"][f"{kind}_bytes"] - report["size_without_heads"][f"{kind}_bytes"]
            for kind in ("flash", "ram")
        )
        overhead = report["heads_overhead"]
        mean = f"{report['timing']['mean']:,.0f}"
        if not figure:
            figure = f"+{percent(overhead)}" if overhead is not None else mean
        words.append(
            f"{target}: {mean} {report['counter']} for one inference; heads and map add "
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
        worse = [f"{figure_words(key)} {signed(value_of(gains[key]))}" for key in by_outcome[LOSES]]
        words.append(f"Worse: {'; '.join(worse)}.")
    words = [word[:1].upper() + word[1:] for word in words]
    tone = "plain"
    if by_outcome[WINS] and not by_outcome[LOSES]:
        tone = "good"
    elif by_outcome[LOSES] and not by_outcome[WINS]:
        tone = "bad"
    return Statement(question, tone, ", ".join(tally), " ".join(words))


def _gained(gain: Any) -> str:
    """+0.048 (+0.041 to +0.055), better."""
    between = bounds(gain)
    if between is None:
        return "has no interval"
    word = {WINS: "better", LOSES: "worse", TIES: "no difference shown"}[outcome(gain)]
    return f"{signed(value_of(gain))} ({signed(between[0])} to {signed(between[1])}), {word}"


def _better_without_intervals(question: str, contents: Contents) -> Statement:
    if contents.detection is None:
        return Statement(question, "unknown", "not known", contents.lack("eval"))
    errors = contents.detection["errors"]
    said = [
        f"{title} {decimal(errors['U'][part]['auroc'])} against "
        f"{decimal(errors[BASE][part]['auroc'])}"
        for part, title in (("pooled", "pooled"), ("per_cell", "per cell"), ("clean", "clean"))
    ]
    words = f"AUROC of errors {joined(said)}, without intervals. {contents.lack('eval')}"
    return Statement(question, "unknown", "not shown", words)


def _exact(contents: Contents) -> Statement:
    question = "Does the device compute the same?"
    if not contents.benches:
        return Statement(question, "unknown", "not known", contents.lack("bench"))
    exact = sum(report["bit_exact"] for report in contents.benches.values())
    asked = sum(report["inputs"] for report in contents.benches.values())
    words = f"{exact:,} of {plural(asked, 'answer')} equal the integer reference bit for bit."
    same = contents.is_exact
    return Statement(question, "good" if same else "bad", "yes" if same else "no", words)
