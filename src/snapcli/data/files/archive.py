"""Unpacking an archive without trusting it."""

import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from snapcli.errors import ArtifactError
from snapcli.progress import OnProgress, silent

# What the readers of archives raise for damaged ones; RuntimeError is for a locked zip.
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)


def unpack(archive: Path, root: Path, name: str, on_progress: OnProgress = silent) -> None:
    """Writes the files of a .tar, .tar.gz or .zip to the folder root/name.

    A single folder of that name at the top of the archive is not repeated. The folder appears
    when all of it is there; a member that would land elsewhere, or is neither a file nor a
    folder, is an error and leaves nothing.
    """
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".unpack-") as temporary:
        place = Path(temporary) / name
        place.mkdir()
        try:
            for member, content, done in _members(archive):
                target = place / safe_member(member, archive.name, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    shutil.copyfileobj(content, out)
                on_progress(done >> 20, archive.stat().st_size >> 20, f"MiB of {archive.name}")
        except (*_DAMAGE, OSError) as error:
            raise ArtifactError(
                f"{archive} cannot be unpacked: {error}", "Remove it and fetch it again."
            ) from None
        shutil.rmtree(root / name, ignore_errors=True)
        os.replace(place, root / name)


def safe_member(member: str, archive: str, top: str = "") -> PurePosixPath:
    """The path of a member below its folder; raises ArtifactError for one that leaves it."""
    path = PurePosixPath(member)
    parts = [p for p in path.parts if p != "."]
    if path.is_absolute() or ".." in parts or "\\" in member or ":" in member or not parts:
        raise ArtifactError(
            f"{archive} holds a file outside of its folder: {member}", "Do not use that file."
        )
    if parts[0] == top and len(parts) > 1:
        parts = parts[1:]
    return PurePosixPath(*parts)


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes], int]]:
    """Name and content of every file, and how far into the archive it was found, in bytes."""
    with archive.open("rb") as raw:
        if zipfile.is_zipfile(raw):
            with zipfile.ZipFile(raw) as content:
                for entry in content.infolist():
                    if stat.S_ISLNK(entry.external_attr >> 16):
                        raise _no_file(archive, entry.filename)
                    if not entry.is_dir():
                        with content.open(entry) as file:
                            yield entry.filename, file, entry.header_offset
            return
        raw.seek(0)
        with tarfile.open(fileobj=raw) as content:
            for member in content:
                if member.isdir():
                    continue
                plain = content.extractfile(member) if member.isreg() else None
                if plain is None:
                    raise _no_file(archive, member.name)
                yield member.name, plain, raw.tell()
            _read_to_end(content)


def _no_file(archive: Path, member: str) -> ArtifactError:
    return ArtifactError(
        f"{archive.name} holds {member}, which is no file", "Do not use that file."
    )


def _read_to_end(tar: tarfile.TarFile) -> None:
    """The sum over a compressed archive comes after the end of the tar within it."""
    while tar.fileobj and tar.fileobj.read(1 << 20):
        pass


def read_members(archive: Path, names: Collection[str]) -> dict[str, bytes]:
    """Those files of a tar that are named, in one pass and without unpacking it; what tarfile and
    gzip raise for a damaged one is the caller's."""
    found = {}
    with tarfile.open(archive) as content:
        for member in content:
            file = content.extractfile(member) if member.name in names else None
            if file is not None:
                found[member.name] = file.read()
        _read_to_end(content)
    return found
