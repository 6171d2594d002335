"""From a digit classifier to measured firmware: the six commands and what they leave."""

import json
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from snapcli.config import TrainOptions
from snapcli.data import load_dataset
from snapcli.device import Client, Inference
from snapcli.emit.packing import pack_pointwise
from snapcli.fixedpoint import ConvS8
from snapcli.monitor.monitor import load_monitor
from snapcli.pricing.memory import our_firmware
from snapcli.targets import load_target
from snapcli.toolchain import tool_version
from snapcli.versions import snap_commit
from tests.conftest import INPUTS, STAGES, Finished, Workspace

ARTIFACTS = (
    *("run.json", "config.toml"),
    *("train/model.keras", "train/heads.npz", "train/history.json"),
    *("calibrate/calibration.json", "calibrate/scores.npz"),
    *("quantize/model_int8.tflite", "quantize/heads_int8.npz"),
    *("quantize/calibration.json", "quantize/report.json"),
    *("export-c/qemu-m4/snap_model.h", "export-c/qemu-m4/snap_model.c"),
    *("export-c/qemu-m4/snap_heads.c", "export-c/qemu-m4/snap_luts.c"),
    *("export-c/qemu-m4/snap_golden.h", "build/qemu-m4/size.json"),
    *("build/qemu-m4/firmware.elf", "build/qemu-m4/firmware.bin", "build/qemu-m4/firmware.map"),
    "bench/qemu-m4-001.json",
)


def read(workspace: Workspace, name: str) -> Any:
    return json.loads((workspace.run / name).read_text())


# ---- Each stage, and what it leaves -----------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_works_alone_and_without_a_word_on_stderr(
    finished: Finished, stage: str
) -> None:
    outcome = finished.outcomes[stage]
    assert outcome.code == 0
    assert outcome.out
    assert outcome.err == ""  # no progress bar where stderr is not a terminal


@pytest.mark.parametrize("name", ARTIFACTS)
def test_the_run_directory_holds(finished: Finished, name: str) -> None:
    assert (finished.workspace.run / name).stat().st_size > 0


def test_nothing_else_stays_behind(finished: Finished) -> None:
    left = [p.name for p in finished.workspace.runs.rglob(".*")]
    assert set(left) == {".locks"}
    assert not (finished.workspace.run / "checkpoint.npz").exists()


def test_latest_points_to_the_run(finished: Finished) -> None:
    assert (finished.workspace.runs / "latest").readlink() == Path("digits-001")


def test_show_says_that_all_is_up_to_date(finished: Finished) -> None:
    report = finished.workspace.snap("show", "--json").json
    assert [s["stage"].partition("/")[0] for s in report["states"]] == list(STAGES)
    assert {s["detail"] for s in report["states"]} == {"up to date"}
    assert report["next_command"] is None
    shown = finished.workspace.snap("show").out
    assert shown.count(" done ") == len(STAGES)
    # Pooled never stands alone.
    for part in ("pooled", "per cell", "clean"):
        assert shown.count(f"AUROC of errors, {part}, ") == 2
    assert f"{INPUTS} of {INPUTS}" in shown


def test_the_manifest_knows_seed_versions_and_hashes(finished: Finished) -> None:
    manifest = read(finished.workspace, "run.json")
    assert manifest["schema"] == 1
    train = manifest["stages"]["train"]
    assert isinstance(train["seed"], int)
    assert {"python", "numpy", "tensorflow"} <= set(train["versions"])
    assert {"train/model.keras", "train/heads.npz", "config.toml"} <= set(train["outputs"])
    assert set(manifest["stages"]["quantize"]["inputs"]) == {"train", "calibrate"}


