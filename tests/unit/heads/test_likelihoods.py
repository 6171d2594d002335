"""What the paper states about the likelihoods, against scipy's densities."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student

from snapcli.array import Array
from snapcli.heads.gaussian import Gaussian
from snapcli.heads.huber import Huber
from snapcli.heads.likelihood import Likelihood, Prediction
from snapcli.heads.lowrank import LowRank
from snapcli.heads.mixture import Mixture
from snapcli.heads.student_t import StudentT

from ..tiny_monitor import LIKELIHOODS

D, RANK, COUNT = 7, 3, 20
seeds = st.integers(0, 2**32 - 1)
every_kind = pytest.mark.parametrize("kind", LIKELIHOODS)


def draw(kind: str, seed: int) -> tuple[Likelihood, Prediction]:
    rng = np.random.default_rng(seed)
    likelihood = LIKELIHOODS[kind](rng, D, RANK)
    k = likelihood.components
    shape = (COUNT, k, D) if k > 1 else (COUNT, D)
    # A mixture predicts one activation by several means.
    residual = rng.normal(0, 2, (COUNT, 1, D) if k > 1 else shape) + rng.normal(0, 1, shape)
    return likelihood, Prediction(
        residual, rng.uniform(0.05, 4, shape), rng.normal(0, 1, (COUNT, RANK))
    )


def log_density(likelihood: Likelihood, prediction: Prediction) -> Array:
    """ln p [n] by scipy."""
    v, sigma = prediction.residual, np.sqrt(prediction.variance)
    match likelihood:
        case StudentT(nu):
            return student.logpdf(v, nu, scale=sigma).sum(axis=-1)
        case LowRank(factor=b):
            covariances = (np.diag(s2) + b @ b.T for s2 in prediction.variance)
            pairs = zip(v, covariances, strict=True)
            return np.array([multivariate_normal(cov=c).logpdf(x) for x, c in pairs])
        case Mixture(weights=weights, bias=bias):
            logits = prediction.latent @ weights.T + bias
            shares = logits - logsumexp(logits, axis=-1, keepdims=True)
            return logsumexp(shares + norm.logpdf(v, 0, sigma).sum(axis=-1), axis=-1)
        case Huber(delta):
            return np.sum(_huber_density(v / sigma, delta) - np.log(sigma), axis=-1)
    return norm.logpdf(v, 0, sigma).sum(axis=-1)


def _huber_density(u: Array, delta: float) -> Array:
    """ln of exp(-rho(u)) over its integral: a normal middle with exponential tails."""
    middle = np.sqrt(2 * np.pi) * (norm.cdf(delta) - norm.cdf(-delta))
    tails = 2 / delta * np.exp(-(delta**2) / 2)
    rho = np.where(np.abs(u) <= delta, u**2 / 2, delta * (np.abs(u) - delta / 2))
    return -rho - np.log(middle + tails)


@every_kind
@given(seed=seeds)
def test_the_energy_is_the_part_of_the_density_that_the_residual_has(kind: str, seed: int) -> None:
    """Proposition 2.1: -2 ln p / d is e plus what an activation as predicted would have."""
    likelihood, prediction = draw(kind, seed)
    exactly = replace(prediction, residual=np.zeros_like(prediction.residual))
    nll, least = (-2 / D * log_density(likelihood, p) for p in (prediction, exactly))
    np.testing.assert_allclose(likelihood.energy(prediction), nll - least, rtol=1e-5, atol=1e-5)


@every_kind
@given(seed=seeds, by=st.floats(1.01, 10))
def test_energies_start_at_zero_and_grow(kind: str, seed: int, by: float) -> None:
    likelihood, prediction = draw(kind, seed)
    none, some, more = (
        likelihood.energy(replace(prediction, residual=k * prediction.residual)) for k in (0, 1, by)
    )
    np.testing.assert_allclose(none, 0, atol=1e-9)
    assert np.all(some > 0)
    assert np.all(more > some)


@pytest.mark.parametrize("d", [4, 16, 64])
def test_the_gaussian_energy_is_chi_square_over_its_degrees(d: int) -> None:
    rng = np.random.default_rng(d)
    count = 20_000
    variance = rng.uniform(0.05, 4, (count, d))
    drawn = Prediction(rng.normal(0, np.sqrt(variance)), variance, None)
    e = Gaussian().energy(drawn)
    # Deviations of the mean and of the variance of that many chi-square numbers over d.
    assert np.mean(e) == pytest.approx(1.0, abs=min(0.05, 5 * np.sqrt(2 / d / count)))
    spread = 2 / d * np.sqrt((2 + 12 / d) / count)
    assert np.var(e) == pytest.approx(2 / d, abs=5 * spread)


@given(seeds)
def test_woodbury_is_the_dense_inverse(seed: int) -> None:
    likelihood, prediction = draw("lowrank", seed)
    assert isinstance(likelihood, LowRank)
    dense = np.stack(
        [np.diag(s2) + likelihood.factor @ likelihood.factor.T for s2 in prediction.variance]
    )
    v = prediction.residual[..., np.newaxis]
    direct = (np.swapaxes(v, -1, -2) @ np.linalg.solve(dense, v))[..., 0, 0] / D
    np.testing.assert_allclose(likelihood.energy(prediction), direct, rtol=1e-8)


@given(seeds)
def test_what_correlations_explain_is_never_negative(seed: int) -> None:
    likelihood, prediction = draw("lowrank", seed)
    assert isinstance(likelihood, LowRank)
    sigma = np.sqrt(prediction.variance)
    explained = likelihood.correction(prediction.residual / sigma, sigma)
    assert np.all(explained >= 0)
    np.testing.assert_allclose(
        likelihood.energy(prediction), Gaussian().energy(prediction) - explained / D, rtol=1e-9
    )


@given(seeds)
def test_a_mixture_of_one_is_the_gaussian(seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, prediction = draw("gaussian", seed)
    alone = Prediction(
        prediction.residual[:, np.newaxis], prediction.variance[:, np.newaxis], prediction.latent
    )
    one = Mixture(rng.normal(0, 1, (1, RANK)), rng.normal(0, 1, 1))
    np.testing.assert_allclose(one.energy(alone), Gaussian().energy(prediction), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_lowrank_has_the_determinant_of_the_dense_covariance(seed: int) -> None:
    pytest.importorskip("tensorflow")
    from snapcli.heads.lowrank import LowRankTraining

    likelihood, prediction = draw("lowrank", seed)
    assert isinstance(likelihood, LowRank)
    training = LowRankTraining(D, likelihood.factor.shape[1], "b")
    training.factor.assign(likelihood.factor)
    real = Prediction(*(np.float32(v) for v in vars(prediction).values()))
    expected = -np.mean(log_density(likelihood, prediction)) / D - 0.5 * np.log(2 * np.pi)
    assert float(training.nll(real)) == pytest.approx(expected, rel=1e-5)
