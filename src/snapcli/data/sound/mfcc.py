"""MLPerf Tiny's keyword front end: 49 frames of 10 mel-frequency cepstral coefficients.

A second at 16 kHz is first divided by its greatest sample (not its greatest magnitude). Windows
of 30 ms, periodic Hann, begin every 20 ms; a 512-point transform gives the magnitude (not the
power) of each frequency. 40 triangular bands take it together: their edges are equally spaced
on the HTK mel scale from 20 to 4000 Hz, straight in mel and with a peak of 1. The natural
logarithm of each sum plus 1e-6 goes through a DCT of type II, scaled by 1 / sqrt(80), and the
first 10 coefficients, that of the mean level among them, are what the network takes. Written
after the preprocessing that github.com/mlcommons/tiny publishes for training.

It differs in two points. There silence becomes NaN; here the greatest sample counts as one step
of 16 bits at least. And there short recordings are padded with zeros at the end; here they
arrive as clips of a full second already.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.sparse import csr_array

from snapcli.data.dataset import as_real
from snapcli.data.sound.logmel import SAMPLE_RATE
from snapcli.data.sound.mel import frequencies, mel_edges, mel_of, spectra, summed, triangles

WINDOW, HOP, FFT = 480, 320, 512  # samples
BANDS, LOW_HZ, HIGH_HZ = 40, 20.0, 4000.0
OFFSET = np.float32(1e-6)
COEFFICIENTS = 10
_LEAST_PEAK = np.float32(1.0 / 32768.0)


@cache
def _bands() -> csr_array:
    """[bands, fft / 2 + 1]."""
    return triangles(mel_edges(LOW_HZ, HIGH_HZ, BANDS), mel_of(frequencies(FFT, SAMPLE_RATE)))


def _coefficients(clip: NDArray[np.float32]) -> NDArray[np.float32]:
    """[frames, coefficients] of one clip [samples]."""
    scaled = clip / np.maximum(np.abs(clip.max()), _LEAST_PEAK)
    magnitudes = np.abs(spectra(scaled[np.newaxis], WINDOW, HOP, FFT)[0])
    levels = np.log(summed(_bands(), magnitudes) + OFFSET)
    return dct(levels, type=2, axis=-1)[:, :COEFFICIENTS] / np.float32(np.sqrt(2 * BANDS))


def mlperf_kws(clips: np.ndarray) -> NDArray[np.float32]:
    """[n, frames, 10, 1] of clips [n, samples], int16 or floats in [-1, 1] at 16 kHz, at least
    one window long; one second gives 49 frames."""
    n, samples = clips.shape
    out = np.empty((n, 1 + (samples - WINDOW) // HOP, COEFFICIENTS, 1), np.float32)
    # One at a time: nothing of a clip can reach another, and its spectra stay in the cache.
    for clip, features in zip(clips, out, strict=True):
        features[..., 0] = _coefficients(as_real(clip))
    return out
