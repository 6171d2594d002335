"""Telemetry records (SPEC 4) from files: what is whole is kept, once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from snapcli.array import Bools
from snapcli.errors import ArtifactError
from snapcli.fixedpoint import (
    TELEMETRY,
    TELEMETRY_BYTES,
    TELEMETRY_MAGIC,
    TELEMETRY_VERSION,
    crc32,
)
from snapcli.limits import DATA_MAX, MIB
from snapcli.progress import OnProgress, silent
from snapcli.stored import reading

SUFFIX = ".snpt"
# All that are kept are in memory at once, to find those that came twice.
RECORDS_MAX = DATA_MAX // TELEMETRY_BYTES
_BLOCK = 4 * MIB
_WANTED = f"Give files of telemetry records, or folders that hold *{SUFFIX} files."


@dataclass
class Found:
    """records: TELEMETRY [n] by device, model, settings, time and sequence, none twice. damaged:
    records whose CRC is wrong or that are cut short; other: of another version; impossible: whole,
    but their counts contradict each other; skipped_bytes: all that is in no whole record."""

    records: NDArray[np.void] = field(default_factory=lambda: np.empty(0, TELEMETRY))
    files: int = 0
    size_bytes: int = 0
    duplicates: int = 0
    damaged: int = 0
    other: int = 0
    impossible: int = 0
    skipped_bytes: int = 0


def read_records(paths: Sequence[Path], on_progress: OnProgress = silent) -> Found:
    """Of files, and of all *.snpt below folders. A record begins wherever its magic stands and
    counts if its CRC is right; whatever lies between is skipped, so that damage costs the records
    that it hits and no others. Raises ArtifactError where there is none."""
    files = _files(paths)
    found = Found(files=len(files))
    records = _Scan(found).all_of(_blocks(files, found, on_progress))
    if not len(records) and not found.impossible:
        raise ArtifactError(
            f"no telemetry record in {_named(files)}: {found.size_bytes:,} bytes, "
            f"{found.damaged:,} damaged records, {found.other:,} of another version",
            _WANTED,
        )
    if not len(records):
        raise ArtifactError(
            f"the {found.impossible:,} records in {_named(files)} contradict themselves",
            "The firmware that wrote them is not ours, or is damaged: look at the device.",
        )
    found.records = _once(records)
    found.duplicates = len(records) - len(found.records)
    return found


def _files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            with reading(path, _WANTED):
                inside = sorted((p for p in path.rglob(f"*{SUFFIX}") if p.is_file()), key=str)
            if not inside:
                raise ArtifactError(f"{path} holds no *{SUFFIX} file", _WANTED)
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise ArtifactError(f"{path} is no file and no folder", _WANTED)
    return files


def _named(files: Sequence[Path]) -> str:
    return str(files[0]) if len(files) == 1 else f"{len(files):,} files"


def _blocks(files: Sequence[Path], found: Found, on_progress: OnProgress) -> Iterator[bytes]:
    """The bytes of all files one behind the other, in pieces of a few MiB: a million files of one
    record each are read as one file of a million."""
    total, waiting = 0, bytearray()
    for path in files:
        with reading(path, _WANTED):
            total += path.stat().st_size
    for path in files:
        with reading(path, _WANTED), path.open("rb") as file:
            while part := file.read(_BLOCK):
                found.size_bytes += len(part)
                waiting += part
                if len(waiting) >= _BLOCK:
                    on_progress(found.size_bytes // MIB, max(total // MIB, 1), "MiB read")
                    yield bytes(waiting)
                    waiting.clear()
    yield bytes(waiting)


@dataclass
class _Scan:
    """place: of the buffer in all bytes; end: of the last whole record."""

    found: Found
    place: int = 0
    end: int = 0
    tail: bytes = b""

    def all_of(self, blocks: Iterator[bytes]) -> NDArray[np.void]:
        kept: list[NDArray[np.void]] = []
        count = 0
        for block in blocks:
            records = self._whole(self.tail + block)
            is_possible = _possible(records)
            kept.append(records[is_possible])
            self.found.impossible += int((~is_possible).sum())
            count += len(records)
            if count > RECORDS_MAX:
                raise ArtifactError(
                    f"there are more than {RECORDS_MAX:,} records", "Give fewer files at once."
                )
        self._tell_of_the_tail()
        self.found.skipped_bytes = self.found.size_bytes - count * TELEMETRY_BYTES
        return np.concatenate(kept)

    def _whole(self, content: bytes) -> NDArray[np.void]:
        """The whole records that begin in the buffer and end in it; what may begin another stays
        for the next call."""
        buffer = np.frombuffer(content, np.uint8)
        if len(buffer) < TELEMETRY_BYTES:
            self.tail = content
            return np.empty(0, TELEMETRY)
        places = _magics(buffer)
        places = places[places <= len(buffer) - TELEMETRY_BYTES]
        rows = sliding_window_view(buffer, TELEMETRY_BYTES)[places]
        records = rows.view(TELEMETRY)[:, 0]
        of_ours = records["version"] == TELEMETRY_VERSION
        is_whole = of_ours.copy()
        is_whole[of_ours] = crc32(rows[of_ours][:, :-4]) == records["crc"][of_ours]
        # What looks like a record inside of one is a coincidence of its numbers.
        starts = self.place + places
        wholes = starts[is_whole]
        ends = np.concatenate([[self.end], wholes + TELEMETRY_BYTES])
        before = np.searchsorted(wholes, starts, side="left")
        is_outside = starts >= ends[before]
        is_whole &= is_outside
        broken = is_outside & ~is_whole
        self.found.other += int((broken & ~of_ours).sum())
        self.found.damaged += int((broken & of_ours).sum())
        if is_whole.any():
            self.end = int(starts[is_whole][-1]) + TELEMETRY_BYTES
        left = len(buffer) - TELEMETRY_BYTES + 1
        self.tail, self.place = content[left:], self.place + left
        return records[is_whole]

    def _tell_of_the_tail(self) -> None:
        """At the very end, what begins a record is cut short."""
        buffer = np.frombuffer(self.tail, np.uint8)
        cut_short = self.place + _magics(buffer) >= self.end
        self.found.damaged += int(cut_short.sum())


def _magics(buffer: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where one begins."""
    most = max(len(buffer) - len(TELEMETRY_MAGIC) + 1, 0)
    places = np.flatnonzero(buffer[:most] == TELEMETRY_MAGIC[0])
    for i, byte in enumerate(TELEMETRY_MAGIC[1:], 1):
        places = places[buffer[places + i] == byte]
    return places


def _possible(records: NDArray[np.void]) -> Bools:
    """A right CRC says that the bytes are those that were written, not that they make sense."""
    frames = records["frames"].astype(np.int64)
    possible = records["right_q24"] <= 1 << 24
    possible &= records["uncertainty_sum_q16"] <= frames << 16
    for name in ("abstained", "foreign", "alarm_frames"):
        possible &= records[name] <= frames
    for name in ("uncertainty_bins", "foreign_bins"):
        possible &= records[name].sum(axis=1, dtype=np.int64) == frames
    return np.asarray(possible)


def _once(records: NDArray[np.void]) -> NDArray[np.void]:
    """Sorted, so that what follows does not depend on the order of the files; without those that
    are the same as another."""
    keys = ("crc", "sequence", "time", "settings_check", "model_id", "device")
    order = np.lexsort([records[key] for key in keys])
    is_new = np.zeros(len(order), bool)
    is_new[:1] = True
    for key in keys:
        is_new[1:] |= records[key][order[1:]] != records[key][order[:-1]]
    return records[order[is_new]]
