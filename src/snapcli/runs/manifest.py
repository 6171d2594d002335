"""run.json: which stages a run holds, and the sha256 of everything they read and wrote.

A run may come from somebody else: what stands in its manifest is checked before anything is
done with it, and every name in it stays inside of the run.
"""

import json
import re
import stat
from pathlib import Path
from typing import Any

from snapcli.errors import ArtifactError, shown
from snapcli.runs.files import write_json

SCHEMA = 1
MANIFEST = "run.json"
STAGES = (
    *("attach", "train", "taps", "variants", "calibrate", "quantize", "alarm", "cost"),
    *("export-c", "export-tflm", "flash", "bench", "stream"),
    *("eval", "ablate", "report"),
)
PER_TARGET = ("export-c", "export-tflm", "flash", "bench", "stream")
_IN_PARTS = (*PER_TARGET, "variants", "ablate")  # of which a run can hold several
_BYTES_MAX = 16 << 20

Manifest = dict[str, Any]

# No separator, no leading dot, nothing that a terminal or a shell takes for more than a name.
_NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_+.-]*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_manifest(root: Path) -> Manifest:
    path = root / MANIFEST
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _BYTES_MAX:
            raise ValueError("it is a link, no file, or too large")
        manifest = json.loads(path.read_text())
        schema = manifest["schema"]
        # What another schema holds is not ours to judge.
        if not isinstance(schema, int):
            raise ValueError("its schema is not a number")
        # What another schema holds is not ours to judge.
        for stage, record in manifest["stages"].items() if schema == SCHEMA else ():
            _check_record(stage, record)
    except FileNotFoundError:
        raise ArtifactError(
            f"{root} is not a run directory: it has no {MANIFEST}",
            "Give a directory that snap train or attach made, for example runs/digits-001.",
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        told = f": {error}" if type(error) is ValueError else ""
        raise ArtifactError(f"{path} cannot be read{told}", "Start a new run: snap train") from None
    if schema != SCHEMA:
        raise ArtifactError(
            f"{path} has schema {schema}, this snap reads schema {SCHEMA}",
            "Use the version of snap that made it, or start a new run: snap train",
        )
    return dict(manifest)


def write_manifest(root: Path, manifest: Manifest) -> None:
    write_json(root / MANIFEST, manifest)


def kind_of(stage: str) -> str:
    """bench of `bench/qemu-m4`."""
    return stage.partition("/")[0]


def rank(stage: str) -> int:
    """Its place among the stages; what it reads comes before it."""
    return STAGES.index(kind_of(stage))


def folder_of(stage: str) -> str:
    """The stage `flash/qemu-m4` lives in build/qemu-m4, every other where its name says."""
    return stage.replace("flash/", "build/", 1)


def _is_stage(name: str) -> bool:
    kind, slash, part = name.partition("/")
    if kind not in STAGES:
        return False
    return bool(kind in _IN_PARTS and _NAME.fullmatch(part)) if slash else kind not in _IN_PARTS


def _check_record(stage: str, record: dict[str, Any]) -> None:
    """Raises ValueError, or what a value of the wrong type raises."""
    inputs, outputs = record["inputs"], record["outputs"]
    if not _is_stage(stage):
        raise ValueError(f"it names the stage '{shown(stage)}'")
    for before in inputs:
        if not _may_read(stage, before):
            raise ValueError(f"{stage} would read '{shown(before)}'")
    for name in outputs:
        if not is_path(name):
            raise ValueError(f"{stage} names the file '{shown(name)}'")
    seed, argv = record.get("seed"), record.get("argv", [])
    whole = (
        all(_DIGEST.fullmatch(digest) for digest in (*inputs.values(), *outputs.values()))
        and (seed is None or type(seed) is int)
        and _are_words(argv)
        and _are_words([*record.get("versions", {}).values()])
        and all(
            isinstance(tool["version"], str) and _are_words(tool["flags"])
            for tool in record.get("tools", {}).values()
        )
    )
    if not whole:
        raise ValueError(f"the record of {stage} is damaged")


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _may_read(stage: str, before: str) -> bool:
    """A stage reads what comes before it, for its own target."""
    _, _, part = stage.partition("/")
    _, _, other = before.partition("/")
    return _is_stage(before) and rank(before) < rank(stage) and (not part or other in ("", part))


def is_path(name: str) -> bool:
    """Of a file below the run's folder."""
    return all(_NAME.fullmatch(part) for part in name.split("/"))
