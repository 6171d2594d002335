"""CIFAR-10, with CIFAR-10-C's corruptions and SVHN as foreign images."""

from functools import partial
from pathlib import Path

from snapcli.data.corruptions import COMMON
from snapcli.data.dataset import SEVERITIES, Dataset, Published, Split
from snapcli.data.files import catalogue
from snapcli.data.images import normalise
from snapcli.data.images.augment import image_augment
from snapcli.data.images.formats import read_cifar10, read_corrupted, read_svhn
from snapcli.data.request import Request
from snapcli.data.splits import named, without_share

CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
_DEV_SHARE = 0.1


def load_cifar10(request: Request) -> Dataset:
    """Train 45,000, dev 5,000 (stratified), test 10,000."""
    store = request.store
    folder, foreign = store.require(
        catalogue.CIFAR10, catalogue.SVHN, on_progress=request.on_progress
    )
    content = read_cifar10(folder)
    whole = {name: Split(x, y, named(name, len(y))) for name, (x, y) in content.items()}
    train, dev = without_share(whole["train"], _DEV_SHARE)
    published = store.find(catalogue.CIFAR10_C, request.on_progress)
    return Dataset(
        name="cifar10",
        class_names=CLASSES,
        train=train,
        dev=dev,
        test=whole["test"],
        corruptions=COMMON,
        ood={"svhn": read_svhn(foreign / "test_32x32.mat")[0]},
        front_end=normalise.normalised(*normalise.CIFAR10),
        augment=image_augment(request, ("crop", "flip", "jitter")),
        published=_published(published, whole["test"]) if published else {},
    )


def _published(folder: Path, test: Split) -> dict[str, Published]:
    """CIFAR-10-C stacks the five severities of a type in one file."""
    paths = {name: folder / f"{name}.npy" for name in COMMON}
    return {
        name: Published(SEVERITIES, partial(read_corrupted, path, test.x.shape, len(SEVERITIES)))
        for name, path in paths.items()
        if path.is_file()
    }
