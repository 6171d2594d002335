"""Corruptions of spoken words with severities 1 to 5.

Each function takes clips float32 [n, samples] in [-1, 1] at 16 kHz, a severity and a generator,
and returns new clips of the same shape. Every clip draws for itself. A clip that would pass full
scale is scaled down as a whole, never clipped. The tables are fixed: they were chosen before any
model was trained.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import butter, sosfilt

from snapcli.data.corruptions.types import Corruption
from snapcli.data.sound.logmel import SAMPLE_RATE, Clips, fit_length
from snapcli.data.sound.noise import Recordings, add_noise, cut_noise, in_range
from snapcli.data.sound.vocoder import shift_pitch
from snapcli.data.sound.vocoder import stretch as stretch_time

_MOST_PRE_DELAY = 0.02  # s
# In a room of a given size the diffuse sound's energy grows with the reverberation time.
# At 0.2 s it is here half that of the direct sound, so that at 0.8 s it is twice that.
_TAIL_DEVIATION = np.float32(np.sqrt(0.5 * 6.0 * np.log(10.0) / (0.2 * SAMPLE_RATE)))

_KNEE_DB = 6.0
_BLOCK = SAMPLE_RATE // 1000  # samples: a compressor measures the level every millisecond
_ATTACK = 5.0  # ms
_RELEASE = 50.0  # ms


def _one_of(clips: Clips, rng: np.random.Generator, *changes: Callable[[Clips], Clips]) -> Clips:
    """Every clip after one of the changes, drawn for it."""
    drawn = rng.integers(0, len(changes), len(clips))
    out = np.empty_like(clips)
    for index, change in enumerate(changes):
        chosen = drawn == index
        if chosen.any():
            out[chosen] = change(clips[chosen])
    return in_range(out)


def room_responses(rt60: np.ndarray, pre_delay: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Impulse responses float32 [n, length] of energy 1, from times [n] in s.

    The direct sound comes first. After the pre-delay follows noise that falls by 60 dB within
    the reverberation time; the length holds all of that for the longest of them.
    """
    time = np.arange(int(np.ceil((rt60 + pre_delay).max() * SAMPLE_RATE)), dtype=np.float32)
    since = time / np.float32(SAMPLE_RATE) - pre_delay[:, None].astype(np.float32)
    decay = np.exp(since * (-3.0 * np.log(10.0) / rt60[:, None]).astype(np.float32))
    response = rng.standard_normal(since.shape, np.float32) * decay
    response *= _TAIL_DEVIATION * (since >= 0.0)
    response[:, 0] = 1.0
    return response / np.linalg.norm(response, axis=1, keepdims=True)


def reverb(clips: Clips, severity: int, rng: np.random.Generator) -> Clips:
    """A room with an RT60 between two neighbours of the table (s) and up to 20 ms pre-delay.

    What rings on after the end of the clip is lost.
    """
    low, high = ((0.20, 0.32), (0.32, 0.44), (0.44, 0.56), (0.56, 0.68), (0.68, 0.80))[severity - 1]
    n, samples = clips.shape
    rt60 = rng.uniform(low, high, (n,))
    pre_delay = rng.uniform(0.0, _MOST_PRE_DELAY, (n,))
    responses = room_responses(rt60, pre_delay, rng)
    size = next_fast_len(samples + responses.shape[1] - 1, real=True)
    product = rfft(clips, size, workers=1) * rfft(responses, size, workers=1)
    return in_range(irfft(product, size, workers=1)[:, :samples])


def background_noise(
    clips: Clips, severity: int, rng: np.random.Generator, noise: Recordings = ()
) -> Clips:
    """A cut of one of the recordings [at least samples], or pink noise, at a ratio in dB."""
    ratio = (20.0, 15.0, 10.0, 5.0, 0.0)[severity - 1]
    n, samples = clips.shape
    return add_noise(clips, cut_noise(noise, n, samples, rng), np.full(n, ratio))


def butterworth(clips: Clips, cutoff: float | tuple[float, float], kind: str) -> Clips:
    """Clips after a filter of second order; kind: lowpass, highpass or bandpass, cutoff in Hz."""
    sections = butter(2, cutoff, kind, fs=SAMPLE_RATE, output="sos")
    return sosfilt(sections, clips, axis=1)


