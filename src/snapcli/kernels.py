"""Where the C of a kernel set comes from: ours from this package, Arm's from a wheel.

CMSIS-NN is not ours to ship. A Python wheel on the package index carries its source tree; of
that wheel, known by its hash, only this tree goes into a cache.
"""

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from snapcli import toolchain, used
from snapcli.cache import cache_dir
from snapcli.config import CMSIS_NN, REFERENCE, SNAP
from snapcli.errors import ArtifactError, ToolchainError, UsageError
from snapcli.limits import TooLargeError, check_ratio
from snapcli.stored import open_zip

LICENCE = f"{CMSIS_NN}/LICENSE.txt"
CMSIS_NN_VERSION = "5.0.0"
REQUIREMENT = "aidge-export-arm-cortexm==0.2.1"
WHEEL = "aidge_export_arm_cortexm-0.2.1-py3-none-any.whl"
SHA256 = "0ea6a694b8c1397bf52158c27854bbd4ddfca433ed4cf06a4c92843b480acbf0"

_TREE = "aidge_export_arm_cortexm/_CMSIS-NN/CMSIS-NN"
_FOLDERS = ("Include", "Source")
# The wheel has Arm's licence only once, beside another of Arm's libraries.
_WHEEL_LICENCE = "aidge_export_arm_cortexm/boards/stm32/F7/Drivers/CMSIS/LICENSE.txt"
_LICENCE_NAME = "LICENSE.txt"
_SUMS = "SHA256SUMS"
_HEADER = "Include/arm_nnfunctions.h"
_INSTEAD = f"Or unpack CMSIS-NN (it is in the wheel {WHEEL}) and name it: --cmsis-nn DIR."


@dataclass(frozen=True)
class KernelSource:
    """A kernel set; version and folder are None where it is yet to be fetched."""

    name: str
    version: str | None
    folder: str | None


_ABSENT = KernelSource(CMSIS_NN, None, None)


def kernel_sources() -> tuple[KernelSource, ...]:
    """Every kernel set and where its C is."""
    ours = toolchain.firmware_dir()
    arm = cached_cmsis_nn()
    return (
        KernelSource(SNAP, "built in", str(ours / "snapnn")),
        KernelSource(REFERENCE, "built in", str(ours / "snapuq")),
        KernelSource(CMSIS_NN, CMSIS_NN_VERSION, str(arm)) if arm else _ABSENT,
    )


def cmsis_nn_dir(given: Path | None) -> Path:
    """The folder with Include and Source: the user's own, the cache, or fetched into it."""
    if given is None:
        return cached_cmsis_nn() or fetch_cmsis_nn()
    if not (given / _HEADER).is_file() or not any((given / "Source").glob("*/*.c")):
        raise UsageError(
            f"{given} is not a CMSIS-NN source tree: {_HEADER} or Source is missing",
            "Name the folder that holds Include and Source.",
        )
    return given


def cached_cmsis_nn() -> Path | None:
    """The copy in the cache, or None where it is missing or damaged."""
    folder = _cached()
    try:
        lines = (folder / _SUMS).read_text("utf-8").splitlines()
        intact = all(
            _sha256(folder / name) == digest
            for digest, name in (line.split("  ", 1) for line in lines)
        )
    except (OSError, ValueError):
        return None
    return folder if lines and intact else None


def _cached() -> Path:
    return cache_dir() / f"cmsis-nn-{CMSIS_NN_VERSION}"


def fetch_cmsis_nn() -> Path:
    """Download the wheel, check it, put its CMSIS-NN into the cache in place of what is there.

    The cache changes by one renaming, so that a fetch that is killed leaves it as it was.
    """
    final = _cached()
    with _written(final.parent) as folder:
        wheel = _download(folder)
        tree = folder / "tree"
        _unpack(wheel, tree)
        if final.exists():
            os.replace(final, folder / "old")
        try:
            os.replace(tree, final)
        except OSError:
            if cached_cmsis_nn() is None:  # otherwise another fetch was quicker
                raise
    return final


