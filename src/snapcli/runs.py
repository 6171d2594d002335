"""The run directory: where a stage finds its inputs, how it leaves its outputs.

A stage writes into a temporary folder that is renamed when it has finished, and the manifest
run.json is replaced as a whole, so a killed stage leaves nothing half-written. The manifest
holds the sha256 of everything a stage read and wrote; that is how a missing, edited or
outdated artifact is noticed before it does harm.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from snapcli import used
from snapcli.errors import ArtifactError, SnapError
from snapcli.jsontext import dumps
from snapcli.versions import tools, versions

SCHEMA = 1
MANIFEST = "run.json"
CHECKPOINT = "checkpoint.npz"
STAGES = (
    *("attach", "train", "taps", "variants", "calibrate", "quantize", "cost"),
    *("export-c", "export-tflm", "flash", "bench", "stream"),
    *("eval", "ablate", "report"),
)
# A run begins with one of two stages, and has not what the other one leads to.
_OF_ATTACHED, _OF_TRAINED = ("attach",), ("train", "taps", "variants", "quantize")
# Stages that nothing else builds on: a run is complete without them.
_ASIDE = ("taps", "variants", "cost", "export-tflm", "stream", "eval", "ablate", "report")
# What the commands of stages are called, where it is not by the stage's name.
_COMMANDS = {
    "export-tflm": "export-c --runtime tflm",
    "stream": "bench --stream",
    "variants": "eval",
    "ablate": "ablate taps",
}
DEFAULT_RUNS_DIR = "runs"
_PER_TARGET = ("export-c", "export-tflm", "flash", "bench", "stream")

Writer = Callable[[Path], None]
"""Writes a file of that name, whatever its suffix says."""


@dataclass(frozen=True)
class StageState:
    """status is one of done, stale, damaged or missing; detail says why; running the stage
    origin again is the way to mend it."""

    stage: str
    status: str
    detail: str
    origin: str


class Run:
    """A run directory that exists and is ours."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._manifest = _read_manifest(root)
        self._opened = used.mark()
        self._mend()

    @property
    def name(self) -> str:
        return self.root.name

    def record(self, stage: str) -> dict[str, Any] | None:
        """What the manifest says of a stage (for example `train` or `bench/qemu-m4`)."""
        found = self._manifest["stages"].get(stage)
        return dict(found) if found else None

    def records(self) -> dict[str, dict[str, Any]]:
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
        return self.root / relative

    def inputs(self, stage: str, judged_later: str | None = None) -> Path:
        """The folder of a finished stage, after checking that it is whole and up to date.

        The content of the output `judged_later` is not checked: the caller does that by a
        stronger test than a hash.
        """
        if stage.partition("/")[0] not in self._kinds:
            raise ArtifactError(
                f"{self.name} holds a finished model: there is nothing to {stage}",
                "attach has done that; another choice makes a new run: snap attach --help",
            )
        state = self.state(stage, judged_later)
        if state.status != "done":
            self.refuse(state)
        return self.root / folder_of(stage)

    def refuse(self, state: StageState) -> NoReturn:
        """Says what is wrong with a stage and the command that mends it."""
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
            parts += ["--run", self.name if _same(here, self.root.parent) else str(self.root)]
        return " ".join(parts)

    def states(self) -> tuple[StageState, ...]:
        """Every stage that the run holds, and every one that it has yet to make, in order."""
        names: list[str] = []
        for kind in self._kinds:
            made = sorted(n for n in self.records() if n.partition("/")[0] == kind)
            names += made or ([] if kind in _ASIDE else [kind])
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
        link = self.root.parent / ".latest.new"
        link.unlink(missing_ok=True)
        link.symlink_to(self.name)
        link.replace(self.root.parent / "latest")

    def state(self, stage: str, unchecked: str | None = None) -> StageState:
        record = self.record(stage)
        if record is None:
            return StageState(stage, "missing", "missing", self._first_missing(stage))
        for relative, digest in record["outputs"].items():
            damage = self._damage(relative, None if Path(relative).name == unchecked else digest)
            if damage:
                return StageState(stage, "damaged", f"damaged: {relative} {damage}", stage)
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
        return StageState(stage, "done", "up to date", stage)

    def _first_missing(self, stage: str) -> str:
        """The stage to begin with, of those that lead to this one."""
        kind, slash, target = stage.partition("/")
        for before in self._kinds[: self._kinds.index(kind)]:
            # What is of no target needs none.
            if before in _PER_TARGET and kind not in _PER_TARGET:
                continue
            name = f"{before}{slash}{target}" if before in _PER_TARGET else before
            if self.record(name) is None and before not in _ASIDE:
                return name
        return stage

    def _damage(self, relative: str, digest: str | None) -> str | None:
        """What is wrong with a file; without a digest its content is not looked at."""
        path = self.root / relative
        if not path.is_file():
            return "is gone"
        try:
            changed = digest is not None and sha256(path) != digest
        except OSError as error:
            return f"cannot be read ({error.strerror})"
        return "was changed or cut short" if changed else None

    def digest(self, stage: str) -> str:
        """One sha256 over all outputs of a recorded stage."""
        outputs = self._manifest["stages"][stage]["outputs"]
        return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()

    def _mend(self) -> None:
        """Undo, or finish, what a stage was about when it was killed inside of replaced()."""
        for stage, record in self.records().items():
            final = self.root / folder_of(stage)
            old = _aside(final)
            if not old.is_dir():
                continue
            with suppress(OSError):
                outputs = record["outputs"].items()
                if any(self._damage(name, digest) for name, digest in outputs):
                    shutil.rmtree(final, ignore_errors=True)
                    old.rename(final)
                else:
                    shutil.rmtree(old)

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
        final = self.root / folder_of(stage)
        with disk_errors(self.root):
            final.parent.mkdir(parents=True, exist_ok=True)
            _sweep(final)
            prefix = f".{final.name}.{os.getpid()}."
            temporary = Path(tempfile.mkdtemp(prefix=prefix, dir=final.parent))
        try:
            with disk_errors(self.root):
                yield temporary
                outputs = {
                    str((final / p.relative_to(temporary)).relative_to(self.root)): sha256(p)
                    for p in sorted(temporary.rglob("*"))
                    if p.is_file()
                }
                outputs |= {name: sha256(self.root / name) for name in beside}
                temporary.chmod(0o755)
                with replaced(temporary, final):
                    self._record(stage, after, outputs, seed)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

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
        with disk_errors(self.root):
            first = self.root / base
            first.parent.mkdir(parents=True, exist_ok=True)
            suffixes = list(writers)
            number = _next_number(first.parent, first.name, suffixes[-1])
            paths = {s: first.with_name(f"{first.name}-{number:03d}{s}") for s in suffixes}
            try:
                for suffix, path in paths.items():
                    with whole_file(path) as partial:
                        writers[suffix](partial)
                outputs = {str(p.relative_to(self.root)): sha256(p) for p in paths.values()}
                self._record(stage, after, outputs, None)
            except BaseException:
                for path in paths.values():
                    path.unlink(missing_ok=True)
                raise
        return paths[suffixes[-1]]

    def add_tools(self, stage: str) -> None:
        """Records tools that a stage has used since it was recorded, such as a flasher."""
        record = self._manifest["stages"][stage]
        self._put(stage, {**record, "tools": record.get("tools", {}) | self._used()})

    def _record(
        self, stage: str, after: tuple[str, ...], outputs: dict[str, str], seed: int | None
    ) -> None:
        # What made the things that it read has shaped it, too; of two versions, the nearest.
        read = (self.record(before) or {} for before in sorted(after, key=_rank))
        behind = {name: tool for one in read for name, tool in one.get("tools", {}).items()}
        record = {
            "inputs": {before: self.digest(before) for before in after},
            "outputs": outputs,
            "seed": seed,
            "versions": versions(),
            "tools": behind | self._used(),
            "argv": [Path(sys.argv[0]).name, *sys.argv[1:]],
        }
        self._put(stage, record)

    def _used(self) -> dict[str, Any]:
        """Tools that ran since this run was opened."""
        return tools(used.uses_since(self._opened))

    def _put(self, stage: str, record: dict[str, Any]) -> None:
        manifest = {**self._manifest, "stages": {**self._manifest["stages"], stage: record}}
        _write_manifest(self.root, manifest)
        self._manifest = manifest


