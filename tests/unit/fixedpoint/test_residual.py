"""residual_s8 against the head it was quantized from, in float."""

import numpy as np
import pytest

from snapcli.fixedpoint import (
    DeviceHead,
    HeadS8,
    Multiplier,
    Standardize,
    inverse_sigma_q9_table,
    quantize_multiplier,
    quantize_multipliers_shared,
    surprisal_q16,
)
from snapcli.heads.gaussian import EnergyGaussian

IN_CHANNELS, CHANNELS, XI_STEP = 24, 40, 0.05


def quantized(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    scale = float(np.abs(matrix).max() / 127)
    return np.rint(matrix / scale).astype(np.int8), scale


def standardize(mean: np.ndarray, std: np.ndarray, one: int) -> Standardize:
    mantissa, shift = quantize_multipliers_shared(one / std)
    return Standardize(mantissa, np.rint(-one * mean / std).astype(np.int32), shift)


def surprisal(head: HeadS8, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    nobody = np.zeros(len(before), np.int32)
    return surprisal_q16(DeviceHead(head, EnergyGaussian()), before, after, nobody)


@pytest.mark.parametrize("rank", [0, 8])
def test_surprisal_is_close_to_float(rank: int) -> None:
    rng = np.random.default_rng(rank)
    inputs = rank or IN_CHANNELS
    projector, projector_scale = quantized(rng.normal(0, 0.2, (rank or 1, IN_CHANNELS)))
    wm, wm_scale = quantized(rng.normal(0, 0.2, (CHANNELS, inputs)))
    wx, wx_scale = quantized(rng.normal(0, 0.2, (CHANNELS, inputs)))
    mean_bias, xi_bias = rng.normal(0, 0.3, CHANNELS), rng.normal(0, 0.5, CHANNELS)
    before_mean, after_mean = rng.normal(0, 3000, IN_CHANNELS), rng.normal(0, 3000, CHANNELS)
    before_std, after_std = rng.uniform(500, 5000, IN_CHANNELS), rng.uniform(500, 5000, CHANNELS)

    after = standardize(after_mean, after_std, 1 << 16)
    offset = after.offset - np.rint(mean_bias * (1 << 16)).astype(np.int32)
    head = HeadS8(
        in_channels=IN_CHANNELS,
        channels=CHANNELS,
        components=1,
        rank=rank,
        before=standardize(before_mean, before_std, 1 << 10),
        after=Standardize(after.mantissa, offset, after.shift),
        projector=projector[:rank],
        latent=quantize_multiplier(projector_scale) if rank else Multiplier(0, 0),
        mean_weights=wm,
        mean=quantize_multiplier(wm_scale * 64),
        xi_weights=wx,
        xi_bias=np.rint(xi_bias / (wx_scale / 1024)).astype(np.int32),
        xi=quantize_multiplier(wx_scale / 1024 / XI_STEP),
        xi_zero_point=5,
        inverse_sigma_q9=inverse_sigma_q9_table(XI_STEP, 5),
        class_mean=np.zeros((0, CHANNELS), np.int8),
        class_scale=Multiplier(0, 0),
    )
    sum_before = np.rint(rng.normal(before_mean, before_std, (500, IN_CHANNELS))).astype(np.int32)
    sum_after = np.rint(rng.normal(after_mean, after_std, (500, CHANNELS))).astype(np.int32)

    z = (sum_before - before_mean) / before_std
    if rank:
        z = z @ (projector * projector_scale).T
    mean = z @ (wm * wm_scale).T + mean_bias
    xi = z @ (wx * wx_scale).T + xi_bias
    sigma2 = np.log1p(np.exp(np.clip(xi, -133 * XI_STEP, 122 * XI_STEP))) + 1e-8
    expected = np.mean(((sum_after - after_mean) / after_std - mean) ** 2 / sigma2, axis=-1)

    actual = surprisal(head, sum_before, sum_after) / 65536
    # A step of xi is 5 %, rounded to half of that, and averages out over the channels.
    np.testing.assert_allclose(actual, expected, rtol=0.02)


def test_inverse_sigma_table_is_bounded_and_falls() -> None:
    table = inverse_sigma_q9_table(10.0, 0).astype(int)
    assert table.max() == 51200  # sigma = 0.01, where the variance is clamped
    assert table.min() == 51  # sigma = 10
    assert np.all(np.diff(table) <= 0)


def test_surprisal_of_the_predicted_mean_is_zero() -> None:
    still = Standardize(np.zeros(2, np.int32), np.zeros(2, np.int32), 0)
    head = HeadS8(
        in_channels=2,
        channels=2,
        components=1,
        rank=0,
        before=still,
        after=still,
        projector=np.zeros((0, 2), np.int8),
        latent=Multiplier(0, 0),
        mean_weights=np.ones((2, 2), np.int8),
        mean=Multiplier(2**30, 0),
        xi_weights=np.ones((2, 2), np.int8),
        xi_bias=np.zeros(2, np.int32),
        xi=Multiplier(2**30, 0),
        xi_zero_point=0,
        inverse_sigma_q9=inverse_sigma_q9_table(0.1, 0),
        class_mean=np.zeros((0, 2), np.int8),
        class_scale=Multiplier(0, 0),
    )
    sums = np.array([[100, -7], [3, 2**31 - 1]], np.int32)
    assert surprisal(head, sums, sums).tolist() == [0, 0]
