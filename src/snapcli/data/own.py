"""A user's own data: a folder per class of images or .wav files, or an .npz."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from snapcli.data import clips, pictures
from snapcli.data.corruptions import COMMON
from snapcli.data.corruptions.speech import speech_corruptions
from snapcli.data.dataset import Dataset, Raw, Split, as_real, as_stored
from snapcli.data.image_augment import image_augment
from snapcli.data.logmel import SAMPLE_RATE, FrontEnd, fit_length, log_mel
from snapcli.data.normalise import normalised
from snapcli.data.reading import broken_note, listing, read_all
from snapcli.data.request import Request
from snapcli.data.splits import named, without_share
from snapcli.data.wav import rate_of, resample
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
_TEST_SHARE, _DEV_SHARE = 0.2, 0.125  # 70, 10 and 20 % of all
_LARGEST = 128


@dataclass(frozen=True)
class _Content:
    """What was found: raw examples by division ("all" where the user made none), foreign ones,
    noises, and what there is to tell."""

    class_names: tuple[str, ...]
    divisions: dict[str, Split]
    foreign: Raw | None
    noise: clips.Noise
    notes: tuple[str, ...]


def load_own(request: Request) -> Dataset:
    """Without folders of their own, 20 % become test and 10 % dev, stratified by class."""
    path = request.path
    assert path is not None
    content = _from_npz(path, request) if path.is_file() else _from_folder(path, request)
    train, dev, test = _divided(content)
    if train.x.ndim == 2:
        return _sounds(path, request, content, train, dev, test)
    mean, deviation = _moments(train.x)
    return Dataset(
        name=path.stem,
        class_names=content.class_names,
        train=train,
        dev=dev,
        test=test,
        corruptions=COMMON,
        ood={} if content.foreign is None else {"ood": content.foreign},
        front_end=normalised(mean, deviation),
        augment=image_augment(request, ("crop",)),
        notes=content.notes,
    )


def _sounds(
    path: Path, request: Request, content: _Content, train: Split, dev: Split, test: Split
) -> Dataset:
    front_end = FrontEnd()
    augment, augment_inputs = clips.clip_augment(request, content.noise)
    # Corruptions of sounds take long: their features are kept, by what they were made from.
    identity = hashlib.sha256(repr((front_end, len(content.noise))).encode())
    for split in (train, dev, test):
        identity.update(np.ascontiguousarray(split.x).data)
    return Dataset(
        name=path.stem,
        class_names=content.class_names,
        train=train,
        dev=dev,
        test=test,
        corruptions=speech_corruptions(content.noise),
        ood={} if content.foreign is None else {"ood": content.foreign},
        front_end=lambda x: log_mel(x, front_end),
        augment=augment,
        augment_inputs=augment_inputs,
        identity=identity.hexdigest(),
        notes=content.notes,
    )


def _moments(x: Raw) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel, rounded: short enough to write into firmware."""
    real = as_real(x)
    deviation = np.maximum(real.std(axis=(0, 1, 2)), 0.01)
    return (
        tuple(round(float(v), 4) for v in real.mean(axis=(0, 1, 2))),
        tuple(round(float(v), 4) for v in deviation),
    )


def _divided(content: _Content) -> tuple[Split, Split, Split]:
    found = dict(content.divisions)
    rest = found.get("train", found.get("all"))
    if rest is None or not len(rest):
        raise ConfigError("the data have no training examples", "Put them into train/.")
    test = found.get("test")
    if test is None:
        rest, test = without_share(rest, _TEST_SHARE)
    dev = found.get("dev")
    if dev is None:
        rest, dev = without_share(rest, _DEV_SHARE)
    order = np.random.default_rng(0).permutation(len(rest))
    return rest.take(order), dev, test