def folder_of(stage: str) -> str:
    """The stage `flash/qemu-m4` lives in build/qemu-m4, every other where its name says."""
    return stage.replace("flash/", "build/", 1)


@contextmanager
def new_run(runs_dir: Path, prefix: str) -> Iterator[Run]:
    """A run that leaves no trace if the block fails before there is anything to keep."""
    run = create_run(runs_dir, prefix)
    try:
        yield run
    except BaseException:
        if not run.has_begun():
            shutil.rmtree(run.root, ignore_errors=True)
            with suppress(OSError):
                runs_dir.rmdir()  # only if it is empty
        raise


def create_run(runs_dir: Path, prefix: str) -> Run:
    """runs/<prefix>-NNN with the next free number; `latest` moves when it has an epoch."""
    with disk_errors(runs_dir):
        runs_dir.mkdir(parents=True, exist_ok=True)
        root = runs_dir / f"{prefix}-{_next_number(runs_dir, prefix):03d}"
        root.mkdir()
        _write_manifest(root, {"schema": SCHEMA, "stages": {}})
    return Run(root.resolve())


def _next_number(folder: Path, prefix: str, suffix: str = "") -> int:
    """One more than the largest NNN among <prefix>-NNN<suffix> in the folder."""
    pattern = re.compile(re.escape(prefix) + r"-(\d+)" + re.escape(suffix))
    found = (pattern.fullmatch(p.name) for p in folder.iterdir())
    return max((int(f.group(1)) for f in found if f), default=0) + 1


