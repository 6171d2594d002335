"""`snap eval` on the finished run: float and the device in one table, heads in int8."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from snapcli.runs import Run
from snapcli.stages.dataset import run_dataset
from snapcli.stages.networks import float_network, further_heads, integer_network
from snapcli.stages.observe import surprisal_by
from tests.conftest import Workspace

# Of a stream that is shorter than usual: all that is clean, severity 1, half of a foreign burst.
FRAMES = 350
METHODS = "mahalanobis-full,react,snap-s"


@pytest.fixture
def short_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapcli.data.streams.CLEAN_FRAMES", 100)
    monkeypatch.setattr("snapcli.data.streams.CORRUPTED_FRAMES", 200)


def test_float_and_device_are_judged_and_say_what_they_cannot(
    workspace: Workspace, short_streams: None
) -> None:
    played = workspace.snap("bench", "--stream", "--limit", str(FRAMES))
    assert played.code == 0, played.err
    quick = ("--replicates", "20", "--limit", "20", "--streams", "1")
    arguments = ("eval", "--methods", METHODS, "--on", "float,device", *quick, "--json")
    outcome = workspace.snap(*arguments)
    assert outcome.code == 0, outcome.err
    report = outcome.json
    assert report == json.loads((workspace.run / "eval" / "eval.json").read_text())
    assert list(report["sources"]) == ["float", "device"]
    rows = {
        source: {m["name"]: m for m in found["methods"]}
        for source, found in report["sources"].items()
    }
    done = {
        source: {name for name, m in found.items() if m["status"] == "done"}
        for source, found in rows.items()
    }
    asked = {*METHODS.split(","), "max-probability", "snap"}
    assert done == {"float": asked, "device": {"max-probability", "snap", "snap-s"}}
    assert "link" in rows["device"]["mahalanobis-full"]["why"]

    examples = report["sources"]["float"]["examples"]
    for found in (rows["float"][name] for name in asked):
        assert 0.5 < found["errors"]["pooled"]["auroc"]["value"] <= 1
        assert found["events"]["events"] > 0
        assert {"clean", "corrupted", *found["ood"]} == set(examples)
    assert rows["float"]["max-probability"]["gains"] == {}
    own = rows["float"]["snap"]["snap_gains"]["errors.pooled.auroc"]
    assert own == {"value": 0, "low": 0, "high": 0}

    device = report["sources"]["device"]
    assert device["stream"]["frames"] == sum(device["examples"].values()) == FRAMES
    assert device["examples"]["corrupted"] == 200
    assert workspace.snap("show", "--json").json["next_command"] is None


def test_heads_of_another_kind_say_the_same_in_int8(workspace: Workspace) -> None:
    """Of minimal, at taps of its own: only where the int8 graph shows them."""
    run = Run(workspace.run)
    data = run_dataset(run)
    further = further_heads(run, data, ("student-t", "minimal"))
    real, integer = float_network(run, further), integer_network(run, data, further)
    assert real.heads == ("student-t", "minimal")
    assert "student-t" in integer.heads
    assert real.taps == tuple(head.after for head in further["student-t"])
    x = data.front_end(data.test.x[:200])
    seen, rounded = real.observe(x), integer.observe(x)
    for kind in integer.heads:
        name = surprisal_by(kind)
        assert seen[name].shape == rounded[name].shape == (200, len(further[kind]))
        for tap in range(len(further[kind])):
            assert spearmanr(seen[name][:, tap], rounded[name][:, tap]).statistic > 0.9
    assert not np.allclose(seen[surprisal_by("student-t")], seen["surprisal"])
