"""What the front ends of sound have in common: spectra of short windows, and bands on the mel
scale."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft
from scipy.signal.windows import hann
from scipy.sparse import csr_array

from snapcli.array import Array

Clips = NDArray[np.float32]


def mel_of(hz: Array | float) -> Array:
    """The HTK scale."""
    return 2595.0 * np.log10(1.0 + np.asarray(hz) / 700.0)


def hz_of(mel: Array | float) -> Array:
    return 700.0 * (10.0 ** (np.asarray(mel) / 2595.0) - 1.0)


def mel_edges(low_hz: float, high_hz: float, bands: int) -> Array:
    """[bands + 2] in mel, equally spaced: band k rises from edge k to k + 1 and falls to k + 2."""
    return np.linspace(mel_of(low_hz), mel_of(high_hz), bands + 2)


def frequencies(fft: int, sample_rate: int) -> Array:
    """[fft / 2 + 1] in Hz: those of a spectrum."""
    return np.asarray(np.fft.rfftfreq(fft, 1.0 / sample_rate), np.float64)


def triangles(edges: Array, places: Array) -> csr_array:
    """float32 [bands, places], nearly all zeros: the weight of each place in each band, peak 1.

    edges [bands + 2] and places are in the same unit, and the triangles are straight in it.
    """
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    weights = np.minimum((places - low) / (centre - low), (high - places) / (high - centre))
    return csr_array(np.maximum(weights, 0.0).astype(np.float32))


def summed(weights: csr_array, spectra: NDArray[np.float32]) -> NDArray[np.float32]:
    """[..., bands] of spectra [..., places].

    A sparse product: besides being short, it does not fight other threads for the processors as
    a dense one does, and a row does not depend on its neighbours.
    """
    bands = (weights @ spectra.reshape(-1, spectra.shape[-1]).T).T
    return bands.reshape(*spectra.shape[:-1], weights.shape[0])


@lru_cache(maxsize=8)
def _window(length: int) -> NDArray[np.float32]:
    return hann(length, sym=False).astype(np.float32)


def spectra(clips: Clips, window: int, hop: int, fft: int) -> NDArray[np.complex64]:
    """[n, frames, fft / 2 + 1] of clips [n, samples]: periodic Hann windows, whole ones only."""
    frames = np.lib.stride_tricks.sliding_window_view(clips, window, axis=1)[:, ::hop]
    return rfft(frames * _window(window), fft, axis=-1, workers=1)
