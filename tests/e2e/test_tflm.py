"""`snap export-c --runtime tflm`: TFLite-Micro's own tensors through the exported monitor.

TFLite-Micro's FULLY_CONNECTED rounds twice where TFLite's reference rounds once, so its logits may
be a step off. What the monitor makes of tensors is compared with the reference on the same
tensors, bit for bit; where these are the reference's own, so is the whole answer.
"""

import os
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from snapcli import toolchain
from snapcli.config import MEAN, Recipe, dump_recipe
from snapcli.emit.tflm import OutputRow, emit_tflm
from snapcli.emit.tflm_folder import resolver_methods
from snapcli.errors import ArtifactError, ConfigError
from snapcli.fixedpoint import Budget
from snapcli.graph import read_tflite
from snapcli.graph.extra_outputs import outputs_of, with_outputs
from snapcli.graph.foreign import classifier
from snapcli.graph.schema import OPERATORS
from snapcli.heads.quantize import quantize_head
from snapcli.monitor.body import MODEL_FILE, Body, TapTensors, save_body
from snapcli.monitor.decision import decision_to_dict, plain_decision
from snapcli.monitor.monitor import CALIBRATION_FILE, DeviceScores, Monitor
from snapcli.monitor.pooled import Pooled, pooled_sums
from snapcli.origin.origin import origin_of
from snapcli.runs import Run, create_run, open_run, write_json
from snapcli.stages.export_tflm import TflmReport, export_tflm, write_tflm
from snapcli.stored import read_json
from snapcli.targets import load_target
from tests.conftest import Workspace, need, snap
from tests.unit.tiny_foreign import foreign_tflite
from tests.unit.tiny_monitor import (
    HEADS,
    MAPS,
    TAPS,
    random_head,
    random_inputs,
    tiny_body,
    tiny_monitor,
    tiny_tflite,
)