def band_limit(clips: Clips, severity: int, rng: np.random.Generator) -> Clips:
    """Only what is above, below or within a band in Hz that narrows; the third is a telephone's."""
    low, high = ((100, 6000), (200, 4500), (300, 3400), (450, 2600), (600, 2000))[severity - 1]
    return _one_of(
        clips,
        rng,
        partial(butterworth, cutoff=low, kind="highpass"),
        partial(butterworth, cutoff=high, kind="lowpass"),
        partial(butterworth, cutoff=(low, high), kind="bandpass"),
    )


def pitch(clips: Clips, severity: int, rng: np.random.Generator) -> Clips:
    """So many semitones higher or lower, in the same time."""
    semitones = (0.4, 0.8, 1.2, 1.6, 2.0)[severity - 1]
    return _one_of(
        clips,
        rng,
        partial(shift_pitch, semitones=semitones),
        partial(shift_pitch, semitones=-semitones),
    )


def stretch(clips: Clips, severity: int, rng: np.random.Generator) -> Clips:
    """Longer or shorter by so many percent, at the same pitch.

    The middle stays in the middle; what is missing at the ends is reflected.
    """
    percent = (2, 4, 6, 8, 10)[severity - 1]

    def change(x: Clips, factor: Fraction) -> Clips:
        return fit_length(stretch_time(x, factor), x.shape[1])

    return _one_of(
        clips,
        rng,
        partial(change, factor=Fraction(100 + percent, 100)),
        partial(change, factor=Fraction(100 - percent, 100)),
    )


def soft_knee(over_db: np.ndarray, ratio: float) -> np.ndarray:
    """The gain in dB of a compressor for a level above (or below) its threshold in dB.

    Beyond the knee, 3 dB to either side of the threshold, `ratio` dB more of input are 1 dB more
    of output.
    """
    half = _KNEE_DB / 2.0
    bend = np.clip(over_db + half, 0.0, _KNEE_DB) ** 2 / (2.0 * _KNEE_DB)
    return (1.0 / ratio - 1.0) * (bend + np.maximum(over_db - half, 0.0))


def _followed(gain_db: np.ndarray) -> np.ndarray:
    """Gains [n, blocks] as a compressor reaches them: fast downwards, slowly upwards."""
    attack, release = np.exp(-1.0 / np.array([_ATTACK, _RELEASE]))
    out = gain_db.T.copy()
    for now, before in zip(out[1:], out[:-1], strict=True):
        keep = np.where(now < before, attack, release)
        now += keep * (before - now)
    return out.T


def compression(clips: Clips, severity: int, rng: np.random.Generator) -> Clips:
    """Soft-knee compression above a threshold in dB below the loudest millisecond of the clip.

    The make-up gain gives that millisecond its level back, so the rest of the clip rises.
    """
    threshold, ratio = ((-12, 2), (-18, 3), (-24, 4), (-30, 6), (-36, 10))[severity - 1]
    n, samples = clips.shape
    blocks = -(-samples // _BLOCK)
    padded = np.zeros((n, blocks * _BLOCK), np.float32)
    padded[:, :samples] = clips
    parts = padded.reshape(n, blocks, _BLOCK)
    level = 10.0 * np.log10(np.square(parts).mean(axis=2) + np.float32(1e-12))
    over = level - level.max(axis=1, keepdims=True) - threshold
    gain_db = _followed(soft_knee(over, ratio)) - soft_knee(np.array(-threshold), ratio)
    factor = (10.0 ** (gain_db / 20.0)).astype(np.float32)[..., None]
    # From block to block along a line: steps would be heard as a buzz.
    following = np.concatenate([factor[:, 1:], factor[:, -1:]], axis=1)
    ramp = np.arange(_BLOCK, dtype=np.float32) / np.float32(_BLOCK)
    loud = parts * (factor + (following - factor) * ramp)
    return in_range(loud.reshape(n, -1)[:, :samples])


def speech_corruptions(noise: Recordings) -> dict[str, Corruption]:
    """All of them by name; noise: recordings float32 [at least samples] in [-1, 1], or none."""
    return {
        "reverb": reverb,
        "background_noise": partial(background_noise, noise=noise),
        "band_limit": band_limit,
        "pitch": pitch,
        "stretch": stretch,
        "compression": compression,
    }