def cmsis_nn_files(folder: Path) -> dict[str, str]:
    """{path: text} of Arm's kernels, and of ours in their style: what an export may need."""
    paths = [p for part in _FOLDERS for p in sorted((folder / part).rglob("*.[ch]"))]
    # A user's own copy may keep the licence elsewhere.
    paths += [folder / _LICENCE_NAME] if (folder / _LICENCE_NAME).is_file() else []
    files = {f"{CMSIS_NN}/{p.relative_to(folder)}": p.read_text("utf-8", "replace") for p in paths}
    used.note(CMSIS_NN, version=CMSIS_NN_VERSION if folder == _cached() else _own_copy(files))
    ours = sorted((toolchain.firmware_dir() / CMSIS_NN).glob("*.[ch]"))
    return files | {path.name: path.read_text("utf-8") for path in ours}


def _own_copy(files: Mapping[str, str]) -> str:
    """Arm's sources do not say their version; that of a user's folder is what it holds."""
    digest = hashlib.sha256("".join(files[name] for name in sorted(files)).encode())
    return f"own copy, sha256 {digest.hexdigest()[:16]}"


def snapuq_files() -> dict[str, str]:
    """{path: text} of the plain kernels and of the monitor."""
    return _library("snapuq")


def snapnn_files() -> dict[str, str]:
    """{path: text} of the packed kernels."""
    return _library("snapnn")


def _library(name: str) -> dict[str, str]:
    folder = toolchain.firmware_dir() / name
    paths = sorted([*folder.glob("include/*.h"), *folder.glob("src/*.[ch]")])
    return {path.name: path.read_text("utf-8") for path in paths}


def tflm_adapter() -> dict[str, str]:
    """{path: text} of what stands between a monitor and an interpreter of TFLite-Micro."""
    folder = toolchain.firmware_dir() / "tflm"
    return {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.h"))}


@contextmanager
def _written(cache: Path) -> Iterator[Path]:
    """A temporary folder in the cache: on its disk, so that renaming is possible."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch-") as folder:
            yield Path(folder)
    except OSError as error:
        raise ArtifactError(
            f"the cache {cache} cannot be written: {error.strerror or error}",
            "Free some space, or name another folder in SNAP_CACHE_DIR.",
        ) from error


def _download(folder: Path) -> Path:
    try:
        toolchain.download_wheel(REQUIREMENT, folder)
    except ToolchainError as error:
        raise ToolchainError(
            f"the CMSIS-NN kernels cannot be fetched: {error.message}",
            f"Try again where there is a network: snap kernels fetch. {_INSTEAD}",
        ) from error
    wheel = folder / WHEEL
    if not wheel.is_file() or _sha256(wheel) != SHA256:
        raise ArtifactError(
            f"the package index gave another {REQUIREMENT} than the one that snap knows",
            f"Expected {WHEEL} with sha256 {SHA256}. {_INSTEAD}",
        )
    return wheel


def _unpack(wheel: Path, to: Path) -> None:
    """Write Include, Source and the licence, and the sums of all files."""
    sums = {}
    try:
        with wheel.open("rb") as raw, open_zip(raw) as archive:
            entries = archive.infolist()
            check_ratio(wheel.stat().st_size, sum(entry.file_size for entry in entries))
            for entry in entries:
                name = _place(entry.filename)
                if name is None or entry.is_dir():
                    continue
                path = to / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)
                sums[name] = _sha256(path)
    except (zipfile.BadZipFile, TooLargeError) as error:
        raise ArtifactError(f"{wheel.name} is damaged: {error}", _INSTEAD) from error
    if _HEADER not in sums:
        raise ArtifactError(f"{wheel.name} holds no CMSIS-NN", _INSTEAD)
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    (to / _SUMS).write_text(lines, "utf-8")


def _place(entry: str) -> str | None:
    """Where a file of the wheel belongs in our tree; None: nowhere."""
    if entry == _WHEEL_LICENCE:
        return _LICENCE_NAME
    if not entry.startswith(tuple(f"{_TREE}/{folder}/" for folder in _FOLDERS)):
        return None
    inside = PurePosixPath(entry).relative_to(_TREE)
    if ".." in inside.parts or "\\" in entry:
        raise ArtifactError(f"the wheel has a file outside of its folder: {entry}", _INSTEAD)
    return str(inside)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
