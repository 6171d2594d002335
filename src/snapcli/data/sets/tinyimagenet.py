"""TinyImageNet-200: half of its classes to learn, the other half as foreign images."""

from pathlib import Path

import numpy as np

from snapcli.data.corruptions import COMMON
from snapcli.data.dataset import Dataset, Raw, Split
from snapcli.data.files import catalogue
from snapcli.data.files.reading import broken_note, listing, read_all
from snapcli.data.images import normalise
from snapcli.data.images.augment import image_augment
from snapcli.data.images.pictures import read_picture
from snapcli.data.request import Request
from snapcli.data.splits import without_share
from snapcli.errors import ArtifactError

_SHAPE = (64, 64, 3)
_DEV_SHARE = 0.1
_SEED = 0
_PUT = "Put the content of tiny-imagenet-200.zip there."


def load_tinyimagenet(request: Request) -> Dataset:
    """Train and dev (stratified) from the official training images, test from the official
    validation images, which are the labelled ones that nobody trains on."""
    (folder,) = request.store.require(catalogue.TINYIMAGENET, on_progress=request.on_progress)
    wnids = sorted({wnid for (wnid,) in _rows(folder / "wnids.txt", 1)})
    order = np.random.default_rng(_SEED).permutation(len(wnids))
    known = sorted(wnids[i] for i in order[: len(wnids) // 2])
    validation = {
        folder / "val" / "images" / file: wnid
        for file, wnid in _rows(folder / "val" / "val_annotations.txt", 2)
    }
    broken: list[str] = []

    def read(paths: list[Path]) -> tuple[Raw, np.ndarray]:
        there = [path for path in paths if path.is_file()]
        if not there:
            raise ArtifactError(f"{folder} lacks images", _PUT)
        broken.extend(f"{path} is not there" for path in sorted(set(paths) - set(there)))
        identity = {"pictures": listing(there, folder), "shape": _SHAPE}
        reading = read_all(
            there,
            lambda p: read_picture(p, _SHAPE),
            _SHAPE,
            np.uint8,
            identity,
            request.on_progress,
        )
        broken.extend(reading.broken)
        return reading.x, np.array([str(p.relative_to(folder)) for p in there])[reading.kept]

    def split(paths: dict[Path, str]) -> Split:
        x, origins = read(list(paths))
        y = np.array([known.index(paths[folder / origin]) for origin in origins], np.int64)
        lacking = np.flatnonzero(np.bincount(y, minlength=len(known)) == 0)
        if len(lacking):
            raise ArtifactError(f"{folder} lacks images of {known[lacking[0]]}", _PUT)
        return Split(x, y, origins)

    official = split(
        {
            path: wnid
            for wnid in known
            for path in sorted((folder / "train" / wnid / "images").glob("*.JPEG"))
        }
    )
    train, dev = without_share(official, _DEV_SHARE)
    test = split({path: wnid for path, wnid in validation.items() if wnid in known})
    foreign, _ = read([path for path, wnid in validation.items() if wnid not in known])
    words = {wnid: names.partition(",")[0] for wnid, names in _rows(folder / "words.txt", 2)}
    return Dataset(
        name="tinyimagenet",
        class_names=tuple(words.get(wnid, wnid) for wnid in known),
        train=train,
        dev=dev,
        test=test,
        corruptions=COMMON,
        ood={"other-classes": foreign},
        front_end=normalise.normalised(*normalise.IMAGENET),
        augment=image_augment(request, ("resized-crop", "flip", "jitter", "grey")),
        notes=broken_note(broken, request.strict),
    )


def _rows(path: Path, columns: int) -> list[tuple[str, ...]]:
    """The first columns of the lines of a table with tabs."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ArtifactError(f"{path} cannot be read", _PUT) from None
    rows = [tuple(line.split("\t")[:columns]) for line in lines if line.strip()]
    if any(len(row) < columns for row in rows):
        raise ArtifactError(f"{path} is damaged: a line has fewer than {columns} columns", _PUT)
    return rows
