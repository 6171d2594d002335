"""How a data set is found: by name, or by the path of a user's own."""

import os
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from snapcli.config import DATASETS, TrainOptions
from snapcli.data.dataset import Dataset
from snapcli.data.files.store import VARIABLE, open_store
from snapcli.data.request import Request
from snapcli.errors import ConfigError, UsageError, suggestion
from snapcli.progress import OnProgress, silent


def is_own(name: str) -> bool:
    """Whether a data set is a user's own: a folder or an .npz."""
    return name not in DATASETS and Path(name).expanduser().exists()


def data_dir_of(name: str, data_dir: str) -> str:
    """Where a run's data are to be looked for by later commands, wherever they are typed; name:
    of the data set, data_dir: as it was given."""
    if name == "digits" or name not in DATASETS:
        return ""
    named = data_dir or os.environ.get(VARIABLE) or ""
    return str(Path(named).expanduser().resolve()) if named else ""


def check_dataset(name: str) -> None:
    """Raises UsageError for what load_dataset would not know."""
    if name in DATASETS or is_own(name):
        return
    if "/" in name or name.endswith(".npz"):
        raise UsageError(f"there is no {name}", "Give a folder with one folder per class, or .npz.")
    raise UsageError(f"unknown data set '{name}'", suggestion(name, (*DATASETS, "PATH")))


def load_dataset(options: TrainOptions, on_progress: OnProgress = silent) -> Dataset:
    check_dataset(options.dataset)
    own = is_own(options.dataset)
    if not own and (options.image_size or options.channels):
        raise ConfigError(
            f"{options.dataset} has images of its own size",
            "--image-size and --channels are for your own data.",
        )
    request = Request(
        store=open_store(options.data_dir),
        augment=options.augment,
        path=Path(options.dataset).expanduser() if own else None,
        image_size=options.image_size,
        channels=options.channels,
        strict=options.strict,
        on_progress=on_progress,
    )
    if own:
        from snapcli.data.user.training import load_own

        return load_own(request)
    return _published(options.dataset, request)


@lru_cache(maxsize=1)
def _published(name: str, request: Request) -> Dataset:
    """Kept for the next stage of the same process: the files of a publisher stay as they are."""
    load: Callable[[Request], Dataset] = getattr(
        import_module(f"snapcli.data.sets.{name}"), f"load_{name}"
    )
    return load(request)
