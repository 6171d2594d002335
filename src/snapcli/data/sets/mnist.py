"""MNIST, with MNIST-C's corruptions and Fashion-MNIST as foreign images."""

from functools import partial
from pathlib import Path

import numpy as np

from snapcli.data.corruptions import MNIST
from snapcli.data.dataset import UNGRADED, Dataset, Published, Split
from snapcli.data.files import catalogue
from snapcli.data.images import normalise
from snapcli.data.images.augment import image_augment
from snapcli.data.images.formats import read_corrupted, read_idx
from snapcli.data.request import Request
from snapcli.data.splits import named, without_share
from snapcli.errors import ArtifactError

_DEV_SHARE = 0.1


def load_mnist(request: Request) -> Dataset:
    """Train 54,000, dev 6,000 (stratified), test 10,000."""
    store = request.store
    folder, foreign = store.require(
        catalogue.MNIST, catalogue.FASHION_MNIST, on_progress=request.on_progress
    )
    train, dev = without_share(_split(folder, "train"), _DEV_SHARE)
    test = _split(folder, "t10k")
    published = store.find(catalogue.MNIST_C, request.on_progress)
    return Dataset(
        name="mnist",
        class_names=tuple(str(digit) for digit in range(10)),
        train=train,
        dev=dev,
        test=test,
        corruptions=MNIST,
        ood={"fashion-mnist": _images(foreign, "t10k")},
        front_end=normalise.normalised(*normalise.MNIST),
        augment=image_augment(request, ("affine",)),
        published=_published(published, test) if published else {},
    )


def _images(folder: Path, prefix: str) -> np.ndarray:
    return read_idx(folder / f"{prefix}-images-idx3-ubyte.gz", axes=3)[..., None]


def _split(folder: Path, prefix: str) -> Split:
    x = _images(folder, prefix)
    y = read_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", axes=1).astype(np.int64)
    if len(x) != len(y) or not np.isin(y, np.arange(10)).all():
        raise ArtifactError(
            f"{folder} has {len(x)} {prefix} images but {np.sum(y < 10)} labels from 0 to 9",
            "Remove these files: snap fetches them again when they are needed.",
        )
    return Split(x, y, named(prefix, len(y)))


def _published(folder: Path, test: Split) -> dict[str, Published]:
    """MNIST-C has one severity of each type."""
    paths = {name: folder / name / "test_images.npy" for name in MNIST}
    return {
        name: Published((UNGRADED,), partial(_only, path, test.x.shape))
        for name, path in paths.items()
        if path.is_file()
    }


def _only(path: Path, shape: tuple[int, ...], severity: int) -> np.ndarray:
    """What MNIST-C has of a type; there is nothing to choose."""
    return read_corrupted(path, shape, severities=1, severity=1)
