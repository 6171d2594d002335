"""The folder that holds the runs: a new one, the latest one, one by its name."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snapcli.errors import ArtifactError
from snapcli.runs.files import disk_errors, removed
from snapcli.runs.lock import OnWait, unheard
from snapcli.runs.manifest import MANIFEST, SCHEMA, write_manifest
from snapcli.runs.numbers import next_number
from snapcli.runs.run import Run


@contextmanager
def new_run(runs_dir: Path, prefix: str) -> Iterator[Run]:
    """A run that leaves no trace if the block fails before there is anything to keep."""
    run = create_run(runs_dir, prefix)
    try:
        yield run
    except BaseException:
        if not run.has_begun():
            removed(run.root)
            with suppress(OSError):
                runs_dir.rmdir()  # only if it is empty
        raise


def create_run(runs_dir: Path, prefix: str) -> Run:
    """runs/<prefix>-NNN with the next free number; `latest` moves when it has an epoch."""
    with disk_errors(runs_dir):
        while True:
            runs_dir.mkdir(parents=True, exist_ok=True)
            root = runs_dir / f"{prefix}-{next_number(runs_dir, prefix):03d}"
            # Another process may take the number, or remove the folder that it found empty.
            with suppress(FileExistsError, FileNotFoundError):
                root.mkdir()
                break
        write_manifest(root, {"schema": SCHEMA, "stages": {}})
    return Run(root.resolve())


def open_run(run: Path | None, runs_dir: Path, on_wait: OnWait = unheard) -> Run:
    """A given run directory, or the latest one."""
    if run is not None:
        if not run.is_dir() and (runs_dir / run).is_dir():
            run = runs_dir / run
        if not run.is_dir():
            raise ArtifactError(
                f"there is no run directory {run}", f"List them: ls {shlex.quote(str(runs_dir))}"
            )
        return Run(run.resolve(), on_wait)
    latest = runs_dir / "latest"
    if not latest.is_dir():
        there = sorted(path.parent.name for path in runs_dir.glob(f"*/{MANIFEST}"))
        if there:
            raise ArtifactError(
                f"no run in {runs_dir}/ is the latest",
                f"Name one: --run {' or '.join(map(shlex.quote, there))}",
            )
        raise ArtifactError(f"there is no run in {runs_dir}/ yet", "Start one: snap train")
    return Run(latest.resolve(), on_wait)
