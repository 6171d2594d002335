"""An alarm for a trained run, with what a frame costs on the emulated core."""

import json

from snapcli.config import DETECTORS
from snapcli.monitor.alarm import alarm_from_dict
from tests.conftest import Workspace

BYTES, INSTRUCTIONS = 64, 200


def test_a_trained_run_gets_an_alarm_within_its_budget(workspace: Workspace) -> None:
    report = workspace.snap("alarm", "--json").json
    assert report["detector"] in DETECTORS
    assert report["state_bytes"] <= BYTES
    assert 0 < report["instructions"] <= INSTRUCTIONS
    for stream in ("dev_stream", "test_stream"):
        assert report[stream]["events"] >= 10
        assert report[stream]["clean_frames"] >= 50_000
    stored = json.loads((workspace.run / "alarm" / "alarm.json").read_text())
    assert alarm_from_dict(stored["device"]).is_on
    states = {s["stage"]: s["detail"] for s in workspace.snap("show", "--json").json["states"]}
    assert states["alarm"] == "up to date"


def test_a_new_map_makes_its_alarm_stale(workspace: Workspace) -> None:
    assert workspace.snap("alarm", "--detector", "betting", "--json").code == 0
    assert workspace.snap("quantize", "--samples", "64").code == 0
    states = {s["stage"]: s["status"] for s in workspace.snap("show", "--json").json["states"]}
    assert states["alarm"] == "stale"
