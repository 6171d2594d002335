"""The stream and the monitor on the emulator: resets, interruptions, records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import load_dataset
from snapcli.data.streams import STREAM_SEED, build_stream
from snapcli.device import Client, Inference
from snapcli.monitor.monitor import load_monitor
from tests.conftest import Workspace

FRAMES, HALF_WAY = 60, 31


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Before inference HALF_WAY of a client, `do` is called with it."""
    given: dict[str, Any] = {}

    class Disturbed(Client):
        asked = 0

        def infer(self, data: bytes) -> Inference:
            self.asked += 1
            if self.asked == HALF_WAY and "do" in given:
                given.pop("do")(self)
            return super().infer(data)

    monkeypatch.setattr("snapcli.measuring.firmware.Client", Disturbed)
    yield given
    assert "do" not in given


def stored(workspace: Workspace, number: int = 1) -> dict[str, np.ndarray]:
    with np.load(workspace.run / f"bench/qemu-m4-stream-{number:03d}.npz") as arrays:
        return dict(arrays)


def played(workspace: Workspace) -> Any:
    outcome = workspace.snap("bench", "--stream", "--limit", str(FRAMES), "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json


def left(workspace: Workspace) -> list[str]:
    return sorted(p.name for p in (workspace.run / "bench").iterdir())


def test_a_reset_half_way_changes_nothing(workspace: Workspace, disturbed: dict[str, Any]) -> None:
    disturbed["do"] = lambda client: client.restart()
    report = played(workspace)
    assert report["frames"] == report["bit_exact"] == FRAMES
    assert report["restarts"] == 1
    found = stored(workspace)
    plan = build_stream(load_dataset(TrainOptions()), "test", STREAM_SEED)
    monitor = load_monitor(workspace.run / "quantize")
    frames = next(plan.frames())
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    expected = monitor.replay(monitor.run(tensor.quantize(frames.x[:FRAMES])))
    decided = ("predicted", "uncertainty_q16", "abstain", "foreign_q16", "foreign")
    for name in (*decided, "score_q16", "surprisal_q16", "logits"):
        np.testing.assert_array_equal(found[name], getattr(expected, name), name)
    np.testing.assert_array_equal(found["label"], frames.y[:FRAMES])
    assert np.all(np.diff(found["time_s"]) > 0)
    assert np.all(found["count"] > 0)
    assert left(workspace) == [
        *("qemu-m4-001.json", "qemu-m4-stream-001.json", "qemu-m4-stream-001.npz"),
    ]


def test_an_interrupted_stream_goes_on(workspace: Workspace, disturbed: dict[str, Any]) -> None:
    def interrupt(client: Client) -> None:
        raise KeyboardInterrupt

    disturbed["do"] = interrupt
    outcome = workspace.snap("bench", "--stream", "--limit", str(FRAMES))
    assert outcome.code == 130
    assert "what was played is kept" in outcome.error()[0]
    assert f".qemu-m4-stream-{FRAMES}.partial" in left(workspace)
    assert workspace.snap("show", "--json").json["next_command"] is None
    report = played(workspace)
    assert (report["resumed_at"], report["bit_exact"]) == (HALF_WAY - 1, FRAMES)
    assert f".qemu-m4-stream-{FRAMES}.partial" not in left(workspace)
    # The same as if it had not been interrupted.
    assert played(workspace)["resumed_at"] == 0
    first, second = stored(workspace, 1), stored(workspace, 2)
    for name in set(first) - {"time_s"}:
        np.testing.assert_array_equal(first[name], second[name], name)
    shown = workspace.snap("show").out
    assert "stream/qemu-m4" in shown
    assert f"{FRAMES} of {FRAMES}" in shown


def test_another_number_of_frames_is_another_stream(
    workspace: Workspace, disturbed: dict[str, Any]
) -> None:
    def interrupt(client: Client) -> None:
        raise KeyboardInterrupt

    disturbed["do"] = interrupt
    assert workspace.snap("bench", "--stream").code == 130
    assert played(workspace)["resumed_at"] == 0


def test_options_of_the_stream_and_of_the_bench_are_not_mixed(workspace: Workspace) -> None:
    for arguments in (
        ("--stream", "--inputs", "3"),
        ("--stream", "--power-trace", "trace.csv"),
        ("--limit", "3"),
        ("--split", "dev"),
        ("--stream", "--split", "train"),
        ("--supply-voltage", "3.3"),
        ("--power-trace", "trace.csv"),
    ):
        outcome = workspace.snap("bench", *arguments)
        assert outcome.code == 2, arguments
        assert outcome.error()[1]


def test_monitor_records_what_it_shows(workspace: Workspace, tmp_path: Path) -> None:
    record = tmp_path / "watched.jsonl"
    arguments = ("--frames", "30", "--record", str(record))
    outcome = workspace.snap("monitor", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert "frame 30/30" in outcome.out
    assert f"Recorded in {record}" in outcome.out
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["frame"] for line in lines] == list(range(30))
    monitor = load_monitor(workspace.run / "quantize")
    frames = next(build_stream(load_dataset(TrainOptions()), "test", STREAM_SEED).frames())
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    expected = monitor.run(tensor.quantize(frames.x[:30]))
    assert [line["uncertainty_q16"] for line in lines] == expected.uncertainty_q16.tolist()
    assert [line["foreign_q16"] for line in lines] == expected.foreign_q16.tolist()
    assert [line["predicted"] for line in lines] == expected.predicted.tolist()
    before = record.read_bytes()
    outcome = workspace.snap("monitor", *arguments)
    assert outcome.code == 2
    assert "exists already" in outcome.error()[0]
    assert record.read_bytes() == before


def test_monitor_ends_by_ctrl_c(workspace: Workspace, disturbed: dict[str, Any]) -> None:
    def interrupt(client: Client) -> None:
        raise KeyboardInterrupt

    disturbed["do"] = interrupt
    outcome = workspace.snap("monitor", "--source", "test")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{HALF_WAY - 1} frames" in outcome.out
