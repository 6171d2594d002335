"""The verdict says no more than the intervals allow."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from snapcli.jsontext import dumps
from snapcli.report.contents import Contents
from snapcli.report.outcome import LOSES, TIES, UNDEFINED, WINS, headlines, outcome
from snapcli.report.verdict import lead, statements

from .example import example

MISSING = {"bench/qemu-m4": "no bench", "flash/qemu-m4": "no flash", "eval": "no eval"}
bound = st.floats(-1, 1)


def interval(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high}


def contents(gains: dict[str, Any] | None = None) -> Contents:
    evaluation = json.loads(dumps(example(["int8"])))
    if gains is not None:
        (snap,) = (m for m in evaluation["sources"]["int8"]["methods"] if m["name"] == "snap")
        snap["gains"] = gains
    return Contents("run", "model", "data", MISSING, evaluation=evaluation)


def bench(flash_limit: int = 1000, overhead: float | None = 0.05) -> dict[str, Any]:
    return {
        "counter": "instructions",
        "timing": {"mean": 5000.0},
        "heads_overhead": overhead,
        "size": {"flash_bytes": 900, "ram_bytes": 90},
        "size_without_heads": {"flash_bytes": 700, "ram_bytes": 80},
        "flash_limit_bytes": flash_limit,
        "ram_limit_bytes": 100,
        "bit_exact": 7,
        "inputs": 8,
    }


@given(bound, bound, bound)
def test_outcome(a: float, b: float, c: float) -> None:
    low, value, high = sorted((a, b, c))
    said = outcome(interval(value, low, high))
    assert (said == WINS) == (low > 0)
    assert (said == LOSES) == (high < 0)
    assert (said == TIES) == (low <= 0 <= high)


def test_without_an_interval_nothing_is_said() -> None:
    assert outcome(interval(0.4, None, None)) == UNDEFINED
    assert outcome(interval(None, None, None)) == UNDEFINED
    gains = {"errors.pooled.auroc": interval(0.4, None, None)}
    assert "beats" not in lead(contents(gains))


def test_words_follow_the_intervals() -> None:
    win, tie, loss = interval(0.2, 0.1, 0.3), interval(0.2, -0.1, 0.3), interval(-0.2, -0.3, -0.1)
    keys = ("errors.pooled.auroc", "errors.clean.auroc", "events.auprc")

    def said(*figures: Any) -> str:
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
    assert "takes 5,000 instructions" in lead(board)


def test_nothing_is_claimed_of_what_was_not_measured() -> None:
    empty = Contents("run", "model", "data", MISSING)
    assert lead(empty) == "Nothing was measured yet."
    assert {s.tone for s in statements(empty)} == {"unknown"}
    errors = {
        score: {part: {"auroc": value} for part in ("pooled", "per_cell", "clean")}
        for score, value in (("U", 0.9), ("max-probability", 0.8))
    }
    plain = replace(empty, detection={"errors": errors})
    better = statements(plain)[2]
    assert (better.tone, better.figure) == ("unknown", "not shown")
    assert "0.900 against 0.800" in better.words
    assert "without intervals. no eval" in better.words
