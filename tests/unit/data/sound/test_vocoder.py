"""Pitch and duration, measured on sounds that show them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from snapcli.data.sound.vocoder import shift_pitch, stretch

RATE = 16_000
TIME = np.arange(RATE) / RATE
factors = st.sampled_from([Fraction(k, 100) for k in (90, 92, 94, 96, 98, 102, 104, 106, 108, 110)])


def tone(hz: float) -> np.ndarray:
    return (0.4 * np.sin(2 * np.pi * hz * TIME)).astype(np.float32)


def peak_hz(clip: np.ndarray) -> float:
    """The loudest frequency, to a twentieth of a Hz."""
    spectrum = np.abs(np.fft.rfft(clip * np.hanning(len(clip)), 20 * RATE))
    return float(spectrum.argmax()) / 20


def test_a_factor_of_1_changes_nothing() -> None:
    clips = np.random.default_rng(0).normal(0, 0.1, (3, RATE)).astype(np.float32)
    np.testing.assert_allclose(stretch(clips, Fraction(1)), clips, atol=1e-5)
    np.testing.assert_allclose(shift_pitch(clips, 0.0), clips, atol=1e-5)


@given(st.integers(600, 5000), factors)
def test_the_length_is_multiplied(samples: int, factor: Fraction) -> None:
    clips = np.ones((1, samples), np.float32)
    found = stretch(clips, factor)
    assert found.shape == (1, round(samples * factor))
    assert found.dtype == np.float32


@given(st.floats(150, 6000), factors)
def test_a_stretched_tone_keeps_pitch_and_level(hz: float, factor: Fraction) -> None:
    found = stretch(tone(hz)[None], factor)[0]
    middle = found[2000:-2000]
    assert peak_hz(middle) == pytest.approx(hz, rel=0.01)
    assert middle.std() == pytest.approx(tone(hz).std(), rel=0.1)


@given(factors)
def test_a_stretched_click_train_is_as_much_longer(factor: Fraction) -> None:
    clip = np.zeros((1, RATE), np.float32)
    places = np.arange(2000, RATE - 1000, 2000)
    clip[0, places] = 0.9
    found = np.convolve(stretch(clip, factor)[0] ** 2, np.hanning(400), mode="same")
    peaks, _ = signal.find_peaks(found, height=found.max() / 4, distance=1000)
    assert len(peaks) == len(places)
    # The window smears a click over 32 ms; its middle lies well within 8.
    np.testing.assert_allclose(peaks, places * float(factor), atol=130)
    slope = np.polyfit(places, peaks, 1)[0]
    assert slope == pytest.approx(float(factor), rel=0.01)


@given(factors, st.floats(0.3, 0.7), st.floats(500, 5000))
def test_a_swell_is_where_it_should_be(factor: Fraction, moment: float, hz: float) -> None:
    swell = (tone(hz) * np.exp(-(((TIME - moment) / 0.06) ** 2))).astype(np.float32)
    power = stretch(swell[None], factor)[0].astype(np.float64) ** 2
    centre = np.average(np.arange(len(power)), weights=power) / RATE
    assert centre == pytest.approx(moment * float(factor), abs=5e-4)


@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)])
def test_a_stretched_chirp_passes_each_pitch_as_much_later(factor: Fraction) -> None:
    clip = 0.4 * signal.chirp(TIME, 500, 1, 3000).astype(np.float32)
    found = stretch(clip[None], factor)[0]
    for moment in (0.2, 0.4, 0.6, 0.8):
        centre = round(moment * RATE * factor)
        heard = peak_hz(found[centre - 400 : centre + 400])
        assert heard == pytest.approx(500 + 2500 * moment, rel=0.02)


@given(st.floats(200, 5000), st.floats(-2, 2))
def test_a_tone_moves_by_semitones(hz: float, semitones: float) -> None:
    found = shift_pitch(tone(hz)[None], semitones)
    assert found.shape == (1, RATE)
    assert peak_hz(found[0, 1000:-1000]) == pytest.approx(hz * 2 ** (semitones / 12), rel=0.01)


def test_a_tone_of_440_hz_two_semitones_up() -> None:
    found = shift_pitch(tone(440)[None], 2.0)[0]
    assert peak_hz(found) == pytest.approx(440 * 2 ** (2 / 12), rel=0.002)


def test_pitch_keeps_moments() -> None:
    """Bursts at 0.25 and 0.75 s stay there."""
    bursts = np.isin(TIME * 20 // 1, (5, 15))
    for semitones in (-2.0, 2.0):
        found = shift_pitch((tone(800) * bursts)[None], semitones)[0]
        power = np.convolve(found**2, np.hanning(800), mode="same")
        for start, centre in ((0, 0.275), (RATE // 2, 0.775)):
            found_at = (start + power[start : start + RATE // 2].argmax()) / RATE
            assert found_at == pytest.approx(centre, abs=0.01)


def test_what_passes_half_the_rate_is_filtered_away() -> None:
    found = shift_pitch(tone(7600)[None], 2.0)[0, 1000:-1000]
    assert found.std() < tone(7600).std() / 5


def test_clips_do_not_mix() -> None:
    clips = np.stack([tone(300), np.zeros(RATE, np.float32), tone(1000)])
    found = stretch(clips, Fraction(11, 10))
    for k in range(3):
        alone = stretch(clips[k : k + 1], Fraction(11, 10))[0]
        np.testing.assert_allclose(found[k], alone, atol=1e-5)
    assert not found[1].any()


def test_sound_after_silence_is_not_lost() -> None:
    clip = tone(500)
    clip[:8000] = 0
    found = stretch(clip[None], Fraction(11, 10))[0]
    assert np.abs(found[:8000]).max() < 0.01
    assert found[10_500:16_000].std() == pytest.approx(clip[9_000:].std(), rel=0.05)