HERE = Path(__file__).parent / "tflm"
MODELS = Path(__file__).parents[2].parent / "shared" / "models"
STRICT = ("-O1", "-g", "-Wall", "-Wextra", "-Werror")
SANITIZED = (*STRICT, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
C = ("-std=c11", "-Wmissing-prototypes")
CPP = ("-std=c++11", "-fno-exceptions", "-fno-rtti")
ARM_CPP = "arm-none-eabi-g++"
INPUTS = 64

Tensors = dict[str, NDArray[np.int8]]


@dataclass(frozen=True)
class Exported:
    """A monitor on a model, and the folder it became."""

    report: TflmReport
    monitor: Monitor
    content: bytes

    @property
    def folder(self) -> Path:
        return Path(self.report.folder)


def export(monitor: Monitor, content: bytes, folder: Path, target: str = "qemu-m4") -> Exported:
    out = folder / "exported"
    out.mkdir()
    report = write_tflm(out, str(out), "tiny", monitor, content, load_target(target))
    return Exported(report, monitor, content)


def run_of(monitor: Monitor, content: bytes, runs: Path) -> Run:
    """A run that was quantized, with nothing in front of that."""
    run = create_run(runs, "tiny")
    run.make_latest()
    run.path("config.toml").write_text(dump_recipe(Recipe()))
    with run.write("quantize", after=()) as out:
        save_body(monitor.body, content, out)
        write_json(out / CALIBRATION_FILE, {"device": decision_to_dict(monitor.decision)})
    return run


def foreign_monitor() -> tuple[Monitor, bytes]:
    """The tiny model as others convert theirs: it gives probabilities and nothing else."""
    graph = classifier(read_tflite(foreign_tflite()))
    names = [layer.target for layer in graph.layers]
    taps = (TapTensors(names[0], names[1]), TapTensors(names[1], names[2]))
    body = Body(graph, taps, tiny_body().heads)
    return Monitor(body, tiny_monitor().decision), foreign_tflite()


# ---- What TFLite-Micro computes --------------------------------------------------


def run_micro(content: bytes, x: NDArray[np.int8], arena: int | None = None) -> list[NDArray]:
    """Every output of the file, in its order, [n, ...] each."""
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
    interpreter = runtime.Interpreter.from_bytes(content, arena_size=arena)
    found: list[list[NDArray]] = [[] for _ in outputs_of(content)]
    for sample in x:
        interpreter.set_input(sample[np.newaxis], 0)
        interpreter.invoke()
        for k, values in enumerate(found):
            values.append(interpreter.get_output(k)[0])
    return [np.stack(values) for values in found]


def flatbuffer_of(folder: Path) -> bytes:
    """The bytes in the exported C array."""
    text = (folder / "snap_flatbuffer.c").read_text()
    assert "_Alignas(16) const uint8_t snap_model_flatbuffer[" in text
    return bytes(int(n) for n in re.findall(r"\d+", text[text.index("{") :]))


def run_adapter(folder: Path, tensors: list[NDArray], build: Path) -> NDArray[np.int64]:
    """A row per sample: class, S, U, F, both decisions, surprisals, logits."""
    for tool in (toolchain.CC, "g++"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    build.mkdir()
    includes = [f"-I{folder}", f"-I{folder / 'kernels'}"]
    sources = [p for p in folder.rglob("*.c") if p.name != "snap_flatbuffer.c"]
    call(toolchain.CC, *SANITIZED, *C, *includes, "-c", *map(str, sources), cwd=build)
    objects = [str(p) for p in sorted(build.glob("*.o"))]
    driver = [str(HERE / "driver.cc"), *objects, "-o", "driver"]
    call("g++", *SANITIZED, *CPP, *includes, *driver, cwd=build)
    flat = [np.ascontiguousarray(t).reshape(len(t), -1) for t in tensors]
    given = struct.pack("<2I", len(flat), len(flat[0]))
    given += b"".join(struct.pack("<I", t[0].nbytes) for t in flat)
    given += b"".join(t[k].tobytes() for k in range(len(flat[0])) for t in flat)
    done = subprocess.run([str(build / "driver")], input=given, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()
    return np.array([line.split() for line in done.stdout.decode().splitlines()], np.int64)


def call(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def table(scores: DeviceScores) -> NDArray[np.int64]:
    """As run_adapter answers."""
    measures = (scores.score_q16, scores.uncertainty_q16, scores.foreign_q16)
    columns = (scores.predicted, *measures, scores.abstain, scores.foreign)
    parts = [np.stack(columns, axis=1), scores.surprisal_q16, scores.logits]
    return np.concatenate([np.asarray(p, np.int64) for p in parts], axis=1)


def reference_on(monitor: Monitor, tensors: Tensors) -> DeviceScores:
    """The integer reference, fed with these tensors in place of its own."""
    body = monitor.body
    sums = {
        name: pooled_sums(body.graph.tensors[name], tensors[name], body.statistics)
        for name in body.tapped
    }
    return monitor.decide(body.score(Pooled(sums, tensors[body.logits_tensor])))


def assert_equal_bit_for_bit(exported: Exported, x: NDArray[np.int8], build: Path) -> float:
    """The share of inputs whose tensors are the reference's own."""
    monitor, graph = exported.monitor, exported.monitor.body.graph
    patched = flatbuffer_of(exported.folder)
    assert patched == with_outputs(exported.content, outputs_of(patched))
    given = run_micro(patched, x)
    tensors = {
        row.name: given[row.output].reshape(len(x), *graph.tensors[row.name].shape)
        for row in exported.report.outputs
    }
    answers = run_adapter(exported.folder, given, build)
    np.testing.assert_array_equal(answers, table(reference_on(monitor, tensors)))
    own = graph.run(x, set(tensors))
    same = np.all(
        [(own[n] == t).reshape(len(x), -1).all(axis=1) for n, t in tensors.items()], axis=0
    )
    np.testing.assert_array_equal(answers[same], table(monitor.run(x))[same])
    # What the model itself gave before is what it gives now.
    for before, after in zip(run_micro(exported.content, x), given, strict=False):
        np.testing.assert_array_equal(before, after)
    return float(same.mean())


CASES = [*((kind, "gaussian") for kind in MAPS), *(("gated", head) for head in HEADS[1:])]


@pytest.mark.parametrize(("kind", "head"), CASES)
def test_s_u_class_and_decision_are_equal_bit_for_bit(kind: str, head: str, tmp_path: Path) -> None:
    exported = export(tiny_monitor(kind, head), tiny_tflite(), tmp_path)
    x = random_inputs(INPUTS, seed=5)
    same = assert_equal_bit_for_bit(exported, x, tmp_path / "build")
    assert same > 0.9
    # Not by chance: both decisions and many values of U occur.
    answer = exported.monitor.run(x)
    assert len(np.unique(answer.uncertainty_q16)) > 3
    assert len(np.unique(answer.abstain)) == 2


def test_a_model_whose_answer_is_its_softmax(tmp_path: Path) -> None:
    monitor, content = foreign_monitor()
    exported = export(monitor, content, tmp_path)
    assert [row.added for row in exported.report.outputs] == [True] * 4
    assert [row.output for row in exported.report.outputs] == [1, 2, 3, 4]
    same = assert_equal_bit_for_bit(exported, random_inputs(INPUTS, seed=6), tmp_path / "build")
    assert same > 0.9
    assert "resolver.AddSoftmax();" in (exported.folder / "example.cc").read_text()


def export_run(workspace: Workspace) -> tuple[Exported, NDArray[np.int8]]:
    """By the command, and test inputs of the run."""
    outcome = workspace.snap("export-c", "--runtime", "tflm", "--json")
    assert outcome.code == 0, outcome.err
    run = open_run(None, workspace.runs)
    found, dataset = origin_of(run).deployed(), origin_of(run).dataset()
    graph = found.monitor.body.graph
    x = graph.tensors[graph.input].quantize(dataset.front_end(dataset.test.x[:INPUTS]))
    rows = tuple(OutputRow(**row) for row in outcome.json["outputs"])
    report = TflmReport(**{**outcome.json, "outputs": rows})
    return Exported(report, found.monitor, (found.folder / MODEL_FILE).read_bytes()), x


def test_a_trained_run(workspace: Workspace, tmp_path: Path) -> None:
    exported, x = export_run(workspace)
    assert assert_equal_bit_for_bit(exported, x, tmp_path / "build") > 0.5


def test_an_attached_run(tmp_path: Path) -> None:
    (tmp_path / "tiny.tflite").write_bytes(foreign_tflite())
    np.savez(tmp_path / "inputs.npz", x=random_inputs(400, seed=1))
    workspace = Workspace(tmp_path / "runs")
    given = (str(tmp_path / "tiny.tflite"), "--data", str(tmp_path / "inputs.npz"))
    assert workspace.snap("attach", *given).code == 0
    exported, x = export_run(workspace)
    assert exported.content == foreign_tflite()
    assert assert_equal_bit_for_bit(exported, x, tmp_path / "build") > 0.9


# ---- MLPerf's keyword model ------------------------------------------------------


@pytest.fixture
def keywords() -> bytes:
    path = MODELS / "kws_ref_model.tflite"
    if not path.is_file():
        pytest.skip("the reference models are not part of the project")
    return path.read_bytes()


def keyword_inputs(count: int) -> NDArray[np.int8]:
    path = MODELS / "kws01_500.npz"
    if not path.is_file():
        pytest.skip("the reference models are not part of the project")
    with np.load(path) as arrays:
        return np.asarray(arrays["x"][:count].reshape(-1, 49, 10, 1), np.int8)


def keyword_monitor(content: bytes, x: NDArray[np.int8]) -> Monitor:
    """Heads of random weights on two blocks."""
    graph = read_tflite(content)
    graph = replace(graph, outputs={"logits": "dense"})
    pairs = (("activation", "activation_2"), ("activation_6", "activation_8"))
    taps = tuple(TapTensors(*pair) for pair in pairs)
    found = graph.run(x, {name for pair in pairs for name in pair})
    sums = {n: pooled_sums(graph.tensors[n], values, MEAN) for n, values in found.items()}
    heads = []
    for tap in taps:
        before, after = graph.tensors[tap.before], graph.tensors[tap.after]
        real = random_head(before, after, sums, 8)
        heads.append(quantize_head(real, before, after, sums[tap.before]))
    return Monitor(Body(graph, taps, tuple(heads)), plain_decision(len(taps)))


def test_the_keyword_model_gives_the_tensors_of_litert(keywords: bytes) -> None:
    """Every block, by others' kernels on both sides; FULLY_CONNECTED to a step."""
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    x, graph = keyword_inputs(12), read_tflite(keywords)
    blocks = [layer.target for layer in graph.layers if layer.operator != "SOFTMAX"]
    indices = [index for name in blocks if (index := graph.tensors[name].index) is not None]
    assert len(indices) == len(blocks) == 11
    patched = with_outputs(keywords, indices)
    micro = run_micro(patched, x)
    reference = litert.Interpreter(
        model_content=keywords,
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    reference.allocate_tensors()
    given = reference.get_input_details()[0]
    for k, sample in enumerate(x):
        reference.set_tensor(given["index"], sample.reshape(given["shape"]))
        reference.invoke()
        for place, (name, index) in enumerate(zip(blocks, indices, strict=True), start=1):
            got = micro[place][k].astype(int)
            want = reference.get_tensor(index).reshape(got.shape)
            assert np.abs(got - want).max() <= (1 if name == "dense" else 0), name


def test_the_keyword_model_with_a_monitor(keywords: bytes, tmp_path: Path) -> None:
    x = keyword_inputs(200)
    exported = export(keyword_monitor(keywords, x), keywords, tmp_path)
    same = assert_equal_bit_for_bit(exported, x[:50], tmp_path / "build")
    assert same > 0.5


# ---- What it costs ---------------------------------------------------------------


def arena_head(content: bytes) -> int:
    """Bytes of all tensors in TFLite-Micro's arena, as its own recorder prints them."""
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
    interpreter = runtime.Interpreter.from_bytes(content)
    interpreter.invoke()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            interpreter.print_allocations()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        text = file.read().decode()
    return int(re.findall(r"Arena allocation head (\d+) bytes", text)[0])


@pytest.mark.parametrize("model", ["tiny", "keywords"])
def test_the_arena_grows_as_the_report_says(
    model: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if model == "tiny":
        monitor, content = foreign_monitor()
    else:
        content = request.getfixturevalue("keywords")
        monitor = keyword_monitor(content, keyword_inputs(100))
    exported = export(monitor, content, tmp_path)
    report, patched = exported.report, flatbuffer_of(exported.folder)
    before, after = arena_head(content), arena_head(patched)
    assert report.live_bytes - report.plain_live_bytes <= after - before <= report.kept_bytes
    assert report.live_bytes <= after
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    run_micro(patched, np.zeros((1, *tensor.shape), np.int8), report.first_arena_bytes)


@pytest.mark.parametrize("limit", ["flash_bytes", "ram_bytes"])
def test_what_cannot_fit_is_refused(limit: str, tmp_path: Path) -> None:
    """Flatbuffer and monitor; the tensors that are alive at once, scratch and stack."""
    monitor, content = foreign_monitor()
    target = load_target("small-mcu")
    report = export(monitor, content, tmp_path, target.name).report
    needs = {
        "flash_bytes": report.flatbuffer_bytes + report.flash_bytes,
        "ram_bytes": report.live_bytes + report.scratch_bytes + target.stack_bytes,
    }
    out = tmp_path / "again"
    out.mkdir()
    exact = replace(target, **{limit: needs[limit]})
    write_tflm(out, str(out), "tiny", monitor, content, exact)
    short = replace(target, **{limit: needs[limit] - 1})
    with pytest.raises(ConfigError, match="1 B more") as refused:
        write_tflm(out, str(out), "tiny", monitor, content, short)
    assert "fewer taps" in str(refused.value.hint)


# ---- The folder ------------------------------------------------------------------


@pytest.fixture
def exported(tmp_path: Path) -> Exported:
    return export(tiny_monitor(), tiny_tflite(), tmp_path)


def test_the_adapter_is_short(exported: Exported) -> None:
    text = (exported.folder / "snap_tflm.h").read_text()
    assert text == (toolchain.firmware_dir() / "tflm" / "snap_tflm.h").read_text()
    assert len(text.splitlines()) <= 100


def test_it_holds_what_the_monitor_needs_and_no_layers(exported: Exported) -> None:
    names = {str(p.relative_to(exported.folder)) for p in exported.folder.rglob("*") if p.is_file()}
    generated = {
        f"snap_{part}.c" for part in ("flatbuffer", "monitor", "heads", "luts", "settings")
    }
    headers = {f"snap_{part}.h" for part in ("flatbuffer", "monitor", "parts", "tflm")}
    beside = {"example.cc", "README.md", "LICENSE", "export.json"}
    kernels = {name for name in names if name.startswith("kernels/")}
    assert names == generated | headers | beside | kernels
    assert set(exported.report.files) == names - {"export.json"}
    assert "kernels/snapuq_pool_sum_s8.c" in kernels
    assert not {name for name in kernels if "conv" in name or "fully" in name or "mark" in name}
    report = read_json(exported.folder / "export.json")
    assert report["model_id"] == exported.report.model_id
    assert "folder" not in report


@pytest.mark.parametrize("controlled", [False, True])
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [("g++", ()), (ARM_CPP, ("-mcpu=cortex-m4", "-mthumb"))],
    ids=["host", "cortex-m4"],
)
def test_the_example_compiles(
    compiler: str, flags: tuple[str, ...], controlled: bool, tmp_path: Path
) -> None:
    """Against the face of TFLite-Micro that it uses; the real one is not here."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    monitor = tiny_monitor()
    if controlled:
        budget = Budget(1 << 20, 1 << 18, 1 << 18, 1 << 23)
        monitor = replace(monitor, decision=replace(monitor.decision, controller=budget))
    folder = export(monitor, tiny_tflite(), tmp_path).folder
    includes = [f"-I{folder}", f"-I{folder / 'kernels'}", f"-I{HERE / 'standin'}"]
    target = ["-c", str(folder / "example.cc"), "-o", str(tmp_path / "example.o")]
    call(compiler, *flags, *STRICT, *CPP, *includes, *target)
    symbols = call("nm", "-C", str(tmp_path / "example.o"))
    wanted = {"AddConv2D", "AddDepthwiseConv2D", "AddFullyConnected", "AddMean"}
    assert set(re.findall(r"<4u>::(Add\w+)", symbols)) == wanted
    assert ("snap_model_decide" in symbols) == controlled


def test_the_sources_compile_for_a_core(exported: Exported, tmp_path: Path) -> None:
    need(compiler=True)
    includes = [f"-I{exported.folder}", f"-I{exported.folder / 'kernels'}"]
    sources = [str(p) for p in exported.folder.rglob("*.c")]
    flags = ("-mcpu=cortex-m4", "-mthumb", *STRICT, *C)
    call(toolchain.GCC, *flags, *includes, "-c", *sources, cwd=tmp_path)
    sections = call("arm-none-eabi-objdump", "-h", str(tmp_path / "snap_flatbuffer.o"))
    assert re.search(r"\.rodata .*2\*\*4", sections)
    assert exported.report.flash_measured


def test_the_readme_says_what_it_takes(exported: Exported) -> None:
    text, report = (exported.folder / "README.md").read_text(), exported.report
    for figure in (report.flatbuffer_bytes, report.flash_bytes, report.scratch_bytes):
        assert f"{figure:,} B" in text
    assert f"{report.kept_bytes:,} B" in text
    assert "`AddDepthwiseConv2D`" in text


# ---- The command -----------------------------------------------------------------


def test_the_command_leaves_the_other_export_alone(tmp_path: Path) -> None:
    run = run_of(tiny_monitor(), tiny_tflite(), tmp_path / "runs")
    with run.write("export-c/qemu-m4", after=("quantize",)) as out:
        (out / "snap_model.c").write_text("as it was")
    place = Workspace(tmp_path / "runs")
    outcome = place.snap("export-c", "--runtime", "tflm", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["operators"] == ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN"]
    assert Path(outcome.json["folder"]) == run.path("export-tflm/qemu-m4")
    again = open_run(None, place.runs)
    assert again.state("export-tflm/qemu-m4").status == "done"
    assert (again.inputs("export-c/qemu-m4") / "snap_model.c").read_text() == "as it was"
    shown = place.snap("export-c", "--runtime", "tflm", "--target", "small-mcu")
    assert shown.code == 0, shown.err
    assert "export-tflm/small-mcu" in shown.out.replace("\n", "")


def test_a_damaged_folder_names_the_command_that_makes_it_anew(tmp_path: Path) -> None:
    run = run_of(tiny_monitor(), tiny_tflite(), tmp_path / "runs")
    report = export_tflm(run, "qemu-m4")
    (Path(report.folder) / "snap_heads.c").unlink()
    state = run.state("export-tflm/qemu-m4")
    assert state.status == "damaged"
    assert run.remedy(state.origin).startswith("snap export-c --runtime tflm --target qemu-m4")


def test_it_is_no_step_on_the_way_to_a_board(tmp_path: Path) -> None:
    run = run_of(tiny_monitor(), tiny_tflite(), tmp_path / "runs")
    assert "export-tflm" not in [state.stage for state in run.states()]
    export_tflm(run, "qemu-m4")
    assert "export-tflm/qemu-m4" in [state.stage for state in run.states()]
    assert run.state("flash/qemu-m4").status == "missing"
    assert "tflm" not in run.state("flash/qemu-m4").origin


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--runtime", "tflmm"), "'tflmm'", "tflm?"),
        (("--runtime", "tflm", "--model", "a.tflite"), "--model has none", "of a run"),
        (("--runtime", "tflm", "--kernels", "cmsis-nn"), "--kernels", "kernels of its own"),
        (("--runtime", "tflm", "--cmsis-nn", "here"), "--cmsis-nn", "kernels of its own"),
        (("--runtime", "tflm", "--explain"), "--explain", "on the device"),
    ],
)
def test_options_that_mean_nothing(arguments: tuple[str, ...], message: str, hint: str) -> None:
    outcome = snap("export-c", *arguments)
    assert outcome.code == 2
    error, remedy = outcome.error()
    assert message in error
    assert hint in remedy


def test_a_tap_on_a_tensor_that_only_we_compute_is_refused() -> None:
    monitor, name = tiny_monitor(), TAPS[0].after
    graph = monitor.body.graph
    tensors = {**graph.tensors, name: replace(graph.tensors[name], index=None)}
    ours = replace(monitor, body=replace(monitor.body, graph=replace(graph, tensors=tensors)))
    with pytest.raises(ArtifactError, match=f"'{name}' is not an int8 tensor of the") as refused:
        emit_tflm(ours, tiny_tflite())
    assert "--runtime c" in str(refused.value.hint)


def test_an_operator_that_tflite_micro_lacks_is_refused() -> None:
    known = [name for name, _ in OPERATORS.values() if name != "REDUCE_PROD"]
    face = (HERE / "standin/tensorflow/lite/micro/micro_mutable_op_resolver.h").read_text()
    assert set(resolver_methods(known)) == set(re.findall(r"(Add\w+)\(\)", face))
    with pytest.raises(ArtifactError, match="no operator REDUCE_PROD"):
        resolver_methods(["ADD", "REDUCE_PROD"])
