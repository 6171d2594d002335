"""Background noise at an exact signal-to-noise ratio."""

import numpy as np
from scipy.fft import irfft, rfftfreq

from snapcli.data.sound.logmel import SAMPLE_RATE, Clips

Recordings = tuple[np.ndarray, ...]

# Below this pink noise is flat: more would be an offset rather than a sound.
_FLAT_BELOW_HZ = 20.0


def in_range(clips: np.ndarray) -> Clips:
    """Clips [n, samples] as float32, each scaled down as a whole if its peak is beyond 1.

    Scaling keeps what clipping would distort: a ratio of levels, a tone's harmonics.
    """
    peak = np.maximum(clips.max(axis=1, keepdims=True), -clips.min(axis=1, keepdims=True))
    return (clips / np.maximum(peak, 1.0)).astype(np.float32, copy=False)


def pink_noise(n: int, samples: int, rng: np.random.Generator) -> Clips:
    """[n, samples] of deviation near 1, with as much power in every octave."""
    hz = rfftfreq(samples, 1.0 / SAMPLE_RATE).astype(np.float32)
    amplitude = np.sqrt(1.0 / np.maximum(hz, np.float32(_FLAT_BELOW_HZ)))
    amplitude[0] = 0.0
    amplitude *= samples / np.sqrt(4.0 * np.sum(amplitude**2))
    parts = rng.standard_normal((n, len(hz), 2), np.float32)
    spectrum = parts.view(np.complex64)[..., 0] * amplitude
    return irfft(spectrum, samples, axis=1, workers=1)


def cut_noise(recordings: Recordings, n: int, samples: int, rng: np.random.Generator) -> Clips:
    """[n, samples], each cut at random from one of the recordings [at least samples].

    Pink noise where there are no recordings.
    """
    if not recordings:
        return pink_noise(n, samples, rng)
    chosen = rng.integers(0, len(recordings), n)
    starts = rng.integers(0, [len(recordings[i]) - samples + 1 for i in chosen])
    cuts = [recordings[i][k : k + samples] for i, k in zip(chosen, starts, strict=True)]
    return np.stack(cuts).astype(np.float32, copy=False)


def _power(x: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1])


def add_noise(clips: Clips, noise: Clips, snr_db: np.ndarray) -> Clips:
    """clips + noise [n, samples], each noise scaled to the clip's ratio [n] in dB.

    The ratio is that of the mean powers over the whole clip. So nothing is added to silence.
    """
    wanted = _power(clips) / 10.0 ** (np.asarray(snr_db)[:, None] / 10.0)
    have = _power(noise)
    scale = np.sqrt(np.divide(wanted, have, out=np.zeros_like(have), where=have > 0.0))
    return in_range(clips + scale.astype(np.float32) * noise)
