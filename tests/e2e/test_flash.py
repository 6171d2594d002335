"""Real images on boards that are not there, by the program as its user starts it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import PROGRAM, Workspace
from tests.fake_board import SERIAL, Desk, lay_out

TARGET = ("--target", "small-mcu")
PATIENCE_S = 120


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return lay_out(tmp_path / "desk", monkeypatch)


@pytest.fixture
def exported(workspace: Workspace) -> Workspace:
    assert workspace.snap("export-c", *TARGET).code == 0
    return workspace


def test_the_image_that_was_built_is_the_image_on_the_board(
    desk: Desk, exported: Workspace
) -> None:
    desk.plug_in()
    outcome = exported.snap("flash", *TARGET, "--json")
    assert outcome.code == 0, outcome.err
    image = (exported.run / "build/small-mcu/firmware.bin").read_bytes()
    assert desk.memory().read_bytes()[: len(image)] == image
    assert outcome.json["written_bytes"] == len(image)
    recorded = json.loads((exported.run / "run.json").read_text())["stages"]["flash/small-mcu"]
    assert recorded["tools"][outcome.json["flasher"]]["version"]
    # A board's image begins with the stack's end, in RAM, and code in flash.
    assert int.from_bytes(image[:4], "little") >> 28 == 0x2
    assert int.from_bytes(image[4:8], "little") >> 20 == 0x080


def test_the_bigger_board_by_its_drive(desk: Desk, workspace: Workspace) -> None:
    assert workspace.snap("export-c", "--target", "big-mcu").code == 0
    with desk.interface(desk.mount("NODE_F767ZI")) as memory:
        outcome = workspace.snap("flash", "--target", "big-mcu", "--flasher", "drive", "--json")
    assert outcome.code == 0, outcome.err
    assert memory.read_bytes() == (workspace.run / "build/big-mcu/firmware.bin").read_bytes()
    assert outcome.json["verified"] == ["no FAIL.TXT"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_program_that_ends_half_way_leaves_images_that_flash_again(
    desk: Desk, exported: Workspace, end: signal.Signals
) -> None:
    desk.plug_in()
    desk.fault("hang")
    command = [sys.executable, "-c", PROGRAM, "flash", *TARGET, "--flasher", "st-flash"]
    with subprocess.Popen(
        [*command, "--runs-dir", str(exported.runs)], stderr=subprocess.PIPE, text=True
    ) as process:
        tool = waited_for(desk.folder / "hanging", process)
        process.send_signal(end)
        _, said = process.communicate(timeout=PATIENCE_S)
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert "the board may be half-written" in said
        assert "Flash it again" in said
    else:
        os.kill(tool, signal.SIGKILL)  # nobody was left to end it
    partial = [path for path in exported.run.rglob(".*") if path.name != ".locks"]
    assert partial == []
    desk.fault(None)
    assert exported.snap("flash", *TARGET, "--flasher", "st-flash").code == 0
    image = (exported.run / "build/small-mcu/firmware.bin").read_bytes()
    assert desk.memory(SERIAL).read_bytes()[: len(image)] == image


def waited_for(path: Path, process: subprocess.Popen[str]) -> int:
    """The process id in the file, as soon as it is there."""
    until = time.monotonic() + PATIENCE_S
    while not (path.is_file() and path.read_text()):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.02)
    return int(path.read_text())
