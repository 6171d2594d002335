"""`snap cost` on a finished run: its figures are those of export-c, flash and bench."""

from dataclasses import replace

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.config import REFERENCE, SNAP
from snapcli.emit.ends import (
    End,
    answer_end,
    distance_end,
    energy_end,
    entropy_end,
    temperature_end,
)
from snapcli.errors import CheckError
from snapcli.graph.ensemble import copies
from snapcli.graph.graph import Graph
from snapcli.graph.shaping import with_shaped
from snapcli.methods.table import ROWS
from snapcli.monitor.decision import plain_decision
from snapcli.pricing.heads import measure
from snapcli.pricing.programs import counter_of, price_of
from snapcli.targets import load_target
from tests.conftest import Finished, Workspace, need
from tests.unit.tiny_monitor import random_inputs, tiny_monitor

METHODS = ["backbone", *(row.name for row in ROWS if not row.variant)]
PRICED = ["backbone", *(row.name for row in ROWS if not row.variant and row.form)]


def test_the_table_of_methods(workspace: Workspace, finished: Finished) -> None:
    (found,) = workspace.snap("cost", "--target", "small-mcu", "--json").json["targets"]
    rows = {row["method"]: row for row in found["rows"]}
    assert list(rows) == METHODS
    for name, row in rows.items():
        assert row["status"] == ("fits" if name in PRICED else "not built"), name
        assert bool(row["why"]) == (name not in PRICED)
    backbone, snap = rows["backbone"], rows["snap"]
    bench = finished.outcomes["bench"].json
    assert snap["instructions"] == pytest.approx(bench["timing"]["mean"], rel=1e-3)
    plain = bench["timing_without_heads"]["mean"]
    assert backbone["instructions"] == pytest.approx(plain, rel=1e-3)
    assert snap["overhead"] == pytest.approx(bench["heads_overhead"], abs=1e-3)
    # Images hold what steers a stream as well.
    heads = bench["size"]["flash_bytes"] - bench["size_without_heads"]["flash_bytes"]
    # Beside the methods that are compared an image has the alarm and telemetry.
    assert 2000 < heads - (snap["flash_bytes"] - backbone["flash_bytes"]) < 4000
    firmware = found["firmware_flash_bytes"]
    assert snap["flash_bytes"] + firmware == pytest.approx(bench["size"]["flash_bytes"], rel=0.05)
    arena = finished.outcomes["export-c"].json["arena_bytes"]
    assert arena < snap["ram_bytes"] < bench["ram_used_bytes"]
    three = rows["deep-ensemble"]
    assert three["instructions"] == pytest.approx(3 * backbone["instructions"], rel=0.02)
    # Kernels are there once, constants three times.
    assert 2 < three["flash_bytes"] / backbone["flash_bytes"] < 3
    for name in PRICED[1:]:
        assert rows[name]["flash_bytes"] > backbone["flash_bytes"], name
        assert rows[name]["instructions"] > backbone["instructions"], name
    shown = workspace.snap("show")
    assert "cost" in shown.out
    assert workspace.snap("bench", "--inputs", "2").code == 0  # nothing else became stale


def test_maps_and_heads_are_priced_on_request(workspace: Workspace, finished: Finished) -> None:
    named = "snap-logistic,snap-isotonic,snap-huber,hybrid"
    outcome = workspace.snap("cost", "--target", "qemu-m4", "--methods", named, "--json")
    (found,) = outcome.json["targets"]
    rows = {row["method"]: row for row in found["rows"]}
    assert set(rows) == {"backbone", "max-probability", "snap", *named.split(",")}
    assert {row["status"] for row in rows.values()} == {"fits"}
    # A table of steps is smaller than logarithms, a distance is more of both.
    assert rows["snap-isotonic"]["flash_bytes"] < rows["hybrid"]["flash_bytes"]
    assert rows["hybrid"]["instructions"] > rows["snap-logistic"]["instructions"]


def tiny_graph() -> Graph:
    return tiny_monitor().body.graph


def ends(graph: Graph) -> dict[str, tuple[Graph, End]]:
    """Every end, on the tiny network or on what is made of it."""
    logits = graph.tensors["logits"]
    shaped = with_shaped(graph, "logits", fx.AshS8(9, 3, -11))
    distance = tiny_monitor("mahalanobis").body.distance
    assert distance is not None
    three = copies(graph, "logits", 3)
    members = {name: three.tensors[tensor] for name, tensor in three.outputs.items()}
    tapped = graph.tensors["block"]
    with_tapped = replace(graph, outputs={**graph.outputs, "tapped": "block"})
    return {
        "answer": (graph, answer_end(logits)),
        "entropy": (graph, entropy_end({"logits": logits})),
        "temperature": (graph, temperature_end(logits, 1.7)),
        "energy": (graph, energy_end(logits, 1.5)),
        "ash": (shaped, energy_end(shaped.tensors[shaped.outputs["logits"]], 1.0)),
        "distance": (with_tapped, distance_end(logits, tapped, distance.parameters)),
        "ensemble": (three, entropy_end(members)),
    }


def test_ends_in_c_are_those_of_numpy() -> None:
    """A counter refuses answers that differ; that it does is the last test."""
    need(compiler=True, emulator=True)
    with counter_of(load_target("qemu-m7"), REFERENCE, random_inputs(6)) as counter:
        prices = {name: counter.of_network(*way) for name, way in ends(tiny_graph()).items()}
    plain = prices["answer"]
    for name, price in prices.items():
        assert price.instructions >= plain.instructions, name
        assert price.flash_bytes >= plain.flash_bytes, name
        assert 0 < price.stack_bytes < 2048, name
    assert prices["ensemble"].instructions > 3 * 0.98 * plain.instructions


def test_a_monitor_costs_what_its_parts_do() -> None:
    """One program that is counted as a whole, and the steps that `snap taps` adds up."""
    need(compiler=True, emulator=True)
    body, target, x = tiny_monitor().body, load_target("small-mcu"), random_inputs(4)
    whole = price_of(body, plain_decision(len(body.taps)), target, SNAP, x)
    parts = measure(body, x, target, SNAP)
    added = parts.of(body, [0, 1])
    # A probe between the steps costs a few instructions of its own.
    assert whole.instructions == pytest.approx(parts.backbone + added.instructions, rel=0.02)
    noise = price_of(body, plain_decision(len(body.taps)), target, SNAP)
    assert noise.instructions == pytest.approx(whole.instructions, rel=0.01)
    assert (noise.flash_bytes, noise.arena_bytes) == (whole.flash_bytes, whole.arena_bytes)


def test_answers_that_differ_are_refused() -> None:
    need(compiler=True, emulator=True)
    graph = tiny_graph()
    right = answer_end(graph.tensors["logits"])
    wrong = replace(right, reference=lambda values: (np.zeros(3, np.int32), np.ones(3, np.int32)))
    with (
        counter_of(load_target("qemu-m4"), SNAP, random_inputs(3)) as counter,
        pytest.raises(CheckError, match="in C is"),
    ):
        counter.of_network(graph, wrong)
