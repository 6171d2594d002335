"""WAV files as mono float32 signals, and their resampling."""

import io
import math
import struct
import warnings
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy.io import wavfile
from scipy.signal import resample_poly

from snapcli.errors import ArtifactError
from snapcli.limits import MIB, TooLargeError, read_bytes

Signal = NDArray[np.float32]

_BYTE_ORDER = {b"RIFF": "<", b"RIFX": ">"}
_BYTES_MAX, _SECONDS_MAX, _RATES = 128 * MIB, 3600, (100, 384_000)
# warnings.catch_warnings swaps a list that all threads share.
_ONE_AT_A_TIME = Lock()


def _unreadable(path: Path, reason: str) -> ArtifactError:
    return ArtifactError(
        f"cannot read {path}: {reason}", "Replace it with an uncompressed WAV file, or remove it."
    )


def _unit(samples: np.ndarray) -> np.ndarray:
    """Samples of any type in [-1, 1]; scipy gives 24 bits as the upper ones of 32."""
    if samples.dtype == np.uint8:
        unit = samples.astype(np.float32)
        unit -= 128.0
        unit /= 128.0
        return unit
    if np.issubdtype(samples.dtype, np.signedinteger):
        return samples / np.float32(2.0 ** (8 * samples.itemsize - 1))
    return np.clip(samples, -1.0, 1.0)


def _decoded(content: bytes) -> tuple[int, np.ndarray]:
    """Rate and samples [k] or [k, channels] of the type they are stored in."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore", wavfile.WavFileWarning)
        return wavfile.read(io.BytesIO(content))


def read_wav(path: Path) -> tuple[int, Signal]:
    """Sample rate in Hz and samples [k], k > 0, in [-1, 1]; channels are averaged.

    PCM of 8 to 32 bits and floats; floats beyond full scale are clipped. Everything else, from
    a missing file to a compressed one, raises ArtifactError.
    """
    try:
        content = read_bytes(path, _BYTES_MAX)
    except OSError as error:
        raise _unreadable(path, error.strerror or "the system refuses") from error
    except TooLargeError as error:
        raise _unreadable(path, str(error)) from error
    if not content:
        raise _unreadable(path, "it is empty")
    promised = 8 + int.from_bytes(content[4:8], "little")
    # Some writers count a last padding byte that they do not write.
    if content.startswith(b"RIFF") and len(content) + 1 < promised:
        raise _unreadable(path, f"it ends after {len(content)} of {promised} bytes")
    try:
        rate, samples = _decoded(content)
    except ValueError as error:
        raise _unreadable(path, str(error).partition("\n")[0]) from error
    except Exception as error:  # A damaged header leads scipy to almost any of them.
        raise _unreadable(path, "its header is damaged") from error
    if rate == 0 or samples.size == 0:
        raise _unreadable(path, "it holds no sound")
    # Another rate is resampled: what that takes follows from the header.
    if not _RATES[0] <= rate <= _RATES[1]:
        raise _unreadable(path, f"its rate is {rate:,} Hz")
    if len(samples) > _SECONDS_MAX * rate:
        raise _unreadable(path, f"it has {len(samples) / rate / 60:,.0f} minutes")
    if not np.isfinite(samples).all():
        raise _unreadable(path, "it holds samples that are not finite")
    unit = _unit(samples)
    mono = unit if unit.ndim == 1 else unit.mean(axis=1)
    return rate, mono.astype(np.float32, copy=False)


def rate_of(path: Path) -> tuple[int, int, float]:
    """(rate in Hz, channels, seconds) by the header of a WAV file; the samples are not read."""
    try:
        with path.open("rb") as file:
            form = file.read(12)
            if form[:4] not in _BYTE_ORDER or form[8:] != b"WAVE":
                raise ValueError("it is not a WAV file")
            order, rate, channels, frame_bytes = _BYTE_ORDER[form[:4]], 0, 0, 0
            while True:
                name, length = struct.unpack(f"{order}4sI", file.read(8))
                start = file.tell()
                if name == b"fmt ":
                    _, channels, rate, _, frame_bytes = struct.unpack(
                        f"{order}HHIIH", file.read(14)
                    )
                if name == b"data":
                    if not rate * channels * frame_bytes:
                        raise ValueError("its header is damaged")
                    # Whatever writes into a pipe does not know the length, and states too much.
                    held = min(length, path.stat().st_size - start)
                    return rate, channels, held / frame_bytes / rate
                file.seek(start + length + length % 2)
    except OSError as error:
        raise _unreadable(path, error.strerror or "the system refuses") from error
    except struct.error as error:
        raise _unreadable(path, "its header is cut short") from error
    except ValueError as error:
        raise _unreadable(path, str(error)) from error


def resample(signal: Signal, from_rate: int, to_rate: int) -> Signal:
    """The signal [k] at another rate in Hz: [ceil(k * to_rate / from_rate)], in [-1, 1].

    What the low-pass filter rings beyond full scale is clipped.
    """
    if from_rate == to_rate:
        return signal
    common = math.gcd(from_rate, to_rate)
    resampled = resample_poly(signal, to_rate // common, from_rate // common)
    return np.clip(resampled, -1.0, 1.0).astype(np.float32)
