"""A run or a model from somebody else, through the program: nothing of it runs."""

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli import toolchain
from snapcli.targets import load_target
from tests.conftest import Outcome, Workspace, need, snap
from tests.unit.models.hostile import (
    CHANGES,
    TRACE,
    changed_h5,
    changed_keras,
    plain_model,
)

USAGE, ARTIFACT = 2, 4
EVIL = CHANGES["lambda"]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that runs leaves a file here; what was trusted is forgotten afterwards."""
    need(tensorflow=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))


def told(outcome: Outcome, code: int) -> tuple[str, str]:
    assert outcome.code == code, outcome.err
    assert not TRACE.exists()
    return outcome.error()


@pytest.mark.parametrize("name", ["evil.h5", "renamed.keras", "evil.keras"])
def test_a_backbone_that_holds_code(name: str, tmp_path: Path) -> None:
    good = tmp_path / f"good.{'keras' if name == 'evil.keras' else 'h5'}"
    plain_model().save(good)
    path = tmp_path / name
    (changed_keras if name == "evil.keras" else changed_h5)(good, path, EVIL)
    given = ("train", "--backbone", str(path), "--taps", "c1:c2", "--epochs", "1")
    error, hint = told(snap(*given, "--runs-dir", "runs"), USAGE)
    assert "layer 'sly'" in error
    assert "--allow-code" in hint
    assert not Path("runs").exists()


@pytest.mark.parametrize("command", ["calibrate", "quantize", "taps", "eval"])
def test_a_run_whose_model_holds_code(command: str, workspace: Workspace) -> None:
    path = workspace.run / "train" / "model.keras"
    shutil.copyfile(path, "good.keras")
    changed_keras(Path("good.keras"), path, in_every_activation)
    workspace.rehash()
    error, hint = told(workspace.snap(command), ARTIFACT)
    assert "model.keras" in error
    assert "--allow-code" in hint


def in_every_activation(config: dict[str, Any]) -> None:
    for layer in config["config"]["layers"]:
        if "activation" in layer["config"]:
            layer["config"]["activation"] = CHANGES_ACTIVATION


CHANGES_ACTIVATION = {"class_name": "__lambda__", "config": {"value": ["", None, None]}}


def test_a_changed_rank_builds_nothing(workspace: Workspace) -> None:
    path = workspace.run / "quantize" / "heads_int8.npz"
    with np.load(path) as found:
        arrays = dict(found)
    arrays["0.rank"] = arrays["0.rank"] + 64
    np.savez(path, **arrays)  # type: ignore[arg-type]
    workspace.rehash()
    shutil.rmtree(workspace.run / "export-c")
    error, hint = told(workspace.snap("export-c"), ARTIFACT)
    assert "heads_int8.npz" in error
    assert "snap quantize" in hint
    assert not (workspace.run / "export-c").exists()


REPORTS = {
    "train/history.json": "show",
    "calibrate/calibration.json": "quantize",
    "quantize/report.json": "show",
    "build/qemu-m4/size.json": "report",
    "export-c/qemu-m4/export.json": "flash",
    "bench/qemu-m4-001.json": "show",
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports_that_are_none(name: str, workspace: Workspace) -> None:
    for content in ("[]", "{}", '{"report": 1}', "NaN", "[" * 100_000, "\xff"):
        (workspace.run / name).write_bytes(content.encode("latin-1"))
        workspace.rehash()
        error, _ = told(workspace.snap(REPORTS[name]), ARTIFACT)
        assert Path(name).name in error


def test_permission_stays_with_who_gave_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that was allowed for a training runs in what was made of it here, and nowhere else."""
    import tf_keras
    from tf_keras import layers

    x = first = layers.Input((16, 16, 1))
    x = layers.Conv2D(6, 3, activation="relu", name="c1")(x)
    x = layers.Conv2D(6, 3, activation="relu", name="c2")(x)
    x = layers.Lambda(lambda x: 2.0 * x, name="twice")(x)
    x = layers.GlobalAveragePooling2D()(x)
    tf_keras.Model(first, layers.Dense(10)(x)).save("own.keras")
    runs = ("--runs-dir", "runs")
    given = ("train", "--backbone", "own.keras", "--taps", "c1:c2", "--mode", "posthoc")
    error, _ = told(snap(*given, "--epochs", "0", *runs), USAGE)
    assert "twice" in error
    allowed = snap(*given, "--epochs", "0", "--allow-code", *runs)
    assert allowed.code == 0, allowed.err
    (run,) = (path for path in Path("runs").iterdir() if not path.is_symlink())
    assert "allow" not in (run / "config.toml").read_text()
    assert snap("calibrate", *runs).code == 0
    # On another machine nobody has allowed anything.
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "another"))
    error, hint = told(snap("calibrate", *runs), ARTIFACT)
    assert "twice" in error
    assert "--allow-code" in hint


def test_a_run_cannot_permit_itself(workspace: Workspace) -> None:
    """What older runs of attach have in their configuration grants nothing."""
    config = workspace.run / "config.toml"
    config.write_text(config.read_text() + "\n[attach]\nallow_code = true\n")
    shutil.copyfile(workspace.run / "train/model.keras", "good.keras")
    changed_keras(Path("good.keras"), workspace.run / "train/model.keras", in_every_activation)
    workspace.rehash()
    told(workspace.snap("calibrate"), ARTIFACT)


# ---- Images and C of a run -----------------------------------------------------------

# Asks the debugger, if there is one, to run a command (Arm's semihosting, SYS_SYSTEM).
ESCAPES = """
    .syntax unified
    .thumb
    .word 0x20001000, start + 1
start: movs r0, #0x12
    ldr r1, =block
    bkpt 0xab
    b .
    .align 2
block: .word command, {length}
command: .asciz "{command}"
"""


@pytest.mark.parametrize("escapes", [False, True])
def test_an_image_of_a_run_cannot_reach_this_machine(tmp_path: Path, escapes: bool) -> None:
    need(compiler=True, emulator=True)
    target, mark = load_target("qemu-m4"), tmp_path / "ran"
    command = f"touch {mark}"
    (tmp_path / "a.s").write_text(ESCAPES.format(command=command, length=len(command)))
    link = ["-nostdlib", "-Wl,-Ttext=0,-e,start"]
    subprocess.run(
        [toolchain.GCC, *target.cpu_flags, *link, "a.s", "-o", "a.elf"], cwd=tmp_path, check=True
    )
    if escapes:  # that it would, if it could
        machine = ["-M", toolchain.emulated_machine(target), "-nographic", "-semihosting"]
        process = subprocess.Popen([toolchain.QEMU, *machine, "-kernel", str(tmp_path / "a.elf")])
    else:
        process = toolchain.start_emulator(target, tmp_path / "a.elf")
    until = time.monotonic() + (60 if escapes else 2)
    while not mark.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert mark.exists() == escapes


def test_what_somebody_put_beside_the_c_is_not_compiled(workspace: Workspace) -> None:
    need(compiler=True, emulator=True)
    (workspace.run / "export-c" / "qemu-m4" / "extra.c").write_text("#error compiled\n")
    outcome = workspace.snap("flash", "--target", "qemu-m4")
    assert outcome.code == 0, outcome.err