def _from_folder(path: Path, request: Request) -> _Content:
    places = {p.name: p for p in sorted(path.iterdir()) if p.is_dir() and p.name[0] != "."}
    special = {name: places.pop(name) for name in (FOREIGN, NOISE) if name in places}
    if places and all(name.lower() in _DIVISIONS for name in places):
        roots = {_DIVISIONS[name.lower()]: place for name, place in places.items()}
        classes = sorted(
            {p.name for r in roots.values() for p in r.iterdir() if p.is_dir() and p.name[0] != "."}
        )
    else:
        roots, classes = {"all": path}, sorted(places)
    if len(classes) < 2:
        raise ConfigError(
            f"{path} has {len(classes)} folders of examples",
            "Make a folder for each class, at least two.",
        )
    found = {
        division: [p for name in classes for p in _files(root / name)]
        for division, root in roots.items()
    }
    everything = [p for files in found.values() for p in files]
    kinds = {p.suffix.lower() == ".wav" for p in everything}
    if not everything or len(kinds) > 1:
        what = "both images and .wav files" if everything else "neither images nor .wav files"
        raise ConfigError(f"{path} has {what}", "Give a folder of one kind.")
    foreign = _files(special[FOREIGN]) if FOREIGN in special else []
    kind = _Sounds() if kinds == {True} else _pictures_of(everything, request)
    broken: list[str] = []

    def read(files: list[Path]) -> tuple[Raw, np.ndarray]:
        identity = {"own": listing(files, path), **kind.identity()}
        reading = read_all(files, kind.read, kind.shape, kind.dtype, identity, request.on_progress)
        broken.extend(reading.broken)
        return reading.x, reading.kept

    divisions = {}
    for division, files in found.items():
        x, kept = read(files)
        label = {name: i for i, name in enumerate(classes)}
        chosen = [files[i] for i in kept]
        divisions[division] = Split(
            x,
            np.array([label[p.parent.name] for p in chosen], np.int64),
            np.array([str(p.relative_to(path)) for p in chosen]),
        )
        _check_classes(divisions[division], classes, division, path)
    outside = read(foreign)[0] if foreign else None
    noise = tuple(clips.read_signal(p) for p in _files(special[NOISE])) if NOISE in special else ()
    return _Content(
        class_names=tuple(classes),
        divisions=divisions,
        foreign=outside,
        noise=tuple(n for n in noise if len(n) >= clips.CLIP_SAMPLES),
        notes=(*broken_note(broken, request.strict), *kind.notes(everything)),
    )


def _files(folder: Path) -> list[Path]:
    """Images and sounds of a folder, not of those within it."""
    known = pictures.SUFFIXES | {".wav"}
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in known and p.name[0] != ".")


def _check_classes(split: Split, classes: list[str], division: str, path: Path) -> None:
    counts = np.bincount(split.y, minlength=len(classes))
    if not counts.all():
        empty = classes[int(np.argmin(counts))]
        where = path if division == "all" else path / division
        raise ConfigError(
            f"{where} has no readable example of class '{empty}'", "Add some, or remove the class."
        )


class _Sounds:
    """How .wav files are read."""

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
            short += seconds < 0.999
            long += seconds > 1.001
        told = [f"{n} files resampled from {rate:,} Hz" for rate, n in rates.items() if n]
        told += [f"{stereo} files mixed to mono"] * bool(stereo)
        told += [f"{short} files shorter than a second reflected at their ends"] * bool(short)
        told += [f"of {long} files longer than a second the middle was taken"] * bool(long)
        return tuple(told)


@dataclass(frozen=True)
class _Pictures:
    """How images are read: all of one shape."""

    shape: tuple[int, int, int]
    seen: Counter[tuple[int, int, int]]
    dtype: Any = np.uint8

    def read(self, path: Path) -> Raw:
        return pictures.read_picture(path, self.shape)

    def identity(self) -> dict[str, Any]:
        return {"shape": self.shape}

    def notes(self, paths: list[Path]) -> tuple[str, ...]:
        height, width, channels = self.shape
        resized = sum(n for s, n in self.seen.items() if s[:2] != (height, width))
        changed = sum(n for s, n in self.seen.items() if s[2] != channels)
        to = "grey" if channels == 1 else "colour"
        told = [f"{resized} images resized to {height}x{width}"] * bool(resized)
        return (*told, *([f"{changed} images became {to}"] * bool(changed)))


