"""Where the files of a data set are: --data-dir, SNAP_DATA_DIR, the cache, or the network."""

import os
from dataclasses import dataclass
from pathlib import Path

from snapcli.cache import cache_dir
from snapcli.data.files.archive import unpack
from snapcli.data.files.catalogue import Source
from snapcli.data.files.download import by_hand, download
from snapcli.data.files.reading import listing
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
        for root in self.roots:
            for name in source.unpacked:
                if _holds_something(root / name):
                    return root / name
            if _holds_files(root / source.folder, source):
                return root / source.folder
        return None

    def nearest(self, *sources: Source) -> Source | None:
        """Of several that can serve, the one in the first folder that has any."""
        for root in self.roots:
            alone = Store((root,))
            there = next((s for s in sources if alone.locate(s) is not None), None)
            if there:
                return there
        return None

    def find(self, source: Source, on_progress: OnProgress = silent) -> Path | None:
        """Like locate; an archive that has to be is unpacked."""
        folder = self.locate(source)
        return self._content(source, folder, on_progress) if folder else None

    def require(self, *sources: Source, on_progress: OnProgress = silent) -> tuple[Path, ...]:
        """Like find, of each; what is nowhere is downloaded into the cache. One error names all
        that cannot be had."""
        missing = [source for source in sources if self.locate(source) is None]
        places = {source.name: self.cache / source.folder for source in missing}
        for source in missing:
            try:
                if not source.files:
                    raise ArtifactError(f"{source.name} has no download with a known hash")
                download(source, places[source.name], on_progress)
            except ArtifactError as error:
                # What was fetched before it is no longer missing.
                still = [s for s in missing if self.locate(s) is None]
                raise ArtifactError(error.message, error.hint or by_hand(still, places)) from None
        located = ((source, self.locate(source)) for source in sources)
        return tuple(
            self._content(source, folder, on_progress) for source, folder in located if folder
        )

    def _content(self, source: Source, folder: Path, on_progress: OnProgress) -> Path:
        if not source.unpacked or not _holds_files(folder, source):
            return folder
        archive, name = folder / source.files[0].name, source.unpacked[0]
        # By the archive: another one of that name is unpacked beside it.
        place = self.cache / "unpacked" / listing([archive], folder)[:16]
        if not _holds_something(place / name):
            unpack(archive, place, name, on_progress)
        return place / name


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _holds_files(folder: Path, source: Source) -> bool:
    return bool(source.files) and all((folder / file.name).is_file() for file in source.files)


def open_store(data_dir: str = "") -> Store:
    """data_dir: what --data-dir said, now or when a run was trained; SNAP_DATA_DIR and the cache
    come after it."""
    named = [Path(name).expanduser() for name in (data_dir, os.environ.get(VARIABLE)) if name]
    return Store((*named, cache_dir() / "data"))
