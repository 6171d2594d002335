"""The program before it does anything: help, version, doctor, and what it prints where."""

import importlib
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from snapcli import toolchain
from snapcli.console import progress
from tests.conftest import need, snap

COMMANDS = (
    *("train", "calibrate", "quantize", "export-c", "flash", "bench"),
    *("demo", "run", "attach", "taps"),
    *("alarm", "eval", "cost", "ablate", "report", "compare", "show", "monitor", "inspect"),
    *("verify", "methods", "models", "ports", "doctor"),
    *("data", "kernels"),
)
HELP_LIMIT_S = 0.5


def program(name: str) -> Path:
    """The installed program beside this Python."""
    path = Path(sys.executable).with_name(name)
    if not path.is_file():
        pytest.skip(f"{name} is not installed beside this Python")
    return path


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# ---- Help -------------------------------------------------------------------


def test_help_is_quick() -> None:
    """In processor time, which is what an idle machine makes its user wait."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run(program("snap"), "--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert 0 < min(took) < HELP_LIMIT_S


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["show"], ["--version"]])
def test_tensorflow_is_not_loaded_for_it(arguments: list[str], tmp_path: Path) -> None:
    probe = (
        "import sys; from snapcli.cli import run_app; run_app(sys.argv[1:]);"
        "heavy = {'tensorflow', 'tf_keras', 'keras'} & set(sys.modules);"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = run(sys.executable, "-c", probe, *arguments, SNAP_RUNS_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_help_names_every_command_and_where_to_start() -> None:
    outcome = snap("--help")
    assert outcome.code == 0
    listed = re.findall(r"^  ([a-z][a-z-]+)  +[A-Z]", outcome.out, re.MULTILINE)
    assert tuple(listed) == COMMANDS
    assert "snap demo" in outcome.out
    assert "snap doctor" in outcome.out


def test_snap_alone_shows_the_help() -> None:
    assert snap() == snap("--help")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_does_and_gives_examples(command: str) -> None:
    outcome = snap(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    module = importlib.import_module(f"snapcli.cli.{command.replace('-', '_')}")
    text = " ".join(outcome.out.split())
    assert " ".join(getattr(module, command.replace("-", "_")).__doc__.split()) in text
    assert f"Examples: snap {command}" in text
    # An option without a word of help shows as a name and nothing behind it.
    options = outcome.out.partition("Examples:")[0]
    bare = re.findall(r"^  (--[a-z-]+(?: [A-Z]+)?)$(?!\n {6})", options, re.MULTILINE)
    assert bare == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_are_commands_that_parse(command: str) -> None:
    module = importlib.import_module(f"snapcli.cli.{command.replace('-', '_')}")
    assert module.EXAMPLES
    for example in (line.split() for line in module.EXAMPLES):
        assert example[:2] == ["snap", command]
        # --help at the end: everything before it is parsed, nothing is done.
        outcome = snap(*example[1:], "--help")
        assert outcome.code == 0, outcome.err
        known = set(re.findall(r"--[a-z-]+", outcome.out))
        assert {word for word in example if word.startswith("--")} <= known


# ---- What is printed where --------------------------------------------------


def test_both_names_are_the_same_program() -> None:
    for arguments in (["--version"], ["--help"], ["train", "--epochs", "x"]):
        one, two = (run(program(name), *arguments) for name in ("snap", "snapuq"))
        assert (one.returncode, one.stdout, one.stderr) == (
            two.returncode,
            two.stdout,
            two.stderr,
        )


def test_version() -> None:
    outcome = snap("--version")
    assert outcome.code == 0
    assert re.fullmatch(r"snap \d+\.\d+\.\d+\n", outcome.out)


def in_terminal(*command: str | Path, **environment: str) -> str:
    """What a command prints where stdout and stderr are a terminal."""
    leader, follower = os.openpty()
    with subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                data = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            shown += data
        process.wait()
    os.close(leader)
    return shown.decode()


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    command = (program("snap"), "train", "--dataset", "cats")
    assert "\x1b[" in in_terminal(*command)
    assert not re.search(r"\x1b\[[0-9;]*3\dm", in_terminal(*command, NO_COLOR="1"))
    piped = run(*command)
    assert "\x1b" not in piped.stdout + piped.stderr


def test_no_progress_bar_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with progress("train") as advance:
        advance(1, 2, "loss 0.5")
    assert capfd.readouterr() == ("", "")


def test_a_progress_bar_in_a_terminal() -> None:
    script = (
        "from snapcli.console import progress\n"
        "with progress('train') as advance: advance(1, 2, 'loss 0.5')"
    )
    shown = in_terminal(sys.executable, "-c", script)
    for part in ("train", "1/2", "eta", "loss 0.5"):
        assert part in shown


# ---- doctor -----------------------------------------------------------------


def test_doctor_is_content_where_all_is_there() -> None:
    need(tensorflow=True, compiler=True, emulator=True)
    outcome = snap("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Everything that snap needs is here." in outcome.out
    assert "missing" not in outcome.out


@pytest.mark.parametrize("columns", ["80", "200"])
def test_doctor_names_what_is_missing_and_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, columns: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("COLUMNS", columns)
    outcome = snap("doctor")
    assert outcome.code == 5
    assert "sudo apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi" in outcome.out
    assert "sudo apt-get install qemu-system-arm" in outcome.out
    assert "Everything" not in outcome.out

    outcome = snap("doctor", "--json")
    assert outcome.code == 5
    missing = {c["name"] for c in outcome.json["checks"] if c["version"] is None}
    assert {toolchain.GCC, toolchain.QEMU} <= missing
    assert all(c["remedy"] for c in outcome.json["checks"] if c["version"] is None)


def test_doctor_notices_another_snap(tmp_path: Path) -> None:
    ours = program("snap")
    other = tmp_path / "snap"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    rest = os.environ["PATH"]
    for path, expected in (
        (f"{tmp_path}:{ours.parent}:{rest}", True),
        (f"{ours.parent}:{rest}", False),
    ):
        done = run(ours, "doctor", "--json", PATH=path)
        warnings = json.loads(done.stdout)["warnings"]
        assert any(str(other) in w and "snapuq" in w for w in warnings) == expected
    assert "use snapuq instead" in run(ours, "doctor", PATH=f"{tmp_path}:{rest}").stdout
