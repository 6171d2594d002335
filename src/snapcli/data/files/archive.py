"""Unpacking an archive without trusting it."""

import gzip
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
from snapcli.limits import DATA_MAX, MIB, TooLargeError, check_held, check_members, check_ratio
from snapcli.progress import OnProgress, silent
from snapcli.stored import open_zip

# What the readers of archives raise for damaged ones; RuntimeError is for a locked zip.
_TAIL_MAX = 16 * MIB
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError),
    TooLargeError,
)


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
        packed = archive.stat().st_size
        if zipfile.is_zipfile(raw):
            with open_zip(raw) as content:
                entries = content.infolist()
                check_ratio(packed, sum(entry.file_size for entry in entries))
                for entry in entries:
                    if stat.S_ISLNK(entry.external_attr >> 16):
                        raise _no_file(archive, entry.filename)
                    if not entry.is_dir():
                        with content.open(entry) as file:
                            yield entry.filename, file, entry.header_offset
            return
        with _open_tar(raw) as content:
            for member in _checked(content, packed):
                if member.isdir():
                    continue
                plain = content.extractfile(member) if member.isreg() else None
                if plain is None:
                    raise _no_file(archive, member.name)
                yield member.name, plain, raw.tell()


def _no_file(archive: Path, member: str) -> ArtifactError:
    return ArtifactError(
        f"{archive.name} holds {member}, which is not a file", "Do not use that file."
    )


class _Bounded:
    """A file of which no more is read at once than may be held: tarfile takes names of any
    length."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        check_held(size, "a part of it")
        return self._file.read(size)


def _open_tar(raw: IO[bytes]) -> tarfile.TarFile:
    """Plain, or packed by gzip."""
    raw.seek(0)
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    plain = gzip.GzipFile(fileobj=raw) if packed else raw
    return tarfile.open(fileobj=_Bounded(plain), mode="r:")  # type: ignore[arg-type, call-overload]


def _checked(tar: tarfile.TarFile, packed: int) -> Iterator[tarfile.TarInfo]:
    """Its members, and then all that follows, as long as that does not grow beyond what an archive
    of this many bytes may become."""
    for count, member in enumerate(tar, start=1):
        check_members(count)
        # Before tarfile reads over its content; one with holes would be as large as it claims.
        check_ratio(packed, member.offset_data + member.size)
        if member.issparse():
            raise TooLargeError(f"its member {member.name} has holes")
        yield member
        # Those that were read would stay in memory.
        tar.members = []  # type: ignore[attr-defined]
    # The sum over a compressed archive comes after the end of the tar within it.
    end = tar.fileobj.tell() if tar.fileobj else 0
    while tar.fileobj and tar.fileobj.read(1 << 20):
        check_held(tar.fileobj.tell() - end, "what follows its end", _TAIL_MAX)


def read_members(archive: Path, names: Collection[str]) -> dict[str, bytes]:
    """Those files of a tar that are named, in one pass and without unpacking it; what tarfile and
    gzip raise for a damaged one is the caller's."""
    members: dict[str, bytes] = {}
    with archive.open("rb") as raw, _open_tar(raw) as content:
        for member in _checked(content, archive.stat().st_size):
            file = content.extractfile(member) if member.name in names else None
            if file is not None:
                held = sum(map(len, members.values())) + member.size
                check_held(held, "what is read of it", DATA_MAX)
                members[member.name] = file.read()
    return members
