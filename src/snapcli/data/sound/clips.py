"""Sound files as one-second clips at 16 kHz."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.data.dataset import Inputs, Raw, as_real, as_stored
from snapcli.data.request import Request
from snapcli.data.sound.augment import gain, mix_noise, shift, spec_augment
from snapcli.data.sound.logmel import SAMPLE_RATE, fit_length
from snapcli.data.sound.wav import read_wav, resample

CLIP_SAMPLES = SAMPLE_RATE
INT16 = np.dtype(np.int16)
AUGMENTS = ("shift", "noise", "gain", "spec")
# The rest stays as it was recorded: a network should know quiet rooms too.
_NOISY_SHARE = 0.8
# Clips that are varied at once: so many stay in the processor's cache.
_BLOCK = 16
Noise = tuple[NDArray[np.float32], ...]


def read_signal(path: Path) -> NDArray[np.float32]:
    """The whole file, mono, at 16 kHz."""
    rate, signal = read_wav(path)
    return resample(signal, rate, SAMPLE_RATE)


def read_clip(path: Path) -> NDArray[np.int16]:
    """[16000]: a shorter file is reflected at its ends, of a longer one the middle is taken."""
    return as_stored(fit_length(read_signal(path), CLIP_SAMPLES), INT16)


def cuts(signals: Noise, count: int, rng: np.random.Generator) -> tuple[Raw, list[tuple[int, int]]]:
    """count clips from random places of the signals in turn, and (signal, first sample) of each."""
    places = [
        (i % len(signals), int(rng.integers(0, len(signals[i % len(signals)]) - CLIP_SAMPLES + 1)))
        for i in range(count)
    ]
    clips = [signals[s][start : start + CLIP_SAMPLES] for s, start in places]
    return as_stored(np.stack(clips), INT16), places


def clip_augment(
    request: Request, noise: Noise
) -> tuple[
    Callable[[Raw, np.random.Generator], Raw], Callable[[Inputs, np.random.Generator], Inputs]
]:
    """What was asked for, or all of it: first on clips, then on their features."""
    chosen = request.augments(AUGMENTS, AUGMENTS)

    def varied(clips: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
        if "shift" in chosen:
            clips = shift(clips, rng)
        if "noise" in chosen:
            noisy = rng.random(len(clips)) < _NOISY_SHARE
            clips = np.where(noisy[:, None], mix_noise(clips, noise, rng), clips)
        if "gain" in chosen:
            clips = gain(clips, rng)
        return clips

    def on_clips(x: Raw, rng: np.random.Generator) -> Raw:
        parts = (x[i : i + _BLOCK] for i in range(0, len(x), _BLOCK))
        return np.concatenate([varied(as_real(part), rng) for part in parts])

    def on_inputs(x: Inputs, rng: np.random.Generator) -> Inputs:
        return spec_augment(x, rng) if "spec" in chosen else x

    return on_clips, on_inputs


def clip_shape() -> dict[str, Any]:
    """How files become clips, for the identity of what is cached."""
    return {"samples": CLIP_SAMPLES, "rate": SAMPLE_RATE}
