"""Two commands on one run: who waits, who does not, and what is kept."""

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from snapcli.runs import MANIFEST, Run
from tests.conftest import PROGRAM, Workspace, snap


@contextmanager
def taken(path: Path, command: str = "snap bench") -> Iterator[None]:
    """The lock, as another process of this machine would hold it."""
    path.parent.mkdir(exist_ok=True)
    holder = {"pid": os.getppid(), "host": socket.gethostname(), "command": command}
    path.write_text(json.dumps(holder))
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("command", ["export-c", "report", "quantize", "calibrate", "cost", "eval"])
def test_without_patience_a_run_in_use_is_refused_before_any_work(
    workspace: Workspace, command: str
) -> None:
    before = workspace.content()
    with taken(workspace.run / ".locks" / "eval"):
        outcome = workspace.snap(command, "--no-wait")
    error, hint = outcome.error()
    assert outcome.code == 4
    assert error == f"{workspace.run.name} is in use by snap bench, process {os.getppid()}"
    assert "leave --no-wait out" in hint
    assert workspace.content() == before


def test_a_wait_is_shown_and_ends_with_the_lock(workspace: Workspace) -> None:
    command = [sys.executable, "-c", PROGRAM, "export-c", "--runs-dir", str(workspace.runs)]
    with taken(workspace.run / ".locks" / "run"):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr
        assert process.stderr.readline() == f"waiting for snap bench, process {os.getppid()}\n"
        assert process.poll() is None
    _, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, "")
    assert Run(workspace.run).state("export-c/qemu-m4").status == "done"


def test_commands_that_were_started_together_are_all_recorded(workspace: Workspace) -> None:
    """As a user does it, with & behind each."""
    commands = (("export-c",), ("report",), ("cost", "--methods", "snap"), ("show",))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *command, "--runs-dir", str(workspace.runs)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    for process in processes:
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    run = Run(workspace.run)
    for stage, word in (("export-c/qemu-m4", "export-c"), ("report", "report"), ("cost", "cost")):
        record = run.record(stage)
        assert record
        # Of this command, and not of the one that made the run.
        assert record["argv"][:2] == ["-c", word]
        assert run.state(stage).status != "damaged"


def test_a_recipe_of_somebody_else_runs_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "theirs_too.py").write_text("open('ran', 'w')\n")
    (tmp_path / "theirs.toml").write_text('[train]\nbackbone = "theirs_too:build"\n')
    outcome = snap("run", "theirs.toml", "--runs-dir", str(tmp_path / "runs"))
    error, hint = outcome.error()
    assert "theirs.toml names theirs_too:build" in error
    assert "--allow-code" in hint
    assert not (tmp_path / "ran").exists()
    # Allowed, it runs as far as it goes.
    error, _ = snap("run", "theirs.toml", "--allow-code").error()
    assert "has no 'build'" in error
    assert (tmp_path / "ran").exists()


def test_a_terminal_does_not_obey_what_a_run_holds(workspace: Workspace) -> None:
    path = workspace.run / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["stages"]["attach"] = {
        **manifest["stages"].pop("train"),
        "argv": ["snap", "attach", "\x1b]0;title\x07"],
    }
    for record in manifest["stages"].values():
        record["inputs"] = {}
    path.write_text(json.dumps(manifest))
    (workspace.run / "train" / "model.keras").unlink()
    outcome = workspace.snap("calibrate")
    assert outcome.code == 4
    assert "attach" in outcome.err
    assert not {"\x1b", "\x07"} & set(outcome.err)


def test_a_run_of_somebody_else_runs_no_code(workspace: Workspace, tmp_path: Path) -> None:
    """A backbone and data of their own, in the folder that they lie in."""
    (tmp_path / "theirs.py").write_text("open('ran', 'w')\n")
    config = workspace.run / "config.toml"
    text = config.read_text()
    assert 'backbone = "dscnn-digits"' in text
    config.write_text(text.replace("dscnn-digits", "theirs:build"))
    workspace.rehash()
    outcome = workspace.snap("eval", "--methods", "early-exit")
    error, hint = outcome.error()
    assert outcome.code == 2
    assert "config.toml of" in error
    assert "theirs:build" in error
    assert "--allow-code" in hint
    assert not (tmp_path / "ran").exists()