def _pictures_of(paths: list[Path], request: Request) -> _Pictures:
    """The shape that was asked for, or the commonest size, in colour if any image has one."""
    seen: Counter[tuple[int, int, int]] = Counter()
    for path in paths:
        try:
            seen[pictures.shape_of(path)] += 1
        except ArtifactError:
            continue
    if not seen:
        raise ArtifactError("none of the images can be read", "Give PNG or JPEG files.")
    sizes: Counter[tuple[int, int]] = Counter()
    for (height, width, _), count in seen.items():
        sizes[height, width] += count
    height, width = (request.image_size,) * 2 if request.image_size else sizes.most_common(1)[0][0]
    if max(height, width) > _LARGEST:
        raise ConfigError(
            f"the images are {height}x{width}, more than a microcontroller has room for",
            "Name a size that they are brought to, for example --image-size 64.",
        )
    channels = request.channels or max(c for _, _, c in seen)
    return _Pictures((height, width, channels), seen)


def _from_npz(path: Path, request: Request) -> _Content:
    """Arrays x and y, or x_train, y_train, x_test, y_test and perhaps x_dev, y_dev; class_names;
    sample_rate for sounds; ood for foreign examples."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise ArtifactError(
            f"{path} cannot be read: {str(error).splitlines()[0] if str(error) else 'damaged'}",
            "Give an .npz with arrays x and y, without objects.",
        ) from None
    pairs = {"all": ("x", "y")}
    pairs |= {d: (f"x_{d}", f"y_{d}") for d in ("train", "dev", "test")}
    found = {d: (arrays[a], arrays[b]) for d, (a, b) in pairs.items() if {a, b} <= set(arrays)}
    if not found or ("all" in found) == ("train" in found):
        raise ConfigError(
            f"{path} has the arrays {', '.join(arrays) or 'none'}",
            "It needs x and y, or x_train, y_train, x_test and y_test.",
        )
    labels = np.concatenate([np.asarray(y).reshape(-1) for _, y in found.values()])
    classes = np.unique(labels)
    names = arrays.get("class_names", classes)
    if len(names) != len(classes) or len(classes) < 2:
        raise ConfigError(
            f"{path} has labels of {len(classes)} classes and {len(names)} class names",
            "Give at least two classes, and a name for each.",
        )
    rate = int(arrays.get("sample_rate", SAMPLE_RATE))
    divisions = {}
    for division, (x, y) in found.items():
        y = np.asarray(y).reshape(-1)
        if len(x) != len(y):
            raise ConfigError(
                f"{path} has {len(x)} examples but {len(y)} labels", "Give a label for each."
            )
        origins = named("npz" if division == "all" else division, len(y))
        index = np.searchsorted(classes, y).astype(np.int64)
        divisions[division] = Split(_raw(x, rate, path, request), index, origins)
    foreign = _raw(arrays["ood"], rate, path, request) if "ood" in arrays else None
    return _Content(tuple(str(n) for n in names), divisions, foreign, (), ())


def _raw(x: np.ndarray, rate: int, path: Path, request: Request) -> Raw:
    """An array of a user as raw examples; raises ConfigError for one that means nothing."""
    if x.dtype.kind == "f":
        if not np.isfinite(x).all():
            raise ConfigError(f"{path} has values that are no numbers", "Remove those examples.")
        low = -1.0 if x.ndim == 2 else 0.0
        if x.min() < low or x.max() > 1.0:
            raise ConfigError(
                f"{path} has values from {x.min():g} to {x.max():g}",
                f"Real numbers must lie between {low:g} and 1, or use uint8 (images) or int16.",
            )
        x = as_stored(x.astype(np.float32), np.dtype(np.int16 if x.ndim == 2 else np.uint8))
    if x.ndim == 2 and x.dtype == np.int16:
        signals = as_real(x)
        if rate != SAMPLE_RATE:
            signals = np.stack([resample(s, rate, SAMPLE_RATE) for s in signals])
        fitted = np.stack([fit_length(s, clips.CLIP_SAMPLES) for s in signals])
        return as_stored(fitted, clips.INT16)
    if x.ndim == 3:
        x = x[..., None]
    if x.ndim != 4 or x.dtype != np.uint8 or x.shape[3] not in (1, 3):
        raise ConfigError(
            f"{path} has an array {x.shape} of {x.dtype}",
            "Images are [n, height, width(, 1 or 3)] uint8 or in [0, 1]; sounds [n, samples].",
        )
    if request.image_size or (request.channels and request.channels != x.shape[3]):
        raise ConfigError(
            "--image-size and --channels convert files, not an .npz", "Convert the arrays yourself."
        )
    return x
