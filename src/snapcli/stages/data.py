"""data: the published data sets (list, fetch, verify) and what is in one (info, preview)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapcli.config import DATASETS, TrainOptions
from snapcli.data import load_dataset
from snapcli.data.files.catalogue import COMPANIONS, SOURCES, Source, source_named
from snapcli.data.files.store import Store, open_store
from snapcli.errors import CheckError, UsageError
from snapcli.progress import OnProgress, silent
from snapcli.runs import disk_errors, sha256, whole_file

SCHEMA = 1


@dataclass(frozen=True)
class SourceView:
    """place: where it was found, None where it would have to be fetched; size_bytes: of the
    download, 0 where there is none with a known hash."""

    name: str
    title: str
    place: str | None
    size_bytes: int
    licence: str
    home: str


@dataclass(frozen=True)
class FileCheck:
    """status: published (its sha256 is the publisher's), differs (it is not, but the content may
    be whole), unpacked (there is no archive to compare), or missing, where another data set
    cannot be read without it."""

    source: str
    file: str
    status: str


@dataclass(frozen=True)
class VerifyDataReport:
    """loaded: the data sets that were read to the end, broken files not allowed."""

    schema: int
    files: tuple[FileCheck, ...]
    loaded: tuple[str, ...]


@dataclass(frozen=True)
class InfoReport:
    """counts: {split: {class: examples}}; severities: how many each corruption has on test data;
    ood: examples of each set."""

    schema: int
    name: str
    input_shape: tuple[int, int, int]
    counts: dict[str, dict[str, int]]
    corruptions: tuple[str, ...]
    published_corruptions: tuple[str, ...]
    severities: dict[str, int]
    ood: dict[str, int]
    notes: tuple[str, ...]


def list_sources(data_dir: str = "") -> tuple[SourceView, ...]:
    store = open_store(data_dir)
    return tuple(_view(source, store) for source in SOURCES.values())


def _view(source: Source, store: Store) -> SourceView:
    place = store.locate(source)
    return SourceView(
        source.name,
        source.title,
        str(place) if place else None,
        source.size_bytes,
        source.licence,
        source.home,
    )


def fetch(
    names: Sequence[str], data_dir: str = "", on_progress: OnProgress = silent
) -> tuple[SourceView, ...]:
    """Downloads what is not there yet, into the data directory or else the cache, and unpacks what
    has to be."""
    sources = [source_named(name) for name in names]
    store = Store((Path(data_dir),)) if data_dir else open_store()
    store.require(*sources, on_progress=on_progress)
    return tuple(_view(source, store) for source in sources)


def verify(
    names: Sequence[str], data_dir: str = "", on_progress: OnProgress = silent
) -> VerifyDataReport:
    """Compares files with their publishers' hashes, and reads every data set whose files are all
    there; nothing is downloaded. Without names: all that is here. Raises CheckError for what was
    asked for by name and is missing."""
    store = open_store(data_dir)
    chosen = [source_named(name) for name in names] if names else list(SOURCES.values())
    files: list[FileCheck] = []
    for number, source in enumerate(chosen):
        on_progress(number, len(chosen), f"comparing {source.name}")
        place = store.locate(source)
        if place is None:
            if names:
                raise CheckError(
                    f"{source.name} is not here", f"Get it: snap data fetch {source.name}"
                )
            continue
        for file in source.files:
            path = place / file.name
            status = "unpacked"
            if path.is_file():
                status = "published" if sha256(path) == file.sha256 else "differs"
            files.append(FileCheck(source.name, file.name, status))
        if not source.files:
            files.append(FileCheck(source.name, place.name, "unpacked"))
    here = {check.source for check in files}
    readable = [name for name in DATASETS if name in here]
    if "speechcmd-v1" in here and "speechcmd" not in here:
        readable.append("speechcmd")
    loaded = []
    for name in readable:
        companion = COMPANIONS.get(name)
        if companion and store.locate(companion) is None:
            files += [FileCheck(companion.name, file.name, "missing") for file in companion.files]
            continue
        load_dataset(TrainOptions(dataset=name, data_dir=data_dir, strict=True), on_progress)
        loaded.append(name)
    return VerifyDataReport(SCHEMA, tuple(files), tuple(loaded))


def info(options: TrainOptions, on_progress: OnProgress = silent) -> InfoReport:
    dataset = load_dataset(options, on_progress)
    counts = {}
    for name in ("train", "dev", "test"):
        per_class = np.bincount(dataset.split(name).y, minlength=len(dataset.class_names))
        counts[name] = dict(zip(dataset.class_names, per_class.tolist(), strict=True))
    return InfoReport(
        schema=SCHEMA,
        name=dataset.name,
        input_shape=dataset.input_shape,
        counts=counts,
        corruptions=tuple(dataset.corruptions),
        published_corruptions=tuple(dataset.published),
        severities={name: len(dataset.severities("test", name)) for name in dataset.corruptions},
        ood={name: len(x) for name, x in dataset.ood.items()},
        notes=dataset.notes,
    )


def preview(options: TrainOptions, out: Path, on_progress: OnProgress = silent) -> Path:
    """Draws the data set to a PNG."""
    from snapcli.data.preview import draw_preview

    if out.suffix.lower() != ".png" or out.is_dir():
        raise UsageError(f"{out} is not a name for a picture", "Give one that ends in .png.")
    picture = draw_preview(load_dataset(options, on_progress))
    with disk_errors(out, "--out"):
        out.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(out) as partial:
            picture.save(partial, "PNG")
    return out