def test_the_manifest_knows_what_shaped_each_stage(finished: Finished) -> None:
    stages = read(finished.workspace, "run.json")["stages"]
    commit = (snap_commit() or "").removesuffix("-dirty")
    for record in stages.values():
        assert record["versions"]["snap-uq"] == version("snap-uq")
        assert record["versions"].get("commit", "").removesuffix("-dirty") == commit
    assert stages["train"]["tools"] == stages["quantize"]["tools"] == {}
    names = {"kernels", "arm-none-eabi-gcc", "qemu-system-arm"}
    cpu = " ".join(load_target("qemu-m4").cpu_flags)
    for stage in ("export-c", "flash", "bench"):
        tools = stages[f"{stage}/qemu-m4"]["tools"]
        assert set(tools) == (names if stage != "export-c" else names - {"qemu-system-arm"})
        assert tools["kernels"] == {"version": "snap", "flags": []}
        compiler = tools["arm-none-eabi-gcc"]
        assert compiler["version"] == tool_version("arm-none-eabi-gcc")
        assert compiler["flags"][0].startswith(f"{cpu} -std=c11 -O2")
        assert str(finished.workspace.runs) not in json.dumps(tools)
    # What bench times is what flash built.
    built, benched = (stages[f"{stage}/qemu-m4"]["tools"] for stage in ("flash", "bench"))
    assert built["arm-none-eabi-gcc"] == benched["arm-none-eabi-gcc"]
    assert any("--specs=nano.specs" in line for line in built["arm-none-eabi-gcc"]["flags"])
    assert benched["qemu-system-arm"]["version"] == tool_version("qemu-system-arm")
    assert "-icount shift=0" in benched["qemu-system-arm"]["flags"][0]


def test_train_reports_accuracy_and_the_surprisal_of_each_tap(finished: Finished) -> None:
    history = read(finished.workspace, "train/history.json")
    accuracy = history["report"]["test_accuracy"]
    assert 0.5 < accuracy <= 1
    assert f"{100 * accuracy:.1f} %" in finished.outcomes["train"].out
    assert set(history["report"]["mean_surprisal"]) == {"block2", "block4"}
    assert all(e > 0 for e in history["report"]["mean_surprisal"].values())
    losses = [epoch["loss"] for epoch in history["epochs"]]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("stage", "name", "part"),
    [
        ("calibrate", "calibrate/calibration.json", "report"),
        ("quantize", "quantize/report.json", ""),
    ],
)
def test_errors_and_foreign_inputs_are_judged(
    finished: Finished, stage: str, name: str, part: str
) -> None:
    report = read(finished.workspace, name)
    found = (report[part] if part else report)["detection"]
    for score in ("U", "S", "max-probability"):
        assert score in finished.outcomes[stage].out
        for kind in ("pooled", "per_cell", "clean"):
            assert 0 <= found["errors"][score][kind]["auroc"] <= 1
            assert 0 <= found["errors"][score][kind]["auprc"] <= 1
        for foreign in ("photos", "photos-matched", "letters"):
            assert 0 <= found["ood"][foreign][score]["auroc"] <= 1


def test_quantize_reports_the_drift(finished: Finished) -> None:
    drift = read(finished.workspace, "quantize/report.json")["drift"]
    assert abs(drift["float_accuracy"] - drift["int8_accuracy"]) < 0.05
    assert 0.9 < drift["spearman_clean"] <= 1
    assert 0.9 < drift["spearman_all"] <= 1
    assert 0.9 < drift["agreement"] <= 1


def test_bench_reports_what_was_measured(finished: Finished) -> None:
    report = finished.outcomes["bench"].json
    assert report["schema"] == 4
    assert report == read(finished.workspace, "bench/qemu-m4-001.json")
    assert report["bit_exact"] == report["inputs"] == INPUTS
    assert report["counter"] == "instructions"
    timing, plain = report["timing"], report["timing_without_heads"]
    assert timing["minimum"] <= timing["mean"] <= timing["maximum"]
    assert timing["deviation"] >= 0
    assert report["heads_overhead"] == pytest.approx(timing["mean"] / plain["mean"] - 1)
    assert report["heads_overhead"] > 0
    assert timing["minimum"] <= timing["percentiles"]["50"] <= timing["percentiles"]["99"]
    assert sum(timing["histogram"]["counts"]) == INPUTS
    assert report["count_per_mac"] == pytest.approx(timing["mean"] / report["macs"])
    # An emulator has neither time nor energy.
    assert report["timing_us"] is None
    assert report["energy"] is None
    stages = {stage["name"]: stage for stage in report["stages"]}
    # auto may have taken a map that reads distances.
    measured = load_monitor(finished.workspace.run / "quantize").body.distance is not None
    distance = {"distance"} if measured else set()
    assert set(stages) == {"backbone", "heads", "classifier", "map"} | distance
    assert sum(stage["share"] for stage in stages.values()) == pytest.approx(1)
    assert sum(step["macs"] for step in report["steps"]) == report["macs"]
    for name, stage in stages.items():
        mine = [step["mean"] for step in report["steps"] if step["stage"] == name]
        assert sum(mine) == pytest.approx(stage["mean"])
    kernels = report["kernels"]
    assert sum(kernel["calls"] for kernel in kernels) == len(report["steps"])
    assert sum(kernel["share"] for kernel in kernels) == pytest.approx(1)
    assert [kernel["mean"] for kernel in kernels] == sorted(k["mean"] for k in kernels)[::-1]
    # No kernel is quicker than its inner loop, and the digits' main ones come near to it.
    bounded = {k["name"]: k["times_bound"] for k in kernels if k["bound"]}
    assert {"snapnn_pointwise_s8", "snapnn_depthwise3x3_s8"} <= set(bounded)
    assert all(times > 1 for times in bounded.values())
    assert bounded["snapnn_pointwise_s8"] < 2
    # Probes cost a little, and what no step covers is a little too.
    assert sum(s["mean"] for s in stages.values()) == pytest.approx(timing["mean"], rel=0.01)
    stack = report["stack"]
    # What was used, frames and text, is less than any path can use, and not much less.
    bound = report["size"]["stack_bytes"]
    assert bound / 2 < stack["used_bytes"] <= bound <= stack["reserved_bytes"]
    unused = stack["reserved_bytes"] - stack["used_bytes"]
    assert report["ram_used_bytes"] == report["size"]["ram_bytes"] - unused


