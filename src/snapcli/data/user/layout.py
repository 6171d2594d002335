"""A user's folder of examples: what lies where in it, and what can be read of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapcli.data.dataset import Raw
from snapcli.data.files.reading import broken_note, first_of, listing, read_all
from snapcli.data.sound import clips
from snapcli.data.user.kinds import SUFFIXES, FileKind, count
from snapcli.errors import ArtifactError, ConfigError
from snapcli.progress import OnProgress

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


@dataclass(frozen=True)
class Layout:
    """roots: {division: the folder of its examples or classes}, "all" where the user made none;
    foreign and noise: folders of what has no class."""

    path: Path
    roots: dict[str, Path]
    foreign: Path | None
    noise: Path | None

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the folders for classes, sorted."""
        names = {name for root in self.roots.values() for name in _folders(root)}
        return tuple(sorted(names - {FOREIGN, NOISE}))

    def files(self, within: Iterable[str] = (".",)) -> dict[str, list[Path]]:
        """Of each division, those in these folders."""
        folders = list(within)
        return {
            division: [file for name in folders for file in _files(root / name)]
            for division, root in self.roots.items()
        }

    @property
    def foreign_files(self) -> list[Path]:
        return _files(self.foreign) if self.foreign else []


@dataclass(frozen=True)
class Examples:
    """divisions: raw examples and the files that they came from."""

    divisions: dict[str, tuple[Raw, list[Path]]]
    foreign: Raw | None
    noise: clips.Noise
    notes: tuple[str, ...]


def origins(files: Iterable[Path], path: Path) -> np.ndarray:
    """Names of the examples: their files within the folder."""
    return np.array([str(file.relative_to(path)) for file in files], np.str_)


def layout_of(path: Path) -> Layout:
    places = _folders(path)
    foreign, noise = places.pop(FOREIGN, None), places.pop(NOISE, None)
    return Layout(path, _divisions(path, places), foreign, noise)


def read_examples(
    layout: Layout,
    by_class: dict[str, list[Path]],
    kind: FileKind,
    strict: bool,
    on_progress: OnProgress,
) -> Examples:
    """The files of each division and what lies beside them; strict: a broken one is an error
    instead of a note."""
    broken: list[str] = []

    def read(files: list[Path]) -> tuple[Raw, list[Path]]:
        """What could be read, and of which files."""
        identity = {"own": listing(files, layout.path), **kind.identity()}
        reading = read_all(files, kind.read, kind.shape, kind.dtype, identity, on_progress)
        broken.extend(reading.broken)
        return reading.x, [files[i] for i in reading.kept]

    divisions = {division: read(files) for division, files in by_class.items()}
    if broken and not any(files for _, files in divisions.values()):
        raise ArtifactError(first_of(broken), "None of the files can be read: give others.")
    foreign = read(layout.foreign_files)[0] if layout.foreign else None
    if foreign is not None and not len(foreign):
        raise ConfigError(
            f"{layout.foreign} has no readable example", "Put foreign examples there, or remove it."
        )
    noise, told = _noises(layout.noise, broken) if layout.noise and kind.is_sound else ((), ())
    used = [file for _, files in divisions.values() for file in files]
    notes = (*broken_note(broken, strict), *kind.notes(used), *told)
    return Examples(divisions, foreign, noise, notes)


def _folders(path: Path) -> dict[str, Path]:
    return {p.name: p for p in sorted(path.iterdir()) if p.is_dir() and p.name[0] != "."}


def _files(folder: Path) -> list[Path]:
    """Images and sounds of a folder, not of those within it."""
    if not folder.is_dir():
        return []
    files = (p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and p.name[0] != ".")
    return sorted(p for p in files if p.is_file())


def _divisions(path: Path, places: dict[str, Path]) -> dict[str, Path]:
    if not places or any(name.lower() not in _DIVISIONS for name in places):
        return {"all": path}
    roots = {_DIVISIONS[name.lower()]: place for name, place in places.items()}
    if len(roots) < len(places):
        raise ConfigError(
            f"{path} has folders that mean the same: {', '.join(places)}",
            "Keep one of each of train, val and test.",
        )
    return roots


def _noises(folder: Path, broken: list[str]) -> tuple[clips.Noise, tuple[str, ...]]:
    """The noises that clips can be cut from, and what there is to tell of others."""
    recordings = []
    for path in _files(folder):
        try:
            recordings.append(clips.read_signal(path))
        except ArtifactError as error:
            broken.append(error.message)
    long = tuple(signal for signal in recordings if len(signal) >= clips.CLIP_SAMPLES)
    short = len(recordings) - len(long)
    return long, (f"{count(short, 'noise')} of less than a second left out",) * bool(short)
