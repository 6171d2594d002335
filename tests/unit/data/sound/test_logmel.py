"""The front end against scipy's spectrogram and mel bands computed one number at a time."""

import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import signal

from snapcli.data.sound.logmel import FrontEnd, band_edges, fit_length, log_mel

RATE = 16_000


def tone(hz: float, amplitude: float = 0.3, samples: int = RATE) -> np.ndarray:
    time = np.arange(samples) / RATE
    return (amplitude * np.sin(2 * np.pi * hz * time)).astype(np.float32)


def hiss(n: int, seed: int = 0, deviation: float = 0.1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, deviation, (n, RATE)).astype(np.float32)


def mel_of(hz: float) -> float:
    """The HTK scale by its other formula."""
    return 1127.0 * math.log(1.0 + hz / 700.0)


def expected(clip: np.ndarray, front_end: FrontEnd) -> np.ndarray:
    """[frames, bands] in float64, by scipy and three loops."""
    f = front_end
    _, _, spectrum = signal.stft(
        clip.astype(np.float64),
        window="hann",
        nperseg=f.window,
        noverlap=f.window - f.hop,
        nfft=f.fft,
        boundary=None,
        padded=False,
    )
    # scipy divides by the sum of the window.
    power = np.abs(spectrum * signal.get_window("hann", f.window).sum()) ** 2
    low, high = mel_of(f.low_hz), mel_of(f.high_hz)
    corners = [
        700 * (math.exp((low + (high - low) * k / (f.bands + 1)) / 1127) - 1)
        for k in range(f.bands + 2)
    ]
    out = np.empty((power.shape[1], f.bands))
    for frame in range(power.shape[1]):
        for band in range(f.bands):
            left, centre, right = corners[band : band + 3]
            total = 0.0
            for k in range(f.fft // 2 + 1):
                hz = k * f.sample_rate / f.fft
                if left < hz <= centre:
                    total += power[k, frame] * (hz - left) / (centre - left)
                elif centre < hz < right:
                    total += power[k, frame] * (right - hz) / (right - centre)
            out[frame, band] = math.log(max(total, f.floor))
    return (out - out.mean()) / out.std()


@pytest.mark.parametrize(
    "front_end",
    [FrontEnd(), FrontEnd(window=320, hop=320, fft=1024, bands=16, low_hz=100, high_hz=4000)],
)
def test_features_are_those_of_scipy_and_the_definition(front_end: FrontEnd) -> None:
    # A quarter of a second: noise that grows, so that frames and bands all differ.
    clip = hiss(1)[0, : RATE // 4] * np.linspace(0.05, 1, RATE // 4, dtype=np.float32)
    found = log_mel(clip[None], front_end)[0, ..., 0]
    np.testing.assert_allclose(found, expected(clip, front_end), atol=2e-4)


def test_the_form() -> None:
    features = log_mel(hiss(11))
    assert features.shape == (11, 98, 40, 1)
    assert features.dtype == np.float32
    assert log_mel(hiss(0)).shape == (0, 98, 40, 1)


@given(st.integers(400, 3000))
def test_only_whole_windows_count(samples: int) -> None:
    frames = len([start for start in range(0, samples, 160) if start + 400 <= samples])
    assert log_mel(hiss(1)[:, :samples]).shape[1] == frames


@given(st.floats(30.0, 7590.0))
def test_a_tone_is_loudest_in_a_band_that_holds_it(hz: float) -> None:
    edges = band_edges(FrontEnd())
    loudest = log_mel(tone(hz, samples=4000)[None])[0, ..., 0].mean(axis=0).argmax()
    assert edges[loudest] <= hz <= edges[loudest + 2]


def test_the_bands_reach_from_low_to_high() -> None:
    edges = band_edges(FrontEnd(low_hz=50, high_hz=7000))
    assert len(edges) == 42
    np.testing.assert_allclose(edges[[0, -1]], [50, 7000])
    assert (np.diff(edges, 2) > 0).all()


def test_every_clip_has_mean_0_and_deviation_1() -> None:
    clips = hiss(5) * np.geomspace(0.01, 2, 5, dtype=np.float32)[:, None]
    features = log_mel(clips)
    np.testing.assert_allclose(features.mean(axis=(1, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(features.std(axis=(1, 2, 3)), 1, atol=1e-5)


@given(st.floats(0.2, 5.0))
def test_the_level_does_not_matter(gain: float) -> None:
    clip = hiss(1)
    np.testing.assert_allclose(log_mel(clip * np.float32(gain)), log_mel(clip), atol=2e-4)


@pytest.mark.parametrize("kind", [np.int16, np.float32])
def test_silence_gives_zeros(kind: type) -> None:
    features = log_mel(np.zeros((3, RATE), kind))
    np.testing.assert_array_equal(features, np.zeros((3, 98, 40, 1)))


def test_silence_beside_sound_changes_neither() -> None:
    clips = np.stack([hiss(1)[0], np.zeros(RATE, np.float32), tone(440)])
    features = log_mel(clips)
    assert not features[1].any()
    for k in (0, 2):
        np.testing.assert_allclose(features[k], log_mel(clips[k : k + 1])[0], atol=1e-5)


def test_a_clip_does_not_depend_on_its_batch() -> None:
    clips = hiss(19)
    alone = np.concatenate([log_mel(clip[None]) for clip in clips])
    np.testing.assert_allclose(log_mel(clips), alone, atol=1e-5)


def test_16_bit_samples_are_the_same_sound() -> None:
    samples = (hiss(2) * 32768).astype(np.int16)
    floats = samples.astype(np.float32) / 32768
    np.testing.assert_array_equal(log_mel(samples), log_mel(floats))


def test_the_input_is_left_alone() -> None:
    clips = hiss(2)
    before = clips.copy()
    log_mel(clips)
    np.testing.assert_array_equal(clips, before)


def test_a_front_end_is_a_key() -> None:
    assert FrontEnd() == FrontEnd()
    assert hash(FrontEnd()) == hash(FrontEnd())
    assert replace(FrontEnd(), bands=32) != FrontEnd()
    assert FrontEnd(**asdict(FrontEnd())) == FrontEnd()


lengths = st.integers(0, 40)
contents = hnp.arrays(np.int16, lengths)


@given(contents.filter(len), lengths)
def test_short_clips_are_reflected_as_numpy_does(clip: np.ndarray, missing: int) -> None:
    samples = len(clip) + missing
    left = missing // 2
    reference = np.pad(clip, (left, missing - left), mode="reflect")
    np.testing.assert_array_equal(fit_length(clip, samples), reference)


@given(contents, lengths)
def test_long_clips_lose_both_ends_alike(clip: np.ndarray, samples: int) -> None:
    if samples > len(clip):
        samples = len(clip)
    found = fit_length(clip, samples)
    lost = len(clip) - samples
    np.testing.assert_array_equal(found, clip[lost // 2 : len(clip) - (lost - lost // 2)])


@given(contents, lengths)
def test_the_length_and_the_type_fit(clip: np.ndarray, samples: int) -> None:
    found = fit_length(clip, samples)
    assert found.shape == (samples,)
    assert found.dtype == clip.dtype
    assert set(found.tolist()) <= {*clip.tolist(), 0}
    assert len(clip) or not found.any()


def test_many_clips_fit_at_once() -> None:
    clips = hiss(3)[:, :700]
    for samples in (500, 700, 3000):
        one_by_one = np.stack([fit_length(clip, samples) for clip in clips])
        np.testing.assert_array_equal(fit_length(clips, samples), one_by_one)
