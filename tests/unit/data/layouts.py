"""Small copies of the published data sets, in the formats of their publishers."""

import gzip
import io
import pickle
import struct
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image
from scipy.io import savemat

from snapcli.data.dataset import SEVERITIES

CIFAR_TOP = "cifar-10-batches-py"


@dataclass(frozen=True)
class Content:
    """What a copy holds: images [n, h, w(, c)] uint8 and labels [n]."""

    x: np.ndarray
    y: np.ndarray


def content(count: int, shape: tuple[int, ...], seed: int, classes: int = 10) -> Content:
    """Random images, of which no two are the same; as many of each class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(count) % classes)
    return Content(rng.integers(0, 256, (count, *shape), np.uint8), y)


# ---- MNIST --------------------------------------------------------------------


def idx(array: np.ndarray) -> bytes:
    """Two zero bytes, 8 for unsigned bytes, the number of axes, their lengths, the content."""
    lengths = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes()


def write_idx(folder: Path, prefix: str, data: Content) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kind, array in (("images-idx3", data.x), ("labels-idx1", data.y)):
        (folder / f"{prefix}-{kind}-ubyte.gz").write_bytes(gzip.compress(idx(array), mtime=0))


def write_mnist(root: Path) -> dict[str, Content]:
    found = {"train": content(200, (28, 28), 1), "test": content(40, (28, 28), 2)}
    write_idx(root / "mnist", "train", found["train"])
    write_idx(root / "mnist", "t10k", found["test"])
    return found


def write_fashion_mnist(root: Path) -> Content:
    found = content(30, (28, 28), 3)
    write_idx(root / "fashion-mnist", "t10k", found)
    return found


def write_mnist_c(root: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """{type: [40, 28, 28, 1]}: there is one severity."""
    found = {}
    for seed, name in enumerate(names, start=10):
        (root / "mnist_c" / name).mkdir(parents=True)
        found[name] = content(40, (28, 28, 1), seed).x
        np.save(root / "mnist_c" / name / "test_images.npy", found[name])
    return found


# ---- CIFAR-10 -----------------------------------------------------------------


class _Python2(pickle._Pickler):  # type: ignore[misc]
    """Writes bytes as Python 2 wrote its strings, which is how CIFAR-10 was published."""

    def save_string(self, value: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(value)) + value)
        self.memoize(value)

    dispatch: ClassVar = {**pickle._Pickler.dispatch, bytes: save_string}  # type: ignore[attr-defined]


def pickled(value: Any) -> bytes:
    """Protocol 2, with the module names of an old numpy."""
    file = io.BytesIO()
    _Python2(file, protocol=2).dump(value)
    return file.getvalue().replace(b"cnumpy._core.", b"cnumpy.core.")


def batch(data: Content) -> dict[bytes, Any]:
    """Rows of 3,072 bytes: all red, all green, all blue."""
    return {
        b"batch_label": b"a batch",
        b"labels": data.y.tolist(),
        b"data": data.x.transpose(0, 3, 1, 2).reshape(len(data.x), -1),
        b"filenames": [f"{i}.png".encode() for i in range(len(data.y))],
    }


def tar_gz(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, raw in files.items():
            info = tarfile.TarInfo(f"{CIFAR_TOP}/{name}")
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))


def write_cifar10(root: Path, per_batch: int = 60) -> dict[str, Content]:
    batches = [content(per_batch, (32, 32, 3), 20 + i) for i in range(5)]
    test = content(per_batch, (32, 32, 3), 30)
    files = {f"data_batch_{i}": pickled(batch(b)) for i, b in enumerate(batches, start=1)}
    # In the published archive the batches are in no order.
    shuffled = {name: files[name] for name in sorted(files, reverse=True)}
    names = {b"label_names": [b"airplane"], b"num_vis": 3072}
    shuffled |= {"batches.meta": pickled(names), "test_batch": pickled(batch(test))}
    tar_gz(root / "cifar10" / "cifar-10-python.tar.gz", shuffled)
    train = Content(np.concatenate([b.x for b in batches]), np.concatenate([b.y for b in batches]))
    return {"train": train, "test": test}


def write_svhn(root: Path) -> Content:
    """The file has the digit 0 as 10, and counts images along the last axis."""
    found = content(25, (32, 32, 3), 40)
    (root / "svhn").mkdir(parents=True, exist_ok=True)
    y = np.where(found.y == 0, 10, found.y).astype(np.uint8)[:, None]
    savemat(root / "svhn" / "test_32x32.mat", {"X": found.x.transpose(1, 2, 3, 0), "y": y})
    return found


def write_cifar10_c(root: Path, names: tuple[str, ...], count: int = 60) -> dict[str, np.ndarray]:
    """{type: [5, count, 32, 32, 3]}; the file joins the severities."""
    (root / "CIFAR-10-C").mkdir(parents=True)
    found = {}
    for seed, name in enumerate(names, start=50):
        joined = content(len(SEVERITIES) * count, (32, 32, 3), seed).x
        np.save(root / "CIFAR-10-C" / f"{name}.npy", joined)
        found[name] = joined.reshape(len(SEVERITIES), count, 32, 32, 3)
    return found


# ---- TinyImageNet -------------------------------------------------------------

WNIDS = tuple(f"n0{1_000_000 + 37 * i}" for i in range(8))
PER_CLASS, VALIDATION_PER_CLASS = 12, 4


def brightness(wnid: str) -> int:
    """Every class has its own, by which its images can be told."""
    return 20 + 30 * WNIDS.index(wnid)


def class_of(image: np.ndarray) -> str:
    """The inverse of brightness."""
    return WNIDS[round((float(image.mean()) - 20) / 30)]


def _jpeg(path: Path, wnid: str, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 4, (64, 64, 3))
    noise -= noise.mean()
    image = np.clip(brightness(wnid) + noise, 0, 255).astype(np.uint8)
    # Some of the published images are grey.
    picture = Image.fromarray(image).convert("L" if seed % 7 == 0 else "RGB")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, "JPEG", quality=95)


def write_tinyimagenet(root: Path) -> Path:
    folder = root / "tiny-imagenet-200"
    seed = 0
    lines = []
    for wnid in WNIDS:
        for i in range(PER_CLASS):
            _jpeg(folder / "train" / wnid / "images" / f"{wnid}_{i}.JPEG", wnid, seed := seed + 1)
    for i in range(VALIDATION_PER_CLASS * len(WNIDS)):
        wnid = WNIDS[i % len(WNIDS)]
        _jpeg(folder / "val" / "images" / f"val_{i}.JPEG", wnid, seed := seed + 1)
        lines.append(f"val_{i}.JPEG\t{wnid}\t0\t0\t63\t63\n")
    (folder / "val" / "val_annotations.txt").write_text("".join(lines))
    _jpeg(folder / "test" / "images" / "test_0.JPEG", WNIDS[0], 0)
    (folder / "wnids.txt").write_text("".join(f"{wnid}\n" for wnid in WNIDS[::-1]))
    names = [f"{wnid}\tthing {i}, other name\n" for i, wnid in enumerate(WNIDS)]
    (folder / "words.txt").write_text("n00000001\tentity\n" + "".join(names))
    return folder


def zip_tinyimagenet(folder: Path, root: Path) -> Path:
    """The archive as published: with the folder's own name at the top."""
    archive = root / "tinyimagenet" / "tiny-imagenet-200.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            file.write(path, f"tiny-imagenet-200/{path.relative_to(folder)}")
    return archive
