"""Fetching a published file: by hash, with retries, and from where an earlier attempt stopped."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from snapcli.data.files.catalogue import PublishedFile, Source
from snapcli.errors import ArtifactError
from snapcli.progress import OnProgress, silent

_RETRIES = 2
_TIMEOUT_S = 30
_BLOCK = 1 << 18


def download(source: Source, folder: Path, on_progress: OnProgress = silent) -> None:
    """Puts every file of the source into the folder; those that are there and whole stay. An error
    without a hint is one of the network.

    A file appears under its name only when its sha256 is right. What an interrupted download
    has got so far stays beside it as NAME.part, and the next one goes on from there.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.CRITICAL)
    done = 0
    for file in source.files:
        keeper = pooch.create(
            path=folder,
            base_url="",
            registry={file.name: f"sha256:{file.sha256}"},
            urls={file.name: file.url},
            retry_if_failed=_RETRIES,
        )
        resumable = _Resumable(folder / f"{file.name}.part", file, done, source, on_progress)
        try:
            keeper.fetch(file.name, downloader=resumable)
        except requests.exceptions.RequestException as error:
            reason = type(error).__name__
            raise ArtifactError(f"{file.url} cannot be fetched ({reason})") from None
        except ValueError:
            raise ArtifactError(
                f"{file.url} is not the file that snap knows: its sha256 differs"
            ) from None
        except OSError as error:
            raise ArtifactError(
                f"cannot write {folder / file.name}: {error.strerror or error}",
                "Free some space, or name another folder in SNAP_CACHE_DIR.",
            ) from None
        done += file.size_bytes


def by_hand(sources: Sequence[Source], places: Mapping[str, Path]) -> str:
    """How to do without the network."""
    each = "; ".join(
        f"{' '.join(file.name for file in source.files) or 'its files'} from {source.home} into "
        f"{places[source.name]}"
        for source in sources
    )
    folders = " and ".join(f"{source.folder}/" for source in sources)
    return (
        f"Get by other means: {each}; or put them into {folders} of a folder that SNAP_DATA_DIR "
        f"or --data-dir names."
    )


class _Resumable:
    """A downloader for pooch that appends to what is already there."""

    def __init__(
        self, part: Path, file: PublishedFile, before: int, source: Source, told: OnProgress
    ) -> None:
        self._part, self._file, self._before = part, file, before
        self._total, self._told = source.size_bytes, told

    def __call__(self, url: str, output_file: str, keeper: object) -> None:
        import requests

        have = self._part.stat().st_size if self._part.exists() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT_S) as answer:
            if answer.status_code == requests.codes.requested_range_not_satisfiable:
                # More is here than there: not a part of this file.
                self._part.unlink()
            answer.raise_for_status()
            resumed = answer.status_code == requests.codes.partial_content
            with self._part.open("ab" if resumed else "wb") as out:
                got = have if resumed else 0
                for block in answer.iter_content(_BLOCK):
                    out.write(block)
                    got += len(block)
                    done = (self._before + got) >> 20
                    self._told(done, self._total >> 20, f"MiB, {self._file.name}")
        os.replace(self._part, output_file)
