"""`snap export-c --model`: a folder that stands alone."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from snapcli.assets import asset_dir
from snapcli.graph import read_tflite
from snapcli.targets import load_target
from tests.conftest import Outcome, Workspace, need, snap
from tests.golden.random_models import random_model
from tests.unit.tiny_monitor import tiny_tflite

LICENCE = (Path(__file__).parents[2] / "LICENSE").read_text("utf-8")
(HOLDER,) = re.findall(r"^Copyright .*", LICENCE, re.MULTILINE)
BUILD_FILES = ("Makefile", "CMakeLists.txt")
STRICT = "-O2 -Wall -Wextra -Werror -Wmissing-prototypes"
SANITIZED = f"{STRICT} -g -fsanitize=address,undefined -fno-sanitize-recover=all"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_tflite())
    return path


def export(model: Path, *arguments: str) -> Outcome:
    outcome = snap("export-c", "--model", str(model), *arguments)
    assert outcome.code == 0, outcome.err
    return outcome


def call(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(model: Path, tmp_path: Path) -> Path:
    export(model, "--target", "small-mcu", "--out", str(tmp_path / "tiny_c"))
    # Elsewhere: nothing may lead back to where it was made.
    return Path(shutil.move(tmp_path / "tiny_c", tmp_path / "mine"))


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_it_builds_and_runs_on_this_machine_as_it_stands(folder: Path) -> None:
    need(host=True)
    out = call("make", "--no-print-directory", f"CFLAGS={SANITIZED}", cwd=folder)
    assert out.splitlines()[-1] == "equals the reference"
    # The example prints what the integer reference computes for its made-up input.
    graph = read_tflite(tiny_tflite())
    state, values = 1, []
    for _ in range(9 * 8 * 3):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(state >> 24)
    x = np.array(values, np.uint8).view(np.int8).reshape(1, 9, 8, 3)
    logits = graph.run(x, {"logits"})["logits"][0]
    assert f"output_logits: {' '.join(map(str, logits))}" in out


@pytest.mark.parametrize("seed", [0, 3, 9])
def test_any_model_builds_and_runs(seed: int, tmp_path: Path) -> None:
    """Several inputs and outputs, float ends: each has its own function and check."""
    need(host=True)
    path = tmp_path / "random.tflite"
    path.write_bytes(random_model(seed, 12))
    export(path, "--out", str(tmp_path / "out"))
    graph = read_tflite(path.read_bytes())
    header = (tmp_path / "out" / "snap_model.h").read_text()
    assert header.count("*snap_model_input") == len(graph.inputs)
    assert header.count("*snap_model_output") == len(set(graph.outputs.values()))
    out = call("make", "--no-print-directory", "-j2", f"CFLAGS={SANITIZED}", cwd=tmp_path / "out")
    assert out.splitlines()[-1] == "equals the reference"


def test_those_models_have_several_ends_and_floats() -> None:
    for end in ("inputs", "outputs"):
        kinds = [
            [graph.tensors[graph.outputs.get(name, name)].dtype for name in getattr(graph, end)]
            for graph in (read_tflite(random_model(seed, 12)) for seed in (0, 3, 9))
        ]
        assert max(map(len, kinds)) > 1
        assert any("float32" in kind for kind in kinds)


def test_the_example_notices_a_wrong_kernel(folder: Path) -> None:
    need(host=True)
    kernel = folder / "kernels" / "snapnn_quads.c"
    kernel.write_text(kernel.read_text().replace("int32_t sum = ", "int32_t sum = 999 + "))
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode != 0
    assert "differs from the reference" in done.stdout


def test_it_builds_for_the_target_as_it_stands(folder: Path) -> None:
    need(compiler=True)
    out = call("make", "--no-print-directory", "target", f"CFLAGS={STRICT}", cwd=folder)
    assert "snap_example.elf" in out.splitlines()[-1]


def test_it_builds_with_cmake(folder: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    call("cmake", "-S", ".", "-B", "out", cwd=folder)
    call("cmake", "--build", "out", cwd=folder)
    assert call(str(folder / "out" / "example")).splitlines()[-1] == "equals the reference"


def test_the_header_is_the_whole_face_also_for_cpp(folder: Path, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    user = tmp_path / "user.cpp"
    user.write_text(
        '#include "snap_model.h"\n'
        "alignas(SNAP_MODEL_ARENA_ALIGN) static uint8_t arena[SNAP_MODEL_ARENA_BYTES];\n"
        "int main() { *snap_model_input(arena) = 1; snap_model_run(arena);\n"
        "return *snap_model_output_logits(arena); }\n"
    )
    # Only the public header is on the include path.
    shutil.copy(folder / "snap_model.h", tmp_path / "snap_model.h")
    call("g++", "-Wall", "-Wextra", "-Werror", "-c", str(user), "-o", str(tmp_path / "user.o"))


def test_it_holds_the_kernels_it_needs_and_no_others(folder: Path) -> None:
    kernels = {p.name for p in (folder / "kernels").iterdir()}
    layers = {"conv", "pointwise", "depthwise3x3", "mean", "fully_connected"}
    loops = {"positions", "tile", "row", "row_conv", "dot4", "quads"}
    shared = {f"snapnn_{name}.h" for name in ("positions", "tile", "row", "dot4", "quads")}
    shared |= {f"snapnn_{name}.h" for name in ("columns", "rows", "scale")}
    headers = {"snapnn.h", "snapuq.h", "snapuq_arith.h", "snapuq_lanes.h", "snapuq_simd.h"}
    assert kernels == {
        *(f"snapnn_{name}_s8.c" for name in layers),
        *(f"snapnn_{name}.c" for name in loops),
        *("snapuq_requantize.c", *shared, *headers),
    }


def unnoticed(folder: Path) -> list[str]:
    """Files of ours that do not begin with the words of our licence."""
    notice = re.compile(
        rf"(/\*|#) {re.escape(HOLDER)}\n( \*|#) SPDX-License-Identifier: MIT( \*/)?\n"
    )
    ours = [p for p in folder.rglob("*") if "kernels/cmsis-nn" not in str(p)]
    code = [p for p in ours if p.suffix in (".c", ".h", ".cc") or p.name in BUILD_FILES]
    assert len(code) > 4
    return [p.name for p in code if not notice.match(p.read_text())]


def test_the_licence_travels_with_every_file(folder: Path, workspace: Workspace) -> None:
    assert (folder / "LICENSE").read_text() == LICENCE
    assert unnoticed(folder) == []
    exported = workspace.run / "export-c" / "qemu-m4"
    assert (exported / "LICENSE").read_text() == LICENCE
    assert unnoticed(exported) == []
    assert unnoticed(workspace.run / "build" / "qemu-m4") == []
    assert workspace.snap("export-c", "--runtime", "tflm").code == 0
    exported = workspace.run / "export-tflm" / "qemu-m4"
    assert (exported / "LICENSE").read_text() == LICENCE
    assert unnoticed(exported) == []


def test_every_c_file_of_the_firmware_has_the_notice() -> None:
    assert unnoticed(asset_dir("firmware")) == []


def test_the_readme_says_flash_ram_and_work_of_every_layer(folder: Path) -> None:
    readme = (folder / "README.md").read_text()
    report = json.loads((folder / "export.json").read_text())
    for layer in report["layers"]:
        shape = "x".join(map(str, layer["shape"]))
        row = f"| {layer['name']} | {layer['operator']} | {shape} | {layer['macs']:,} |"
        assert row in readme
        assert f"| {layer['kernel']} |" in readme
    assert f"| flash | {report['flash_bytes']:,} B" in readme
    assert f"| RAM | {report['arena_bytes']:,} B" in readme
    assert f"| multiply-accumulates | {report['macs']:,} |" in readme
    (code,) = re.findall(r"```c\n(.*?)```", readme, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 6
    assert "snap_model_run(arena);" in code


def test_the_measured_flash_is_what_the_compiler_makes(folder: Path) -> None:
    need(compiler=True)
    report = json.loads((folder / "export.json").read_text())
    assert report["flash_measured"]
    assert report["constant_bytes"] < report["flash_bytes"] < report["constant_bytes"] + 8192


def test_without_a_compiler_the_flash_is_an_estimate(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    outcome = export(model, "--out", str(tmp_path / "out"))
    assert "flash, estimated" in outcome.out
    assert "an estimate of the code" in (tmp_path / "out" / "README.md").read_text()


def test_the_same_model_gives_the_same_bytes_over_the_old_ones(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(model, "--out", str(out))
    first = content(out)
    (out / "kernels" / "snapnn_tile.c").write_text("int broken;")
    export(model, "--out", str(out))
    assert content(out) == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "tiny.tflite"]


def test_what_somebody_added_to_an_export_stays(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(model, "--out", str(out))
    (out / "notes.txt").write_text("mine")
    (out / "example" / "other.c").write_text("int mine;")
    (out / "kernels" / "snapuq_softmax_s8.c").write_text("not needed any more")
    listed = json.loads((out / "export.json").read_text())
    listed["files"].append("kernels/snapuq_softmax_s8.c")
    (out / "export.json").write_text(json.dumps(listed))
    export(model, "--out", str(out))
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "example" / "other.c").read_text() == "int mine;"
    # What an earlier export wrote and this one does not is gone.
    assert not (out / "kernels" / "snapuq_softmax_s8.c").exists()


def test_a_link_to_a_folder_stays_one(model: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    export(model, "--out", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "snap_model.c").is_file()


def test_the_folder_has_a_name_by_itself(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export(Path("tiny.tflite"))
    assert (tmp_path / "tiny_c" / "snap_model.c").is_file()


def test_a_folder_that_is_not_ours_is_left_alone(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "precious"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    outcome = snap("export-c", "--model", str(model), "--out", str(out))
    assert outcome.code == 3
    message, hint = outcome.error()
    assert message == f"{out} exists and is not a folder that export-c wrote"
    assert "--out" in hint
    assert content(out) == {"thesis.txt": b"years of work"}


def test_a_model_that_does_not_fit_leaves_the_old_export(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    export(model, "--out", str(out))
    before = content(out)
    monkeypatch.setattr("snapcli.stages.export_c.compiled_flash", lambda *given: (300_000, True))
    outcome = snap("export-c", "--model", str(model), "--target", "small-mcu", "--out", str(out))
    assert outcome.code == 3
    limit = load_target("small-mcu").flash_bytes
    assert f"more flash than its {limit:,} B" in outcome.error()[0]
    assert content(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "tiny.tflite"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--model", "gone.tflite"), 4, "cannot read gone.tflite: no such file or directory"),
        (("--model", "."), 4, "cannot read .: is a directory"),
        (("--out", "x"), 2, "--out goes with --model"),
        (("--model", "tiny.tflite", "--cmsis-nn", "x"), 2, "--cmsis-nn goes with --kernels"),
        (("--model", "tiny.tflite", "--out", "/proc/x/y"), 4, "cannot write /proc/x"),
        (("--model", "tiny.tflite", "--kernels", "fast"), 2, "export-c.kernels is 'fast'"),
        (("--model", "tiny.tflite", "--target", "mega"), 2, "unknown target 'mega'"),
        (("--model", "tiny.tflite", "--run", "r"), 2, "--model and --run are two different"),
    ],
)
def test_wrong_words_are_told(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = snap("export-c", *arguments)
    assert outcome.code == code
    assert outcome.error()[0].startswith(message)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tiny.tflite"]


def test_explain_draws_the_arena_and_names_the_peak(model: Path, tmp_path: Path) -> None:
    out = export(model, "--out", str(tmp_path / "out"), "--explain").out
    drawn = out.partition("The arena of ")[2]
    for name in ("(input)", "stem CONV_2D", "spatial DEPTHWISE_CONV_2D", "(output)"):
        assert name in drawn
    (peak,) = re.findall(r"^Peak at (.*): (.*)$", drawn, re.MULTILINE)
    assert re.search(r"\w+ [\d,]+ B at [\d,]+ \(written\)", peak[1])


# ---- Kernel sets ----------------------------------------------------------------------------


def test_a_run_with_arms_kernels_is_bit_exact_and_slower_than_ours(
    workspace: Workspace, cmsis_nn: Path
) -> None:
    before = json.loads((workspace.run / "bench" / "qemu-m4-001.json").read_text())
    for command in (("export-c", "--kernels", "cmsis-nn"), ("flash",), ("bench", "--inputs", "20")):
        outcome = workspace.snap(*command, "--json")
        assert outcome.code == 0, outcome.err
    after = outcome.json
    assert after["bit_exact"] == 20
    assert before["timing"]["mean"] < 0.8 * after["timing"]["mean"]
    model = (workspace.run / "export-c" / "qemu-m4" / "snap_model.c").read_text()
    assert "arm_convolve_1x1_s8_fast(" in model
    assert "arm_snap_residual_s8(" in model


def test_arms_kernels_are_the_needed_ones_with_their_licence(
    model: Path, tmp_path: Path, cmsis_nn: Path
) -> None:
    need(host=True)
    out = tmp_path / "arm"
    export(model, "--kernels", "cmsis-nn", "--out", str(out))
    folder = out / "kernels" / "cmsis-nn"
    assert "Apache License" in (folder / "LICENSE.txt").read_text()
    names = {path.name for path in folder.rglob("*.c")}
    assert {"arm_convolve_s8.c", "arm_depthwise_conv_3x3_s8.c"} <= names
    assert not names & {"arm_convolve_wrapper_s8.c", "arm_softmax_s8.c", "arm_avgpool_s8.c"}
    assert call("make", "--no-print-directory", cwd=out).splitlines()[-1] == "equals the reference"


def test_a_copy_of_ones_own_is_taken_or_explained(
    model: Path, tmp_path: Path, cmsis_nn: Path
) -> None:
    own = tmp_path / "own"
    shutil.copytree(cmsis_nn, own)
    words = ("export-c", "--model", str(model), "--kernels", "cmsis-nn", "--cmsis-nn", str(own))
    assert snap(*words, "--out", str(tmp_path / "out")).code == 0
    next(own.rglob("arm_convolve_s8.c")).unlink()
    outcome = snap(*words, "--out", str(tmp_path / "other"))
    assert outcome.code == 4
    assert outcome.error()[0] == "this CMSIS-NN has no arm_convolve_s8"
    shutil.rmtree(own / "Include")
    outcome = snap(*words, "--out", str(tmp_path / "other"))
    assert outcome.code == 2
    assert "is not a CMSIS-NN source tree" in outcome.error()[0]
    assert not (tmp_path / "other").exists()


def test_explain_also_shows_what_does_not_fit(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snapcli.stages.export_c.compiled_flash", lambda *given: (300_000, True))
    words = ("--model", str(model), "--target", "small-mcu", "--out", str(tmp_path / "out"))
    outcome = snap("export-c", *words, "--explain")
    assert outcome.code == 3
    assert "Peak at " in outcome.out
    assert "--explain" in outcome.error()[1]
