"""TinyImageNet-200: half of its classes to learn, the other half as foreign images."""

from pathlib import Path

import numpy as np

from snapcli.data import catalogue, normalise
from snapcli.data.corruptions import COMMON
from snapcli.data.dataset import Dataset, Raw, Split
from snapcli.data.image_augment import image_augment
from snapcli.data.pictures import read_picture
from snapcli.data.reading import broken_note, listing, read_all
from snapcli.data.request import Request
from snapcli.data.splits import without_share
from snapcli.errors import ArtifactError

_SHAPE = (64, 64, 3)
_DEV_SHARE = 0.1
_SEED = 0


def load_tinyimagenet(request: Request) -> Dataset:
    """Train and dev (stratified) from the official training images, test from the official
    validation images, which are the labelled ones that nobody trains on."""
    folder = request.store.require(catalogue.TINYIMAGENET, request.on_progress)
    wnids = sorted(_lines(folder / "wnids.txt"))
    order = np.random.default_rng(_SEED).permutation(len(wnids))
    known = sorted(wnids[i] for i in order[: len(wnids) // 2])
    train_paths = {
        path: wnid
        for wnid in known
        for path in sorted((folder / "train" / wnid / "images").glob("*.JPEG"))
    }
    test_paths, foreign_paths = {}, []
    for line in _lines(folder / "val" / "val_annotations.txt"):
        file, wnid, *_ = line.split("\t")
        path = folder / "val" / "images" / file
        if wnid in known:
            test_paths[path] = wnid
        else:
            foreign_paths.append(path)
    broken: list[str] = []

    def read(paths: list[Path]) -> tuple[Raw, np.ndarray]:
        there = [path for path in paths if path.is_file()]
        if not there:
            raise ArtifactError(
                f"{folder} lacks images", "Put the content of tiny-imagenet-200.zip there."
            )
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
        label = {str(p.relative_to(folder)): known.index(wnid) for p, wnid in paths.items()}
        return Split(x, np.array([label[o] for o in origins], np.int64), origins)

    train, dev = without_share(split(train_paths), _DEV_SHARE)
    words = dict(line.split("\t", 1) for line in _lines(folder / "words.txt") if "\t" in line)
    return Dataset(
        name="tinyimagenet",
        class_names=tuple(words.get(wnid, wnid).partition(",")[0] for wnid in known),
        train=train,
        dev=dev,
        test=split(test_paths),
        corruptions=COMMON,
        ood={"other-classes": read(foreign_paths)[0]},
        front_end=normalise.normalised(*normalise.IMAGENET),
        augment=image_augment(request, ("resized-crop", "flip", "jitter", "grey")),
        notes=broken_note(broken, request.strict),
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ArtifactError(
            f"{path} cannot be read", "It comes with TinyImageNet-200: put it there."
        ) from None
