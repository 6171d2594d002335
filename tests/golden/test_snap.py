"""TFLite == the kernel set `snap` on the host (the same loops in C, ASan, UBSan) == on an emulated
Cortex-M4 and Cortex-M7 (assembly), with the C that snapcli writes.

Each layer is computed twice: in memory of its own, and with its output as far into its input as
the kernel says that it may be. Each platform compiles and starts one program for all cases.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from snapcli.emit.snap import Snap
from snapcli.fixedpoint import ConvAddS8
from snapcli.graph.graph import Graph, Layer, Tensor
from snapcli.kernels import snapnn_files, snapuq_files

from .c_runner import Host, Platform, Qemu
from .cases import (
    C_CASES,
    CONV,
    DEPTHWISE,
    ORACLE_CASES,
    ConvAdd,
    Mahalanobis,
    OracleCase,
    Residual,
)
from .lowered import (
    OPERATORS,
    Fallback,
    Program,
    computed,
    distances,
    identity,
    inputs_of,
    lower,
    residual,
    results,
    takes,
)

KERNELS = Snap(Fallback())

# Sizes at which a tile, a group of inputs, a pair or a quad of channels is just not full.
EDGES: list[OracleCase] = [
    *(
        replace(CONV, name=f"groups_{k}", seed=100 + k, in_hwc=(2, 3, 4 * k), out_c=4, size=(1, 1))
        for k in range(1, 10)
    ),
    *(
        replace(CONV, name=f"inputs_{k}", seed=110 + k, in_hwc=(2, 4, k), out_c=3, size=(1, 1))
        for k in range(1, 8)
    ),
    *(
        replace(CONV, name=f"outputs_{k}", seed=120 + k, in_hwc=(3, 3, 8), out_c=k)
        for k in range(1, 8)
    ),
    *(
        replace(CONV, name=f"positions_{k}", seed=130 + k, in_hwc=(1, k, 8), size=(1, 1))
        for k in range(1, 10)
    ),
    *(
        replace(CONV, name=f"width_{k}", seed=140 + k, in_hwc=(3, k, 4), stride=(1, 2))
        for k in range(1, 6)
    ),
    replace(CONV, name="dilated_groups", seed=150, in_hwc=(9, 8, 4), dilation=(2, 3)),
    replace(CONV, name="window_outside", seed=151, in_hwc=(1, 2, 4), size=(5, 7), dilation=(1, 2)),
    replace(CONV, name="grows", seed=152, in_hwc=(5, 5, 4), out_c=32, size=(1, 1)),
    replace(CONV, name="relu_above", seed=153, activation="relu", out_zero_point=90, out_c=5),
    replace(CONV, name="relu_top", seed=155, activation="relu", out_zero_point=127, out_c=5),
    replace(CONV, name="relu_all", seed=154, activation="relu6", out_zero_point=120, spread=1.0),
    *(
        replace(DEPTHWISE, name=f"quads_{k}", seed=160 + k, in_hwc=(4, 5, k), out_c=k)
        for k in (4, 5, 6, 7, 8, 17)
    ),
    *(
        replace(DEPTHWISE, name=f"rows_{k}", seed=180 + k, in_hwc=(k, 3, 4), out_c=4)
        for k in range(1, 7)
    ),
    *(
        replace(
            *(DEPTHWISE,), name=f"stride_{k}_{padding}", seed=190 + k, in_hwc=(11, 10, 6), out_c=6,
            stride=(k, 5 - k), padding=padding,
        )
        for k in range(1, 5) for padding in ("same", "valid")
    ),
    *(
        replace(
            *(DEPTHWISE,), name=f"window_{h}x{w}_{stride}_{dilation}", seed=210 + h + 10 * w,
            in_hwc=(9, 8, 6), out_c=6, size=(h, w), stride=(stride, 1), dilation=(1, dilation),
        )
        for h, w, stride, dilation in (
            (1, 1, 1, 1), (1, 3, 1, 1), (5, 5, 1, 1), (5, 5, 2, 1), (4, 2, 3, 1), (2, 4, 1, 3),
        )
    ),
    replace(
        DEPTHWISE, name="relu_quads", seed=199, in_hwc=(4, 5, 9), out_c=9, activation="relu6"
    ),
]  # fmt: skip
LAYERS = [*EDGES, *(case for case in ORACLE_CASES if case.kernel in OPERATORS)]
OURS = [case for case in LAYERS if takes(KERNELS, case)]
SUMS = [case for case in C_CASES if isinstance(case, ConvAdd)]
HEADS = [case for case in C_CASES if isinstance(case, Residual)]
OUR_HEADS = [case for case in HEADS if takes(KERNELS, case)]
DISTANCES = [case for case in C_CASES if isinstance(case, Mahalanobis)]
OUR_DISTANCES = [case for case in DISTANCES if takes(KERNELS, case)]


def layer_of_sum(case: ConvAdd) -> tuple[Layer, Graph]:
    conv = case.conv.layer
    length = conv.out_h * conv.out_w * conv.out_c
    add = replace(case.add.layer, length=length, in1_length=length, in2_length=length)
    names = ("x", "x2", "y")
    layer = Layer(f"sum_{case.name}", "CONV_2D+ADD", ConvAddS8(conv, add), names[:2], "y")
    tensors = {name: Tensor(name, (1,), 1.0, 0) for name in names}
    return layer, Graph(tensors, (layer,), names[:2], {"y": "y"}, {})


def computed_sum(case: ConvAdd) -> Program:
    layer, graph = layer_of_sum(case)
    pointers = {"x": "input1", "x2": "input2", "y": layer.name}
    lowered = KERNELS.lower(layer, graph, pointers, "scratch")
    *_, other = case.vectors().arrays
    expected = case.vectors().expected.reshape(len(other), -1)
    return Program(
        identity(case),
        lowered.definitions,
        lowered.call,
        (case.conv.x, other),
        expected,
        lowered.scratch_bytes,
        layer.name,
    )


def overlapped(program: Program, slack: tuple[int | None, ...], operand: int) -> Program | None:
    """The same call with the output `slack` bytes in front of an operand, or so far into it, in
    memory behind the scratch."""
    allowed = slack[operand]
    if allowed is None:
        return None
    size, made = program.inputs[operand][0].nbytes, program.expected[0].nbytes
    source, target = max(allowed, 0), max(-allowed, 0)
    joint = -(-program.scratch_bytes // 8) * 8
    call = program.body.replace(f"input{operand + 1}", "source")
    body = f"""int8_t *joint = (int8_t *)scratch + {joint};
    int8_t *source = joint + {source}, *{program.target} = joint + {target};
    memcpy(source, input{operand + 1}, {size});
    {call}
    memcpy(output, {program.target}, {made});"""
    total = joint + max(source + size, target + made)
    return Program(
        f"{program.name}-over-{operand}", "", body, program.inputs, program.expected, total
    )


@cache
def programs() -> dict[str, Program]:
    found = []
    for case in OURS:
        made = computed(case, KERNELS)
        slack = lower(case, KERNELS).slack
        found += [made, *(overlapped(made, slack, k) for k in range(len(inputs_of(case))))]
    for case in SUMS:
        layer, graph = layer_of_sum(case)
        slack = KERNELS.lower(layer, graph, dict.fromkeys(("x", "x2", "y"), "p"), "s").slack
        made = computed_sum(case)
        found += [made, overlapped(made, slack, 0), overlapped(made, slack, 1)]
    found += [residual(case, KERNELS) for case in OUR_HEADS]
    found += [distances(case, KERNELS) for case in OUR_DISTANCES]
    return {program.name: program for program in found if program}


def outputs(platform: Platform, folders: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    library, found = snapuq_files() | snapnn_files(), list(programs().values())
    return results(platform, folders.mktemp("snap"), KERNELS.prelude, found, library)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return outputs(Host(), tmp_path_factory)


@pytest.fixture(scope="module")
def cortex_m4(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return outputs(Qemu("Cortex-M4F", "mps2-an386"), tmp_path_factory)


@pytest.fixture(scope="module")
def cortex_m7(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    return outputs(Qemu("Cortex-M7", "mps2-an500"), tmp_path_factory)


every_program = pytest.mark.parametrize("name", programs())


@every_program
def test_tflite_equals_snap_on_host(name: str, host: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(host[name], programs()[name].expected)


@every_program
def test_tflite_equals_snap_on_cortex_m4(name: str, cortex_m4: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(cortex_m4[name], programs()[name].expected)


@every_program
def test_tflite_equals_snap_on_cortex_m7(name: str, cortex_m7: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(cortex_m7[name], programs()[name].expected)


# Why, is said in emit/snap.py.
REPEATS = {"channels", "channels_only", "scalar", "channels_first", "scalar_first"}
ELSEWHERE = {
    "conv_s8": {"left_shift"},
    "depthwise_conv_s8": {
        *("multiplier_2", "multiplier_4", "near_ties"),
    },
    "add_s8": {*REPEATS, "scales_apart", "vanishes"},
    **{
        kernel: {case.name for case in LAYERS if case.kernel == kernel}
        for kernel in ("sub_s8", "mul_s8", "softmax_s8")
    },
    "residual_s8": {
        *("saturates", "before_saturates", "offsets", "small_multipliers"),
        "mean_overflows",
    },
    "mahalanobis_s8": {case.name for case in DISTANCES if case.edges},
}


def test_only_what_is_known_goes_elsewhere() -> None:
    elsewhere: dict[str, set[str]] = {}
    for case in [*LAYERS, *HEADS, *DISTANCES]:
        if not takes(KERNELS, case):
            elsewhere.setdefault(case.kernel, set()).add(case.name)
    assert elsewhere == ELSEWHERE
