"""The generated C, compiled on the host with sanitizers, equals the integer reference."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from snapcli import fixedpoint as fx
from snapcli.assets import asset_dir
from snapcli.emit import Emitted, KernelSet, Reference, build_program, emit_model
from snapcli.emit.cmsis_nn import CmsisNn
from snapcli.emit.folder import step_rows
from snapcli.emit.header import input_functions, output_functions
from snapcli.emit.model import step_lines
from snapcli.emit.profiled import image_files
from snapcli.emit.snap import Snap
from snapcli.graph import Layer, Tensor
from snapcli.graph.plan import ALIGNMENT
from snapcli.graph.reader import read_tflite
from snapcli.kernels import snapnn_files
from snapcli.monitor.body import Body, TapTensors
from snapcli.monitor.monitor import DeviceScores, Monitor
from snapcli.score.maps import SCORE

from ...golden.tflite_op import flatbuffer
from ..tiny_monitor import (
    HEADS,
    INPUT_SHAPE,
    MAPS,
    gated_map,
    headless_monitor,
    random_inputs,
    tiny_body,
    tiny_monitor,
    tiny_ops,
)

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
    pytest.mark.slow,
]

LIBRARY = asset_dir("firmware") / "snapuq"
FLAGS = (
    *("cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{LIBRARY / 'include'}"),
)
INPUTS = 500
# Reads inputs, writes results: int32 fields, logits, then the steps in the order of their marks.
# The arena is on the heap and as large as promised, so that the sanitizer watches its ends.
DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "snap_golden.h"
#include "snapuq.h"
#ifdef SNAP_MODEL_STEPS
#include "snapuq_probe.h"
#endif

struct marks { unsigned char count, step[31]; };

#ifdef SNAP_MODEL_STEPS
static void mark(void *context, int32_t step)
{
    struct marks *marks = context;
    marks->step[marks->count++] = (unsigned char)step;
}
#endif

int main(void)
{
    void *arena = malloc(SNAP_MODEL_ARENA_BYTES);
    memset(arena, 0xA5, SNAP_MODEL_ARENA_BYTES);
#ifndef SNAP_MODEL_WITHOUT_HEADS
    struct snapuq_budget_state stream;
    snap_model_start(&snap_model_settings, &stream);
#endif
    while (fread(snap_model_input(arena), SNAP_MODEL_INPUT_BYTES, 1, stdin) == 1) {
        struct snap_model_result result;
        struct marks marks = {0};
        memset(&result, 0x5A, sizeof result);
#ifdef SNAP_MODEL_STEPS
        struct snapuq_probe probe = {mark, &marks};
        snap_model_profile(arena, 0, &result, &probe);
#else
        snap_model_run(arena, &result);
#endif
#ifndef SNAP_MODEL_WITHOUT_HEADS
        result.abstain = snap_model_decide(&snap_model_settings, &stream, &result);
#endif
        int32_t head[6] = {result.predicted, result.abstain, (int32_t)result.score_q16,
                           (int32_t)result.uncertainty_q16, (int32_t)result.foreign_q16,
                           result.foreign};
        fwrite(head, sizeof head, 1, stdout);
#if SNAP_MODEL_TAPS > 0 || defined SNAP_MODEL_STEPS
        fwrite(result.surprisal_q16, sizeof result.surprisal_q16, 1, stdout);
#endif
        fwrite(result.logits, sizeof result.logits, 1, stdout);
        uint32_t probability_q16[SNAP_MODEL_CLASSES];
        snap_model_probability_q16(&result, probability_q16);
        fwrite(probability_q16, sizeof probability_q16, 1, stdout);
        fwrite(&marks, sizeof marks, 1, stdout);
    }
    for (int i = 0; i < SNAP_GOLDEN_COUNT; i++) {
        struct snap_model_result result;
        memcpy(snap_model_input(arena), snap_golden_input[i], SNAP_MODEL_INPUT_BYTES);
        snap_model_run(arena, &result);
        if (result.predicted != snap_golden_expected[i].predicted ||
            memcmp(result.logits, snap_golden_expected[i].logits, SNAP_MODEL_CLASSES)) {
            return 3;
        }
#if SNAP_MODEL_TAPS > 0
        if (memcmp(result.surprisal_q16, snap_golden_expected[i].surprisal_q16,
                   sizeof result.surprisal_q16)) {
            return 3;
        }
#endif
    }
    free(arena);
    return 0;
}
"""


