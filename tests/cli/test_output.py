"""Where the output goes, and what is said when it, or the user, cannot wait."""

import subprocess
import sys
from pathlib import Path

import pytest

from snapcli.errors import ArtifactError, InterruptedRunError
from snapcli.runs import CHECKPOINT, Run
from tests.conftest import need, snap


@pytest.mark.parametrize("arguments", [("doctor", "--json"), ("doctor",)])
def test_a_full_disk_behind_the_output_is_told(arguments: tuple[str, ...]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "snapcli", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == ArtifactError.exit_code
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["error", "hint"]


def test_ctrl_c_in_a_recipe_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(tensorflow=True)
    monkeypatch.chdir(tmp_path)

    def interrupted(run: Run, *_: object) -> None:
        run.path(CHECKPOINT).touch()
        run.make_latest()
        raise KeyboardInterrupt

    monkeypatch.setattr("snapcli.stages.pipeline.pipeline", interrupted)
    outcome = snap("run", "digits")
    assert outcome.code == InterruptedRunError.exit_code
    assert outcome.error()[1] == "Go on with: snap train --resume"


def test_ctrl_c_before_the_first_epoch_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(tensorflow=True)
    monkeypatch.chdir(tmp_path)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("snapcli.stages.pipeline.pipeline", interrupted)
    outcome = snap("demo")
    assert outcome.code == InterruptedRunError.exit_code
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_has_seen_enough_is_no_bug() -> None:
    """`snap data list | head -1`: the pipe is closed before all is written."""
    script = "from snapcli.__main__ import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "data", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
