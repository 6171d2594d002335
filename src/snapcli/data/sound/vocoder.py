"""The time or the pitch of clips, changed one without the other by a phase vocoder.

Both functions take clips float32 [n, samples] and change them all by the same factor, which is
between 1/2 and 2.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.fft import irfft, rfft
from scipy.signal import resample_poly

from snapcli.data.sound.logmel import Clips, fit_length

# 32 ms at 16 kHz: enough to part the harmonics of most voices without smearing consonants.
_WINDOW = 512
_HOP = _WINDOW // 4
# Used before and after: the squares of four neighbours add up to 2 everywhere.
_SINE = np.sin(np.pi * np.arange(_WINDOW) / _WINDOW).astype(np.float32)
# Far below the rounding of 16-bit samples, while its square is still a normal float32.
_SILENT = np.float32(1e-18)
# A bin's power that grows so much within a hop belongs to a new sound.
_ONSET = np.float32(10)
# Ratios of numbers up to this are fine enough for the ear, and cheap to resample by.
_FINEST = 100


def _spectra(signals: Clips) -> np.ndarray:
    """complex64 [frames, n, bins]; frame k starts at sample k * hop."""
    frames = np.lib.stride_tricks.sliding_window_view(signals, _WINDOW, axis=1)[:, ::_HOP]
    return rfft(frames.transpose(1, 0, 2) * _SINE, axis=-1, workers=1)


def _signals(spectra: np.ndarray) -> Clips:
    """[n, samples] from [frames, n, bins]: the inverse of _spectra but for the borders."""
    frames = irfft(spectra, _WINDOW, axis=-1, workers=1) * (_SINE / 2)
    count, n, _ = frames.shape
    out = np.zeros((n, count + 3, _HOP), np.float32)
    for quarter in range(4):
        part = frames[..., quarter * _HOP : (quarter + 1) * _HOP]
        out[:, quarter : quarter + count] += part.transpose(1, 0, 2)
    return out.reshape(n, -1)


def _power(spectra: np.ndarray) -> np.ndarray:
    return spectra.real**2 + spectra.imag**2


def _direction(spectra: np.ndarray) -> np.ndarray:
    """Numbers of size 1; less only for silence, which points nowhere."""
    return spectra / np.maximum(np.sqrt(_power(spectra)), _SILENT)


def _with_neighbours(spectra: np.ndarray) -> np.ndarray:
    """Each bin plus its two neighbours, which turn against it where they hear the same sound."""
    out = spectra.copy()
    out[..., 1:] -= spectra[..., :-1]
    out[..., :-1] -= spectra[..., 1:]
    return out


def stretch(clips: Clips, factor: Fraction) -> Clips:
    """[n, round(samples * factor)]: the same sounds, `factor` times as long.

    The output keeps the input's hop, so from one frame to the next a bin turns by just what the
    input turns there within one hop. No angle is ever needed, only products of numbers of size 1.
    The turn is counted from the bin and its neighbours together: so bins that hear the same sound
    stay in step, and the louder ones lead.
    """
    samples = round(clips.shape[1] * factor)
    # Reflections on both sides, so that the borders lie under four windows as all the rest.
    spectra = _spectra(np.pad(clips, ((0, 0), (_WINDOW, 2 * _WINDOW)), mode="reflect"))
    # Centres of frames correspond, so the clip starts half a window, then another one stretched,
    # after the start of the output.
    start = _WINDOW // 2 + round(_WINDOW // 2 * factor)
    # Where each output frame lies among the input's.
    place = np.arange(math.ceil((start + samples) / _HOP)) / float(factor)
    before, nearest = place.astype(int), np.rint(place).astype(int)
    share = (place - before).astype(np.float32)[:, None, None]
    power = _power(spectra)
    size = np.sqrt(power[before] * (1 - share) + power[before + 1] * share)
    turns = _direction(spectra[1:] * _with_neighbours(spectra[:-1]).conj())
    out = np.empty((len(place), *spectra.shape[1:]), np.complex64)
    out[0] = spectra[0]
    for k, (last, now) in enumerate(pairwise(nearest), start=1):
        direction = _direction(_with_neighbours(out[k - 1])) * turns[last]
        if now > last:
            # A sound that sets in brings its own phase: the old one would smear it.
            onset = power[now] > _ONSET * power[last]
            direction[onset] = _direction(spectra[now][onset])
        out[k] = direction * size[k]
    return _signals(out)[:, start : start + samples]


def shift_pitch(clips: Clips, semitones: float) -> Clips:
    """[n, samples]: everything so many semitones higher, or lower, in the same time.

    Stretched first, then played faster. What would pass half the sample rate is filtered away.
    """
    factor = Fraction(2.0 ** (semitones / 12.0)).limit_denominator(_FINEST)
    played = resample_poly(stretch(clips, factor), factor.denominator, factor.numerator, axis=1)
    return fit_length(played, clips.shape[1])
