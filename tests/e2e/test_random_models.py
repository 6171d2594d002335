"""Random models of every operator through the generated C: planned, overlapped, reordered."""

from pathlib import Path

import pytest

from snapcli import toolchain
from snapcli.config import VerifyOptions
from snapcli.emit import Reference, build_program
from snapcli.emit.steps import LayerStep
from snapcli.graph import read_tflite
from snapcli.stages.verify import verify_model
from tests.conftest import need
from tests.golden.random_models import random_model

SEEDS = range(24)
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Arm shifts negative numbers to the left, which C leaves open and gcc defines.
LENIENT = {"cmsis-nn": ("-fno-sanitize=shift",)}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernels", ["snap", "reference", "cmsis-nn"])
def test_every_step_is_equal_on_every_link(
    kernels: str, seed: int, tmp_path: Path, cmsis_nn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(host=True, compiler=True, emulator=True)
    flags = (*toolchain.HOST_FLAGS, *SANITIZERS, *LENIENT.get(kernels, ()))
    monkeypatch.setattr(toolchain, "HOST_FLAGS", flags)
    path = tmp_path / "random.tflite"
    path.write_bytes(random_model(seed, 16))
    target = ("qemu-m4", "qemu-m7")[seed % 2]
    report = verify_model(path, VerifyOptions(target, kernels, inputs=4, seed=seed))
    assert [link.difference for link in report.links] == [None] * 3


def test_the_models_exercise_the_planner() -> None:
    """Some are reordered, many let an output run into an input."""
    reordered, overlapping = 0, 0
    for seed in range(60):
        graph = read_tflite(random_model(seed, 16))
        program = build_program(graph, None, Reference())
        done = [step.layer for step in program.steps if isinstance(step, LayerStep)]
        reordered += done != list(graph.layers)
        overlapping += program.full.arena_bytes < program.live_bytes
    assert reordered >= 1
    assert overlapping >= 20
