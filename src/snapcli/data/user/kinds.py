"""The kinds of files that examples come in: images and .wav files."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.data.dataset import Raw
from snapcli.data.files.reading import first_of
from snapcli.data.images import pictures
from snapcli.data.sound import clips
from snapcli.data.sound.logmel import SAMPLE_RATE
from snapcli.data.sound.wav import rate_of
from snapcli.errors import ArtifactError, ConfigError

SOUND = ".wav"
SUFFIXES = pictures.SUFFIXES | {SOUND}
_SECOND = 0.001  # seconds that a clip may be longer or shorter without a note


class Sounds:
    """How .wav files are read."""

    is_sound = True
    shape: tuple[int, ...] = (clips.CLIP_SAMPLES,)
    dtype: Any = clips.INT16

    def read(self, path: Path) -> Raw:
        return clips.read_clip(path)

    def identity(self) -> dict[str, Any]:
        return clips.clip_shape()

    def notes(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """What had to be converted, by the files' headers."""
        rates: Counter[int] = Counter()
        stereo, short, long = 0, 0, 0
        for path in paths:
            try:
                rate, channels, seconds = rate_of(path)
            except ArtifactError:
                continue
            rates[rate] += rate != SAMPLE_RATE
            stereo += channels > 1
            short += seconds < 1 - _SECOND
            long += seconds > 1 + _SECOND
        told = [f"{count(n, 'file')} resampled from {rate:,} Hz" for rate, n in rates.items() if n]
        told += [f"{count(stereo, 'file')} mixed to mono"] * bool(stereo)
        told += [f"{count(short, 'file')} of less than a second reflected at the ends"] * bool(
            short
        )
        told += [f"{count(long, 'file')} of more than a second cut to the middle"] * bool(long)
        return tuple(told)


@dataclass(frozen=True)
class Pictures:
    """How images are read: all of one shape. seen: what the files have, as shapes_of found it."""

    shape: tuple[int, int, int]
    seen: dict[Path, tuple[int, int, int]]
    dtype: Any = np.uint8
    is_sound = False

    def read(self, path: Path) -> Raw:
        return pictures.read_picture(path, self.shape)

    def identity(self) -> dict[str, Any]:
        return {"shape": self.shape}

    def notes(self, paths: Sequence[Path]) -> tuple[str, ...]:
        height, width, channels = self.shape
        resized = sum(self.seen[path][:2] != (height, width) for path in paths)
        changed = sum(self.seen[path][2] != channels for path in paths)
        to = "grey" if channels == 1 else "colour"
        told = [f"{count(resized, 'image')} resized to {height}x{width}"] * bool(resized)
        return (*told, *([f"{count(changed, 'image')} made {to}"] * bool(changed)))


FileKind = Sounds | Pictures


def count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def are_sounds(files: Sequence[Path], where: Path) -> bool:
    """Whether files are sounds or images; raises ConfigError unless they are of one kind."""
    kinds = {file.suffix.lower() == SOUND for file in files}
    if len(kinds) != 1:
        what = "both images and .wav files" if kinds else "neither images nor .wav files"
        raise ConfigError(f"{where} has {what}", "Give a folder of one kind: images or .wav files.")
    return kinds.pop()


def shapes_of(paths: Sequence[Path]) -> dict[Path, tuple[int, int, int]]:
    """(height, width, channels) of the images that can be read."""
    seen: dict[Path, tuple[int, int, int]] = {}
    broken: list[str] = []
    for path in paths:
        try:
            seen[path] = pictures.shape_of(path)
        except ArtifactError as error:
            broken.append(error.message)  # reported when it is read
    if not seen:
        raise ArtifactError(first_of(broken), "Give PNG or JPEG files that can be read.")
    return seen
