"""`snap ablate` on a finished run: its reference is the run, its prices those of `snap cost`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.heads.head import Head, load_heads
from snapcli.judging import ablations, modes
from snapcli.judging.known import known_of
from snapcli.judging.refit import refit
from snapcli.models import posthoc
from snapcli.models.activations import load_model
from snapcli.origin.origin import origin_of
from snapcli.runs import Run
from snapcli.stages import ablate
from tests.conftest import Workspace, need
from tests.e2e.test_attach import write_inputs
from tests.unit.tiny_foreign import foreign_tflite

# The heads of the run were trained with its backbone, those of this row were not.
OWN = "configured as in the run"
FEW = ("--limit", "10", "--replicates", "10", "--streams", "0", "--json")


def test_rank_0_is_judged_and_priced(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posthoc, "_STEPS", 40)
    monkeypatch.setattr(ablations, "_RANKS", (0,))
    report = workspace.snap("ablate", "rank", *FEW).json
    rows = {row["configuration"]: row for row in report["rows"]}
    assert list(rows) == ["rank 0", OWN, "heads as trained"]
    assert [c["title"] for c in report["columns"]] == list(rows["rank 0"])
    assert report["reference"] == OWN
    assert "fitted anew" in report["starred"]
    assert rows[OWN]["gain"] is None
    for name in ("rank 0", "heads as trained"):
        found = rows[name]["gain"]
        other = rows[OWN]["pooled AUROC"]["value"]
        assert found["value"] == pytest.approx(rows[name]["pooled AUROC"]["value"] - other)
        assert found["low"] <= found["high"]
    assert rows["rank 0"]["flash, B"] < rows[OWN]["flash, B"]
    assert rows["rank 0"]["instructions"] < rows[OWN]["instructions"]
    written = workspace.run / "ablate" / "rank" / "rank.json"
    assert json.loads(written.read_text()) == report
    shown = workspace.snap("show").out
    assert "ablate/rank" in shown
    page = workspace.snap("report")
    assert page.code == 0, page.err
    html = (workspace.run / "report" / "index.html").read_text()
    assert report["title"] in html
    assert "heads as trained" in html


def test_precisions_cost_what_the_run_costs(workspace: Workspace) -> None:
    said = workspace.snap("ablate", "quant", *FEW[:-1])
    assert said.code == 0, said.err
    assert "int8 *" in said.out
    assert "computed, not compiled" in said.out
    report = json.loads((workspace.run / "ablate" / "quant" / "quant.json").read_text())
    full, half, own = report["judged"]
    assert own["figures"]["gains"] == {}
    weights = half["flash_bytes"] - own["flash_bytes"]
    assert weights > 0
    assert full["flash_bytes"] - own["flash_bytes"] == 3 * weights
    assert full["price"] is None
    bench = json.loads((workspace.run / "bench" / "qemu-m4-001.json").read_text())
    assert own["price"]["instructions"] == pytest.approx(bench["timing"]["mean"], rel=1e-3)


def test_a_mode_that_changes_nothing_gains_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other mode gets the network and the heads of the run."""
    folder = workspace.run / "train"

    def fitted(*_: object) -> tuple[Any, list[Head]]:
        return load_model(folder / "model.keras"), load_heads(folder / "heads.npz")

    monkeypatch.setattr(ablate, "MODES", ("joint", "posthoc"))
    monkeypatch.setattr(modes, "_fitted", fitted)
    report = workspace.snap("ablate", "mode", *FEW).json
    joint, other = report["judged"]
    assert (report["reference"], other["name"]) == ("joint", "posthoc")
    assert joint["figures"]["accuracy"] == other["figures"]["accuracy"]
    assert joint["price"] == other["price"]
    for gain in (other["surprise_gain"], *other["figures"]["gains"].values()):
        assert gain["value"] in (0.0, None)


def test_an_attached_model_has_what_needs_no_training(tmp_path: Path) -> None:
    need(compiler=True, emulator=True)
    space = Workspace(tmp_path / "runs")
    model, data = tmp_path / "tiny.tflite", write_inputs(tmp_path / "inputs.npz", labelled=True)
    model.write_bytes(foreign_tflite())
    named = ("--taps", "layer_1,layer_2", "--ranks", "3")
    made = space.snap("attach", str(model), "--data", str(data), *named)
    assert made.code == 0, made.err
    report = space.snap("ablate", "rank", *FEW).json
    assert [row["configuration"] for row in report["rows"]] == [
        *("rank 0", "rank 4", "rank 6", "as in the run")
    ]
    refused = space.snap("ablate", "head")
    assert refused.code == 2
    assert refused.error()[1] == "Take one of taps, rank, quant, map, blend."
    # Fitted again, the heads are those that attach left.
    run, known = Run(space.run), known_of(Run(space.run))
    fitter = refit(run, origin_of(run).dataset(), [known.own])
    again = fitter.integer(fitter.own(known.own), known.own.statistics)
    for ours, theirs in zip(again.heads, origin_of(run).deployed().monitor.body.heads, strict=True):
        np.testing.assert_array_equal(ours.residual.mean_weights, theirs.residual.mean_weights)
        np.testing.assert_array_equal(ours.residual.xi_bias, theirs.residual.xi_bias)


def test_what_there_is_not(workspace: Workspace) -> None:
    refused = workspace.snap("ablate", "colour")
    assert refused.code == 2
    assert refused.error()[0] == "ablate.kind is 'colour'"
    assert workspace.snap("ablate", "map", "--target", "cortex-m0+").code == 2
