"""Promises: their bound against scipy's, and how often they are broken where the truth is known."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from snapcli.errors import CheckError
from snapcli.metrics.detection import Cell
from snapcli.score.promise import (
    Promise,
    least_examples,
    threshold_by_false_alarm,
    threshold_by_risk,
    upper_bound,
)
from snapcli.score.threshold import NEVER

pytestmark = pytest.mark.slow

Rate = Callable[[np.ndarray], np.ndarray]
Rule = Callable[[Cell, Cell, float], tuple[float, Promise]]
RULES: dict[str, Rule] = {"risk": threshold_by_risk, "false-alarm": threshold_by_false_alarm}
every_rule = pytest.mark.parametrize("rule", RULES)


def draw(rng: np.random.Generator, count: int, error: Rate, steps: int = 0) -> Cell:
    """U uniform, in so many steps if any; wrong with probability error(U)."""
    u = rng.random(count)
    if steps:
        u = np.floor(steps * u) / steps
    return Cell(rng.random(count) < error(u), u)


@given(st.integers(1, 3000), st.data())
def test_the_bound_is_clopper_and_pearson_s(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    interval = binomtest(count, n, alternative="less").proportion_ci(0.95, method="exact")
    assert upper_bound(count, n) == pytest.approx(interval.high, abs=1e-9)


@given(st.floats(1e-4, 0.99))
def test_the_least_number_of_examples_is_the_least(target: float) -> None:
    n = least_examples(target)
    assert upper_bound(0, n) <= target * (1 + 1e-9)
    assert n == 1 or upper_bound(0, n - 1) > target


# {name: (error rate at U, true risk of all below a threshold)}
WORLDS: dict[str, tuple[Rate, Callable[[float], float]]] = {
    "just above the target": (lambda u: np.full_like(u, 0.0501), lambda t: 0.0501),
    "rising": (lambda u: 0.3 * u, lambda t: 0.15 * t),
    "slow, then steep": (lambda u: 0.01 + 0.6 * u**3, lambda t: 0.01 + 0.15 * t**3),
    "a step": (
        lambda u: np.where(u < 0.5, 0.01, 0.2),
        lambda t: 0.01 if t < 0.5 else (0.005 + 0.2 * (t - 0.5)) / t,
    ),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("count", [150, 600])
def test_a_promised_risk_is_broken_in_at_most_5_percent_of_worlds(name: str, count: int) -> None:
    error, risk = WORLDS[name]
    rng, trials, broken = np.random.default_rng(1), 600, 0
    for _ in range(trials):
        try:
            threshold, _ = threshold_by_risk(draw(rng, count, error), draw(rng, count, error), 0.05)
        except CheckError:
            continue
        broken += risk(min(threshold, 1.0)) > 0.05
    # Three standard deviations of a count that has a mean of 5 %.
    assert broken <= 0.05 * trials + 3 * np.sqrt(0.05 * 0.95 * trials)


@pytest.mark.parametrize("steps", [0, 20])
def test_a_promised_false_alarm_rate_is_broken_in_at_most_5_percent(steps: int) -> None:
    def half(u: np.ndarray) -> np.ndarray:
        return np.full_like(u, 0.5)  # so that U of correct inputs is uniform

    rng, trials, broken, made = np.random.default_rng(2), 600, 0, 0
    for _ in range(trials):
        seen, held_out = draw(rng, 300, half, steps), draw(rng, 300, half, steps)
        threshold, promise = threshold_by_false_alarm(seen, held_out, 0.1)
        made += promise.count > 0
        broken += 1 - min(threshold, 1.0) > 0.1 + 1e-9
    assert broken <= 0.05 * trials + 3 * np.sqrt(0.05 * 0.95 * trials)
    assert made > trials / 2  # and it does refuse somebody


def test_a_risk_that_is_plainly_there_is_promised() -> None:
    """Errors are rare below 0.5 and frequent above: that is found, and nearly all of it used."""
    error, _ = WORLDS["a step"]
    rng, found = np.random.default_rng(3), []
    for _ in range(50):
        seen, held_out = draw(rng, 1000, error), draw(rng, 1000, error)
        found.append(threshold_by_risk(seen, held_out, 0.05)[0])
    assert np.mean(found) > 0.5
    assert np.mean(np.array(found) > 0.45) >= 0.9


@every_rule
def test_what_is_promised_is_what_is_counted(rule: str) -> None:
    rng = np.random.default_rng(4)
    seen, held_out = (draw(rng, 500, lambda u: 0.2 * u) for _ in range(2))
    threshold, promise = RULES[rule](seen, held_out, 0.06)
    refused = held_out.score >= threshold
    n, count = {
        "risk": (np.sum(~refused), np.sum(held_out.wrong[~refused])),
        "false-alarm": (np.sum(~held_out.wrong), np.sum(refused[~held_out.wrong])),
    }[rule]
    assert (promise.rule, promise.target, promise.confidence) == (rule, 0.06, 0.95)
    assert (promise.n, promise.count) == (n, count)
    assert promise.bound == upper_bound(count, n) <= 0.06
    assert 0 < threshold < NEVER


@every_rule
def test_a_small_held_out_set_says_what_it_could_promise(rule: str) -> None:
    cell = Cell(np.zeros(40, bool), np.linspace(0, 1, 40))
    with pytest.raises(CheckError, match=r"not enough data for this promise.* n = 40 ") as caught:
        RULES[rule](cell, cell, 0.05)
    assert caught.value.exit_code == 7
    assert caught.value.hint is not None
    assert "59" in caught.value.hint
    # The target that it names can be had.
    smallest = float(caught.value.hint.rstrip(".").split()[-1])
    assert smallest == pytest.approx(upper_bound(0, 40), abs=1e-4)
    assert RULES[rule](cell, cell, smallest)[1].n <= 40


def test_errors_among_the_surest_are_no_matter_of_n_alone() -> None:
    cell = Cell(np.arange(400) % 4 == 0, np.linspace(0, 1, 400))
    with pytest.raises(CheckError, match="not enough data for this promise") as caught:
        threshold_by_risk(cell, cell, 0.05)
    assert caught.value.hint is not None
    assert "wrong" in caught.value.hint


def test_few_steps_of_u_are_enough() -> None:
    """An isotonic map knows a handful of values, many inputs share one."""
    rng = np.random.default_rng(5)
    seen, held_out = (draw(rng, 400, lambda u: 0.1 * (u > 0.5), steps=4) for _ in range(2))
    threshold, promise = threshold_by_risk(seen, held_out, 0.03)
    assert threshold in (0.5, 0.75)
    assert promise.n == np.sum(held_out.score < threshold)
