"""TFLite reference == Arm's kernels as snap calls them, on the host, a Cortex-M4 and an M7.

What runs is the C that the lowering writes. Each platform compiles and starts one program for
all cases; each case is a test of its own.
"""

import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from snapcli.emit.cmsis_nn import CmsisNn
from snapcli.errors import ConfigError
from snapcli.kernels import cmsis_nn_files

from .c_runner import FIRMWARE, Host, Platform, Qemu, call
from .cases import C_CASES, ORACLE_CASES, Binary, OracleCase, Residual, Window
from .lowered import (
    OPERATORS,
    ElsewhereError,
    Fallback,
    Program,
    computed,
    identity,
    inputs_of,
    layer_of,
    lower,
    named,
    residual,
    results,
    site_of,
    takes,
)

KERNELS = CmsisNn(Fallback())
PRELUDE = f'{KERNELS.prelude}\n#include "{KERNELS.head_header}"\n'


LAYERS = [case for case in ORACLE_CASES if case.kernel in OPERATORS]
ARMS = [case for case in LAYERS if takes(KERNELS, case)]
HEADS = [case for case in C_CASES if isinstance(case, Residual)]
IN_PLACE = [
    case
    for case in ARMS
    if case.kernel == "softmax_s8"
    or (case.kernel in ("add_s8", "mul_s8") and case.name in ("same_shape", "length_1"))
]
# Why, is said in emit/cmsis_nn.py.
REPEATS = {"channels", "channels_only", "scalar", "channels_first", "scalar_first"}
ELSEWHERE = {
    *((kernel, name) for kernel in ("add_s8", "mul_s8") for name in REPEATS),
    *(("sub_s8", case.name) for case in LAYERS if case.kernel == "sub_s8"),
    *(
        (case.kernel, case.name)
        for case in LAYERS
        if case.kernel in ("fully_connected_s8", "mean_s8")
    ),
    ("softmax_s8", "many"),
    ("softmax_s8", "beta"),
    ("softmax_s8", "zero_point_low"),  # which has a beta, too
}
SLIP = 3  # bytes that a target lies before its source


def in_place(case: OracleCase, operand: int) -> Program:
    """The target is written SLIP bytes in front of an operand, over its bytes."""
    inputs = inputs_of(case)
    size = inputs[operand][0].nbytes
    source = f"(output + {SLIP})"
    lowered = lower(case, KERNELS, **{("x", "x2")[operand]: source})
    assert lowered.slack == (0,) * len(inputs)
    body = f"memcpy({source}, input{operand + 1}, {size});\n    {lowered.call}"
    answer = case.tflite().reshape(len(inputs[0]), -1)
    # Behind the answer stands the rest of the operand.
    rest = inputs[operand].reshape(len(answer), -1)[:, size - SLIP :]
    if size < SLIP:
        rest = np.concatenate(
            [np.full((len(answer), SLIP - size), 0x55, np.int8), inputs[operand].reshape(-1, size)],
            axis=1,
        )
    name = f"{identity(case)}-over-{operand}"
    expected = np.concatenate([answer, rest], axis=1)
    return Program(name, "", body, inputs, expected, target=named(case))


def arms_scratch(case: OracleCase) -> Program | None:
    """Arm's own functions tell how much scratch memory the layer needs."""
    lowered = lower(case, KERNELS)
    name = f"{named(case)}_layer"
    shapes = f"&{name}_params, &{name}_input, &{name}_filter, &{name}_output"
    match case.kernel:
        case "conv_s8":
            function, arguments = "arm_convolve_wrapper_s8_get_buffer_size", shapes
        case "depthwise_conv_s8":
            function, arguments = "arm_depthwise_conv_wrapper_s8_get_buffer_size", shapes
        case "average_pool_s8":
            function = "arm_avgpool_s8_get_buffer_size"
            arguments = f"{name}_output.w, {name}_input.c"
        case _:
            return None
    body = (
        f"const int32_t here = {function}({arguments}), dsp = {function}_dsp({arguments});\n"
        "    const int32_t larger = here > dsp ? here : dsp;\n"
        "    memcpy(output, &larger, sizeof larger);"
    )
    expected = np.array([[lowered.scratch_bytes]], np.int32)
    return Program(f"{identity(case)}-scratch", "", body, (), expected)


def scratch_of(case: Residual) -> Program:
    """The head's own function tells how much scratch memory it needs."""
    site = site_of(case)
    told = (
        f"const int32_t fits = arm_snap_residual_s8_get_buffer_size(&{site.name})\n"
        f"        <= {site.scratch.size_bytes};\n"
        "    memcpy(output, &fits, sizeof fits);"
    )
    return Program(f"{identity(case)}-scratch", "", told, (), np.array([[1]], np.int32))


@cache
def programs() -> dict[str, Program]:
    found = [computed(case, KERNELS) for case in ARMS]
    found += [p for case in ARMS if (p := arms_scratch(case))]
    found += [
        in_place(case, operand) for case in IN_PLACE for operand in range(len(inputs_of(case)))
    ]
    found += [residual(case, KERNELS) for case in HEADS]
    found += [scratch_of(case) for case in HEADS]
    return {program.name: program for program in found}


