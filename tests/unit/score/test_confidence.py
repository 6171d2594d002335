"""Temperature, error logit and doubt against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax, softmax

from snapcli.score.confidence import doubt, energy, error_logit, fit_temperature

logits = arrays(np.float64, (4, 6), elements=st.floats(-12, 12))
temperatures = st.floats(0.3, 5.0)
rates = st.sampled_from([0.0, 0.01, 0.05, 0.3, 1.0])


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_a_known_temperature_is_recovered(temperature: float) -> None:
    """Labels are drawn from softmax(logits), the classifier reports logits times T."""
    rng = np.random.default_rng(1)
    true = rng.normal(0, 2, (20_000, 5))
    labels = (softmax(true, axis=-1).cumsum(axis=-1) > rng.random((20_000, 1))).argmax(axis=-1)
    assert fit_temperature(true * temperature, labels) == pytest.approx(temperature, rel=0.04)


def test_the_temperature_minimises_the_likelihood_loss() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(0, 3, (5000, 4))
    labels = rng.integers(0, 4, 5000)
    labels[:3000] = z[:3000].argmax(axis=-1)

    def loss(temperature: float) -> float:
        return float(-log_softmax(z / temperature, axis=-1)[np.arange(5000), labels].mean())

    found = fit_temperature(z, labels)
    # Smoothing by one imagined error moves it by far less than this grid is wide.
    assert loss(found) <= min(loss(found * f) for f in (0.8, 0.9, 1.1, 1.25))


def test_a_dev_set_without_errors_claims_no_more_than_it_shows() -> None:
    """180 right answers speak for an error rate around 1 / 182, not for none."""
    z = np.random.default_rng(3).normal(0, 1, (180, 10)) + 8 * np.eye(10)[np.arange(180) % 10]
    temperature = fit_temperature(z, z.argmax(axis=-1))
    doubted = 1 - softmax(z / temperature, axis=-1).max(axis=-1).mean()
    assert 0.3 / 182 < doubted < 3 / 182


def plain_nll(z: np.ndarray, labels: np.ndarray, temperature: float) -> float:
    return float(-log_softmax(z / temperature, axis=-1)[np.arange(len(labels)), labels].mean())


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(2, 12), st.floats(0.01, 60), rates
)
def test_fitting_never_raises_the_likelihood_loss(
    seed: int, n: int, classes: int, spread: float, error_rate: float
) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(0, spread, (n, classes))
    wrong = rng.random(n) < error_rate
    labels = np.where(wrong, rng.integers(0, classes, n), z.argmax(axis=-1))
    temperature = fit_temperature(z, labels)
    assert 0.05 <= temperature <= 20
    assert plain_nll(z, labels, temperature) <= plain_nll(z, labels, 1.0) + 1e-12


@given(st.integers(1, 5000), st.integers(2, 12), st.floats(0.5, 30))
def test_without_errors_the_smoothed_temperature_up_to_1(
    n: int, classes: int, margin: float
) -> None:
    """All answers right by the same margin: smoothed targets ask for p = 1 - 1 / (n + 2)."""
    labels = np.arange(n) % classes
    smoothed = margin / np.log((n + 1) * (classes - 1))
    found = fit_temperature(margin * np.eye(classes)[labels], labels)
    assert found == pytest.approx(np.clip(smoothed, 0.05, 1.0), rel=1e-3)


def test_the_temperature_moves_towards_1_no_further_than_it_has_to() -> None:
    """With one error in 50, T = 1.07 is likeliest, and smoothed targets ask for T = 1.2."""
    labels = np.arange(50) % 10
    z = 6.5 * np.eye(10)[labels]
    labels[0] = 1
    found = fit_temperature(z, labels)
    assert found > 1.0
    assert plain_nll(z, labels, found) == pytest.approx(plain_nll(z, labels, 1.0), rel=1e-6)


def test_a_dev_set_without_hits_gives_the_largest_temperature() -> None:
    z = np.random.default_rng(3).normal(0, 1, (180, 10))
    assert fit_temperature(z, z.argmin(axis=-1)) == pytest.approx(20.0, rel=0.01)


@given(logits, temperatures)
def test_error_logit_is_that_of_softmax(z: np.ndarray, temperature: float) -> None:
    ordered = np.sort(softmax(z / temperature, axis=-1), axis=-1)
    # The sum of the others keeps its precision where 1 - max p has lost it.
    rest = ordered[:, :-1].sum(axis=-1)
    np.testing.assert_allclose(
        error_logit(z, temperature), np.log(rest / ordered[:, -1]), rtol=1e-9, atol=1e-9
    )


def test_error_logit_is_finite_where_probabilities_round_to_one() -> None:
    z = np.array([[0.0, 500.0, -3.0], [0.0, 900.0, -3.0]])
    first, second = error_logit(z, 1.0)
    assert second == pytest.approx(first - 400)


@given(logits, temperatures, st.floats(-50, 50))
def test_energy_falls_as_all_logits_rise(z: np.ndarray, temperature: float, by: float) -> None:
    found = energy(z, temperature)
    np.testing.assert_allclose(np.exp(-found), np.exp(z / temperature).sum(axis=-1), rtol=1e-9)
    np.testing.assert_allclose(energy(z + by, temperature), found - by / temperature, atol=1e-9)


@given(logits, temperatures, st.floats(0, 1))
def test_doubt_blends_max_probability_and_margin(
    z: np.ndarray, temperature: float, alpha: float
) -> None:
    p = softmax(z / temperature, axis=-1)
    first = p.max(axis=-1)
    second = np.partition(p, -2, axis=-1)[:, -2]
    expected = alpha * (1 - first) + (1 - alpha) * (1 - (first - second))
    found = doubt(z, temperature, alpha)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.all((found >= 0) & (found <= 1))
