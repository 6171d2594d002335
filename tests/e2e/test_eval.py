"""`snap eval` on the finished run: float and the device in one table, heads in int8."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from snapcli.judging.networks import float_network, further_heads, integer_network
from snapcli.judging.observe import surprisal_by
from snapcli.origin.origin import origin_of
from snapcli.runs import Run
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
    # The link sends no distances.
    taken = json.loads((workspace.run / "quantize" / "report.json").read_text())["map"]["kind"]
    over_link = {"max-probability", "snap-s"} | ({"snap"} if taken != "evidence" else set())
    assert done == {"float": asked, "device": over_link}
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
    data = origin_of(run).dataset()
    further = further_heads(run, data, ("student-t", "minimal"))
    real, integer = float_network(run, data, further), integer_network(run, data, further)
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


# ---- As the run was calibrated ----------------------------------------------

ODD = (
    *("--map", "gated-taps", "--third", "energy", "--alpha", "0.2", "--weights", "uniform"),
    *("--no-balanced", "--threshold", "risk", "--target", "0.6"),
)
QUICK = ("--replicates", "10", "--streams", "0", "--json")


def close(found: object, expected: object, within: float) -> None:
    """Both {pooled, per_cell, clean: {auroc: ...}}."""
    for part in ("pooled", "per_cell", "clean"):
        ours, theirs = found[part]["auroc"], expected[part]["auroc"]  # type: ignore[index]
        assert ours["value"] == pytest.approx(theirs, abs=within, nan_ok=True), part


def test_the_row_of_the_run_is_the_run_s(workspace: Workspace) -> None:
    """Weights, alpha, balance, third input, map, limit, and what a promise holds out: in float
    what calibrate says, in integers what quantize says but for the device's steps."""
    assert workspace.snap("calibrate", *ODD).code == 0
    assert workspace.snap("quantize").code == 0
    names = ("--methods", "snap-s,snap-logistic,temperature")
    report = workspace.snap("eval", *names, "--on", "float,int8", *QUICK).json
    rows = {
        source: {m["name"]: m["errors"] for m in found["methods"]}
        for source, found in report["sources"].items()
    }
    calibrated = json.loads((workspace.run / "calibrate" / "calibration.json").read_text())
    assert report["limit"] == calibrated["options"]["limit"]
    said = calibrated["report"]["detection"]["errors"]
    close(rows["float"]["snap"], said["U"], 1e-12)
    close(rows["float"]["snap-s"], said["S"], 1e-12)
    close(rows["float"]["max-probability"], said["max-probability"], 1e-12)
    integer = json.loads((workspace.run / "quantize" / "report.json").read_text())
    said = integer["detection"]["errors"]
    close(rows["int8"]["snap"], said["U"], 0.01)
    # Steps of 2^-16 tie a few pairs that the finer S of eval tells apart.
    close(rows["int8"]["snap-s"], said["S"], 1e-4)
    # The options matter: another map, with nothing else changed, is another row.
    assert rows["float"]["snap-logistic"] != rows["float"]["snap"]

    ablated = workspace.snap("ablate", "quant", *QUICK).json
    own = next(row for row in ablated["judged"] if row["name"] == ablated["reference"])
    assert own["map"] == "gated-taps"
    assert own["figures"]["errors"]["pooled"]["auroc"]["value"] == pytest.approx(
        rows["int8"]["snap"]["pooled"]["auroc"]["value"], abs=1e-12
    )


def test_eval_needs_a_calibration_and_goes_with_it(workspace: Workspace) -> None:
    (workspace.run / "calibrate" / "calibration.json").write_text("{}")
    refused = workspace.snap("eval", "--methods", "entropy", *QUICK)
    assert refused.code == 4
    assert "snap calibrate" in refused.error()[1]
