"""A run directory: where a stage finds its inputs, how it leaves its outputs.

A stage writes into a temporary folder that takes the place of the one before, and the manifest
is replaced as a whole, so a killed stage leaves nothing half-written. The manifest holds the
sha256 of everything a stage read and wrote; that is how a missing, edited or outdated artifact
is noticed before it does harm.

Several processes may work on one run. Reading changes nothing, and waits only where a stage is
just being put in its place. Making a stage takes the lock of that stage; to put it in place takes
that of the run, for a moment, in which the manifest is read again: what others have recorded
meanwhile stays.
"""

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from snapcli import used
from snapcli.errors import ArtifactError
from snapcli.runs.files import (
    Writer,
    disk_errors,
    json_writer,
    leads_out,
    removed,
    sha256,
    whole_file,
)
from snapcli.runs.lock import Lock, OnWait, unheard
from snapcli.runs.manifest import (
    PER_TARGET,
    STAGES,
    folder_of,
    kind_of,
    rank,
    read_manifest,
    write_manifest,
)
from snapcli.runs.numbers import next_number
from snapcli.runs.swap import aside, brought_back, settled, swapped, swept, temporary_for
from snapcli.versions import tools, versions

CHECKPOINT = "checkpoint.npz"
DEFAULT_RUNS_DIR = "runs"
_LOCKS = ".locks"
# A run begins with one of two stages, and has not what the other one leads to.
_OF_ATTACHED, _OF_TRAINED = ("attach",), ("train", "taps", "variants", "quantize")
# Stages that nothing else builds on: a run is complete without them.
_EXTRAS = (
    *("taps", "variants", "alarm", "cost", "export-tflm", "stream"),
    *("eval", "ablate", "report"),
)
# Stages that a run need not have, and that those of these kinds take up where it has them.
_TAKEN_UP = {"export-c": ("alarm",), "export-tflm": ("alarm",)}
# What the commands of stages are called, where it is not by the stage's name.
_COMMANDS = {
    "export-tflm": "export-c --runtime tflm",
    "stream": "bench --stream",
    "variants": "eval",
    "ablate": "ablate taps",
}

Record = dict[str, Any]


@dataclass(frozen=True)
class StageState:
    """status is one of done, stale, damaged or missing; detail says why; running the stage
    origin again is the way to repair it."""

    stage: str
    status: str
    detail: str
    origin: str


