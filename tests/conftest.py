"""The program as its user meets it, and one small finished run that tests copy.

It stands above e2e/ and cli/ because both work on that one run.
"""

import hashlib
import importlib.util
import io
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from snapcli import toolchain
from snapcli.cli import run_app
from snapcli.errors import SnapError
from snapcli.kernels import cmsis_nn_dir
from snapcli.runs import MANIFEST, Run, sha256

STAGES = ("train", "calibrate", "quantize", "export-c", "flash", "bench")
EPOCHS, INPUTS = 6, 40
_OPTIONS = {"train": ("--epochs", str(EPOCHS)), "bench": ("--inputs", str(INPUTS))}
_PATIENCE_S = 3600
# `snap` for `python -c`, as in a terminal: a shell that starts jobs in the background has them
# ignore Ctrl-C, and those that they start.
HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
PROGRAM = HEARS_CTRL_C + "from snapcli.__main__ import main; main()"

# Property tests know no clock, neither for an example nor for making one: a busy machine is no
# failure.
settings.register_profile(
    "patient", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def error(self) -> tuple[str, str]:
        """The error and its hint; fails unless these two lines are all of stderr."""
        lines = self.err.splitlines()
        assert len(lines) == 2, self.err
        assert lines[0].startswith("error: "), self.err
        assert lines[1].startswith("hint: "), self.err
        return lines[0].removeprefix("error: "), lines[1].removeprefix("hint: ")


def snap(*arguments: str) -> Outcome:
    """`snap ARGUMENTS`, inside of this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_app(list(arguments))
    return Outcome(code, out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class Workspace:
    """A folder of runs, and the program on it."""

    runs: Path

    @property
    def run(self) -> Path:
        """The latest run."""
        return (self.runs / "latest").resolve()

    def snap(self, command: str, *arguments: str) -> Outcome:
        return snap(command, *arguments, "--runs-dir", str(self.runs))

    def copy(self, runs: Path) -> "Workspace":
        shutil.copytree(self.runs, runs, symlinks=True)
        return Workspace(runs)

    def content(self) -> dict[str, str]:
        """{path: sha256} of every file but the locks, and where links point to."""
        return {
            str(path.relative_to(self.runs)): os.readlink(path)
            if path.is_symlink()
            else hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.runs.rglob("*"))
            if (path.is_symlink() or path.is_file()) and ".locks" not in path.parts
        }

    def rehash(self) -> None:
        """Puts the hashes of what lies in the run now into its manifest, as whoever hands over a
        run can."""
        path = self.run / MANIFEST
        manifest = json.loads(path.read_text())
        stages = manifest["stages"]
        for record in stages.values():
            record["outputs"] = {name: sha256(self.run / name) for name in record["outputs"]}
        path.write_text(json.dumps(manifest))
        digests = {stage: Run(self.run).digest(stage) for stage in stages}
        for record in stages.values():
            record["inputs"] = {stage: digests[stage] for stage in record["inputs"]}
        path.write_text(json.dumps(manifest))


@dataclass(frozen=True)
class Finished:
    """The six commands on one run; do not change it, take a workspace."""

    workspace: Workspace
    outcomes: dict[str, Outcome]


def need(
    *,
    tensorflow: bool = False,
    host: bool = False,
    compiler: bool = False,
    emulator: bool = False,
) -> None:
    """Skips a test where this machine lacks what it needs."""
    if tensorflow and importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed (the extra train)")
    tools = ((host, toolchain.CC), (compiler, toolchain.GCC), (emulator, toolchain.QEMU))
    for wanted, tool in tools:
        if wanted and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


@pytest.fixture(scope="session")
def cmsis_nn() -> Path:
    """Arm's kernels, from the cache or fetched once."""
    try:
        return cmsis_nn_dir(None)
    except SnapError as error:
        pytest.skip(f"CMSIS-NN cannot be had: {error.message}")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Each stage alone, on the output of the one before."""
    need(tensorflow=True, compiler=True, emulator=True)
    # Tests that run side by side share it: its folder lies above those of their processes.
    home = tmp_path_factory.getbasetemp()
    folder = (home.parent if "PYTEST_XDIST_WORKER" in os.environ else home) / "finished"
    workspace, written = Workspace(folder / "runs"), folder / "outcomes.json"
    try:
        folder.mkdir()
    except FileExistsError:
        return Finished(workspace, _awaited(written))
    outcomes = {}
    try:
        for stage in STAGES:
            as_json = ("--json",) if stage in ("export-c", "flash", "bench") else ()
            outcomes[stage] = workspace.snap(stage, *_OPTIONS.get(stage, ()), *as_json)
            assert outcomes[stage].code == 0, outcomes[stage].err
    finally:
        # In one move: whoever waits for it reads all or nothing.
        draft = folder / "draft.json"
        draft.write_text(json.dumps({stage: asdict(o) for stage, o in outcomes.items()}))
        draft.replace(written)
    return Finished(workspace, outcomes)


def _awaited(path: Path) -> dict[str, Outcome]:
    """What another process writes when it is done, be it with a failure."""
    until = time.monotonic() + _PATIENCE_S
    while not path.exists():
        assert time.monotonic() < until, "another process does not finish its run"
        time.sleep(0.5)
    outcomes = {stage: Outcome(**found) for stage, found in json.loads(path.read_text()).items()}
    assert [o.code for o in outcomes.values()] == [0] * len(STAGES), "it failed elsewhere"
    return outcomes


@pytest.fixture
def workspace(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """A copy of the finished run that a test may damage, in the folder its user is in."""
    monkeypatch.chdir(tmp_path)
    copied = finished.workspace.copy(tmp_path / "runs")
    yield copied
    shutil.rmtree(copied.runs, ignore_errors=True)
