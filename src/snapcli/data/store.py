"""Where the files of a data set are: --data-dir, SNAP_DATA_DIR, the cache, or the network."""

import os
from dataclasses import dataclass
from pathlib import Path

from snapcli.cache import cache_dir
from snapcli.data.archive import unpack
from snapcli.data.catalogue import Source
from snapcli.data.download import by_hand, download
from snapcli.errors import ArtifactError
from snapcli.progress import OnProgress, silent

VARIABLE = "SNAP_DATA_DIR"


@dataclass(frozen=True)
class Store:
    """roots: the folders that are searched, in this order; the last one is ours to write to."""

    roots: tuple[Path, ...]

    @property
    def cache(self) -> Path:
        return self.roots[-1]

    def locate(self, source: Source) -> Path | None:
        """The folder that holds the source's content, or else all of its files."""
        content = (root / name for root in self.roots for name in source.unpacked)
        packed = (root / source.folder for root in self.roots)
        return next((folder for folder in content if _holds_something(folder)), None) or next(
            (folder for folder in packed if _holds_files(folder, source)), None
        )

    def find(self, source: Source, on_progress: OnProgress = silent) -> Path | None:
        """Like locate; an archive that has to be is unpacked."""
        folder = self.locate(source)
        return self._content(source, folder, on_progress) if folder else None

    def require(self, source: Source, on_progress: OnProgress = silent) -> Path:
        """Like find; what is nowhere is downloaded."""
        folder = self.locate(source) or self.fetch(source, on_progress)
        return self._content(source, folder, on_progress)

    def fetch(self, source: Source, on_progress: OnProgress = silent) -> Path:
        """Downloads into the cache."""
        folder = self.cache / source.folder
        if not source.files:
            raise ArtifactError(
                f"{source.name} is not here, and has no download with a known hash",
                by_hand(source, folder),
            )
        download(source, folder, on_progress)
        return folder

    def _content(self, source: Source, folder: Path, on_progress: OnProgress) -> Path:
        unpacked = (root / name for root in self.roots for name in source.unpacked)
        if not source.unpacked or folder in unpacked:
            return folder
        unpack(folder / source.files[0].name, self.cache, source.unpacked[0], on_progress)
        return self.cache / source.unpacked[0]


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _holds_files(folder: Path, source: Source) -> bool:
    return bool(source.files) and all((folder / file.name).is_file() for file in source.files)


def open_store(data_dir: str = "") -> Store:
    """data_dir: what --data-dir said, now or when a run was trained; SNAP_DATA_DIR and the cache
    come after it."""
    named = [Path(name).expanduser() for name in (data_dir, os.environ.get(VARIABLE)) if name]
    return Store((*named, cache_dir() / "data"))
