"""A user's own files: a folder per class, of images or of .wav files."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.data.dataset import Raw, Split
from snapcli.data.files.reading import broken_note, listing, read_all
from snapcli.data.images import pictures
from snapcli.data.request import Request
from snapcli.data.sets.own_content import Content, check_classes, check_sides
from snapcli.data.sound import clips
from snapcli.data.sound.logmel import SAMPLE_RATE
from snapcli.data.sound.wav import rate_of
from snapcli.errors import ArtifactError, ConfigError

FOREIGN, NOISE = "_ood_", "_background_noise_"
# The names that people give to the folders of a division they made themselves.
_DIVISIONS = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
    "testing": "test",
}
_SOUND = ".wav"
_SECOND = 0.001  # seconds that a clip may be longer or shorter without a note


def from_folder(path: Path, request: Request) -> Content:
    places = _folders(path)
    foreign_place, noise_place = places.pop(FOREIGN, None), places.pop(NOISE, None)
    roots = _divisions(path, places)
    classes = sorted(
        {name for root in roots.values() for name in _folders(root)} - {FOREIGN, NOISE}
    )
    if len(classes) < 2:
        raise ConfigError(
            f"{path} has {'only one folder' if classes else 'no folder'} of examples",
            "Make a folder for each class, at least two.",
        )
    found = {
        division: [file for name in classes for file in _files(root / name)]
        for division, root in roots.items()
    }
    everything = [file for files in found.values() for file in files]
    foreign = _files(foreign_place) if foreign_place else []
    kind = _kind(path, [*everything, *foreign], everything, request)
    broken: list[str] = []
    used: list[Path] = []

    def read(files: list[Path]) -> tuple[Raw, list[Path]]:
        """What could be read, and of which files."""
        identity = {"own": listing(files, path), **kind.identity()}
        reading = read_all(files, kind.read, kind.shape, kind.dtype, identity, request.on_progress)
        broken.extend(reading.broken)
        return reading.x, [files[i] for i in reading.kept]

    divisions = {}
    for division, files in found.items():
        x, kept = read(files)
        y = np.array([classes.index(file.parent.name) for file in kept], np.int64)
        check_classes(y, tuple(classes), str(roots[division]))
        used += kept
        divisions[division] = Split(x, y, np.array([str(file.relative_to(path)) for file in kept]))
    outside = read(foreign)[0] if foreign_place else None
    if outside is not None and not len(outside):
        raise ConfigError(
            f"{foreign_place} has no readable example", "Put foreign examples there, or remove it."
        )
    noise, told = _noises(noise_place, broken) if noise_place and kind.is_sound else ((), ())
    notes = (*broken_note(broken, request.strict), *kind.notes(used), *told)
    return Content(tuple(classes), divisions, outside, noise, notes)


def _folders(path: Path) -> dict[str, Path]:
    return {p.name: p for p in sorted(path.iterdir()) if p.is_dir() and p.name[0] != "."}


def _files(folder: Path) -> list[Path]:
    """Images and sounds of a folder, not of those within it."""
    known = pictures.SUFFIXES | {_SOUND}
    if not folder.is_dir():
        return []
    found = (p for p in folder.iterdir() if p.suffix.lower() in known and p.name[0] != ".")
    return sorted(p for p in found if p.is_file())


def _divisions(path: Path, places: dict[str, Path]) -> dict[str, Path]:
    """{division: the folder of its classes}; "all" where the user made none."""
    if not places or any(name.lower() not in _DIVISIONS for name in places):
        return {"all": path}
    roots = {_DIVISIONS[name.lower()]: place for name, place in places.items()}
    if len(roots) < len(places):
        raise ConfigError(
            f"{path} has folders that mean the same: {', '.join(places)}",
            "Keep one of each of train, val and test.",
        )
    return roots


class _Sounds:
    """How .wav files are read."""

    is_sound = True
    shape: tuple[int, ...] = (clips.CLIP_SAMPLES,)
    dtype: Any = clips.INT16

    def read(self, path: Path) -> Raw:
        return clips.read_clip(path)

    def identity(self) -> dict[str, Any]:
        return clips.clip_shape()

    def notes(self, paths: list[Path]) -> tuple[str, ...]:
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
        told = [f"{_count(n, 'file')} resampled from {rate:,} Hz" for rate, n in rates.items() if n]
        told += [f"{_count(stereo, 'file')} mixed to mono"] * bool(stereo)
        told += [f"{_count(short, 'file')} of less than a second reflected at the ends"] * bool(
            short
        )
        told += [f"{_count(long, 'file')} of more than a second cut to the middle"] * bool(long)
        return tuple(told)


@dataclass(frozen=True)
class _Pictures:
    """How images are read: all of one shape."""

    shape: tuple[int, int, int]
    seen: dict[Path, tuple[int, int, int]]
    dtype: Any = np.uint8
    is_sound = False

    def read(self, path: Path) -> Raw:
        return pictures.read_picture(path, self.shape)

    def identity(self) -> dict[str, Any]:
        return {"shape": self.shape}

    def notes(self, paths: list[Path]) -> tuple[str, ...]:
        height, width, channels = self.shape
        resized = sum(self.seen[path][:2] != (height, width) for path in paths)
        changed = sum(self.seen[path][2] != channels for path in paths)
        to = "grey" if channels == 1 else "colour"
        told = [f"{_count(resized, 'image')} resized to {height}x{width}"] * bool(resized)
        return (*told, *([f"{_count(changed, 'image')} made {to}"] * bool(changed)))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _kind(
    path: Path, files: list[Path], inside: list[Path], request: Request
) -> _Sounds | _Pictures:
    """How to read the files, which have to be of one kind; inside: those that have a class."""
    kinds = {file.suffix.lower() == _SOUND for file in files}
    if not inside or len(kinds) > 1:
        what = "both images and .wav files" if inside else "neither images nor .wav files"
        raise ConfigError(f"{path} has {what}", "Give a folder of one kind.")
    return _Sounds() if kinds == {True} else _pictures_of(inside, request)


def _pictures_of(paths: list[Path], request: Request) -> _Pictures:
    """The shape that was asked for, or the commonest size, in colour if any image has one."""
    seen: dict[Path, tuple[int, int, int]] = {}
    for path in paths:
        try:
            seen[path] = pictures.shape_of(path)
        except ArtifactError:
            continue  # told of when it is read
    if not seen:
        raise ArtifactError("none of the images can be read", "Give PNG or JPEG files.")
    sizes = Counter(shape[:2] for shape in seen.values())
    side = request.image_size
    height, width = (side, side) if side else sizes.most_common(1)[0][0]
    check_sides(height, width, "Name a size that they are brought to, for example --image-size 64.")
    channels = request.channels or max(shape[2] for shape in seen.values())
    return _Pictures((height, width, channels), seen)


def _noises(folder: Path, broken: list[str]) -> tuple[clips.Noise, tuple[str, ...]]:
    """The noises that clips can be cut from, and what there is to tell of others."""
    found = []
    for path in _files(folder):
        try:
            found.append(clips.read_signal(path))
        except ArtifactError as error:
            broken.append(error.message)
    long = tuple(signal for signal in found if len(signal) >= clips.CLIP_SAMPLES)
    short = len(found) - len(long)
    return long, (f"{_count(short, 'noise')} of less than a second left out",) * bool(short)
