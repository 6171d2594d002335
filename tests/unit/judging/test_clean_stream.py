"""A user's own clean frames: read as data, and refused where they are something else."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.errors import ArtifactError, UsageError
from snapcli.judging.clean_stream import FEWEST, clean_values
from tests.unit.tiny_monitor import random_inputs, tiny_monitor

FRAME = {"uncertainty_q16": 700, "foreign_q16": 30, "score_q16": 65536, "abstain": False}


def recorded(path: Path, frames: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(frame) + "\n" for frame in frames))
    return path


@pytest.mark.parametrize(("signal", "value"), [("U", 700), ("F", 30), ("S", 65536), ("abstain", 0)])
def test_a_record_gives_what_the_alarm_watches(tmp_path: Path, signal: str, value: int) -> None:
    last = {"uncertainty_q16": 1, "foreign_q16": 2, "score_q16": 3, "abstain": True, "more": "x"}
    path = recorded(tmp_path / "seen.jsonl", [*[FRAME] * FEWEST, last])
    values = clean_values(path, tiny_monitor(), signal)
    assert values.dtype == np.uint32
    assert values[:-1].tolist() == [value] * FEWEST
    assert values[-1] == {"U": 1, "F": 2, "S": 3, "abstain": 65536}[signal]


def test_inputs_are_run_through_the_monitor(tmp_path: Path) -> None:
    monitor, x = tiny_monitor(), random_inputs(FEWEST, 3)
    np.save(tmp_path / "x.npy", x)
    answered = monitor.run(x)
    assert np.array_equal(clean_values(tmp_path / "x.npy", monitor, "U"), answered.uncertainty_q16)
    graph = monitor.body.graph
    np.save(tmp_path / "real.npy", graph.tensors[graph.input].real(x))
    assert np.array_equal(clean_values(tmp_path / "real.npy", monitor, "S"), answered.score_q16)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        clean_values(tmp_path / "none.jsonl", tiny_monitor(), "U")
    with pytest.raises(UsageError, match="there is no file"):
        clean_values(tmp_path, tiny_monitor(), "U")


def test_few_frames_are_too_few(tmp_path: Path) -> None:
    path = recorded(tmp_path / "seen.jsonl", [FRAME] * (FEWEST - 1))
    with pytest.raises(UsageError, match=f"{FEWEST - 1} frames, too few"):
        clean_values(path, tiny_monitor(), "U")


@pytest.mark.parametrize(
    "line",
    [
        "junk",
        "[1, 2]",
        "{}",
        json.dumps({**FRAME, "uncertainty_q16": -1}),
        json.dumps({**FRAME, "uncertainty_q16": 65537}),
        json.dumps({**FRAME, "score_q16": 2**32}),
        json.dumps({**FRAME, "abstain": 2}),
        json.dumps({**FRAME, "uncertainty_q16": 0.5}),
        json.dumps({**FRAME, "uncertainty_q16": "many"}),
        json.dumps({**FRAME, "uncertainty_q16": None}),
        json.dumps({**FRAME, "uncertainty_q16": [1]}),
        json.dumps({**FRAME, "score_q16": float("nan")}),
        "\x00\x01",
    ],
)
def test_a_line_of_something_else_is_refused(tmp_path: Path, line: str) -> None:
    path = recorded(tmp_path / "seen.jsonl", [FRAME] * FEWEST)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ArtifactError):
        clean_values(path, tiny_monitor(), "U")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "seen.jsonl"
    path.write_bytes(bytes(range(128, 256)) * 20)
    with pytest.raises(ArtifactError):
        clean_values(path, tiny_monitor(), "U")


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((FEWEST, 3, 3, 1), np.float32),
        np.zeros((FEWEST, 9, 8, 3), np.int64),
        np.zeros((), np.float32),
        np.full((FEWEST, 9, 8, 3), np.nan, np.float32),
        np.full((FEWEST, 9, 8, 3), np.inf, np.float64),
    ],
)
def test_inputs_of_another_form_are_refused(tmp_path: Path, x: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(ArtifactError):
        clean_values(tmp_path / "x.npy", tiny_monitor(), "U")


def test_an_array_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"not an array")
    with pytest.raises(ArtifactError):
        clean_values(tmp_path / "x.npy", tiny_monitor(), "U")
