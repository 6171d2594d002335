"""Bad input: two lines, the right exit code, nothing lost.

Each test compares the whole folder of runs, byte for byte, before and after.
"""

import errno
import functools
import json
import os
import select
import shutil
import struct
import subprocess
import sys
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snapcli import toolchain
from snapcli.config import Recipe, dump_recipe
from snapcli.data import load_dataset
from snapcli.device import Client, open_port
from snapcli.device.frame import Decoder, Frame, encode
from snapcli.device.messages import Type
from snapcli.runs import Run, create_run
from snapcli.targets import Target, load_target
from tests.conftest import Outcome, Workspace, need, snap

USAGE, CONFIG, ARTIFACT, TOOLCHAIN, DEVICE, CHECK = 2, 3, 4, 5, 6, 7


def refused(workspace: Workspace, code: int, *arguments: str) -> tuple[str, str]:
    """The error and the hint of a command that must fail and change nothing."""
    before = workspace.content()
    outcome = workspace.snap(*arguments)
    assert outcome.code == code, outcome.err
    assert outcome.out == ""
    assert workspace.content() == before
    return outcome.error()


@pytest.fixture
def empty(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "runs")


# ---- Damaged artifacts ------------------------------------------------------

# Who reads the file first, and who makes it anew.
READERS = {
    "config.toml": ("calibrate", "snap train"),
    "train/model.keras": ("calibrate", "snap train"),
    "train/heads.npz": ("calibrate", "snap train"),
    "train/history.json": ("calibrate", "snap train"),
    "calibrate/calibration.json": ("quantize", "snap calibrate"),
    "calibrate/scores.npz": ("quantize", "snap calibrate"),
    "quantize/model_int8.tflite": ("export-c", "snap quantize"),
    "quantize/heads_int8.npz": ("export-c", "snap quantize"),
    "quantize/calibration.json": ("export-c", "snap quantize"),
    "quantize/report.json": ("export-c", "snap quantize"),
    "export-c/qemu-m4/snap_model.h": ("flash", "snap export-c --target qemu-m4"),
    "export-c/qemu-m4/snap_model.c": ("flash", "snap export-c --target qemu-m4"),
    "export-c/qemu-m4/snap_heads.c": ("flash", "snap export-c --target qemu-m4"),
    "export-c/qemu-m4/snap_luts.c": ("flash", "snap export-c --target qemu-m4"),
    "export-c/qemu-m4/snap_golden.h": ("flash", "snap export-c --target qemu-m4"),
    "export-c/qemu-m4/export.json": ("flash", "snap export-c --target qemu-m4"),
    "build/qemu-m4/baseline.elf": ("bench", "snap flash --target qemu-m4"),
    "build/qemu-m4/firmware.map": ("bench", "snap flash --target qemu-m4"),
    "build/qemu-m4/size.json": ("bench", "snap flash --target qemu-m4"),
}


