"""An alarm from dev data to a device: exported, played, pushed, and what the device has kept."""

import csv
from pathlib import Path

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.device import AlarmAction, Client, Emulator
from snapcli.monitor.alarm import load_alarm
from snapcli.origin.origin import origin_of
from snapcli.results.alarm import alarm_report
from snapcli.runs import Run
from snapcli.targets import load_target
from tests.conftest import Finished, Workspace, snap

pytestmark = pytest.mark.slow

TARGET, BASELINE, KEPT = "qemu-m4", 64, 3
CUSUM = ("--detector", "cusum", "--false-alarms", "1 per 1000 frames", "--baseline", str(BASELINE))
EWMA = ("--detector", "ewma", "--on", "F", "--baseline", "100")


@pytest.fixture(scope="module")
def built(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with an alarm, up to an image that keeps inputs; to be copied."""
    workspace = finished.workspace.copy(tmp_path_factory.mktemp("alarm") / "runs")
    for command, options in (
        ("alarm", CUSUM),
        ("export-c", ()),
        ("flash", ("--evidence", str(KEPT))),
    ):
        done = workspace.snap(command, *options)
        assert done.code == 0, done.err
    return workspace


@pytest.fixture
def alarmed(built: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    return built.copy(tmp_path / "runs")


def image(workspace: Workspace) -> Path:
    return workspace.run / "build" / TARGET / "firmware.elf"


def test_what_was_exported_before_has_no_alarm(workspace: Workspace) -> None:
    assert workspace.snap("alarm", *CUSUM).code == 0
    refused = workspace.snap("bench", "--inputs", "2")
    assert refused.code == 4
    error, hint = refused.error()
    assert "alarm has been made since" in error
    assert hint.startswith("Run: snap export-c")
    # An alarm that was fitted to another calibration is not exported.
    assert workspace.snap("calibrate", "--target", "0.6").code == 0
    assert workspace.snap("quantize").code == 0
    stale = workspace.snap("export-c")
    assert stale.code == 4
    error, hint = stale.error()
    assert "alarm of" in error
    assert hint.startswith("Run: snap alarm")


def test_an_alarm_is_small_and_judged_by_long_streams(built: Workspace) -> None:
    report = alarm_report(built.run / "alarm")
    assert report.state_bytes <= 64
    assert report.instructions is not None
    assert 0 < report.instructions <= 200
    for stream in (report.dev_stream, report.test_stream):
        assert stream.events >= 10
        assert stream.clean_frames >= 50_000


def test_a_stream_is_watched_frame_by_frame(alarmed: Workspace) -> None:
    monitor = origin_of(Run(alarmed.run)).on_device().monitor
    assert monitor.alarm.parameters.detector == fx.ALARM_SUM
    bench = alarmed.snap("bench", "--inputs", "20", "--json")
    assert bench.code == 0, bench.err
    assert bench.json["bit_exact"] == 20
    # The first corruptions and foreign inputs come behind 2,000 clean frames.
    played = alarmed.snap("bench", "--stream", "--limit", "3200", "--json")
    assert played.code == 0, played.err
    report = played.json
    assert report["bit_exact"] == 3200
    assert report["watched"] == "U"
    assert report["alarm_threshold"] == monitor.alarm.parameters.threshold_q16 / 2**16
    assert report["alarms"] >= 1
    (log,) = (alarmed.run / "bench").glob("*-stream-*.npz")
    with np.load(log) as held:
        assert report["first_alarm"] == int(held["alarm_on"].argmax())
        assert held["alarm_baseline_left"][:BASELINE].tolist() == [*range(BASELINE - 1, -1, -1)]
        assert not held["alarm_on"][:BASELINE].any()
        # The estimate starts with the first frame and falls where inputs are foreign.
        right = held["alarm_right_q24"] / 2**24
        assert abs(right[0] - (1 - held["uncertainty_q16"][0] / 2**16)) < 1e-4
        assert right[3099] < right[1999]
    by_kind = {s["kind"]: s["alarmed"] / s["frames"] for s in report["segments"]}
    assert by_kind["foreign"] > by_kind["clean"]


def test_a_command_over_the_link_takes_the_baseline_anew(alarmed: Workspace) -> None:
    with Emulator(load_target(TARGET), image(alarmed)) as emulator, Client(emulator.port) as client:
        data = bytes(client.hello().input_bytes)
        client.start()
        for _ in range(BASELINE + 5):
            last = client.infer(data)
        assert (last.watch.baseline_left, last.watch.frames) == (0, BASELINE + 5)
        assert client.alarm() == last.watch
        assert client.alarm(AlarmAction.LEARN).baseline_left == BASELINE
        assert client.infer(data).watch.baseline_left == BASELINE - 1
        cleared = client.alarm(AlarmAction.CLEAR)
        assert (cleared.on, cleared.baseline_left) == (False, BASELINE - 1)


def test_another_alarm_is_pushed_to_the_device(alarmed: Workspace) -> None:
    before = load_alarm(alarmed.run / "alarm", "")
    with Emulator(load_target(TARGET), image(alarmed)) as emulator:
        pushed = alarmed.snap("alarm", *EWMA, "--push", "--port", emulator.port, "--json")
        assert pushed.code == 0, pushed.err
        assert pushed.json["alarm"]["detector"] == "ewma"
        after = load_alarm(alarmed.run / "alarm", "")
        assert (before.signal, after.signal) == ("U", "F")
        # Another calibration takes the alarm along, fitted anew as it was.
        pushed = alarmed.snap("calibrate", "--target", "0.6", "--push", "--port", emulator.port)
        assert pushed.code == 0, pushed.err
        assert load_alarm(alarmed.run / "alarm", "").signal == "F"
        played = alarmed.snap(
            "bench", "--stream", "--limit", "300", "--port", emulator.port, "--json"
        )
        assert played.code == 0, played.err
    assert (played.json["bit_exact"], played.json["watched"]) == (300, "F")


def test_what_a_device_has_kept_is_collected(alarmed: Workspace, tmp_path: Path) -> None:
    place = tmp_path / "kept"
    options = ("--collect", str(place), "--device", "17")
    done = alarmed.snap("monitor", "--frames", "40", *options)
    assert done.code == 0, done.err
    assert f"{KEPT} inputs that the device had kept" in done.out
    with (place / "kept.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == KEPT
    values = [float(row["U"]) for row in rows]
    assert values == sorted(values, reverse=True)
    tensor = origin_of(Run(alarmed.run)).on_device().monitor.body.graph
    shape = tensor.tensors[tensor.input].shape
    for row in rows:
        assert row["file"].endswith(f"-frame-{row['frame']}.npy")
        assert 0 <= int(row["frame"]) < 40
        assert np.load(place / row["file"]).shape == shape
        assert (place / row["file"]).with_suffix(".png").is_file()
        assert row["label"] == ""
    record = np.frombuffer((place / "telemetry.snpt").read_bytes(), fx.TELEMETRY)
    assert (record["device"].tolist(), record["frames"].tolist()) == ([17], [40])
    merged = snap("fleet", str(place), "--json")
    assert merged.code == 0, merged.err
    # Again: lines that somebody filled in stay, and the record grows.
    again = alarmed.snap("monitor", "--frames", "40", *options)
    assert again.code == 0, again.err
    assert len((place / "kept.csv").read_text().splitlines()) == 1 + 2 * KEPT
    assert len(np.frombuffer((place / "telemetry.snpt").read_bytes(), fx.TELEMETRY)) == 2


def test_a_list_that_cannot_be_read_costs_nothing(alarmed: Workspace, tmp_path: Path) -> None:
    place = tmp_path / "kept"
    place.mkdir()
    (place / "kept.csv").write_bytes("file,label\nm\u00fcll".encode("latin-1"))
    done = alarmed.snap("monitor", "--frames", "5", "--collect", str(place))
    assert done.code == 4
    assert "kept.csv cannot be read" in done.error()[0]
    assert [path.name for path in place.iterdir()] == ["kept.csv"]


def test_an_image_without_room_says_so(workspace: Workspace, tmp_path: Path) -> None:
    done = workspace.snap("monitor", "--frames", "5", "--collect", str(tmp_path / "kept"))
    assert done.code == 0, done.err
    assert "no room for inputs (snap flash --evidence 8)" in done.out
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["telemetry.snpt"]