def call(command: Sequence[str], stdin: bytes = b"") -> bytes:
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def emit(monitor: Monitor) -> Emitted:
    program = build_program(monitor.body.graph, monitor.body, Reference())
    return emit_model(program, monitor, random_inputs(4, seed=9))


def image_of(monitor: Monitor) -> dict[str, str]:
    """The files that an image is built of."""
    program = build_program(monitor.body.graph, monitor.body, Reference())
    return image_files(program, monitor, emit(monitor))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The kernels, compiled once."""
    folder = tmp_path_factory.mktemp("library")
    sources = sorted((LIBRARY / "src").glob("*.c"))
    objects = [str(folder / f"{source.stem}.o") for source in sources]
    for source, built in zip(sources, objects, strict=True):
        call([*FLAGS, "-c", str(source), "-o", built])
    return objects


def build(monitor: Monitor, folder: Path, library: list[str]) -> str:
    return compiled(emit(monitor).files, folder, library)


def build_image(monitor: Monitor, folder: Path, library: list[str], *defines: str) -> str:
    return compiled(image_of(monitor), folder, library, *defines)


def compiled(files: Mapping[str, str], folder: Path, library: list[str], *defines: str) -> str:
    for name, text in {**files, "driver.c": DRIVER}.items():
        (folder / name).write_text(text)
    sources = [str(path) for path in sorted(folder.glob("*.c"))]
    program = str(folder / "program")
    call([*FLAGS, *defines, *sources, *library, "-o", program])
    return program


def run(program: str, x: np.ndarray, taps: int) -> np.ndarray:
    """A record per input, fields as the driver writes them."""
    record = np.dtype(
        [
            ("predicted", "<i4"),
            ("abstain", "<i4"),
            ("score_q16", "<u4"),
            ("uncertainty_q16", "<u4"),
            ("foreign_q16", "<u4"),
            ("foreign", "<i4"),
            ("surprisal_q16", "<u4", (taps,)),
            ("logits", "i1", (5,)),
            ("probability_q16", "<u4", (5,)),
            ("marks", "u1"),
            ("step", "u1", (31,)),
        ]
    )
    return np.frombuffer(call([program], x.tobytes()), record)


def check(found: np.ndarray, expected: DeviceScores) -> None:
    for name, values in vars(expected).items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


EXTREMES = {
    "never": replace(tiny_monitor().decision, threshold_q16=65537),
    "always": replace(tiny_monitor().decision, threshold_q16=0),
    "one step": replace(
        tiny_monitor().decision,
        map=fx.MapIsotonic(0, np.zeros(0, np.uint32), np.array([777], np.uint32)),
    ),
    "largest numbers": replace(
        tiny_monitor().decision,
        map=gated_map(-(2**31), 2**31 - 1, (SCORE, 2**31 - 1, -(2**31))),
    ),
}


@pytest.mark.parametrize("kind", MAPS)
def test_c_equals_the_reference(kind: str, tmp_path: Path, library: list[str]) -> None:
    monitor, x = tiny_monitor(kind), random_inputs(INPUTS, seed=4)
    expected = monitor.run(x)
    found = run(build(monitor, tmp_path, library), x, taps=2)
    check(found, expected)
    logits = monitor.body.graph.tensors["logits"]
    np.testing.assert_allclose(
        found["probability_q16"] / 65536, softmax(logits.scale * expected.logits, axis=1), atol=1e-4
    )
    # The inputs are worth comparing: they differ in class, decision and U.
    assert len(np.unique(expected.predicted)) > 1
    assert set(expected.abstain) == {False, True}
    assert set(expected.foreign) == {False, True}
    assert len(np.unique(expected.uncertainty_q16)) > 2
    assert len(np.unique(expected.foreign_q16)) > 2


@pytest.mark.parametrize("kind", ["temperature", "class-gated", "evidence"])
def test_c_equals_the_reference_without_heads_in_the_monitor(
    kind: str, tmp_path: Path, library: list[str]
) -> None:
    monitor, x = headless_monitor(kind), random_inputs(INPUTS, seed=4)
    expected = monitor.run(x)
    assert set(expected.abstain) == set(expected.foreign) == {False, True}
    check(run(build(monitor, tmp_path, library), x, taps=0), expected)
    image = run(build_image(monitor, tmp_path, library), x, taps=1)
    names = [name for name in vars(expected) if name != "surprisal_q16"]
    for name in names:
        np.testing.assert_array_equal(image[name], getattr(expected, name), err_msg=name)
    text = "".join(emit(monitor).files.values())
    assert "snapuq_score_q16" not in text
    assert "surprisal_q16[" not in emit(monitor).files["snap_model.h"]
    assert ("mahalanobis_s8(" in text) == (kind == "evidence")


@pytest.mark.parametrize("defines", [(), ("-DSNAP_MODEL_WITHOUT_HEADS",)])
def test_c_follows_the_controller(
    defines: tuple[str, ...], tmp_path: Path, library: list[str]
) -> None:
    decision = tiny_monitor().decision
    controller = fx.budget_of(0.2, 0.1, 0.05, decision.threshold_q16)
    monitor = Monitor(tiny_body(), replace(decision, controller=controller))
    x = random_inputs(INPUTS, seed=4)
    made = build_image(monitor, tmp_path, library, *defines)
    found = run(made, x, taps=1 if defines else 2)
    if defines:  # without heads there is nothing to control
        assert not found["abstain"].any()
        return
    check(found, monitor.replay(monitor.run(x)))
    assert np.any(found["abstain"] != monitor.run(x).abstain)


@pytest.mark.parametrize("head", HEADS)
def test_c_equals_the_reference_with_every_head(
    head: str, tmp_path: Path, library: list[str]
) -> None:
    monitor, x = tiny_monitor(head=head), random_inputs(INPUTS, seed=4)
    expected = monitor.run(x)
    check(run(build(monitor, tmp_path, library), x, taps=2), expected)
    check(run(build_image(monitor, tmp_path, library), x, taps=2), expected)
    plain = tiny_monitor().run(x).surprisal_q16
    assert head == "gaussian" or np.any(expected.surprisal_q16 != plain)


@pytest.mark.parametrize("kind", MAPS)
def test_c_without_heads_still_classifies(kind: str, tmp_path: Path, library: list[str]) -> None:
    monitor, x = tiny_monitor(kind), random_inputs(INPUTS, seed=5)
    program = build_image(monitor, tmp_path, library, "-DSNAP_MODEL_WITHOUT_HEADS")
    found, expected = run(program, x, taps=1), monitor.run(x)
    np.testing.assert_array_equal(found["predicted"], expected.predicted)
    np.testing.assert_array_equal(found["logits"], expected.logits)
    for name in ("abstain", "score_q16", "uncertainty_q16", "foreign", "foreign_q16"):
        assert not found[name].any(), name


def branched() -> Monitor:
    """The tiny monitor with a constant added to its last block, then multiplied by that block."""
    monitor = tiny_monitor()
    graph = monitor.body.graph
    block = graph.tensors["block"]
    operand = np.random.default_rng(5).integers(-128, 128, block.channels).astype(np.int8)
    constant = Tensor("shift", (block.channels,), 0.5 * block.scale, 3)
    added, product = replace(block, name="added"), replace(block, name="product")

    def common(second: Tensor) -> dict[str, int]:
        sizes = {"length": block.size_bytes, "in1_length": block.size_bytes}
        points = {"in1_zero_point": block.zero_point, "in2_zero_point": second.zero_point}
        out = {"out_zero_point": block.zero_point, "min": -128, "max": 127}
        return {**sizes, "in2_length": second.size_bytes, **points, **out}

    in1, in2, out = fx.add_multipliers(block.scale, constant.scale, block.scale)
    multiplier = fx.mul_multiplier(1.0, 1 / 64, 1.0)
    extra = (
        Layer(
            "added",
            "ADD",
            fx.AddS8(in1=in1, in2=in2, out=out, **common(constant)),
            ("block", "shift"),
            "added",
        ),
        Layer(
            "product",
            "MUL",
            fx.MulS8(multiplier=multiplier, **common(block)),
            ("added", "block"),
            "product",
        ),
    )
    at = [layer.name for layer in graph.layers].index("block") + 1
    mean = replace(graph.layers[at], sources=("product",))
    changed = replace(
        graph,
        tensors={**graph.tensors, "shift": constant, "added": added, "product": product},
        layers=(*graph.layers[:at], *extra, mean, *graph.layers[at + 1 :]),
        constants={"shift": operand},
    )
    return Monitor(replace(monitor.body, graph=changed), monitor.decision)


def test_operands_may_be_constants_or_tensors_that_live_on(
    tmp_path: Path, library: list[str]
) -> None:
    monitor, x = branched(), random_inputs(100, seed=6)
    expected = monitor.run(x)
    check(run(build(monitor, tmp_path, library), x, taps=2), expected)
    # Both layers matter: without them the classifier sees something else.
    assert np.any(expected.logits != tiny_monitor().run(x).logits)
    source = emit(monitor).files["snap_model.c"]
    assert "snapuq_add_s8(&added_layer, block, shift, added);" in source
    assert "snapuq_mul_s8(&product_layer, added, block, product);" in source


@pytest.mark.parametrize("name", EXTREMES)
def test_c_equals_the_reference_at_the_ends(name: str, tmp_path: Path, library: list[str]) -> None:
    monitor, x = replace(tiny_monitor(), decision=EXTREMES[name]), random_inputs(50, seed=6)
    check(run(build(monitor, tmp_path, library), x, taps=2), monitor.run(x))


@pytest.mark.parametrize("name", ["map", "controller", "result", "while", "distance", "7-Ätna"])
def test_a_layer_may_have_any_name(name: str, tmp_path: Path, library: list[str]) -> None:
    """Names come from whoever trained the model."""
    content = flatbuffer(tiny_ops(), {name: 1, "stem": 0, "block": 2, "logits": 4})
    graph, body = read_tflite(content), tiny_body()
    spatial = graph.outputs[name]
    taps = (TapTensors("stem", spatial), TapTensors(spatial, "block"))
    controller = fx.budget_of(0.1, 0.1, 0.1, 0)
    decision = replace(tiny_monitor().decision, controller=controller)
    monitor = Monitor(Body(graph, taps, body.heads), decision)
    x = random_inputs(20)
    check(run(build(monitor, tmp_path, library), x, taps=2), monitor.replay(monitor.run(x)))


BASELINE = ("-DSNAP_MODEL_WITHOUT_HEADS",)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        # The two heads end where their blocks do; the rest of the backbone lies between.
        ("gaussian", "BH BHH BHH CC C M"),
        # Only the sums stand where the blocks end; the heads wait for the class.
        ("class-mean", "BH BH BH CC HH C M"),
    ],
)
@pytest.mark.parametrize("defines", [(), BASELINE])
def test_every_step_is_marked_when_it_ends(
    head: str, expected: str, defines: tuple[str, ...], tmp_path: Path, library: list[str]
) -> None:
    monitor = tiny_monitor(head=head)
    rows = step_rows(build_program(monitor.body.graph, monitor.body, Reference()), monitor, {})
    assert "".join(row.stage[0].upper() for row in rows) == expected.replace(" ", "")
    program = build_image(monitor, tmp_path, library, *defines)
    (found,) = run(program, random_inputs(1), taps=1 if defines else 2)
    done = [
        i for i, row in enumerate(rows) if not defines or row.stage in ("backbone", "classifier")
    ]
    assert found["step"][: found["marks"]].tolist() == done


@pytest.mark.parametrize(
    ("kernels", "stem", "has_bound"),
    [
        (Reference(), "snapuq_conv_s8", False),
        (Snap(Reference()), "snapnn_conv_s8", True),
        (CmsisNn(Reference()), "arm_convolve_s8", False),
    ],
    ids=lambda given: getattr(given, "name", None),
)
def test_every_step_knows_its_kernel(kernels: KernelSet, stem: str, has_bound: bool) -> None:
    monitor = tiny_monitor("mahalanobis")
    program = build_program(monitor.body.graph, monitor.body, kernels)
    rows = {row.name: row for row in step_rows(program, monitor, snapnn_files())}
    text = emit_model(program, monitor, random_inputs(1)).files["snap_model.c"]
    assert all(f"{row.kernel}(" in text for row in rows.values())
    assert rows["stem CONV_2D"].kernel == stem
    assert (rows["stem CONV_2D"].bound is not None) == has_bound
    assert "residual" in rows["block head"].kernel
    assert "mahalanobis" in rows["block distance"].kernel
    assert [rows[name].kernel for name in ("class", "map")] == [
        "snapuq_argmax_s8",
        "snapuq_map_gated_q16",
    ]
    assert sum(row.macs for row in rows.values()) == program.graph.macs
    assert step_rows(build_program(monitor.body.graph, None, kernels), None, {}) == ()


def test_the_same_monitor_gives_the_same_bytes() -> None:
    assert emit(tiny_monitor()) == emit(tiny_monitor())


def test_the_identity_follows_the_content() -> None:
    first = emit(tiny_monitor())
    assert f'"{first.model_id}"' in first.files["snap_model.h"]
    assert emit(tiny_monitor(head="huber")).model_id != first.model_id


def test_settings_are_no_part_of_the_identity() -> None:
    first = emit(tiny_monitor())
    other = emit(replace(tiny_monitor(), decision=EXTREMES["never"]))
    assert other.model_id == first.model_id
    differing = {name for name in first.files if first.files[name] != other.files[name]}
    assert differing == {"snap_settings.c"}


def test_the_source_reads_as_the_network() -> None:
    body = emit(tiny_monitor()).files["snap_model.c"].partition("void snap_model_run_with(")[2]
    calls = re.findall(r"snapuq_(\w+)\(&?(\w+)(?:, (\w+))?(?:, (\w+))?", body)
    kernels = [c for c in calls if c[1].endswith("_layer")]
    assert kernels == [
        ("conv_s8", "stem_layer", "input", "stem"),
        ("depthwise_conv_s8", "spatial_layer", "stem", "spatial"),
        ("conv_s8", "block_layer", "spatial", "block"),
        ("mean_s8", "layer_3_layer", "block", "layer_3"),
        ("fully_connected_s8", "logits_layer", "layer_3", "logits"),
    ]
    sums = [c[1] for c in calls if c[0] == "pool_sum_s8"]
    assert sums == ["stem", "spatial", "block"]


def test_every_layer_says_its_shapes() -> None:
    files = emit(tiny_monitor()).files["snap_model.c"]
    body = files.partition("void snap_model_run_with(")[2]
    assert re.findall(r"    /\* (.*) \*/\n    snapuq_(\w+)\(&(\w+)_layer", body) == [
        ("CONV_2D 9x8x3 -> 9x8x6, window 3x3", "conv_s8", "stem"),
        (
            "DEPTHWISE_CONV_2D 9x8x6 -> 5x4x6, window 3x3, stride 2x2",
            "depthwise_conv_s8",
            "spatial",
        ),
        ("CONV_2D 5x4x6 -> 5x4x9, window 1x1", "conv_s8", "block"),
        ("MEAN 5x4x9 -> 9", "mean_s8", "layer_3"),
        ("FULLY_CONNECTED 9 -> 5", "fully_connected_s8", "logits"),
    ]


# Prints what the macros of some inputs and outputs say.
CONSTANTS = """
#include <stdio.h>
#include "snap_model.h"