class Run:
    """A run directory that exists and is ours."""

    def __init__(self, root: Path, on_wait: OnWait = unheard) -> None:
        self.root = root
        self._on_wait = on_wait
        self._manifest = read_manifest(root)
        self._opened = used.mark()
        # {stage: digest} of what this process has read: what it makes of it was made of that.
        self._seen: dict[str, str] = {}
        self._locks: dict[str, Lock] = {}
        # Folders of stages that lie aside, whole, because a process was killed: see _mend().
        self._set_aside: set[str] = set()

    @property
    def name(self) -> str:
        return self.root.name

    def record(self, stage: str) -> Record | None:
        """What the manifest says of a stage (for example `train` or `bench/qemu-m4`)."""
        known = self._manifest["stages"].get(stage)
        return dict(known) if known else None

    def records(self) -> dict[str, Record]:
        return dict(self._manifest["stages"])

    @property
    def is_attached(self) -> bool:
        """Whether it holds a finished model of somebody's, and no training."""
        return "attach" in self._manifest["stages"]

    @property
    def _kinds(self) -> tuple[str, ...]:
        """The stages that this run can have, in order."""
        foreign = _OF_TRAINED if self.is_attached else _OF_ATTACHED
        return tuple(kind for kind in STAGES if kind not in foreign)

    def path(self, relative: str) -> Path:
        """Of a file or folder of the run."""
        path = self.root / relative
        for folder in (self.root / name for name in self._set_aside):
            if path.is_relative_to(folder) and aside(folder).is_dir():
                return self._inside(aside(folder) / path.relative_to(folder))
        return self._inside(path)

    def _inside(self, path: Path) -> Path:
        if leads_out(path, self.root.resolve()):
            raise ArtifactError(
                f"{path.relative_to(self.root)} of {self.name} is a link that leads out of the run",
                "Put a copy of what it leads to in its place, if you trust it.",
            )
        return path

    def inputs(self, stage: str, judged_later: str | None = None) -> Path:
        """The folder of a finished stage, after checking that it is whole and up to date.

        The content of the output `judged_later` is not checked: the caller does that by a
        stronger test than a hash.
        """
        if kind_of(stage) not in self._kinds:
            raise ArtifactError(
                f"{self.name} holds a finished model: there is nothing to {stage}",
                "attach has done that; another choice makes a new run: snap attach --help",
            )
        self._mend(stage)
        state = self.state(stage, judged_later)
        if state.status != "done":
            self.refuse(state)
        return self.path(folder_of(stage))

    def refuse(self, state: StageState) -> NoReturn:
        """Says what is wrong with a stage and the command that repairs it."""
        raise ArtifactError(
            f"{state.stage} of {self.name} is {state.detail}", f"Run: {self.remedy(state.origin)}"
        )

    def remedy(self, stage: str) -> str:
        """The command that makes a stage anew."""
        command, _, target = stage.partition("/")
        parts = ["snap", _COMMANDS.get(command, command)]
        if target and command == "ablate":
            parts = ["snap", command, target]
        elif target:
            parts += ["--methods" if command == "variants" else "--target", target]
        if command == "attach":
            # A new run, too: made as this one was.
            argv = (self.record(stage) or {}).get("argv", [])
            return shlex.join(["snap", *argv[1:]]) if "attach" in argv else "snap attach"
        if command == "train":
            # A new training makes a new run; only an interrupted one goes on here.
            if not self.path(CHECKPOINT).is_file():
                return "snap train"
            parts.append("--resume")
        # Where it is typed, the command must find this run and no other.
        here = Path(DEFAULT_RUNS_DIR)
        if not _same(here / "latest", self.root):
            name = self.name if _same(here, self.root.parent) else str(self.root)
            parts += ["--run", shlex.quote(name)]
        return " ".join(parts)

    def states(self) -> tuple[StageState, ...]:
        """Every stage that the run holds, and every one that it has yet to make, in order."""
        names: list[str] = []
        for kind in self._kinds:
            made = sorted(n for n in self.records() if kind_of(n) == kind)
            names += made or ([] if kind in _EXTRAS else [kind])
        return tuple(self.state(name) for name in names)

    def next_command(self) -> str | None:
        """What to run next; None when all is up to date."""
        unfinished = next((s for s in self.states() if s.status != "done"), None)
        return self.remedy(unfinished.origin) if unfinished else None

    def has_begun(self) -> bool:
        """Whether there is anything to lose: a finished stage, or an epoch of training."""
        return bool(self.records()) or self.path(CHECKPOINT).is_file()

    def make_latest(self) -> None:
        """Commands without --run mean this run from now on."""
        link = self.root.parent / f".latest.{os.getpid()}"
        link.unlink(missing_ok=True)
        link.symlink_to(self.name)
        link.replace(self.root.parent / "latest")

    def state(self, stage: str, unchecked: str | None = None) -> StageState:
        record = self.record(stage)
        if record is None:
            return StageState(stage, "missing", "missing", self._first_missing(stage))
        damage = self._damage(stage, record, unchecked)
        if damage:
            # Another process may be replacing it: looked at again when none does.
            with self.still():
                record = self.record(stage) or record
                damage = self._damage(stage, record, unchecked)
                if damage and not self._damage(stage, record, unchecked, lies_aside=True):
                    self._set_aside.add(folder_of(stage))
                    damage = None
        if damage:
            return StageState(stage, "damaged", damage, stage)
        # Inputs that are out of date themselves come first: they have to be made first.
        for before in record["inputs"]:
            state = self.state(before)
            if state.status != "done":
                # One cause is enough: what is stale passes on why.
                stale = state.status == "stale"
                detail = state.detail if stale else f"stale: {before} is {state.detail}"
                return StageState(stage, "stale", detail, state.origin)
        for before, digest in record["inputs"].items():
            if self.digest(before) != digest:
                return StageState(stage, "stale", f"stale: {before} has changed since", stage)
        for extra in _TAKEN_UP.get(kind_of(stage), ()):
            if self.record(extra) and extra not in record["inputs"]:
                return StageState(stage, "stale", f"stale: {extra} has been made since", stage)
        self._seen.setdefault(stage, self.digest(stage))
        return StageState(stage, "done", "up to date", stage)

    def _first_missing(self, stage: str) -> str:
        """The stage to begin with, of those that lead to this one."""
        kind, slash, target = stage.partition("/")
        for before in self._kinds[: self._kinds.index(kind)]:
            # What is of no target needs none.
            if before in PER_TARGET and kind not in PER_TARGET:
                continue
            name = f"{before}{slash}{target}" if before in PER_TARGET else before
            if self.record(name) is None and before not in _EXTRAS:
                return name
        return stage

    def _damage(
        self, stage: str, record: Record, unchecked: str | None = None, lies_aside: bool = False
    ) -> str | None:
        """What is wrong with a stage's files; the content of the one named unchecked is not looked
        at. lies_aside: its folder is the one that was about to be replaced."""
        folder = self.root / folder_of(stage)
        for relative, digest in record["outputs"].items():
            path = self.root / relative
            if lies_aside and path.is_relative_to(folder):
                path = aside(folder) / path.relative_to(folder)
            wrong = self._wrong(path, None if path.name == unchecked else digest)
            if wrong:
                return f"damaged: {relative} {wrong}"
        return None

    def _wrong(self, path: Path, digest: str | None) -> str | None:
        """With a file; without a digest its content is not looked at."""
        if not path.is_file():
            return "is gone"
        if leads_out(path, self.root.resolve()):
            return "is a link that leads out of the run"
        try:
            changed = digest is not None and sha256(path) != digest
        except OSError as error:
            return f"cannot be read ({error.strerror})"
        return "was changed or cut short" if changed else None

    def digest(self, stage: str) -> str:
        """One sha256 over all outputs of a recorded stage."""
        outputs = self._manifest["stages"][stage]["outputs"]
        return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()

    # ---- Writing -------------------------------------------------------------

    def _lock(self, name: str = "run") -> Lock:
        path = self.root / _LOCKS / name.replace("/", ".")
        return self._locks.setdefault(name, Lock(path))

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nobody puts a stage in place while the block reads; for moments, as others wait."""
        with self._lock().free(self._on_wait):
            self._manifest = read_manifest(self.root)
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else changes the run; the manifest is as the last one has left it."""
        with self._lock().held(self._on_wait):
            self._manifest = read_manifest(self.root)
            yield

    @contextmanager
    def making(self, stage: str) -> Iterator[None]:
        """No other process makes this stage: files that it keeps on the way are its own."""
        with disk_errors(self.root), self._lock(stage).held(self._on_wait):
            self._manifest = read_manifest(self.root)
            yield

    def busy(self) -> str | None:
        """Which other process is at work on the run, for a message."""
        there = sorted((self.root / _LOCKS).glob("*"))
        return next((who for path in there if (who := Lock(path).holder())), None)

    def _mend(self, stage: str) -> None:
        """Undo, or finish, what a process was about when it was killed in _put_in_place()."""
        final = self.root / folder_of(stage)
        if not aside(final).is_dir() or self._lock().is_shared:
            return
        with disk_errors(self.root), self._locked():
            record = self.record(stage)
            if record is None or not self._damage(stage, record):
                removed(aside(final))
            elif not self._damage(stage, record, lies_aside=True):
                brought_back(final)
            self._set_aside.discard(folder_of(stage))

    @contextmanager
    def write(
        self,
        stage: str,
        after: tuple[str, ...],
        seed: int | None = None,
        beside: tuple[str, ...] = (),
    ) -> Iterator[Path]:
        """A temporary folder that becomes the stage's folder when the block ends well.

        beside: files of the run, outside of that folder, that count as outputs too.
        """
        final = self._inside(self.root / folder_of(stage))
        with self.making(stage):
            self._mend(stage)
            final.parent.mkdir(parents=True, exist_ok=True)
            swept(final)
            temporary = temporary_for(final)
            try:
                yield temporary
                outputs = {
                    str((final / p.relative_to(temporary)).relative_to(self.root)): sha256(p)
                    for p in sorted(temporary.rglob("*"))
                    if p.is_file()
                }
                outputs |= {name: sha256(self.root / name) for name in beside}
                with self._locked():
                    self._put_in_place(temporary, stage, self._record(after, outputs, seed))
            finally:
                removed(temporary)

    def _put_in_place(self, temporary: Path, stage: str, record: Record) -> None:
        """Whatever ends it on the way: folder and manifest are both the old or both the new ones,
        and the manifest on the disk decides."""
        final = self.root / folder_of(stage)
        try:
            swapped(temporary, final)
            self._put(stage, record)
        finally:
            settled(temporary, final, self._is_recorded(stage, record["outputs"]))

    def _is_recorded(self, stage: str, outputs: dict[str, str]) -> bool:
        record = read_manifest(self.root)["stages"].get(stage)
        return record is not None and record["outputs"] == outputs

    def add_json(self, stage: str, after: tuple[str, ...], value: Any) -> Path:
        """<stage>-NNN.json with the next free number; earlier ones stay."""
        return self.add_files(stage, stage, after, {".json": json_writer(value)})

    def add_files(
        self, stage: str, base: str, after: tuple[str, ...], writers: Mapping[str, Writer]
    ) -> Path:
        """<base>-NNN<suffix> for each suffix, all with the next free number; earlier ones stay.

        The last file is the one that counts as the number's: one that was left without it by a
        kill is overwritten. Returned is its path.
        """
        first = self.path(base)
        with disk_errors(self.root), self._locked():
            first.parent.mkdir(parents=True, exist_ok=True)
            suffixes = list(writers)
            number = next_number(first.parent, first.name, suffixes[-1])
            paths = {s: first.with_name(f"{first.name}-{number:03d}{s}") for s in suffixes}
            names = {s: str(path.relative_to(self.root)) for s, path in paths.items()}
            outputs: dict[str, str] = {}
            try:
                for suffix, path in paths.items():
                    with whole_file(path) as partial:
                        writers[suffix](partial)
                    outputs[names[suffix]] = sha256(path)
                self._put(stage, self._record(after, outputs, None))
            except BaseException:
                if not self._is_recorded(stage, outputs):
                    for path in paths.values():
                        removed(path)
                raise
        return paths[suffixes[-1]]

    def add_tools(self, stage: str) -> None:
        """Records tools that a stage has used since it was recorded, such as a flasher."""
        with disk_errors(self.root), self._locked():
            record = self._manifest["stages"][stage]
            self._put(stage, {**record, "tools": record.get("tools", {}) | self._used()})

    def _record(self, after: tuple[str, ...], outputs: dict[str, str], seed: int | None) -> Record:
        # What made the things that it read has shaped it, too; of two versions, the nearest.
        read = (self.record(before) or {} for before in sorted(after, key=rank))
        behind = {name: tool for one in read for name, tool in one.get("tools", {}).items()}
        return {
            "inputs": {before: self._seen.get(before) or self.digest(before) for before in after},
            "outputs": outputs,
            "seed": seed,
            "versions": versions(),
            "tools": behind | self._used(),
            "argv": [Path(sys.argv[0]).name, *sys.argv[1:]],
        }

    def _used(self) -> dict[str, Any]:
        """Tools that ran since this run was opened."""
        return tools(used.uses_since(self._opened))

    def _put(self, stage: str, record: Record) -> None:
        """Under the lock of the run."""
        manifest = {**self._manifest, "stages": {**self._manifest["stages"], stage: record}}
        write_manifest(self.root, manifest)
        self._manifest = manifest
        # Whoever makes a stage knows it.
        self._seen[stage] = self.digest(stage)


def _same(a: Path, b: Path) -> bool:
    return a.exists() and a.samefile(b)
