"""The verdict says no more than the intervals allow."""

from dataclasses import replace
from math import nan

from hypothesis import given
from hypothesis import strategies as st

from snapcli.metrics.bootstrap import Interval
from snapcli.report.contents import Contents
from snapcli.report.outcome import LOSES, TIES, UNDEFINED, WINS, headlines, outcome
from snapcli.report.verdict import lead, statements
from snapcli.results.bench import BenchReport
from snapcli.results.flash import ImageSize
from tests.unit.stages.board_report import report

from .example import example
from .figures import figures, heads

MISSING = {"bench/qemu-m4": "no bench", "flash/qemu-m4": "no flash", "eval": "no eval"}
bound = st.floats(-1, 1)


def contents(gains: dict[str, Interval] | None = None) -> Contents:
    evaluation = example(["int8"])
    if gains is not None:
        source = evaluation.sources["int8"]
        methods = tuple(replace(m, gains=gains) if m.name == "snap" else m for m in source.methods)
        sources = {"int8": replace(source, methods=methods)}
        evaluation = replace(evaluation, sources=sources)
    return Contents("run", "model", "data", MISSING, evaluation=evaluation)


def bench(flash_limit: int = 1000, overhead: float | None = 0.05) -> BenchReport:
    """An inference takes 8,000 instructions."""
    return replace(
        report(inputs=8, counter="instructions"),
        heads_overhead=overhead,
        size=ImageSize(900, 90),
        size_without_heads=ImageSize(700, 80),
        flash_limit_bytes=flash_limit,
        ram_limit_bytes=100,
        bit_exact=7,
    )


@given(bound, bound, bound)
def test_outcome(a: float, b: float, c: float) -> None:
    low, value, high = sorted((a, b, c))
    said = outcome(Interval(value, low, high))
    assert (said == WINS) == (low > 0)
    assert (said == LOSES) == (high < 0)
    assert (said == TIES) == (low <= 0 <= high)


def test_without_an_interval_nothing_is_said() -> None:
    assert outcome(Interval(0.4, nan, nan)) == UNDEFINED
    assert outcome(Interval(nan, nan, nan)) == UNDEFINED
    gains = {"errors.pooled.auroc": Interval(0.4, nan, nan)}
    assert "beats" not in lead(contents(gains))


def test_words_follow_the_intervals() -> None:
    win, tie, loss = Interval(0.2, 0.1, 0.3), Interval(0.2, -0.1, 0.3), Interval(-0.2, -0.3, -0.1)
    keys = ("errors.pooled.auroc", "errors.clean.auroc", "events.auprc")

    def said(*figures: Interval) -> str:
        return lead(contents(dict(zip(keys, figures, strict=True))))

    assert "beats max-probability on 3 of 3 figures." in said(win, win, win)
    assert "beats max-probability on 1 of 3 figures, losing on none." in said(win, tie, tie)
    assert "beats max-probability on 1 of 3 figures, but loses on 1." in said(win, tie, loss)
    assert "loses to max-probability on 2 of 3 figures." in said(loss, tie, loss)
    assert "cannot be told from max-probability on any of 3 figures." in said(tie, tie, tie)


def test_headlines_are_chosen_beforehand() -> None:
    gains = {
        "type.blur.auroc": 1,
        "ood.letters.auroc": 2,
        "ood.letters.aupr": 3,
        "errors.pooled.auroc": 4,
    }
    assert headlines(gains) == {"errors.pooled.auroc": 4, "ood.letters.auroc": 2}


def test_fit_and_cost() -> None:
    held = replace(contents(), benches={"qemu-m4": bench()})
    fits, costs, _, exact = statements(held)
    assert (fits.tone, costs.figure, exact.tone) == ("good", "+5.0\N{NO-BREAK SPACE}%", "bad")
    assert "7 of 8" in exact.words
    assert "200\N{NO-BREAK SPACE}B of flash" in costs.words
    assert lead(held).startswith("SNAP fits qemu-m4, adds 5.0")
    small = replace(held, benches={"qemu-m4": bench(flash_limit=800)})
    assert statements(small)[0].tone == "bad"
    assert "does not fit qemu-m4" in lead(small)
    board = replace(held, benches={"small-mcu": bench(overhead=None)})
    assert "takes 8,000 instructions" in lead(board)


def test_nothing_is_claimed_of_what_was_not_measured() -> None:
    empty = Contents("run", "model", "data", MISSING)
    assert lead(empty) == "Nothing was measured yet."
    assert {s.tone for s in statements(empty)} == {"unknown"}
    plain = replace(empty, figures=figures())
    better = statements(plain)[2]
    assert (better.tone, better.figure) == ("unknown", "not shown")
    assert "0.900 against 0.800" in better.words
    assert "without intervals. no eval" in better.words


def test_idle_heads_come_first() -> None:
    command = "snap calibrate --taps none --run digits-001"
    used = replace(contents(), benches={"qemu-m4": bench()}, figures=figures())
    idle = replace(used, figures=figures(heads(idle=True)), without_heads=command)
    assert (
        lead(idle) == f"{lead(idle).partition('.')[0]}. Calibrate again: `{command}`. {lead(used)}"
    )
    assert lead(idle).startswith("The heads are idle: ")
    first, *others = statements(idle)
    assert (first.figure, first.tone) == ("no, idle", "bad")
    assert first.words.endswith(f"Run: `{command}`")
    assert others == statements(used)


def test_nothing_is_said_of_heads_that_a_monitor_does_not_have() -> None:
    bare = replace(contents(), benches={"qemu-m4": bench()}, figures=figures(heads(present=False)))
    costs = statements(bare)[1]
    assert "the monitor, which has no heads, adds 200\N{NO-BREAK SPACE}B of flash" in costs.words
    assert "the monitor adds" not in costs.words
    assert "idle" not in lead(bare)