int main(void)
{
    printf("%d\\n", SNAP_MODEL_ARENA_ALIGN);
    {prints}
    return 0;
}
"""


def constants(header: str, names: Sequence[str], folder: Path) -> list[str]:
    (folder / "snap_model.h").write_text(header)
    prints = "".join(
        f'printf("%a %d\\n", (double)SNAP_MODEL_{n}_SCALE, SNAP_MODEL_{n}_ZERO_POINT);'
        for n in names
    )
    (folder / "main.c").write_text(CONSTANTS.replace("{prints}", prints))
    call([*FLAGS, str(folder / "main.c"), "-o", str(folder / "main")])
    return call([str(folder / "main")]).decode().splitlines()


def test_the_header_has_scale_zero_point_and_alignment_as_constants(tmp_path: Path) -> None:
    graph = tiny_body().graph
    program = build_program(graph, None, Reference())
    header = emit_model(program, None, None).files["snap_model.h"]
    outputs = output_functions(program)
    names = [f.removeprefix("snap_model_").upper() for f in ("snap_model_input", *outputs)]
    align, *found = constants(header, names, tmp_path)
    assert align == str(ALIGNMENT)
    tensors = [graph.tensors[name] for name in (graph.input, *program.outputs)]
    for line, tensor in zip(found, tensors, strict=True):
        scale, zero_point = line.split()
        assert float.fromhex(scale) == float(np.float32(tensor.scale))
        assert int(zero_point) == tensor.zero_point


def test_names_that_differ_in_case_have_constants_of_their_own(tmp_path: Path) -> None:
    tensor = tiny_body().graph.tensors["logits"]
    names = ("logits", "LOGITS_", "Logits")
    tensors = {n: replace(tensor, name=n, scale=0.5**i) for i, n in enumerate(names)}
    graph = replace(tiny_body().graph, tensors=tensors, inputs=names, layers=(), outputs={})
    program = replace(build_program(tiny_body().graph, None, Reference()), graph=graph)
    functions = input_functions(program)
    assert len({function.upper() for function in functions}) == 3
    assert functions[0] == "snap_model_input_logits"


@pytest.mark.parametrize("head", HEADS)
def test_an_export_is_plain_and_an_image_says_where_it_is(head: str) -> None:
    """A call for each step and nothing between them; marks and what makes it do without heads
    are in the image alone, and without them it is the same C."""
    monitor = tiny_monitor("mahalanobis", head) if head == "gaussian" else tiny_monitor(head=head)
    files, image = emit(monitor).files, image_of(monitor)
    plain = "".join(files.values())
    assert not re.search(r"snapuq_mark|probe|profile|WITHOUT_HEADS|MODEL_STEPS", plain)
    assert "#if" not in files["snap_model.c"]
    program = build_program(monitor.body.graph, monitor.body, Reference())
    lines = files["snap_model.c"].splitlines()
    marked = image["snap_model.c"].splitlines()
    calls = [line for step in program.steps for line in step_lines(step, program)]
    first, last = (lines.index(call.splitlines()[0]) for call in (calls[0], calls[-1]))
    between = "\n".join(lines[first : last + len(calls[-1].splitlines())])
    assert between == "\n".join(calls)
    bare = [line for line in marked if not re.match(r"#(if|endif)|    snapuq_mark\(", line)]
    assert "\n".join(calls) in "\n".join(bare)
    assert {name for name in files if files[name] != image[name]} == {
        "snap_model.c",
        "snap_model.h",
    }


@pytest.mark.parametrize(
    ("kind", "head"), [*((kind, "gaussian") for kind in MAPS), *(("gated", h) for h in HEADS)]
)
def test_sizes_are_those_of_the_arrays(kind: str, head: str) -> None:
    """constant_bytes is what the export check compares with the flash: count it in the C."""
    emitted = emit(tiny_monitor(kind, head))
    width = {"int8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4}
    sources = "".join(t for name, t in emitted.files.items() if name.endswith(".c"))
    arrays = re.findall(r"^(?:static )?const (\w+) \w+\[(\d+)\]", sources, re.MULTILINE)
    settings = int(re.search(r"\.bytes = (\d+)u", sources)[1])
    counted = sum(width[ctype] * int(count) for ctype, count in arrays) + settings
    assert emitted.constant_bytes == counted
    assert emitted.golden_bytes == 4 * np.prod(INPUT_SHAPE)
    header = emitted.files["snap_model.h"]
    assert f"SNAP_MODEL_ARENA_BYTES {emitted.arena_bytes}\n" in header
    assert f"SNAP_MODEL_INPUT_BYTES {np.prod(INPUT_SHAPE)}" in header


def test_the_logits_of_a_result_can_be_turned_into_numbers(tmp_path: Path) -> None:
    monitor = tiny_monitor()
    _, line = constants(emit(monitor).files["snap_model.h"], ["LOGITS"], tmp_path)
    logits = monitor.body.graph.tensors[monitor.body.logits_tensor]
    scale, zero_point = line.split()
    assert float.fromhex(scale) == float(np.float32(logits.scale))
    assert int(zero_point) == logits.zero_point