def test_sizes_come_from_the_image(finished: Finished) -> None:
    size = read(finished.workspace, "build/qemu-m4/size.json")
    bench = finished.outcomes["bench"].json
    binary = finished.workspace.run / "build/qemu-m4/firmware.bin"
    # The file holds everything in flash, with at most a few bytes to align it.
    assert 0 <= binary.stat().st_size - size["size"]["flash_bytes"] < 64
    assert size["size_without_heads"]["flash_bytes"] < size["size"]["flash_bytes"]
    for kind in ("size", "size_without_heads"):
        assert bench[kind] == size[kind]
        assert size[kind]["flash_bytes"] < bench["flash_limit_bytes"]
        assert size[kind]["ram_bytes"] < bench["ram_limit_bytes"]
        assert 0 < size[kind]["stack_bytes"] <= size["stack_limit_bytes"]
    assert size["stack_limit_bytes"] == load_target("qemu-m4").stack_bytes


def test_the_image_takes_no_more_than_the_export_has_promised(finished: Finished) -> None:
    exported = finished.outcomes["export-c"].json
    size = finished.outcomes["flash"].json["size"]
    graph = load_monitor(finished.workspace.run / "quantize").body.graph
    input_bytes = graph.tensors[graph.input].size_bytes
    around = our_firmware(input_bytes, golden_bytes=8 * input_bytes)
    assert size["flash_bytes"] <= exported["flash_bytes"] + around.flash_bytes
    stack = load_target(exported["target"]).stack_bytes
    assert size["ram_bytes"] <= exported["arena_bytes"] + stack + around.ram_bytes


# ---- Proof ------------------------------------------------------------------


def test_the_integer_reference_equals_tflite(finished: Finished) -> None:
    """Logits and tap tensors of the trained model, bit for bit."""
    folder = finished.workspace.run / "quantize"
    body = load_monitor(folder).body
    interpreter = Interpreter(
        str(folder / "model_int8.tflite"),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
    )
    interpreter.allocate_tensors()
    runner = interpreter.get_signature_runner()
    (argument,) = runner.get_input_details()
    dataset = load_dataset(TrainOptions())
    clean = dataset.test.x[:24]
    images = np.concatenate(
        [clean, *(dataset.corrupted(clean[:4], name, 5, seed=7) for name in dataset.corruptions)]
    )
    x = body.graph.tensors[body.graph.input].quantize(images)
    ours = body.graph.run(x, set(body.graph.outputs.values()))
    assert {"block1", "block2", "block3", "block4", "logits"} == set(body.graph.outputs)
    for i, image in enumerate(x):
        theirs = runner(**{argument: image[None]})
        for output, tensor in body.graph.outputs.items():
            np.testing.assert_array_equal(ours[tensor][i], theirs[output][0], f"{output} of {i}")


def test_the_same_input_gives_the_same_bytes_of_c(workspace: Workspace) -> None:
    before = workspace.content()
    shutil.rmtree(workspace.run / "export-c")
    assert workspace.snap("export-c").code == 0
    after = workspace.content()
    sources = [name for name in before if "/export-c/" in name]
    assert sources
    assert {name: after[name] for name in sources} == {name: before[name] for name in sources}
    # And so nothing that was built from them is stale.
    assert workspace.snap("show", "--json").json["next_command"] is None


