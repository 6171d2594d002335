"""F: what it reads, and which inputs it calls foreign."""

from snapcli.report.markup import tag, text
from snapcli.report.numbers import decimal, joined, percent
from snapcli.report.table import Column, Row, table
from snapcli.results.calibrate import Figures

# What F may read, as a reader of the page may understand it.
_READS = {
    "score": "the surprise S (how unlikely activations are, given those before them)",
    "error logit": "the error logit (how little the outputs prefer their answer)",
    "own distance": "the distance to the class that was answered",
}


def foreign_section(figures: Figures | None) -> str:
    """Empty where there are none."""
    if figures is None:
        return ""
    foreign = figures.foreign
    reads = joined([_READS.get(name, name) for name in foreign.inputs])
    limit = "Its threshold is above 1: no input is called foreign."
    if foreign.threshold <= 1:
        limit = (
            f"An input is called foreign from F\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
            f"{decimal(foreign.threshold, 4)} on: so are {percent(foreign.share)} of clean dev "
            "data."
        )
    words = (
        "Foreign is an input that belongs to no class. F says how foreign one looks, from 0 to 1: "
        f"at 0.95 it looks more so than 95 % of clean dev data. It reads {reads}. {limit} U is "
        "the uncertainty of an answer. AUROC: foreign inputs against clean ones that are answered "
        "rightly."
    )
    return tag("p", text(words), class_="words") + _table(figures)


def _table(figures: Figures) -> str:
    """A row for each set of inputs; clean data have no AUROC, they are what others differ from."""
    foreign, ood = figures.foreign, figures.detection.ood
    scores = list(dict.fromkeys(name for by_score in ood.values() for name in by_score))
    # F is what the section is about.
    scores.sort(key=lambda name: name != "F")
    columns = [Column("inputs"), Column("called foreign, %", digits=1)]
    columns += [Column(name, group="AUROC") for name in scores]
    rows = [Row(["clean test data", 100 * foreign.clean_test, *(None for _ in scores)])]
    for name, share in foreign.found.items():
        by_score = ood.get(name, {})
        found = [by_score[s].auroc if s in by_score else None for s in scores]
        rows.append(Row([name, 100 * share, *found]))
    return table("Called foreign, and told from clean inputs", columns, rows, "foreign inputs")
