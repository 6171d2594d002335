"""Variations of the training clips: each call draws anew, every clip for itself.

clips are float32 [n, samples] in [-1, 1] at 16 kHz, and stay so.
"""

import numpy as np

from snapcli.data.sound.logmel import SAMPLE_RATE, Clips, Features
from snapcli.data.sound.noise import Recordings, add_noise, cut_noise

MOST_SHIFT = SAMPLE_RATE // 10  # samples: 100 ms
SNR_DB = (5.0, 20.0)
MOST_GAIN_DB = 2.0
MASKS = 2
MOST_MASKED_FRAMES = 20
MOST_MASKED_BANDS = 5


def shift(clips: Clips, rng: np.random.Generator) -> Clips:
    """Up to 100 ms earlier or later; what is missing at the border is reflected.

    Zeros would show up in the features as a block of silence that no test clip has.
    """
    padded = np.pad(clips, ((0, 0), (MOST_SHIFT, MOST_SHIFT)), mode="reflect")
    starts = rng.integers(0, 2 * MOST_SHIFT + 1, len(clips))
    windows = np.lib.stride_tricks.sliding_window_view(padded, clips.shape[1], axis=1)
    return windows[np.arange(len(clips)), starts]


def mix_noise(clips: Clips, noise: Recordings, rng: np.random.Generator) -> Clips:
    """Noise at a ratio between 5 and 20 dB, cut from recordings [at least samples].

    Pink noise where there are no recordings. A sum beyond full scale is scaled down.
    """
    n, samples = clips.shape
    ratios = rng.uniform(*SNR_DB, (n,))
    return add_noise(clips, cut_noise(noise, n, samples, rng), ratios)


def gain(clips: Clips, rng: np.random.Generator) -> Clips:
    """Up to 2 dB louder or softer; what is beyond full scale is clipped, as a recorder does."""
    decibels = rng.uniform(-MOST_GAIN_DB, MOST_GAIN_DB, (len(clips), 1))
    factors = (10.0 ** (decibels / 20.0)).astype(np.float32)
    return np.clip(clips * factors, -1.0, 1.0)


def _masks(n: int, length: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """[n, length] bool: MASKS stretches, each of 0 to `most` places, that may overlap."""
    widths = rng.integers(0, most + 1, (n, MASKS, 1))
    starts = rng.integers(0, length - widths + 1)
    place = np.arange(length)
    return np.any((place >= starts) & (place < starts + widths), axis=1)


def spec_augment(features: Features, rng: np.random.Generator) -> Features:
    """Features [n, frames, bands, 1] with stretches of time and of frequency set to 0.

    After normalisation 0 is the mean of the clip. Two masks of up to 20 frames and two of up
    to 5 bands; a mask may have no width.
    """
    n, frames, bands, _ = features.shape
    times = _masks(n, frames, MOST_MASKED_FRAMES, rng)
    frequencies = _masks(n, bands, MOST_MASKED_BANDS, rng)
    kept = ~(times[:, :, None] | frequencies[:, None, :])
    return features * kept[..., None]
