"""What a map that is told the answer knows of each, and what that is worth."""

from snapcli.report.markup import prose, tag, text
from snapcli.report.table import Column, Row, table
from snapcli.results.calibrate import Figures

_COLUMNS = (
    Column("answer"),
    Column("share, %", digits=1),
    Column("wrong, %", digits=1),
    Column("always", group="offset", digits=2),
    Column("if strange", group="offset", digits=2),
    *(
        Column(title, group="AUROC among inputs of this answer")
        for title in ("max-probability", "without offsets", "with offsets")
    ),
)
_WORDS = (
    "The map that makes U is told which class was answered, as some answers are wrong more often "
    "than others. Its offset is what it adds to the logit of U, ln(U / (1 \N{MINUS SIGN} U)); if "
    "strange: what it adds beyond that where activations are strange, which only heads can tell. "
    "Share: of test data, clean and corrupted; wrong: of the inputs that got this answer. AUROC of "
    "finding the wrong ones, by maps that have not seen their corruption types."
)
_ASSUMPTION = (
    "Within one answer an offset changes no order: what all of them are worth is in the last row. "
    "Offsets assume that answers are right as often in the field as in dev data; "
    "`snap calibrate --no-class-offsets` goes without."
)
_WITHOUT = "This run goes without offsets: `--no-class-offsets`."


def answers_section(figures: Figures | None) -> str:
    """Empty where the map is not told the answer."""
    if figures is None or not figures.answers:
        return ""
    rows = [
        Row(
            [
                *(row.answer, 100 * row.share, 100 * row.wrong, row.offset, row.strange_offset),
                *(row.confidence, row.without_offsets, row.with_offsets),
            ]
        )
        for row in figures.answers
    ]
    has_offsets = any(row.offset or row.strange_offset for row in figures.answers[:-1])
    return (
        tag("p", text(_WORDS), class_="words")
        + tag("p", prose(_ASSUMPTION if has_offsets else _WITHOUT), class_="words")
        + table("Answers", _COLUMNS, rows, "answers")
    )
