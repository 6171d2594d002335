"""MLPerf Tiny's reference models, where they lie beside the checkout, from file to device."""

from pathlib import Path

import numpy as np
import pytest

from snapcli.config import VerifyOptions
from snapcli.emit import KernelSet, Reference, build_program
from snapcli.emit.snap import Snap
from snapcli.graph import read_tflite
from snapcli.stages.verify import verify_model
from tests.conftest import need

MODELS = Path(__file__).parents[2].parent / "shared" / "models"
# The most that the planned arena may take, in bytes: what TFLite-Micro takes, times our goal.
ARENA = {"kws_ref_model": 0.50 * 22_820, "pretrainedResnet_quant": 0.65 * 54_996}


@pytest.fixture(params=sorted(ARENA))
def model(request: pytest.FixtureRequest) -> Path:
    path = MODELS / f"{request.param}.tflite"
    if not path.is_file():
        pytest.skip("the reference models are not part of the project")
    return path


@pytest.mark.parametrize("kernels", ["snap", "reference", "cmsis-nn"])
@pytest.mark.parametrize("target", ["qemu-m4", "qemu-m7"])
def test_every_layer_is_equal_on_every_link(
    model: Path, kernels: str, target: str, cmsis_nn: Path
) -> None:
    need(host=True, compiler=True, emulator=True)
    report = verify_model(model, VerifyOptions(target, kernels, inputs=4))
    assert [link.difference for link in report.links] == [None] * 3


@pytest.mark.parametrize("kernels", [Snap(Reference()), Reference()], ids=lambda k: k.name)
def test_the_arena_is_as_small_as_promised(model: Path, kernels: KernelSet) -> None:
    program = build_program(read_tflite(model.read_bytes()), None, kernels)
    assert program.full.arena_bytes <= ARENA[model.stem]


def test_real_inputs_are_equal_and_mostly_right() -> None:
    """MLPerf Tiny's own 500 keyword inputs."""
    path, data = MODELS / "kws_ref_model.tflite", MODELS / "kws01_500.npz"
    if not (path.is_file() and data.is_file()):
        pytest.skip("the reference models are not part of the project")
    graph = read_tflite(path.read_bytes())
    with np.load(data) as arrays:
        x, y = arrays["x"], arrays["y"]
    tensor = graph.tensors[graph.input]
    (name,) = graph.outputs.values()
    found = graph.run(x.reshape(len(x), *tensor.shape), {name})[name]
    accuracy = np.mean(found.reshape(len(x), -1).argmax(axis=1) == y.reshape(-1))
    assert accuracy > 0.88