def outputs(
    platform: Platform, cmsis_nn: Path, folders: pytest.TempPathFactory
) -> dict[str, np.ndarray]:
    library, found = cmsis_nn_files(cmsis_nn), list(programs().values())
    include = "cmsis-nn/Include"
    return results(platform, folders.mktemp("cmsis"), PRELUDE, found, library, include)


@pytest.fixture(scope="module")
def host(cmsis_nn: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return outputs(Host(), cmsis_nn, tmp_path_factory)


@pytest.fixture(scope="module")
def cortex_m4(cmsis_nn: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return outputs(Qemu("Cortex-M4F", "mps2-an386"), cmsis_nn, tmp_path_factory)


@pytest.fixture(scope="module")
def cortex_m7(cmsis_nn: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return outputs(Qemu("Cortex-M7", "mps2-an500"), cmsis_nn, tmp_path_factory)


every_program = pytest.mark.parametrize("name", programs())


@every_program
def test_tflite_equals_arm_on_host(name: str, host: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(host[name], programs()[name].expected)


@every_program
def test_tflite_equals_arm_on_cortex_m4(name: str, cortex_m4: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(cortex_m4[name], programs()[name].expected)


@every_program
def test_tflite_equals_arm_on_cortex_m7(name: str, cortex_m7: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(cortex_m7[name], programs()[name].expected)


def test_only_what_arm_cannot_do_goes_elsewhere() -> None:
    elsewhere = {(case.kernel, case.name) for case in LAYERS if not takes(KERNELS, case)}
    assert elsewhere == ELSEWHERE


@pytest.mark.parametrize(
    "case",
    [c for c in C_CASES if c.kernel in OPERATORS and c not in ORACLE_CASES],
    ids=lambda case: f"{case.kernel}-{case.name}",
)
def test_shifts_that_arm_cannot_do_go_elsewhere(case: OracleCase) -> None:
    with pytest.raises(ElsewhereError):
        lower(case, KERNELS)


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": "conv_s8", "in_hwc": (1, 1, 32768), "out_c": 1, "size": (1, 1)},
        {"kernel": "conv_s8", "in_hwc": (1, 32768, 1), "out_c": 1, "size": (1, 1)},
        {"kernel": "conv_s8", "in_hwc": (3, 3, 4096), "out_c": 1},
        {"kernel": "depthwise_conv_s8", "in_hwc": (1, 1, 32768), "out_c": 32768, "size": (1, 1)},
    ],
    ids=["channels", "width", "columns", "depthwise"],
)
def test_sizes_that_arm_would_cut_go_elsewhere(changes: dict) -> None:
    with pytest.raises(ElsewhereError):
        lower(Window(name="large", seed=1, **changes), KERNELS)


def test_a_product_that_could_overflow_goes_elsewhere() -> None:
    fine, overflows = (
        Binary("mul_s8", "steep", 1, (1, 4), (1, 4), scales=(181.0, 181.0, 2.0**-k)) for k in (0, 1)
    )
    assert takes(KERNELS, fine)
    assert not takes(KERNELS, overflows)


def test_a_3x3_window_far_behind_the_input_takes_the_general_kernel() -> None:
    case = next(c for c in ARMS if c.kernel == "depthwise_conv_s8" and c.name == "plain")
    layer, graph = layer_of(case)
    pointers = {"x": "a", "y": "b"}
    assert KERNELS.lower(layer, graph, pointers, "s").call.startswith("arm_depthwise_conv_3x3_s8(")
    wider = replace(layer.kernel, out_w=layer.kernel.in_w + 1)
    layer = replace(layer, kernel=wider)
    assert KERNELS.lower(layer, graph, pointers, "s").call.startswith("arm_depthwise_conv_s8_opt(")


def test_a_head_that_arm_cannot_compute_is_named() -> None:
    head = HEADS[0].draw()[0]
    steep = replace(head, xi=replace(head.xi, shift=-31))
    with pytest.raises(ConfigError, match="the head tap2 has a multiplier"):
        KERNELS.lower_residual(site_of(steep, "tap2"))


def test_constant_bytes_are_what_the_compiler_makes_of_them(tmp_path: Path, cmsis_nn: Path) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    include = [f"-I{cmsis_nn / 'Include'}", f"-I{FIRMWARE / 'cmsis-nn'}"]
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-std=c11", *include]
    heads = [
        KERNELS.lower_residual(replace(site_of(case.draw()[0], f"head_{case.name}"), table="0"))
        for case in HEADS
    ]
    for found in ([lower(case, KERNELS) for case in ARMS], heads):
        text = "\n".join([PRELUDE, *(lowered.definitions for lowered in found)])
        (tmp_path / "constants.c").write_text(text)
        call([*compiler, "-fkeep-static-consts", "-c", "constants.c"], tmp_path)
        listing = subprocess.run(
            ["arm-none-eabi-nm", "-S", str(tmp_path / "constants.o")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        sizes = [line.split()[1] for line in listing.splitlines() if len(line.split()) == 4]
        assert sum(int(size, 16) for size in sizes) == sum(part.constant_bytes for part in found)
