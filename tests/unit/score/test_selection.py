"""The greedy search for taps on constructed gains and prices."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.config import MAX_TAPS
from snapcli.score.selection import (
    FLASH,
    INSTRUCTIONS,
    LEAST_GAIN,
    Limits,
    TapCost,
    greedy,
)

GAINS = {"E": 0.01, "M": 0.08, "P": 0.10}
BYTES = {"E": 500, "M": 1000, "P": 4000}
WORK = {"E": 9000, "M": 5000, "P": 5000}


def auprc(taps: tuple[str, ...]) -> float:
    return 0.5 + sum(GAINS[t] for t in taps)


def cost(taps: tuple[str, ...]) -> TapCost:
    shared = 2000 if taps else 0
    return TapCost(shared + sum(BYTES[t] for t in taps), sum(WORK[t] for t in taps))


def test_the_currency_decides_who_comes_first() -> None:
    by_flash = greedy(list(GAINS), auprc, cost, FLASH, Limits())
    by_work = greedy(list(GAINS), auprc, cost, INSTRUCTIONS, Limits())
    assert [step.tap for step in by_flash] == ["M", "P", "E"]
    assert [step.tap for step in by_work] == ["P", "M", "E"]
    assert by_flash[-1].auprc == pytest.approx(auprc(tuple(GAINS)))
    assert by_flash[1].cost == cost(("M", "P"))
    # 0.08 for the shared code and M's own bytes.
    assert by_flash[0].worth == pytest.approx(1024 * 0.08 / 3000)


def test_limits_hold_for_the_whole_set() -> None:
    steps = greedy(list(GAINS), auprc, cost, FLASH, Limits(flash_bytes=3600))
    assert [step.tap for step in steps] == ["M", "E"]
    steps = greedy(list(GAINS), auprc, cost, FLASH, Limits(instructions=10_000))
    assert [step.tap for step in steps] == ["M", "P"]
    assert greedy(list(GAINS), auprc, cost, FLASH, Limits(flash_bytes=2000)) == []


def test_a_tap_that_says_nothing_new_stays_out() -> None:
    def redundant(taps: tuple[str, ...]) -> float:
        return 0.5 + max((GAINS[t] for t in taps), default=0.0)

    assert [s.tap for s in greedy(["M", "P"], redundant, cost, INSTRUCTIONS, Limits())] == ["P"]


@given(st.dictionaries(st.sampled_from("abcdefg"), st.floats(-0.1, 0.2), min_size=1))
def test_every_step_helps_and_the_set_stays_small(gains: dict[str, float]) -> None:
    steps = greedy(
        sorted(gains),
        lambda taps: sum(gains[t] for t in taps),
        lambda taps: TapCost(len(taps), len(taps)),
        FLASH,
        Limits(),
    )
    assert len(steps) <= MAX_TAPS
    assert len({step.tap for step in steps}) == len(steps)
    assert all(step.gain >= LEAST_GAIN for step in steps)
    # With equal prices and independent gains no other set of that size is better.
    best = max(sum(c) for c in combinations(gains.values(), len(steps))) if steps else 0.0
    assert sum(step.gain for step in steps) == pytest.approx(best)
