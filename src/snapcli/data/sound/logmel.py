"""The front end of the spoken-word models: log-Mel features of one-second clips.

25 ms periodic Hann windows every 10 ms without padding at the borders, a 512-point power
spectrum, 40 triangular bands (edges equally spaced on the HTK mel scale from 20 to 7600 Hz,
linear in Hz, peak 1), the natural logarithm, then one mean and one deviation per clip.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from snapcli.array import Array
from snapcli.data.dataset import as_real
from snapcli.data.sound.mel import Clips, frequencies, hz_of, mel_edges, spectra, summed, triangles

SAMPLE_RATE = 16_000
Features = NDArray[np.float32]

# So many clips at a time keep the spectra in the processor's cache.
_CHUNK = 8
# A clip whose features vary less than this is silence: to normalise it would blow up rounding.
_LEAST_DEVIATION = 1e-3


@dataclass(frozen=True)
class FrontEnd:
    """window, hop and fft in samples.

    floor is the least power of a band before the logarithm. White noise 80 dB below full scale
    reaches about 1e-6, which is below the noise of a room and above that of 16-bit samples.
    """

    sample_rate: int = SAMPLE_RATE
    window: int = 400
    hop: int = 160
    fft: int = 512
    bands: int = 40
    low_hz: float = 20.0
    high_hz: float = 7600.0
    floor: float = 1e-6


def band_edges(front_end: FrontEnd) -> Array:
    """[bands + 2] in Hz: band k rises from edge k to edge k + 1 and falls to edge k + 2."""
    return hz_of(mel_edges(front_end.low_hz, front_end.high_hz, front_end.bands))


@lru_cache(maxsize=8)
def _triangles(front_end: FrontEnd) -> csr_array:
    """[bands, fft / 2 + 1]."""
    return triangles(band_edges(front_end), frequencies(front_end.fft, front_end.sample_rate))


def _log_power(clips: Clips, front_end: FrontEnd) -> Features:
    """[n, frames, bands]."""
    spectrum = spectra(clips, front_end.window, front_end.hop, front_end.fft)
    bands = summed(_triangles(front_end), spectrum.real**2 + spectrum.imag**2)
    return np.log(np.maximum(bands, np.float32(front_end.floor)))


def _normalised(features: Features) -> Features:
    """Mean 0 and deviation 1 over frames and bands; all zeros for silence."""
    # float64: the mean of equal values is then exactly that value.
    mean = features.mean(axis=(1, 2), keepdims=True, dtype=np.float64)
    centred = features - mean
    deviation = np.sqrt(np.mean(centred**2, axis=(1, 2), keepdims=True))
    return (centred / np.maximum(deviation, _LEAST_DEVIATION)).astype(np.float32)


def log_mel(clips: np.ndarray, front_end: FrontEnd | None = None) -> Features:
    """Normalised features [n, frames, bands, 1] of clips [n, samples].

    Clips are int16 or floats in [-1, 1], at least one window long; one second gives 98 frames.
    """
    front_end = front_end or FrontEnd()
    n, samples = clips.shape
    frames = 1 + (samples - front_end.window) // front_end.hop
    out = np.empty((n, frames, front_end.bands, 1), np.float32)
    for start in range(0, n, _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part, ..., 0] = _normalised(_log_power(as_real(clips[part]), front_end))
    return out


def fit_length(clips: np.ndarray, samples: int) -> np.ndarray:
    """Clips [..., k] with `samples` samples each, the middle staying in the middle.

    Longer ones lose both ends; shorter ones are reflected at both ends, as often as it takes.
    A single sample is repeated and no sample at all becomes silence.
    """
    have = clips.shape[-1]
    if have >= samples:
        start = (have - samples) // 2
        return clips[..., start : start + samples]
    if have == 0:
        return np.zeros((*clips.shape[:-1], samples), clips.dtype)
    before = (samples - have) // 2
    # Where sample i of the result comes from: back and forth over the clip.
    period = max(1, 2 * (have - 1))
    place = (np.arange(samples) - before) % period
    return clips[..., np.minimum(place, period - place)]
