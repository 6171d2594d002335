"""Class evidence, and monitors without heads: from dev data to a device and back, bit for bit."""

import json
from pathlib import Path

import pytest

from snapcli.device import Client, Emulator
from snapcli.monitor.monitor import load_monitor
from snapcli.targets import load_target
from tests.conftest import Finished, Workspace

pytestmark = pytest.mark.slow

TARGET = "qemu-m4"
WAYS = {
    "hidden": ("--map", "evidence", "--hidden", "8"),
    "without heads": ("--map", "evidence", "--taps", "none"),
}


@pytest.fixture(scope="module")
def made(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Workspace]:
    """The finished run calibrated anew in each way, up to its firmware; to be copied."""
    workspaces = {}
    for way, options in WAYS.items():
        folder = tmp_path_factory.mktemp(way.replace(" ", "-"))
        workspace = finished.workspace.copy(folder / "runs")
        for command, given in (
            ("calibrate", options),
            *((stage, ()) for stage in ("quantize", "export-c", "flash")),
        ):
            done = workspace.snap(command, *given)
            assert done.code == 0, done.err
        workspaces[way] = workspace
    return workspaces


@pytest.mark.parametrize("way", WAYS)
def test_what_was_asked_for_runs_on_a_device_and_takes_other_settings(
    made: dict[str, Workspace], way: str, tmp_path: Path
) -> None:
    workspace = made[way].copy(tmp_path / "runs")
    monitor = load_monitor(workspace.run / "quantize")
    has_heads = way != "without heads"
    assert bool(monitor.body.heads) == has_heads
    assert monitor.body.distance

    bench = workspace.snap("bench", "--inputs", "40", "--json")
    assert bench.code == 0, bench.err
    found = bench.json
    assert found["bit_exact"] == 40
    assert 0 < found["foreign"] < 40  # foreign inputs are among them
    stages = {stage["name"] for stage in found["stages"]}
    assert "distance" in stages
    assert ("heads" in stages) == has_heads
    # What the monitor adds is counted against the same network without it.
    assert found["heads_overhead"] > 0

    options = (*WAYS[way], "--target", "0.7", "--foreign", "0.2", "--no-class-offsets")
    image = workspace.run / "build" / TARGET / "firmware.elf"
    with Emulator(load_target(TARGET), image) as emulator:
        with Client(emulator.port) as client:
            hello = client.hello()
        assert (hello.has_heads, hello.taps) == (True, len(monitor.body.taps))
        pushed = workspace.snap("calibrate", *options, "--push", "--port", emulator.port)
        assert pushed.code == 0, pushed.err
        again = workspace.snap("bench", "--port", emulator.port, "--inputs", "40", "--json")
        assert again.code == 0, again.err
    assert again.json["bit_exact"] == 40
    assert again.json["settings_check"] != found["settings_check"]
    assert again.json["foreign"] >= found["foreign"]
    decision = load_monitor(workspace.run / "quantize").decision
    assert decision.foreign_threshold_q16 < monitor.decision.foreign_threshold_q16
    assert not decision.map.offset_q16.any()
    assert monitor.decision.map.offset_q16.any()


def test_a_monitor_without_heads_goes_through_every_command(
    made: dict[str, Workspace], tmp_path: Path
) -> None:
    workspace = made["without heads"].copy(tmp_path / "runs")
    readme = (workspace.run / "export-c" / TARGET / "README.md").read_text()
    assert "The monitor's flash: distances to the classes" in readme
    for command, options in (
        ("bench", ("--stream", "--limit", "100")),
        ("monitor", ("--frames", "3")),
        ("verify", ("--inputs", "2")),
        ("eval", ("--on", "int8", "--streams", "0", "--methods", "snap,snap-foreign,snap-gated")),
        ("cost", ("--methods", "snap")),
        ("report", ()),
    ):
        done = workspace.snap(command, *options)
        assert done.code == 0, f"{command}: {done.err}"
    refused = workspace.snap("ablate", "map")
    assert (refused.code, "has no heads" in refused.error()[0]) == (2, True)
    shown = json.loads(workspace.snap("show", "--json").out)
    assert shown["heads"] == {"present": False, "idle": False, "remedy": None}
    judged = json.loads((workspace.run / "eval" / "eval.json").read_text())
    by_name = {row["name"]: row for row in judged["sources"]["int8"]["methods"]}
    assert by_name["snap"]["status"] == by_name["snap-foreign"]["status"] == "done"
    assert by_name["snap-gated"]["why"] == "the monitor has no heads"


def test_what_reads_heads_is_refused_without_them(finished: Finished) -> None:
    snap = finished.workspace.snap
    refused = snap("calibrate", "--map", "gated", "--taps", "none")
    message, hint = refused.error()
    assert (refused.code, "reads the heads" in message) == (2, True)
    assert "evidence" in hint
    refused = snap("calibrate", "--map", "gated", "--hidden", "4")
    assert (refused.code, "no hidden layer" in refused.error()[0]) == (2, True)
    refused = snap("calibrate", "--third", "energy", "--taps", "none")
    assert (refused.code, "third input" in refused.error()[0]) == (2, True)
