"""Arrays of sounds, of any rate and length, as one-second clips."""

from collections.abc import Sequence

import numpy as np

from snapcli.data.dataset import Raw, as_real, as_stored
from snapcli.data.sound import clips
from snapcli.data.sound.logmel import SAMPLE_RATE, fit_length
from snapcli.data.sound.wav import resample
from snapcli.errors import ConfigError

RATE = "sample_rate"


def rate_in(arrays: dict[str, np.ndarray], where: str) -> int:
    """The sample_rate among the arrays, in Hz; ours if there is none."""
    rate = arrays.get(RATE, np.array(SAMPLE_RATE))
    if rate.size != 1 or rate.dtype.kind not in "iu" or not 1_000 <= rate <= 1_000_000:
        raise ConfigError(
            f"{where} has the {RATE} {rate.tolist()}", "It is one whole number, in Hz."
        )
    return int(rate.item())


def as_clips(x: Raw, rate: int) -> Raw:
    """int16 [n, samples] at a rate in Hz as [n, 16000]."""
    signals = as_real(x)
    if rate != SAMPLE_RATE:
        signals = np.stack([resample(signal, rate, SAMPLE_RATE) for signal in signals])
    return as_stored(fit_length(signals, clips.CLIP_SAMPLES), clips.INT16)


def clip_notes(sounds: Sequence[np.ndarray], rate: int, said: bool) -> tuple[str, ...]:
    """What sounds [n, samples] had to be converted from; said: whether they came with a rate."""
    if not sounds:
        return ()
    count = sum(len(x) for x in sounds)
    told = [] if said else [f"no {RATE}: sounds are taken as {SAMPLE_RATE:,} Hz"]
    if rate != SAMPLE_RATE:
        told.append(f"{count:,} sounds resampled from {rate:,} Hz")
    seconds = sounds[0].shape[1] / rate
    if seconds < 1:
        told.append(f"{count:,} sounds of {seconds:.3g} s reflected at the ends")
    if seconds > 1:
        told.append(f"{count:,} sounds of {seconds:.3g} s cut to the middle second")
    return tuple(told)