def remove(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def edit(path: Path) -> None:
    """One character of text, one bit of anything else."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle] = ord("#") if path.suffix in (".toml", ".c", ".h") else content[middle] ^ 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [remove, truncate, edit])
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_artifact_is_named_with_the_command_that_mends_it(
    workspace: Workspace, name: str, damage: Callable[[Path], None]
) -> None:
    reader, remedy = READERS[name]
    damage(workspace.run / name)
    message, hint = refused(workspace, ARTIFACT, reader)
    assert name in message
    assert hint == f"Run: {remedy}"
    assert workspace.snap("show", "--json").json["next_command"] == remedy


def test_damage_is_seen_from_far_away(workspace: Workspace) -> None:
    edit(workspace.run / "train" / "heads.npz")
    for command in ("quantize", "export-c", "flash", "bench"):
        message, hint = refused(workspace, ARTIFACT, command)
        assert "train/heads.npz was changed" in message
        assert hint == "Run: snap train"


@pytest.mark.parametrize(
    "edited", ["mode = 'sideways'", "epochs = 'many'", "colour = 'red'", "epochs = = 3", "\xff"]
)
def test_a_frozen_recipe_that_makes_no_sense(workspace: Workspace, edited: str) -> None:
    (workspace.run / "config.toml").write_bytes(f"[train]\n{edited}\n".encode("latin-1"))
    for command in ("calibrate", "export-c", "flash", "bench"):
        message, _ = refused(workspace, ARTIFACT, command)
        assert "config.toml" in message


def test_an_artifact_that_may_not_be_read(workspace: Workspace) -> None:
    secret = workspace.run / "quantize" / "heads_int8.npz"
    secret.chmod(0)
    outcome = unprivileged("export-c", "--runs-dir", str(workspace.runs))
    assert outcome.code == ARTIFACT
    assert "quantize/heads_int8.npz cannot be read" in outcome.error()[0]


# ---- Missing and stale stages -----------------------------------------------


def test_without_any_run(empty: Workspace) -> None:
    for command in ("calibrate", "quantize", "export-c", "flash", "bench", "eval", "show"):
        message, hint = refused(empty, ARTIFACT, command)
        assert "no run in" in message
        assert hint == "Start one: snap train"
    assert not empty.runs.exists()


CHAIN = ("train", "calibrate", "quantize", "export-c/qemu-m4", "flash/qemu-m4")
COMMANDS = ("calibrate", "quantize", "export-c", "flash", "bench")


def forget(root: Path, stage: str) -> None:
    """As if a stage and all after it had never run."""
    manifest = json.loads((root / "run.json").read_text())
    for later in (*CHAIN[CHAIN.index(stage) :], "bench/qemu-m4"):
        manifest["stages"].pop(later, None)
    (root / "run.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(("stage", "command"), list(zip(CHAIN, COMMANDS, strict=True)))
def test_a_stage_that_has_not_run(workspace: Workspace, stage: str, command: str) -> None:
    forget(workspace.run, stage)
    message, hint = refused(workspace, ARTIFACT, command)
    assert f"{stage} of digits-001 is missing" in message
    name, _, target = stage.partition("/")
    assert hint == f"Run: snap {name}" + (f" --target {target}" if target else "")


def redo(root: Path, stage: str) -> None:
    """As if a stage had run again, with another result."""
    run = Run(root)
    record = run.record(stage)
    assert record is not None
    folder = run.inputs(stage)
    beside = tuple(name for name in record["outputs"] if "/" not in name)
    with run.write(stage, tuple(record["inputs"]), beside=beside) as out:
        shutil.copytree(folder, out, dirs_exist_ok=True)
        (out / "other").write_text("result")


@pytest.mark.parametrize("index", range(4))
def test_what_follows_a_stage_that_ran_again_is_stale(workspace: Workspace, index: int) -> None:
    redo(workspace.run, CHAIN[index])
    name, _, target = CHAIN[index + 1].partition("/")
    remedy = f"snap {name}" + (f" --target {target}" if target else "")
    for command in COMMANDS[index + 1 :]:
        message, hint = refused(workspace, ARTIFACT, command)
        assert f"stale: {CHAIN[index]} has changed since" in message
        assert hint == f"Run: {remedy}"
    shown = workspace.snap("show", "--json").json
    states = {s["stage"]: s["status"] for s in shown["states"]}
    assert [states[stage] for stage in CHAIN[: index + 1]] == ["done"] * (index + 1)
    assert {states[stage] for stage in CHAIN[index + 1 :]} == {"stale"}
    assert states["bench/qemu-m4"] == "stale"
    assert shown["next_command"] == remedy


def test_calibrating_anew_makes_the_quantized_model_stale(workspace: Workspace) -> None:
    need(tensorflow=True)
    assert workspace.snap("calibrate", "--target", "0.5").code == 0
    message, hint = refused(workspace, ARTIFACT, "export-c")
    assert "stale: calibrate has changed since" in message
    assert hint == "Run: snap quantize"


# ---- Run directories that are not ours --------------------------------------


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        (None, "is not a run directory"),
        ("", "cannot be read"),
        ("hello", "cannot be read"),
        ("{}", "cannot be read"),
        ("[1, 2]", "cannot be read"),
        ('{"schema": 1, "stages": [1]}', "cannot be read"),
        ('{"schema": 1, "stages": {"train": 3}}', "cannot be read"),
        ('{"schema": 1, "stages": {"train": {"inputs": []}}}', "cannot be read"),
        ('{"schema": 1, "stages": {"train": {"inputs": [], "outputs": {}}}}', "cannot be read"),
        ('{"schema": 99, "stages": {}}', "has schema 99"),
    ],
)
def test_a_directory_that_is_not_ours(empty: Workspace, manifest: str | None, text: str) -> None:
    foreign = empty.runs / "holiday"
    foreign.mkdir(parents=True)
    (foreign / "photo.jpg").write_bytes(b"sea")
    if manifest is not None:
        (foreign / "run.json").write_text(manifest)
    for command in COMMANDS:
        assert text in refused(empty, ARTIFACT, command, "--run", str(foreign))[0]
    assert text in refused(empty, ARTIFACT, "show", "holiday")[0]


def test_a_manifest_that_was_cut_short(workspace: Workspace) -> None:
    truncate(workspace.run / "run.json")
    for command in (*COMMANDS, "show"):
        message, hint = refused(workspace, ARTIFACT, command)
        assert "run.json cannot be read" in message
        assert "snap train" in hint


def test_a_run_that_does_not_exist(workspace: Workspace) -> None:
    message, hint = refused(workspace, ARTIFACT, "bench", "--run", "digits-042")
    assert message == "there is no run directory digits-042"
    assert hint == f"List them: ls {workspace.runs}"


# ---- Names and values that mean nothing -------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "text", "remedy"),
    [
        (("train", "--dataset", "digit"), USAGE, "'digit'", "Did you mean digits?"),
        (("train", "--dataset", "cats"), USAGE, "'cats'", "digits"),
        (("train", "--backbone", "vgg"), USAGE, "'vgg'", "dscnn-digits"),
        (("train", "--taps", "M,block9"), USAGE, "'block9'", "Did you mean block"),
        (("train", "--taps", "stem"), USAGE, "'stem'", "Known: E, M"),
        (("train", "--taps", ","), USAGE, "no tap", "--taps"),
        (("train", "--taps", ""), USAGE, "no tap", "--taps"),
        (("train", "--mode", "both"), USAGE, "'both'", "joint, detach, posthoc"),
        (("train", "--head", "cauchy"), USAGE, "'cauchy'", "student-t"),
        (("train", "--ranks", "8,x"), USAGE, "--ranks 8,x", "32,64"),
        (("train", "--ranks", "8,8,8"), USAGE, "3 ranks for 2 taps", "one for all"),
        (("train", "--nu", "7"), USAGE, "train.nu is for --head student-t", "gaussian"),
        (("train", "--epochs", "0"), USAGE, "train.epochs is 0", "--mode posthoc"),
        (("train", "--seeds", "1,two"), USAGE, "--seeds 1,two", "13,17,23"),
        (("train", "--seeds", ""), USAGE, "--seeds", "13,17,23"),
        (("train", "--seeds", "1,2", "--seed", "3"), USAGE, "exclude each other", "one of them"),
        (("train", "--seeds", "1,-2"), USAGE, "train.seed is -2", "between"),
        (("train", "--dataset", "no/such/photos"), USAGE, "no/such/photos", "folder per class"),
        (("train", "--image-size", "9999"), USAGE, "train.image_size is 9999", "between"),
        (("train", "--channels", "2"), USAGE, "train.channels is 2", "1 (grey), 3 (colour)"),
        (("train", "--data-dir", "nowhere"), USAGE, "nowhere", "snap train --help"),
        (("train", "--augment", "sepia"), CONFIG, "'sepia'", "Known: affine, none"),
        (("train", "--epochs", "-1"), USAGE, "train.epochs is -1", "between"),
        (("train", "--epochs", "ten"), USAGE, "--epochs", "snap train --help"),
        (("train", "--learning-rate", "nan"), USAGE, "learning_rate", "between"),
        (("train", "--seed", "-1"), USAGE, "train.seed is -1", "between"),
        (("calibrate", "--map", "magic"), USAGE, "'magic'", "gated"),
        (("calibrate", "--threshold", "luck"), USAGE, "'luck'", "coverage"),
        (("calibrate", "--alpha", "2"), USAGE, "calibrate.alpha", "between 0 and 1"),
        (
            ("calibrate", "--threshold", "risk", "--target", "1"),
            USAGE,
            "of threshold risk, is 1.0",
            "between",
        ),
        (("calibrate", "--threshold", "budget", "--target", "0"), USAGE, "--target", "above 0"),
        (("calibrate", "--threshold", "f1", "--target", "0.3"), USAGE, "no target", "out"),
        (("calibrate", "--budget", "0.2"), USAGE, "--budget", "--controller"),
        (("calibrate", "--controller", "--eta", "0"), USAGE, "calibrate.eta", "between"),
        (("quantize", "--samples", "0"), USAGE, "quantize.samples", "between"),
        (("export-c", "--target", "qemu-m5"), USAGE, "'qemu-m5'", "Did you mean qemu-m"),
        (("flash", "--target", "toaster"), USAGE, "'toaster'", "Known: big-mcu"),
        (("bench", "--target", "toaster"), USAGE, "'toaster'", "Known: big-mcu"),
        (("bench", "--target", "small-mcu"), ARTIFACT, "is missing", "snap train"),
        (("eval", "--methods", "entropi"), USAGE, "'entropi'", "Did you mean entropy?"),
        (("eval", "--methods", "snap,al"), USAGE, "'al'", "all"),
        (("eval", "--on", "fpga"), USAGE, "'fpga'", "float, int8, device"),
        (("eval", "--on", "device"), ARTIFACT, "is missing", "snap train"),
        (("eval", "--on", "int8"), ARTIFACT, "is missing", "snap train"),
        (("eval",), ARTIFACT, "is missing", "snap train"),
        (("eval", "--replicates", "9"), USAGE, "eval.replicates is 9", "between"),
        (("eval", "--streams", "21"), USAGE, "eval.streams is 21", "between"),
        (("eval", "--limit", "-1"), USAGE, "eval.limit is -1", "between"),
        (("bench", "--inputs", "0"), USAGE, "bench.inputs is 0", "between"),
        (("bench", "--inputs"), USAGE, "--inputs", "--help"),
        (("flash", "--colour"), USAGE, "--colour", "snap flash --help"),
        (("fly",), USAGE, "'fly'", "snap --help"),
        (("show", "one", "two"), USAGE, "two", "snap show --help"),
        (("run",), USAGE, "recipe", "snap run --help"),
        (("run", "missing.toml"), CONFIG, "missing.toml", ".toml recipe"),
        (("run", "digits", "--set", "train"), CONFIG, "'train'", "stage.option=value"),
        (("run", "digits", "--set", "epochs=3"), CONFIG, "'epochs=3'", "stage.option=value"),
        (("run", "digits", "--set", "brain.size=3"), CONFIG, "[brain]", "Did you mean train?"),
        (("run", "digits", "--set", "train.epoch=3"), CONFIG, "train.epoch", "epochs?"),
        (("run", "digits", "--set", "train.epochs=few"), CONFIG, "'few'", "whole number"),
        (("run", "digits", "--set", "train.epochs=true"), CONFIG, "True", "whole number"),
        (("run", "digits", "--set", "train.taps=[1]"), CONFIG, "train.taps", "list of names"),
        (("run", "digits", "--set", "train.dataset=cats"), CONFIG, "'cats'", "digits"),
        (("run", "digits", "--set", "export-c.target=x"), CONFIG, "'x'", "Known: big-mcu"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_nonsense_on_the_command_line(
    empty: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    text: str,
    remedy: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments[0] in ("calibrate", "quantize", "export-c", "flash", "bench", "eval"):
        trained(empty.runs)
    before = empty.content()
    # --runs-dir from the environment: behind an option that lacks its value it would become it.
    monkeypatch.setenv("SNAP_RUNS_DIR", str(empty.runs))
    outcome = snap(*arguments)
    assert outcome.code == code, outcome.err
    message, hint = outcome.error()
    assert text in message
    assert remedy in hint
    assert empty.content() == before


def trained(runs: Path) -> None:
    """A run whose options can be read, and nothing else."""
    run = create_run(runs, "digits")
    run.make_latest()
    run.path("config.toml").write_text(dump_recipe(Recipe()))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[train\nepochs = 3", "is not TOML"),
        ("[kitchen]\nsink = 1", "[kitchen]"),
        ("train = 3", "'train' is not a table"),
        ("[train]\nepochs = 3.5", "train.epochs is 3.5"),
        ("[train]\nepochs = '3'", "train.epochs is '3'"),
        ("[train]\nlambda_ss = -1", "train.lambda_ss is -1"),
        ("[train]\ntaps = 'M'", "train.taps is 'M'"),
        ("[train]\nmode = 1", "train.mode is 1"),
        ("[bench]\nrepeat = 3", "bench.repeat"),
        ("[export_c]\ntarget = 'qemu-m4'", "[export_c]"),
        ("\xff\xfe", "not text"),
    ],
)
def test_recipes_that_cannot_work(
    empty: Workspace, tmp_path: Path, text: str, problem: str
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_bytes(text.encode("latin-1"))
    assert problem in refused(empty, CONFIG, "run", str(recipe))[0]
    assert not empty.runs.exists()


def test_a_model_that_does_not_fit_is_refused_before_any_compile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tiny(name: str) -> Target:
        return replace(load_target(name), flash_bytes=16_000, ram_bytes=6_000)

    monkeypatch.setattr("snapcli.stages.export_c.load_target", tiny)
    monkeypatch.setenv("PATH", "")
    message, hint = refused(workspace, CONFIG, "export-c")
    assert "B more flash than its 16,000 B and" in message
    assert "B more RAM than its 6,000 B" in message
    assert "larger target" in hint


# ---- The disk ---------------------------------------------------------------


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("command", "write"),
    [
        ("export-c", "pathlib.Path.write_text"),
        ("flash", "snapcli.stages.flash.write_json"),
        ("bench", "snapcli.runs.manifest.write_json"),
    ],
)
def test_no_space_left(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, command: str, write: str
) -> None:
    monkeypatch.setattr(write, full)
    options = ("--inputs", "2") if command == "bench" else ()
    message, hint = refused(workspace, ARTIFACT, command, *options)
    assert "No space left on device" in message
    assert "--runs-dir" in hint


@pytest.fixture
def small_disk(workspace: Workspace, tmp_path: Path) -> Iterator[Workspace]:
    """The run on a file system of its own that is full to the last byte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small file system")
    try:
        copied = workspace.copy(disk / "runs")
        # Until it says that there is no space left.
        with suppress(OSError), (disk / "filler").open("wb", 0) as filler:
            while True:
                filler.write(bytes(4096))
        yield copied
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(
    "command",
    [
        "export-c",
        "flash",
        "bench",
    ],
)
def test_a_disk_that_is_really_full(small_disk: Workspace, command: str) -> None:
    options = ("--inputs", "2") if command == "bench" else ()
    message, hint = refused(small_disk, ARTIFACT, command, *options)
    assert "No space left on device" in message
    assert "--runs-dir" in hint


def unprivileged(*arguments: str) -> Outcome:
    """`snap ARGUMENTS` as a process that file permissions hold back, whoever runs the tests."""
    command = [sys.executable, "-m", "snapcli", *arguments]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to give that up")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def read_only(workspace: Workspace) -> Iterator[Workspace]:
    folders = [p for p in (workspace.runs, *workspace.runs.rglob("*")) if p.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    yield workspace
    for folder in folders:
        folder.chmod(0o755)


def test_no_permission_to_write(read_only: Workspace) -> None:
    before = read_only.content()
    outcome = unprivileged("export-c", "--runs-dir", str(read_only.runs))
    assert outcome.code == ARTIFACT
    message, hint = outcome.error()
    assert "may not write" in message
    assert "permissions" in hint
    assert read_only.content() == before
    # Reading is not hurt.
    assert unprivileged("show", "--runs-dir", str(read_only.runs)).code == 0


def test_a_runs_folder_that_is_a_file(tmp_path: Path) -> None:
    need(tensorflow=True)
    (tmp_path / "runs").write_text("mine")
    outcome = Workspace(tmp_path / "runs").snap("train", "--epochs", "1")
    assert outcome.code == ARTIFACT
    assert "--runs-dir" in outcome.error()[1]
    assert (tmp_path / "runs").read_text() == "mine"


# ---- Missing tools ----------------------------------------------------------


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """only("gcc") leaves just these programs on the PATH."""

    def limit(*tools: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        for tool in tools:
            # A link would make the compiler look for its parts beside the link.
            (folder / tool).write_text(f'#!/bin/sh\nexec {shutil.which(tool)} "$@"\n')
            (folder / tool).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return limit


def test_no_compiler(workspace: Workspace, only: Callable[..., None]) -> None:
    only(toolchain.QEMU)
    message, hint = refused(workspace, TOOLCHAIN, "flash")
    assert toolchain.GCC in message
    assert "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi" in hint


def test_no_emulator(workspace: Workspace, only: Callable[..., None]) -> None:
    only(toolchain.GCC, toolchain.SIZE, toolchain.OBJCOPY, toolchain.OBJDUMP)
    for command in ("flash", "bench"):
        message, hint = refused(workspace, TOOLCHAIN, command)
        assert toolchain.QEMU in message
        assert "apt-get install qemu-system-arm" in hint
    # A board needs none.
    assert workspace.snap("export-c", "--target", "small-mcu").code == 0
    assert workspace.snap("flash", "--target", "small-mcu", "--build-only").code == 0


@pytest.mark.parametrize("package", ["tensorflow", "tf_keras"])
@pytest.mark.parametrize(
    "arguments", [("train",), ("calibrate",), ("quantize",), ("run", "digits"), ("demo",)]
)
def test_no_tensorflow(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    package: str,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message, hint = refused(workspace, TOOLCHAIN, *arguments)
    assert package in message
    assert "make setup" in hint


def test_the_rest_works_without_tensorflow(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("tensorflow", "tf_keras"):
        monkeypatch.setitem(sys.modules, package, None)
    for command in ("export-c", "flash", "show"):
        assert workspace.snap(command).code == 0
    assert workspace.snap("bench", "--inputs", "2").code == 0


# ---- Ports and devices ------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, but long for a thread on a busy machine; the data set is loaded once."""
    client = functools.partial(Client, timeout_s=1.0, work_timeout_s=1.0)
    monkeypatch.setattr("snapcli.measuring.firmware.Client", client)
    monkeypatch.setattr("snapcli.origin.origin.load_dataset", functools.cache(load_dataset))


@contextmanager
def fake_device(script: Callable[[Frame], bytes]) -> Iterator[str]:
    """The path of a port where a thread answers every frame with script(frame)."""
    master, slave = os.openpty()
    tty.setraw(slave)
    stop = threading.Event()

    def serve() -> None:
        decoder = Decoder()
        while not stop.is_set():
            if select.select([master], [], [], 0.01)[0]:
                for frame in decoder.feed(os.read(master, 65536)):
                    os.write(master, script(frame))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        stop.set()
        thread.join()
        os.close(master)
        os.close(slave)


def hello(frame: Frame, model_id: str, target: str = "qemu-m4") -> bytes:
    numbers = (4, 2, 256, 10, 2, 9, 1, 0, 1, 80_000_000, 5120, 0, 0, 0)
    fixed = struct.pack("<HHIHHHBBIIIIII16s", *numbers, model_id.encode())
    return encode(Frame(Type.HELLO | 0x80, frame.sequence, fixed + target.encode()))


def bench(workspace: Workspace, code: int, port: str) -> tuple[str, str]:
    return refused(workspace, code, "bench", "--port", port, "--inputs", "3")


def test_a_port_that_does_not_exist(workspace: Workspace, tmp_path: Path) -> None:
    message, hint = bench(workspace, DEVICE, str(tmp_path / "ttyACM0"))
    assert "ttyACM0 does not exist" in message
    assert "snap ports" in hint


def test_a_port_that_is_busy(workspace: Workspace) -> None:
    with fake_device(lambda frame: b"") as port, open_port(port):
        message, hint = bench(workspace, DEVICE, port)
    assert "busy" in message
    assert "Close that program" in hint


def test_a_port_that_may_not_be_opened(workspace: Workspace) -> None:
    with fake_device(lambda frame: b"") as port:
        os.chmod(port, 0)
        before = workspace.content()
        outcome = unprivileged("bench", "--port", port, "--runs-dir", str(workspace.runs))
    assert outcome.code == DEVICE
    message, hint = outcome.error()
    assert f"no permission to open the port {port}" in message
    assert "dialout" in hint
    assert workspace.content() == before


def test_a_file_is_no_port(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "port").write_text("")
    assert "is not a serial port" in bench(workspace, DEVICE, str(tmp_path / "port"))[0]


def half_way(frame: Frame, model_id: str) -> bytes:
    """Introduces itself, then stops in the middle of its first result."""
    if frame.type == Type.HELLO:
        return hello(frame, model_id)
    return encode(Frame(frame.type | 0x80, frame.sequence, bytes(42)))[:20]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        (lambda frame, model_id: b"", DEVICE, "does not answer"),
        (lambda frame, model_id: b"login: \r\n" * 9, DEVICE, "not in snap's protocol"),
        (lambda frame, model_id: hello(frame, model_id)[:-7], DEVICE, "in the middle"),
        (half_way, DEVICE, "in the middle of an answer"),
        (
            lambda frame, model_id: hello(frame, model_id)[:-1] + b"\x00",
            DEVICE,
            "arrive damaged",
        ),
        (
            lambda frame, model_id: encode(Frame(0x81, frame.sequence, b"\x04\x00")),
            DEVICE,
            "of the wrong form",
        ),
        (lambda frame, model_id: hello(frame, "0" * 16), CHECK, "holds model 0000"),
        (lambda frame, model_id: hello(frame, model_id, "toaster"), USAGE, "'toaster'"),
    ],
    ids=["silent", "garbage", "half hello", "half way", "damaged", "wrong form", "other", "alien"],
)
def test_a_device_that_does_not_do_its_part(
    workspace: Workspace, script: Callable[[Frame, str], bytes], code: int, text: str
) -> None:
    exported = json.loads((workspace.run / "export-c/qemu-m4/export.json").read_text())
    with fake_device(lambda frame: script(frame, exported["model_id"])) as port:
        message, hint = bench(workspace, code, port)
    assert text in message
    assert hint


@pytest.mark.usefixtures("impatient")
def test_a_device_for_another_target(workspace: Workspace) -> None:
    with fake_device(lambda frame: hello(frame, "0" * 16, "qemu-m7")) as port:
        arguments = ("bench", "--target", "qemu-m4", "--port", port, "--inputs", "3")
        message, hint = refused(workspace, CHECK, *arguments)
    assert "built for qemu-m7, not for qemu-m4" in message
    assert "--target qemu-m7" in hint