def test_bench_sends_no_golden_vector(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []

    class Recorder(Client):
        def infer(self, data: bytes) -> Inference:
            sent.append(data)
            return super().infer(data)

    monkeypatch.setattr("snapcli.measuring.firmware.Client", Recorder)
    outcome = workspace.snap("bench", "--inputs", "30", "--warmup", "0")
    assert outcome.code == 0
    assert "30 of 30" in outcome.out
    assert len(set(sent)) > 25
    golden = golden_inputs((workspace.run / "export-c/qemu-m4/snap_golden.h").read_text())
    assert len(golden) >= 4
    assert {len(g) for g in golden} == {len(s) for s in sent}
    assert not set(golden) & set(sent)


def golden_inputs(header: str) -> list[bytes]:
    (body,) = re.findall(r"snap_golden_input\[.*?= \{\n(.*?)\};", header, re.DOTALL)
    rows = re.findall(r"\{(.*?)\}", body, re.DOTALL)
    return [bytes(int(v) & 255 for v in re.findall(r"-?\d+", row)) for row in rows]


def test_one_flipped_bit_of_a_weight_is_found(workspace: Workspace) -> None:
    layers = load_monitor(workspace.run / "quantize").body.graph.layers
    kernel = next(layer.kernel for layer in layers if layer.name == "block4")
    assert isinstance(kernel, ConvS8)
    packed = pack_pointwise(kernel)
    assert packed is not None
    weights = packed.matrix.words.tobytes()
    elf = workspace.run / "build/qemu-m4/firmware.elf"
    image = bytearray(elf.read_bytes())
    assert image.count(weights) == 1
    image[image.index(weights) + len(weights) // 2] ^= 0x80
    elf.write_bytes(image)
    before = workspace.content()
    outcome = workspace.snap("bench", "--inputs", str(INPUTS))
    assert outcome.code == 7
    message, hint = outcome.error()
    assert re.match(r"the image in the device is damaged: its CRC is [0-9a-f]{8}", message)
    assert "snap flash" in hint
    assert workspace.content() == before


def test_an_image_that_was_cut_short_is_no_mystery(workspace: Workspace) -> None:
    elf = workspace.run / "build/qemu-m4/firmware.elf"
    elf.write_bytes(elf.read_bytes()[: elf.stat().st_size // 2])
    before = workspace.content()
    outcome = workspace.snap("bench", "--inputs", "5")
    assert outcome.code == 4
    message, hint = outcome.error()
    assert "build/qemu-m4/firmware.elf was changed or cut short" in message
    assert hint == "Run: snap flash --target qemu-m4"
    assert workspace.content() == before
    # The command of the hint repairs it.
    assert workspace.snap("flash", "--target", "qemu-m4").code == 0
    assert workspace.snap("bench", "--inputs", "5").code == 0


# ---- Other targets ----------------------------------------------------------


def test_the_bigger_emulated_core(workspace: Workspace) -> None:
    for stage in ("export-c", "flash"):
        assert workspace.snap(stage, "--target", "qemu-m7").code == 0
    report = workspace.snap("bench", "--target", "qemu-m7", "--inputs", "10", "--json").json
    assert (report["target"], report["bit_exact"]) == ("qemu-m7", 10)
    assert (workspace.run / "bench/qemu-m7-001.json").is_file()


@pytest.mark.parametrize("target", ["small-mcu", "big-mcu"])
def test_boards_are_built_and_checked_for_size(workspace: Workspace, target: str) -> None:
    assert workspace.snap("export-c", "--target", target).code == 0
    outcome = workspace.snap("flash", "--target", target, "--build-only")
    assert outcome.code == 0
    assert "written to no board" in outcome.out
    report = read(workspace, f"build/{target}/size.json")
    assert report["booted"] is False
    assert 0 < report["size"]["flash_bytes"] < report["flash_limit_bytes"]
    assert 0 < report["size"]["ram_bytes"] < report["ram_limit_bytes"]
    assert 0 < report["size"]["stack_bytes"] < report["stack_limit_bytes"]
    assert "stack, at most" in outcome.out


def test_bench_numbers_its_reports(workspace: Workspace) -> None:
    first = (workspace.run / "bench/qemu-m4-001.json").read_bytes()
    assert workspace.snap("bench", "--inputs", "3").code == 0
    assert (workspace.run / "bench/qemu-m4-001.json").read_bytes() == first
    assert read(workspace, "bench/qemu-m4-002.json")["inputs"] == 3
