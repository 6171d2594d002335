"""Noise is where it should be, and as loud as it should be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.data.sound.noise import add_noise, cut_noise, in_range, pink_noise

RATE = 16_000


def hiss(n: int, samples: int = RATE, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.05, (n, samples)).astype(np.float32)


def ratio_db(clean: np.ndarray, noisy: np.ndarray) -> float:
    """Of clean to what was added, where the sum may have been scaled as a whole.

    The noise is uncorrelated with the clip only in the mean, so the scale is not found by a fit.
    """
    added = noisy.astype(np.float64) - clean
    return float(10 * np.log10(np.mean(clean.astype(np.float64) ** 2) / np.mean(added**2)))


@given(st.floats(-10, 40), st.floats(1e-3, 10))
def test_the_ratio_is_the_one_asked_for(snr: float, level: float) -> None:
    clips, noise = hiss(2, 4000), hiss(2, 4000, seed=1)
    noisy = add_noise(clips * 0.1, noise * np.float32(level), np.array([snr, snr + 1]))
    for k in range(2):
        assert ratio_db(clips[k] * np.float32(0.1), noisy[k]) == pytest.approx(snr + k, abs=0.01)


def test_a_sum_beyond_full_scale_keeps_its_ratio() -> None:
    time = np.arange(RATE) / RATE
    clip = np.sin(2 * np.pi * 500 * time).astype(np.float32)[None]
    noise = np.sin(2 * np.pi * 700 * time).astype(np.float32)[None]
    noisy = add_noise(clip, noise, np.array([6.0]))
    assert np.abs(noisy).max() == pytest.approx(1)
    spectrum = np.abs(np.fft.rfft(noisy[0]))
    assert 20 * np.log10(spectrum[500] / spectrum[700]) == pytest.approx(6, abs=1e-3)


def test_nothing_is_added_to_silence_nor_by_silence() -> None:
    silence = np.zeros((2, RATE), np.float32)
    ratios = np.array([0.0, 20.0])
    np.testing.assert_array_equal(add_noise(silence, hiss(2), ratios), silence)
    np.testing.assert_array_equal(add_noise(hiss(2), silence, ratios), hiss(2))


def test_the_faintest_clip_gets_the_faintest_noise() -> None:
    faint = np.zeros((1, RATE), np.float32)
    faint[0, 100] = 1 / 32768
    noisy = add_noise(faint, hiss(1), np.array([0.0]))
    assert np.isfinite(noisy).all()
    assert ratio_db(faint[0], noisy[0]) == pytest.approx(0, abs=0.01)


def test_cuts_come_from_the_recordings_and_from_everywhere_in_them() -> None:
    samples = 50
    recordings = tuple(
        np.arange(start, start + length, dtype=np.float32)
        for start, length in ((0, 50), (1000, 55), (2000, 60))
    )
    cuts = cut_noise(recordings, 600, samples, np.random.default_rng(0))
    assert cuts.dtype == np.float32
    np.testing.assert_array_equal(cuts - cuts[:, :1], np.tile(np.arange(samples), (600, 1)))
    starts = {0, *range(1000, 1006), *range(2000, 2011)}
    assert set(cuts[:, 0].tolist()) == starts
    counts = [np.sum(cuts[:, 0] // 1000 == k) for k in range(3)]
    assert min(counts) > 150


def test_pink_noise_has_as_much_power_in_every_octave() -> None:
    noise = pink_noise(200, RATE, np.random.default_rng(0))
    assert noise.dtype == np.float32
    assert noise.std() == pytest.approx(1, rel=0.05)
    assert np.abs(noise.mean(axis=1)).max() < 1e-5
    power = (np.abs(np.fft.rfft(noise, axis=1)) ** 2).mean(axis=0)
    octaves = [power[k : 2 * k].sum() for k in (100, 200, 400, 800, 1600, 3200)]
    np.testing.assert_allclose(octaves, np.mean(octaves), rtol=0.05)


def test_pink_noise_stands_in_for_recordings() -> None:
    found, expected = (
        make(np.random.default_rng(4))
        for make in (lambda r: cut_noise((), 3, 800, r), lambda r: pink_noise(3, 800, r))
    )
    np.testing.assert_array_equal(found, expected)
    assert len({row.tobytes() for row in found}) == 3


@given(st.floats(0, 100, width=32))
def test_only_what_is_too_loud_is_scaled(level: float) -> None:
    clips = hiss(2, 100) * np.array([[level], [1]], np.float32)
    found = in_range(clips)
    assert np.abs(found).max() <= 1
    np.testing.assert_array_equal(found[1], clips[1])
    if np.abs(clips[0]).max() <= 1:
        np.testing.assert_array_equal(found[0], clips[0])
    else:
        np.testing.assert_allclose(found[0] * np.abs(clips[0]).max(), clips[0], rtol=1e-5)
