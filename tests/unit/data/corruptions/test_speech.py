"""Each corruption of speech against what physics or scipy says of it."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from snapcli.data.corruptions import speech
from snapcli.data.corruptions.speech import (
    band_limit,
    butterworth,
    compression,
    reverb,
    room_responses,
    soft_knee,
    speech_corruptions,
    stretch,
)
from snapcli.data.sound.logmel import fit_length, log_mel
from snapcli.data.sound.wav import read_wav

RATE = 16_000
TIME = np.arange(RATE) / RATE
SEVERITIES = (1, 2, 3, 4, 5)
NAMES = ("reverb", "background_noise", "band_limit", "pitch", "stretch", "compression")


def tone(hz: float, amplitude: float = 0.4) -> np.ndarray:
    return (amplitude * np.sin(2 * np.pi * hz * TIME)).astype(np.float32)


def hiss(n: int, samples: int = RATE, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.05, (n, samples)).astype(np.float32)


@cache
def words(n: int = 24) -> np.ndarray:
    """[n, RATE]: two syllables each, harmonics of a gliding voice under formants, then a hiss."""
    rng = np.random.default_rng(0)
    clips = np.empty((n, RATE), np.float32)
    for clip in clips:
        voice = rng.uniform(90, 240) * (1 + rng.uniform(-0.2, 0.2) * TIME)
        phase = 2 * np.pi * np.cumsum(voice) / RATE
        formants = [rng.uniform(*limits) for limits in ((300, 900), (900, 2400), (2400, 3400))]
        sound = np.zeros(RATE)
        for harmonic in range(1, 30):
            hz = harmonic * voice
            loud = sum(1 / (1 + ((hz - f) / 120) ** 2) for f in formants)
            sound += loud * np.sin(harmonic * phase) * (hz < 7000)
        centre = rng.uniform(0.4, 0.5)
        beats = sum(np.exp(-(((TIME - centre - d) / 0.07) ** 2)) for d in (-0.1, 0.12))
        hissing = np.diff(rng.normal(0, 0.3, RATE + 1)) * (np.abs(TIME - centre - 0.27) < 0.05)
        whole = sound * beats + hissing + rng.normal(0, 0.003, RATE)
        clip[:] = whole / np.abs(whole).max() * rng.uniform(0.2, 0.9)
    return clips


@cache
def recorded(n: int = 120) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Real clips and noises; skips where there are none."""
    home = Path(os.environ.get("SNAP_DATA_DIR", "/nowhere"), "speech_commands_v0.01")
    if not home.is_dir():
        pytest.skip("SNAP_DATA_DIR names no folder with speech_commands_v0.01")
    paths = sorted(p for p in home.glob("*/*.wav") if not p.parent.name.startswith("_"))
    chosen = paths[:: max(1, len(paths) // n)][:n]
    clips = np.stack([fit_length(read_wav(path)[1], RATE) for path in chosen])
    noise = sorted((home / "_background_noise_").glob("*.wav"))
    return clips, tuple(read_wav(path)[1] for path in noise)


def corrupt(name: str, clips: np.ndarray, severity: int, seed: int = 3) -> np.ndarray:
    noise = tuple(hiss(2, 2 * RATE, seed=8))
    return speech_corruptions(noise)[name](clips, severity, np.random.default_rng(seed))


def test_the_corruptions_are_the_promised_ones() -> None:
    assert tuple(speech_corruptions(())) == NAMES


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", NAMES)
def test_a_corruption_keeps_the_form_and_its_input(name: str, severity: int) -> None:
    clips = np.concatenate([words()[:5], np.clip(30 * words()[5:7], -1, 1)])
    before = clips.copy()
    found = corrupt(name, clips, severity)
    assert found.shape == clips.shape
    assert found.dtype == np.float32
    assert np.abs(found).max() <= 1
    np.testing.assert_array_equal(clips, before)
    for a, b in zip(found, clips, strict=True):
        assert not np.array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_everything(name: str) -> None:
    clips = words()[:8]
    first, again, other = (corrupt(name, clips, 3, seed) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert np.array_equal(first, other) == (name == "compression")


@pytest.mark.parametrize("severity", [1, 5])
@pytest.mark.parametrize("name", NAMES)
def test_silence_stays_silence(name: str, severity: int) -> None:
    clips = np.stack([np.zeros(RATE, np.float32), words()[0]])
    found = corrupt(name, clips, severity)
    assert not found[0].any()
    assert found[1].any()


def harm(name: str, clips: np.ndarray, noise: tuple[np.ndarray, ...]) -> list[float]:
    """Mean distance of what a network sees from the clean clips, by severity."""
    clean = log_mel(clips)
    change = speech_corruptions(noise)[name]
    return [
        float(np.abs(log_mel(change(clips, s, np.random.default_rng([0, s]))) - clean).mean())
        for s in SEVERITIES
    ]


@pytest.mark.parametrize("name", NAMES)
def test_harm_grows_with_severity(name: str) -> None:
    found = harm(name, words(), ())
    assert (np.diff(found) > 0).all(), found


@pytest.mark.parametrize("name", NAMES)
def test_harm_to_real_speech_grows_with_severity(name: str) -> None:
    found = harm(name, *recorded())
    assert (np.diff(found) > 0).all(), found


# Reverberation.


def schroeder_rt60(response: np.ndarray) -> float:
    """From the slope of the energy that is still to come, between -10 and -30 dB."""
    remaining = np.cumsum(response[::-1].astype(np.float64) ** 2)[::-1]
    decibels = 10 * np.log10(remaining / remaining[0])
    part = (decibels < -10) & (decibels > -30)
    slope = np.polyfit(np.flatnonzero(part) / RATE, decibels[part], 1)[0]
    return -60 / slope


@given(st.floats(0.2, 0.8), st.floats(0, 0.02), st.integers(0, 1000))
def test_rooms_have_the_reverberation_time(rt60: float, delay: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    response = room_responses(np.array([rt60]), np.array([delay]), rng)[0]
    assert schroeder_rt60(response) == pytest.approx(rt60, rel=0.15)
    assert np.sum(response.astype(np.float64) ** 2) == pytest.approx(1, abs=1e-4)
    # First the direct sound, then nothing until the delay is over.
    assert response.argmax() == 0
    quiet = int(delay * RATE)
    assert not response[1:quiet].any()
    assert response[quiet + 1 : quiet + 20].any()


def test_every_room_is_another_and_has_its_own_time() -> None:
    rt60 = np.linspace(0.2, 0.8, 7)
    responses = room_responses(rt60, np.full(7, 0.01), np.random.default_rng(0))
    measured = [schroeder_rt60(response) for response in responses]
    np.testing.assert_allclose(measured, rt60, rtol=0.15)
    assert np.abs(np.corrcoef(responses[:, 200:3000]) - np.eye(7)).max() < 0.1


@pytest.mark.parametrize("severity", SEVERITIES)
def test_reverb_convolves_with_rooms_of_its_severity(severity: int) -> None:
    """A click comes back as the response of the room."""
    clicks = np.zeros((6, RATE), np.float32)
    clicks[:, 0] = 0.9
    found = reverb(clicks, severity, np.random.default_rng(1))
    times = np.array([schroeder_rt60(response) for response in found])
    low = 0.2 + 0.12 * (severity - 1)
    assert (times > 0.85 * low).all()
    assert (times < 1.15 * (low + 0.12)).all()
    assert len(np.unique(times)) == 6


def test_reverb_is_scipys_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = room_responses(np.array([0.3, 0.4]), np.array([0.0, 0.02]), np.random.default_rng(0))
    monkeypatch.setattr(speech, "room_responses", lambda *_: rooms)
    clips = words()[:2] * np.float32(0.2)
    found = reverb(clips, 1, np.random.default_rng(0))
    for clip, room, heard in zip(clips, rooms, found, strict=True):
        np.testing.assert_allclose(heard, signal.fftconvolve(clip, room)[:RATE], atol=1e-5)


# Background noise.


@pytest.mark.parametrize("noise", [(), tuple(hiss(3, 2 * RATE, seed=5))], ids=["pink", "recorded"])
@pytest.mark.parametrize(("severity", "ratio"), [(1, 20), (2, 15), (3, 10), (4, 5), (5, 0)])
def test_noise_has_the_ratio_of_its_severity(
    severity: int, ratio: float, noise: tuple[np.ndarray, ...]
) -> None:
    clips = words()[:6] * np.float32(0.1)
    noisy = speech_corruptions(noise)["background_noise"](clips, severity, np.random.default_rng(2))
    added = (noisy.astype(np.float64) - clips) ** 2
    found = 10 * np.log10((clips.astype(np.float64) ** 2).mean(axis=1) / added.mean(axis=1))
    np.testing.assert_allclose(found, ratio, atol=0.01)


# Band limits.


def level_db(clip: np.ndarray) -> float:
    """Of the steady part."""
    return float(10 * np.log10(np.mean(clip[4000:].astype(np.float64) ** 2)))


@pytest.mark.parametrize("hz", [100.0, 1000.0, 7000.0])
def test_a_telephone_lets_through_what_scipys_filter_does(hz: float) -> None:
    found = butterworth(tone(hz)[None], (300, 3400), "bandpass")[0]
    b, a = signal.butter(2, (300, 3400), "bandpass", fs=RATE)
    _, response = signal.freqz(b, a, [hz], fs=RATE)
    wanted = 20 * np.log10(np.abs(response[0]))
    assert level_db(found) - level_db(tone(hz)) == pytest.approx(wanted, abs=0.1)


BANDS = {1: (100, 6000), 2: (200, 4500), 3: (300, 3400), 4: (450, 2600), 5: (600, 2000)}


@pytest.mark.parametrize("severity", SEVERITIES)
def test_the_limits_are_high_pass_low_pass_and_band_pass(severity: int) -> None:
    """A click shows the filter that it went through."""
    clicks = np.zeros((40, RATE), np.float32)
    clicks[:, 0] = 1
    low, high = BANDS[severity]
    wanted = [
        np.abs(signal.freqz(*signal.butter(2, cutoff, kind, fs=RATE), np.arange(8000), fs=RATE)[1])
        for cutoff, kind in ((low, "highpass"), (high, "lowpass"), ((low, high), "bandpass"))
    ]
    found = np.abs(np.fft.rfft(band_limit(clicks, severity, np.random.default_rng(0))))[:, :8000]
    matches = np.array([[np.allclose(row, w, atol=1e-3) for w in wanted] for row in found])
    assert (matches.sum(axis=1) == 1).all()
    assert (matches.sum(axis=0) > 5).all()


# Pitch and time; what the vocoder does to a sound is tested beside it.


def peak_hz(clip: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(clip * np.hanning(len(clip)), 20 * RATE))
    return float(spectrum.argmax()) / 20


@pytest.mark.parametrize("severity", SEVERITIES)
def test_pitch_goes_up_and_down_by_its_severity(severity: int) -> None:
    clips = np.tile(tone(440), (12, 1))
    found = [peak_hz(clip) for clip in corrupt("pitch", clips, severity)]
    steps = 12 * np.log2(np.array(found) / 440)
    np.testing.assert_allclose(np.abs(steps), 0.4 * severity, atol=0.02)
    assert {-1, 1} == set(np.sign(steps))


@pytest.mark.parametrize("severity", SEVERITIES)
def test_stretch_moves_the_ends_and_keeps_the_middle_and_the_pitch(severity: int) -> None:
    clip = tone(700) * np.isin(TIME * 20 // 1, (2, 3, 16, 17))
    found = stretch(np.tile(clip, (12, 1)), severity, np.random.default_rng(0))
    distances = []
    for row in found:
        halves = np.split(np.arange(RATE), 2)
        first, second = (np.average(half, weights=row[half] ** 2) for half in halves)
        assert (first + second) / 2 == pytest.approx(RATE / 2, abs=160)
        assert peak_hz(row) == pytest.approx(700, rel=0.01)
        distances.append((second - first) / (0.7 * RATE))
    changes = np.array(distances) - 1
    np.testing.assert_allclose(np.abs(changes), 0.02 * severity, atol=0.005)
    assert {-1, 1} == set(np.sign(changes))


# Compression.

CURVES = {1: (-12, 2), 2: (-18, 3), 3: (-24, 4), 4: (-30, 6), 5: (-36, 10)}


def static_curve(level: float, threshold: float, ratio: float) -> float:
    """Output level in dB as textbooks draw it: 1:1, a parabola over the knee of 6 dB, 1:ratio."""
    above = level - threshold
    if above < -3:
        return level
    if above > 3:
        return threshold + above / ratio
    return level + (1 / ratio - 1) * (above + 3) ** 2 / 12


@given(st.floats(-80, 0), st.sampled_from(SEVERITIES))
def test_the_gain_is_that_of_the_curve(level: float, severity: int) -> None:
    threshold, ratio = CURVES[severity]
    gain = soft_knee(np.array(level - threshold), ratio)
    assert level + gain == pytest.approx(static_curve(level, threshold, ratio), abs=1e-9)


@given(st.floats(-60, -1), st.sampled_from(SEVERITIES))
def test_steady_tones_follow_the_curve(quieter: float, severity: int) -> None:
    """A loud half and a quieter one: the loud one keeps its level, the other one rises."""
    clip = tone(1000, 0.5)
    clip[RATE // 2 :] *= np.float32(10 ** (quieter / 20))
    found = compression(clip[None], severity, np.random.default_rng(0))[0]
    loud, quiet = (
        20 * np.log10(found[part].std() / clip[part].std())
        for part in (slice(2000, 8000), slice(14_000, RATE))
    )
    threshold, ratio = CURVES[severity]
    make_up = -static_curve(0, threshold, ratio)
    assert loud == pytest.approx(0, abs=0.1)
    assert quiet == pytest.approx(
        static_curve(quieter, threshold, ratio) + make_up - quieter, abs=0.2
    )
    assert quiet > loud


@pytest.mark.parametrize("severity", SEVERITIES)
def test_the_level_of_the_clip_does_not_matter(severity: int) -> None:
    rng = np.random.default_rng(0)
    quiet = words()[:3] * np.float32(0.1)
    louder = compression(quiet * np.float32(4), severity, rng)
    np.testing.assert_allclose(compression(quiet, severity, rng) * 4, louder, atol=1e-4)


def test_compression_is_quick_to_reduce_and_slow_to_release() -> None:
    clip = tone(1000, 0.02)
    clip[4000:8000] *= 25
    found = compression(clip[None], 3, np.random.default_rng(0))[0]
    factor = np.abs(found[4::16]) / np.maximum(np.abs(clip[4::16]), 1e-9)
    quiet, loud = factor[200], factor[490]
    start, end = 250, 500  # ms

    def reached(ms: int) -> float:
        """How much of the way from loud to quiet the gain has gone, in dB."""
        return float(np.log(factor[ms] / loud) / np.log(quiet / loud))

    assert reached(start + 20) < 0.1
    assert 0.2 < reached(end + 20) < 0.5
    assert reached(end + 250) > 0.95


def test_the_gain_glides() -> None:
    clip = np.full((1, RATE), 0.02, np.float32)
    clip[:, 4000:8000] = 0.5
    gain = np.log(compression(clip, 5, np.random.default_rng(0))[0] / clip[0])
    within_a_sample, within_a_block = (np.abs(gain[k:] - gain[:-k]).max() for k in (1, 16))
    assert within_a_sample < within_a_block / 8


def test_clips_of_any_length_are_compressed() -> None:
    for samples in (1, 15, 16, 17, 1003):
        clips = hiss(2, samples)
        assert compression(clips, 3, np.random.default_rng(0)).shape == clips.shape
