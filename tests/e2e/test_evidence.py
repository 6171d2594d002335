"""Class evidence, and monitors without heads: from dev data to a device and back, bit for bit."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from snapcli.device import Client, Emulator
from snapcli.monitor.monitor import load_monitor
from snapcli.targets import load_target
from tests.conftest import Workspace

pytestmark = pytest.mark.slow

TARGET = "qemu-m4"
WAYS = {
    "class-gated": ("--map", "class-gated"),
    "evidence": ("--map", "evidence"),
    "hidden": ("--map", "evidence", "--hidden", "8"),
    "without heads": ("--map", "evidence", "--taps", "none"),
    "logits alone": ("--map", "temperature", "--taps", "none"),
}


def built(workspace: Workspace, *calibrate: str) -> dict[str, Any]:
    """The run calibrated so, up to its firmware; what quantize reports."""
    reports = {}
    for stage, options in (
        ("calibrate", calibrate),
        *((stage, ()) for stage in ("quantize", "export-c", "flash")),
    ):
        done = workspace.snap(stage, *options, "--json")
        assert done.code == 0, done.err
        reports[stage] = done.json
    return reports["quantize"]


@contextmanager
def device(workspace: Workspace) -> Iterator[Emulator]:
    image = workspace.run / "build" / TARGET / "firmware.elf"
    with Emulator(load_target(TARGET), image) as emulator:
        yield emulator


@pytest.mark.parametrize("way", WAYS)
def test_what_was_asked_for_runs_on_a_device_and_takes_other_settings(
    workspace: Workspace, way: str
) -> None:
    report = built(workspace, *WAYS[way])
    monitor = load_monitor(workspace.run / "quantize")
    has_heads = way not in ("without heads", "logits alone")
    assert report["map"]["kind"] == WAYS[way][1]
    assert report["heads"]["present"] == has_heads == bool(monitor.body.heads)
    assert monitor.body.distance or way in ("class-gated", "logits alone")

    bench = workspace.snap("bench", "--inputs", "40", "--json")
    assert bench.code == 0, bench.err
    found = bench.json
    assert found["bit_exact"] == 40
    assert 0 < found["foreign"] < 40  # foreign inputs are among them
    stages = {stage["name"] for stage in found["stages"]}
    assert ("heads" in stages) == has_heads
    # What the monitor adds is counted against the same network without it.
    assert found["heads_overhead"] > 0

    others = ("--target", "0.7", "--foreign", "0.2")
    others += ("--no-class-offsets",) if way != "logits alone" else ()
    with device(workspace) as emulator:
        with Client(emulator.port) as client:
            hello = client.hello()
            assert hello.has_heads  # that is, the monitor
            assert hello.taps == len(monitor.body.taps)
        pushed = workspace.snap("calibrate", *WAYS[way], *others, "--push", "--port", emulator.port)
        assert pushed.code == 0, pushed.err
        again = workspace.snap("bench", "--port", emulator.port, "--inputs", "40", "--json")
        assert again.code == 0, again.err
        assert again.json["bit_exact"] == 40
        assert again.json["settings_check"] != found["settings_check"]
        assert again.json["foreign"] >= found["foreign"]
    decision = load_monitor(workspace.run / "quantize").decision
    assert decision.foreign_threshold_q16 < monitor.decision.foreign_threshold_q16


def test_offsets_show_in_the_figures_by_answer(workspace: Workspace) -> None:
    """Without them no answer has one, and both columns say the same."""
    rows = built(workspace, "--map", "class-gated")["answers"]
    assert [row["answer"] for row in rows] == [*map(str, range(10)), "any answer"]
    assert sum(row["share"] for row in rows[:-1]) == pytest.approx(1.0)
    assert any(abs(row["offset"]) > 0.05 for row in rows[:-1])
    plain = workspace.snap("calibrate", "--map", "class-gated", "--no-class-offsets", "--json")
    without = plain.json["answers"]
    assert all(row["offset"] == row["strange_offset"] == 0 for row in without[:-1])
    assert without[-1]["with_offsets"] == without[-1]["without_offsets"]


def test_a_monitor_without_heads_goes_through_every_command(workspace: Workspace) -> None:
    built(workspace, "--map", "evidence", "--taps", "none")
    for command, options in (
        ("bench", ("--inputs", "20")),
        ("bench", ("--stream", "--limit", "200")),
        ("monitor", ("--frames", "3")),
        ("verify", ("--inputs", "2")),
        ("eval", ("--on", "float,int8", "--streams", "0", "--methods", "single-pass")),
        ("cost", ("--methods", "snap,snap-evidence,energy")),
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
    # Heads that were trained are still there for whoever looks at the float model.
    of_float = {row["name"]: row for row in judged["sources"]["float"]["methods"]}
    assert of_float["snap-gated"]["status"] == "done"


def test_what_reads_heads_is_refused_without_them(workspace: Workspace) -> None:
    refused = workspace.snap("calibrate", "--map", "gated", "--taps", "none")
    message, hint = refused.error()
    assert (refused.code, "reads the heads" in message) == (3, True)
    assert "evidence" in hint
    refused = workspace.snap("calibrate", "--map", "gated", "--hidden", "4")
    assert (refused.code, "no hidden layer" in refused.error()[0]) == (3, True)
