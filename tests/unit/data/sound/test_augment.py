"""How training clips are varied, and by how much at most."""

from collections.abc import Callable

import numpy as np
import pytest

from snapcli.data.sound.augment import gain, mix_noise, shift, spec_augment

RATE = 16_000
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]
CHANGES: dict[str, Change] = {
    "shift": shift,
    "mix_noise": lambda clips, rng: mix_noise(clips, RECORDINGS, rng),
    "mix_pink_noise": lambda clips, rng: mix_noise(clips, (), rng),
    "gain": gain,
}


def hiss(n: int, deviation: float = 0.05, samples: int = RATE, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, deviation, (n, samples)).astype(np.float32)


RECORDINGS = tuple(hiss(2, samples=3 * RATE, seed=9))


@pytest.mark.parametrize("name", CHANGES)
def test_clips_stay_clips_and_follow_the_generator(name: str) -> None:
    clips = np.clip(hiss(4, deviation=0.4), -1, 1)
    before = clips.copy()
    first, again, other = (CHANGES[name](clips, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(clips, before)
    assert first.shape == clips.shape
    assert first.dtype == np.float32
    assert np.abs(first).max() <= 1
    for clip, changed in zip(clips, first, strict=True):
        assert not np.array_equal(clip, changed)


@pytest.mark.parametrize("name", CHANGES)
def test_silence_stays_silence(name: str) -> None:
    silence = np.zeros((2, RATE), np.float32)
    assert not CHANGES[name](silence, np.random.default_rng(0)).any()


def test_shifts_reach_100_ms_either_way_and_reflect_the_rest() -> None:
    ramp = np.linspace(-1, 1, RATE, dtype=np.float32)
    moved = shift(np.tile(ramp, (2000, 1)), np.random.default_rng(0))
    seen = []
    for row in moved[::20]:
        # The middle tells by how much it moved.
        distance = int(np.argmin(np.abs(ramp - row[RATE // 2]))) - RATE // 2
        seen.append(distance)
        start = max(distance, 0)
        stop = RATE + min(distance, 0)
        np.testing.assert_array_equal(row[start - distance : stop - distance], ramp[start:stop])
        if distance > 0:
            np.testing.assert_array_equal(row[-distance:], ramp[-2 : -2 - distance : -1])
        elif distance < 0:
            np.testing.assert_array_equal(row[:-distance], ramp[-distance:0:-1])
    middles = np.searchsorted(ramp, moved[:, RATE // 2]) - RATE // 2
    assert -1600 <= middles.min() < -1590
    assert 1590 < middles.max() <= 1600
    assert len(set(seen)) > 90


def test_noise_is_between_5_and_20_db() -> None:
    clips = hiss(300, samples=2000)
    noisy = mix_noise(clips, RECORDINGS, np.random.default_rng(0))
    added = (noisy - clips).astype(np.float64)
    ratios = 10 * np.log10((clips.astype(np.float64) ** 2).mean(1) / (added**2).mean(1))
    # The generator's first numbers are the ratios.
    drawn = np.random.default_rng(0).uniform(5, 20, 300)
    np.testing.assert_allclose(ratios, drawn, atol=0.01)


def test_the_gain_is_within_2_db_and_clips() -> None:
    clips = np.full((1000, 10), 0.1, np.float32)
    decibels = 20 * np.log10(gain(clips, np.random.default_rng(0)) / clips)
    assert decibels.min() == pytest.approx(-2, abs=0.02)
    assert decibels.max() == pytest.approx(2, abs=0.02)
    assert (np.abs(decibels - decibels[:, :1]) < 1e-3).all()
    loud = gain(np.full((100, 10), -0.99, np.float32), np.random.default_rng(0))
    assert loud.min() == -1


def runs(masked: np.ndarray) -> list[int]:
    """Lengths of the stretches of True."""
    steps = np.flatnonzero(np.diff(np.concatenate([[0], masked.astype(int), [0]])))
    return (steps[1::2] - steps[::2]).tolist()


def test_masks_are_few_and_narrow_and_everywhere() -> None:
    features = np.full((2000, 98, 40, 1), 3.0, np.float32)
    found = spec_augment(features, np.random.default_rng(0))
    assert found.dtype == np.float32
    assert set(np.unique(found)) == {0.0, 3.0}
    masked = found[..., 0] == 0
    for whole, axis, most in ((masked.all(axis=2), 1, 20), (masked.all(axis=1), 2, 5)):
        lengths = [runs(row) for row in whole]
        # Two masks that touch look like one.
        assert max(len(row) for row in lengths) == 2
        assert max(length for row in lengths for length in row) <= 2 * most
        assert max(sum(row) for row in lengths) <= 2 * most
        assert max(length for row in lengths if len(row) == 2 for length in row) == most
        assert min(len(row) for row in lengths) == 0, axis
        assert whole.any(axis=0).all()
    # Nothing but whole rows and columns is masked.
    crossed = masked.all(axis=2)[:, :, None] | masked.all(axis=1)[:, None, :]
    np.testing.assert_array_equal(masked, crossed)


def test_masks_follow_the_generator_and_leave_the_input_alone() -> None:
    features = hiss(3, 1.0, 98 * 40).reshape(3, 98, 40, 1)
    before = features.copy()
    first, again, other = (spec_augment(features, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(features, before)
    np.testing.assert_array_equal(first[first != 0], features[first != 0])
    assert len({(row != 0).tobytes() for row in first}) == 3
