"""The device's energies against the float ones that they approximate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli import fixedpoint as fx
from snapcli.heads.gaussian import EnergyGaussian, Gaussian
from snapcli.heads.huber import EnergyHuber, Huber
from snapcli.heads.likelihood import Likelihood, Prediction
from snapcli.heads.lowrank import EnergyLowrank, LowRank
from snapcli.heads.mixture import EnergyMixture, Mixture
from snapcli.heads.student_t import EnergyStudentT, StudentT

from ...golden.cases import EnergyOf

KINDS = (
    "energy_gaussian_q16",
    "energy_student_t_q16",
    "energy_huber_q16",
    "energy_lowrank_f32",
    "energy_mixture_q16",
)
seeds = st.integers(0, 2**32 - 1)


def real_energy(energy: fx.Energy, residual: fx.Residual, case: EnergyOf) -> np.ndarray:
    """[50], by the float likelihood with the very numbers that the device has."""
    u = residual.u_q12 / 4096
    sigma = 512 / residual.inverse_sigma_q9.astype(np.float64)
    latent = residual.latent.astype(np.float64)
    likelihood: Likelihood = Gaussian()
    match energy:
        case EnergyStudentT():
            likelihood = StudentT(case.nu)
        case EnergyHuber():
            likelihood = Huber(case.delta)
        case EnergyLowrank():
            likelihood = LowRank(energy.factor.astype(np.float64))
        case EnergyMixture():
            unit = energy.logit.mantissa * 2.0 ** (energy.logit.shift - 31) / 65536
            likelihood = Mixture(energy.weights * unit, energy.bias * unit)
            u, sigma = (part.reshape(len(u), energy.components, -1) for part in (u, sigma))
    return likelihood.energy(Prediction(u * sigma, sigma**2, latent))


def tolerance(energy: fx.Energy, residual: fx.Residual) -> np.ndarray:
    """SPEC 1.3: what an energy may differ by from the real one, [50]."""
    gaussian = np.mean((residual.u_q12 / 4096) ** 2, axis=-1)
    match energy:
        case EnergyLowrank():
            return gaussian * 2.0**-9 + 2.0**-15
        case EnergyStudentT():
            return np.full_like(gaussian, energy.nu_plus_1_q16 / 65536 * 2.0**-13)
        case EnergyMixture():
            return np.full_like(gaussian, 2.0**-12)
    return np.full_like(gaussian, 2.0**-15)


@pytest.mark.parametrize("kernel", KINDS)
@given(
    seed=seeds,
    channels=st.sampled_from([1, 2, 9, 24, 64]),
    reach=st.sampled_from([0.1, 1.0, 8.0, 60.0]),
    nu=st.sampled_from([3.0, 5.0, 17.3, 30.0]),
)
def test_an_energy_is_close_to_the_real_one(
    kernel: str, seed: int, channels: int, reach: float, nu: float
) -> None:
    case = EnergyOf(kernel, "any", seed, channels=channels, reach=reach, nu=nu, logit_shift=-12)
    energy, residual = case.draw()
    real = np.minimum(real_energy(energy, residual, case), (2**31 - 1) / 65536)
    difference = np.abs(energy.q16(residual) / 65536 - real)
    tame = np.abs(residual.u_q12 / 4096).max(axis=-1) < np.sqrt(2**16 * nu)
    assert tame.sum() > 30
    np.testing.assert_array_less(difference[tame], tolerance(energy, residual)[tame])


@pytest.mark.parametrize("kernel", KINDS)
@given(seed=seeds, by=st.integers(2, 9))
def test_an_energy_grows_with_its_residuals(kernel: str, seed: int, by: int) -> None:
    energy, residual = EnergyOf(kernel, "any", seed).draw()
    further = replace(residual, u_q12=np.clip(by * residual.u_q12, -(2**26), 2**26))
    less, more = (energy.q16(r).astype(np.int64) for r in (residual, further))
    # At the limit some residuals stand still, and others may explain them.
    tame = np.abs(residual.u_q12).max(axis=-1) < 2**22
    assert np.all(less[tame] <= more[tame])
    assert np.sum(less[tame] < more[tame]) > 30


@given(seeds)
def test_a_mixture_of_one_is_the_gaussian(seed: int) -> None:
    energy, residual = EnergyOf("energy_mixture_q16", "any", seed, components=1).draw()
    mixture, gaussian = energy.q16(residual), EnergyGaussian().q16(residual)
    assert np.all(np.abs(mixture.astype(np.int64) - gaussian) <= 1)


@given(seeds)
def test_what_is_usual_together_is_never_more_surprising(seed: int) -> None:
    energy, residual = EnergyOf("energy_lowrank_f32", "any", seed, factors=8).draw()
    explained = EnergyGaussian().q16(residual).astype(np.int64) - energy.q16(residual)
    gaussian = np.mean((residual.u_q12 / 4096) ** 2, axis=-1)
    # In single precision a residual of which nothing is explained may look a little larger.
    assert np.all(explained >= -(2.0**-9 * gaussian * 65536 + 2))
    assert np.mean(explained > 0) > 0.8
