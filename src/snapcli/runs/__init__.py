"""The run directory: what stages leave for each other, and the record of it."""

from snapcli.runs.files import (
    Writer,
    disk_errors,
    json_writer,
    sha256,
    whole_file,
    write_json,
)
from snapcli.runs.lock import OnWait, unheard
from snapcli.runs.manifest import MANIFEST, SCHEMA, STAGES, folder_of, is_path
from snapcli.runs.place import create_run, new_run, open_run
from snapcli.runs.run import CHECKPOINT, DEFAULT_RUNS_DIR, Run, StageState
from snapcli.runs.swap import settled, swapped, temporary_for

__all__ = [
    "CHECKPOINT",
    "DEFAULT_RUNS_DIR",
    "MANIFEST",
    "SCHEMA",
    "STAGES",
    "OnWait",
    "Run",
    "StageState",
    "Writer",
    "create_run",
    "disk_errors",
    "folder_of",
    "is_path",
    "json_writer",
    "new_run",
    "open_run",
    "settled",
    "sha256",
    "swapped",
    "temporary_for",
    "unheard",
    "whole_file",
    "write_json",
]
