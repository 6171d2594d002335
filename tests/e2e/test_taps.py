"""`snap taps` on a finished run: its prices are those of the bench, its limits hold."""

from xml.etree import ElementTree

import numpy as np
import pytest

from snapcli.config import CMSIS_NN, REFERENCE, SNAP
from snapcli.monitor.monitor import load_monitor
from snapcli.pricing.heads import measure
from snapcli.targets import emulated_twin, load_target
from tests.conftest import Finished, Workspace, need
from tests.unit.tiny_monitor import random_inputs, tiny_monitor

BLOCKS = ["block1", "block2", "block3", "block4"]
FEW = ("--limit", "40", "--json")


def test_every_block_is_judged_and_priced(workspace: Workspace) -> None:
    report = workspace.snap("taps", *FEW).json
    found = report["candidates"]
    assert [c["tap"] for c in found] == BLOCKS
    assert [c["before"] for c in found] == ["stem", *BLOCKS[:-1]]
    for i, row in enumerate(report["correlation"]):
        assert row[i] == pytest.approx(1.0)
        assert row == pytest.approx([other[i] for other in report["correlation"]])
        assert all(-1.0 <= r <= 1.0 + 1e-9 for r in row)
    taken = [step["tap"] for step in report["steps"]]
    assert sorted(report["recommended"]) == sorted(taken)
    reached = report["auprc_without"]
    for step in report["steps"]:
        assert step["auprc"] == pytest.approx(reached + step["gain"])
        reached = step["auprc"]
    root = ElementTree.parse(workspace.run / "taps" / "taps.svg").getroot()
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert all(block in words for block in BLOCKS)
    assert "taps" in workspace.snap("show").out
    assert workspace.snap("bench", "--inputs", "2").code == 0  # nothing else became stale


def test_limits_hold(workspace: Workspace) -> None:
    limits = ("--per", "instructions", "--max-overhead", "1.2", "--max-flash", "9")
    report = workspace.snap("taps", *FEW, *limits).json
    for step in report["steps"]:
        assert step["cost"]["instructions"] <= 0.012 * report["backbone_instructions"]
        assert step["cost"]["flash_bytes"] <= 9 * 1024
    # Together all taps are beyond both limits, so that each of them matters.
    alone = [c["cost"] for c in report["candidates"]]
    assert sum(c["instructions"] for c in alone) > 0.012 * report["backbone_instructions"]
    assert sum(c["flash_bytes"] for c in alone) > 9 * 1024
    refused = workspace.snap("taps", "--per", "money")
    assert refused.code == 2
    assert refused.error()[0] == "taps.per is 'money'"


def test_prices_are_what_the_bench_measures(finished: Finished) -> None:
    """The same heads: counted step by step here, as a whole image there."""
    monitor = load_monitor(finished.workspace.run / "quantize")
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    x = np.random.default_rng(0).integers(-128, 128, (1, *tensor.shape)).astype(np.int8)
    prices = measure(monitor.body, x, load_target("qemu-m4"), SNAP)
    bench = finished.outcomes["bench"].json
    plain = bench["timing_without_heads"]["mean"]
    cost = prices.of(monitor.body, [0, 1])
    assert prices.backbone == pytest.approx(plain, rel=0.01)
    # A map may read distances, which are no part of the heads.
    distance = sum(s["mean"] for s in bench["stages"] if s["name"] == "distance")
    overhead = bench["heads_overhead"] - distance / plain
    assert cost.instructions / prices.backbone == pytest.approx(overhead, abs=0.002)
    # Linked images leave out what nobody calls, and align what they keep.
    linked = bench["size"]["flash_bytes"] - bench["size_without_heads"]["flash_bytes"]
    if distance:
        assert 0.9 * cost.flash_bytes < linked
    else:
        assert cost.flash_bytes == pytest.approx(linked, rel=0.1)


@pytest.mark.parametrize("kernels", [SNAP, REFERENCE, CMSIS_NN])
def test_taps_that_share_a_tensor_pool_it_once(
    kernels: str, request: pytest.FixtureRequest
) -> None:
    need(compiler=True, emulator=True)
    cmsis_nn = request.getfixturevalue("cmsis_nn") if kernels == CMSIS_NN else None
    body = tiny_monitor().body
    prices = measure(body, random_inputs(2), load_target("small-mcu"), kernels, cmsis_nn)
    both, first, second = (prices.of(body, taps) for taps in ([0, 1], [0], [1]))
    apart = first.instructions + second.instructions
    assert both.instructions == apart - prices.end - prices.sums["spatial"]
    assert both.flash_bytes == first.flash_bytes + second.flash_bytes - prices.shared_bytes
    assert min(prices.head_bytes) > 0
    assert prices.of(body, []).instructions == 0


def test_a_board_is_counted_on_its_emulated_twin() -> None:
    for name, twin in (("small-mcu", "qemu-m4"), ("big-mcu", "qemu-m7"), ("qemu-m7", "qemu-m7")):
        assert emulated_twin(load_target(name)).name == twin
