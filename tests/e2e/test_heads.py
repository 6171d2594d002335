"""Every kind of head through the whole compiler: numpy, C on the host, C under QEMU."""

from pathlib import Path

import numpy as np
import pytest

from snapcli.config import CMSIS_NN, REFERENCE, VerifyOptions
from snapcli.emit import Reference, build_program, emit_model
from snapcli.kernels import snapuq_files
from snapcli.monitor.body import save_body
from snapcli.monitor.decision import decision_to_dict
from snapcli.monitor.monitor import CALIBRATION_FILE
from snapcli.pricing.kernel_set import kernel_files
from snapcli.runs import Run, create_run, write_json
from snapcli.stages.verify import verify_run
from tests.conftest import need
from tests.unit.tiny_monitor import HEADS, random_inputs, tiny_monitor, tiny_tflite

ENERGIES = {
    "gaussian": {"gaussian_q16"},
    "student-t": {"student_t_q16"},
    "huber": {"huber_q16"},
    "lowrank": {"lowrank_f32"},
    "mixture": {"mixture_q16"},
    "class-mean": {"gaussian_q16"},
    "mean-deviation": {"gaussian_q16"},
}


def quantized(head: str, folder: Path) -> Run:
    """A run whose quantize stage left the tiny monitor."""
    monitor, run = tiny_monitor(head=head), create_run(folder, "tiny")
    with run.write("quantize", after=()) as out:
        save_body(monitor.body, tiny_tflite(), out)
        write_json(out / CALIBRATION_FILE, {"device": decision_to_dict(monitor.decision)})
    return run


@pytest.mark.parametrize(("kernels", "target"), [(REFERENCE, "qemu-m4"), (CMSIS_NN, "qemu-m7")])
@pytest.mark.parametrize("head", HEADS)
def test_every_head_is_equal_on_every_link(
    head: str, kernels: str, target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    need(host=True, compiler=True, emulator=True)
    cmsis_nn = request.getfixturevalue("cmsis_nn") if kernels == CMSIS_NN else None
    np.save(tmp_path / "x.npy", random_inputs(6, seed=3))
    options = VerifyOptions(target=target, kernels=kernels)
    report = verify_run(quantized(head, tmp_path), options, tmp_path / "x.npy", cmsis_nn)
    assert [link.difference for link in report.links] == [None] * 3
    # Five layers, three pooled sums, two heads; TFLite knows the layers alone.
    assert [link.steps for link in report.links] == [5, 10, 10]


@pytest.mark.parametrize("head", HEADS)
def test_an_export_holds_the_kernels_of_its_head_alone(head: str) -> None:
    monitor = tiny_monitor(head=head)
    program = build_program(monitor.body.graph, monitor.body, Reference())
    generated = emit_model(program, monitor, random_inputs(1)).files
    files = {Path(path).stem for path in kernel_files(snapuq_files(), generated)}
    found = {name.removeprefix("snapuq_energy_") for name in files if "_energy_" in name}
    assert found == ENERGIES[head]
    assert ("snapuq_pool_moments_s8" in files) == (head == "mean-deviation")
    assert "snapuq_residual_s8" in files
