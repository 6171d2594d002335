"""The budget controller with its default steps: it keeps its budget, recovers and stays calm."""

import numpy as np
import pytest

from snapcli.config import CalibrateOptions
from snapcli.score.controller import Controller

LENGTH, WINDOW = 6000, 200
DEFAULT = CalibrateOptions()


def controller(budget: float) -> Controller:
    return Controller(budget, DEFAULT.eta, DEFAULT.kappa)


def stream(name: str, seed: int = 1) -> np.ndarray:
    """U of stationary streams: spread out, mostly sure, narrow, and of few values."""
    rng = np.random.default_rng(seed)
    return {
        "uniform": lambda: rng.random(LENGTH),
        "sure": lambda: 1 / (1 + np.exp(-rng.normal(-6, 2, LENGTH))),
        "unsure": lambda: rng.beta(5, 2, LENGTH),
        "narrow": lambda: rng.uniform(0.02, 0.05, LENGTH),
        "two values": lambda: np.where(rng.random(LENGTH) < 0.5, 0.8, 0.2),
        "five values": lambda: rng.choice(
            [0.01, 0.05, 0.2, 0.5, 0.9], LENGTH, p=[0.5, 0.2, 0.15, 0.1, 0.05]
        ),
    }[name]()


every_stream = pytest.mark.parametrize(
    "name", ["uniform", "sure", "unsure", "narrow", "two values", "five values"]
)


@every_stream
@pytest.mark.parametrize("budget", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("first", [0.0, 1.0])
def test_the_long_run_rate_is_the_budget(name: str, budget: float, first: float) -> None:
    """From the worst thresholds to start with; they are forgotten after 1 / (kappa budget)."""
    abstain, _ = controller(budget).run(stream(name), first)
    assert abs(abstain[LENGTH // 3 :].mean() - budget) < 0.02


@every_stream
def test_the_rate_does_not_swing(name: str) -> None:
    """Over windows it varies no more than if each input were refused by the toss of a coin."""
    u, budget = stream(name), 0.1
    abstain, _ = controller(budget).run(u, float(np.quantile(u, 0.9)))
    windows = abstain[1000:].reshape(-1, WINDOW).mean(axis=1)
    assert windows.std() < 1.2 * np.sqrt(budget * (1 - budget) / WINDOW)


@pytest.mark.parametrize("name", ["uniform", "sure", "unsure"])
def test_most_of_what_is_refused_deserves_it(name: str) -> None:
    """Steps are small enough that it still refuses the most uncertain, not just every tenth."""
    u = stream(name)
    best = float(np.quantile(u, 0.9))
    abstain, _ = controller(0.1).run(u, best)
    assert np.mean(abstain[u >= best]) > 0.8


@every_stream
def test_it_recovers_from_a_burst(name: str) -> None:
    u, budget = stream(name), 0.1
    u[2000:2200] = np.random.default_rng(2).uniform(0.95, 1.0, 200)
    abstain, _ = controller(budget).run(u, float(np.quantile(u, 0.9)))
    assert abstain[2000:2010].mean() > 0.5  # the burst is noticed
    assert abs(abstain[3200:].mean() - budget) < 0.02


def test_the_paper_s_recursion() -> None:
    abstain, thresholds = Controller(0.25, 0.5, 0.1).run(np.array([0.5, 0.5, 0.5]), 0.5)
    # rate: 0.5, 0.25, 0.125
    assert abstain.tolist() == [True, False, False]
    assert thresholds.tolist() == pytest.approx([0.525, 0.525, 0.5125])


def test_the_threshold_stays_within_0_and_1() -> None:
    always = Controller(0.0, 1.0, 1.0).run(np.ones(5), 1.5)
    never = Controller(1.0, 1.0, 1.0).run(np.zeros(5), 0.5)
    assert always[0].all()
    assert (always[1] == 1.0).all()
    assert never[1].tolist() == [0.0] * 5