def _same(a: Path, b: Path) -> bool:
    return a.exists() and a.samefile(b)


def open_run(run: Path | None, runs_dir: Path) -> Run:
    """A given run directory, or the latest one."""
    if run is not None:
        if not run.is_dir() and (runs_dir / run).is_dir():
            run = runs_dir / run
        if not run.is_dir():
            raise ArtifactError(f"there is no run directory {run}", f"List them: ls {runs_dir}")
        return Run(run.resolve())
    latest = runs_dir / "latest"
    if not latest.is_dir():
        there = sorted(path.parent.name for path in runs_dir.glob(f"*/{MANIFEST}"))
        if there:
            raise ArtifactError(
                f"no run in {runs_dir}/ is the latest", f"Name one: --run {' or '.join(there)}"
            )
        raise ArtifactError(f"there is no run in {runs_dir}/ yet", "Start one: snap train")
    return Run(latest.resolve())


def _read_manifest(root: Path) -> dict[str, Any]:
    path = root / MANIFEST
    try:
        manifest = json.loads(path.read_text())
        schema = manifest["schema"]
        # What another schema holds is not ours to judge.
        whole = schema != SCHEMA or all(
            isinstance(record["inputs"], dict)
            and isinstance(record["outputs"], dict)
            and all(_rank(before) < _rank(stage) for before in record["inputs"])
            for stage, record in manifest["stages"].items()
        )
    except FileNotFoundError:
        raise ArtifactError(
            f"{root} is not a run directory: it has no {MANIFEST}",
            "Give a directory that snap train or attach made, for example runs/digits-001.",
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        whole, schema = False, SCHEMA
    if not whole:
        raise ArtifactError(f"{path} cannot be read", "Start a new run: snap train") from None
    if schema != SCHEMA:
        raise ArtifactError(
            f"{path} has schema {schema}, this snap reads schema {SCHEMA}",
            "Use the version of snap that made it, or start a new run: snap train",
        )
    return dict(manifest)


def _rank(stage: str) -> int:
    return STAGES.index(stage.partition("/")[0])


def _write_manifest(root: Path, manifest: dict[str, Any]) -> None:
    write_json(root / MANIFEST, manifest)


def write_json(path: Path, value: Any) -> None:
    """Replaces the file as a whole."""
    with whole_file(path) as partial:
        json_writer(value)(partial)


def json_writer(value: Any) -> Writer:
    def write(path: Path) -> None:
        path.write_text(dumps(value) + "\n")

    return write


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file beside it that takes its place when the block ends well."""
    partial = path.with_name(f".{path.name}.new")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        raise ArtifactError(
            f"{path} cannot be read", "Run the stage that wrote it again."
        ) from None


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _aside(final: Path) -> Path:
    return final.with_name(f".{final.name}.old")


def _sweep(final: Path) -> None:
    """Remove the temporary folders of killed stages; a process that lives keeps its own."""
    pattern = re.compile(re.escape(f".{final.name}.") + r"(\d+)\.\w+")
    for path in final.parent.iterdir():
        found = pattern.fullmatch(path.name)
        if found and not _lives(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


@contextmanager
def replaced(temporary: Path, final: Path) -> Iterator[None]:
    """Puts a folder in the place of another, which comes back if the block fails."""
    old = _aside(final)
    shutil.rmtree(old, ignore_errors=True)
    if final.exists():
        final.rename(old)
    try:
        temporary.rename(final)
        yield
    except BaseException:
        shutil.rmtree(final, ignore_errors=True)
        if old.exists():
            old.rename(final)
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def disk_errors(where: Path, option: str = "--runs-dir") -> Iterator[None]:
    """Turns what the file system refuses into an error of ours; option: what names the place."""
    try:
        yield
    except SnapError:
        raise
    except PermissionError as error:
        raise ArtifactError(
            f"may not write {error.filename or where}",
            f"Choose another place with {option}, or change its permissions.",
        ) from None
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not where.parent.is_dir():
            raise ArtifactError(
                f"cannot write {where}: the folder {where.parent} does not exist",
                f"Make that folder, or choose another place with {option}.",
            ) from None
        raise ArtifactError(
            f"cannot write {error.filename or where}: {os.strerror(error.errno or 0)}",
            f"Free some space, or choose another place with {option}.",
        ) from None
