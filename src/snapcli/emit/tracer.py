"""A program that shows what every step of a model computes: the C side of `snap verify`."""

import numpy as np
from numpy.typing import NDArray

from snapcli.emit.header import input_functions
from snapcli.emit.program import Program
from snapcli.emit.steps import HeadStep, LayerStep, SumStep

INPUTS, TRACE = "inputs.bin", "trace.bin"
_HEADER = np.dtype([("step", "<i4"), ("bytes", "<i4")])


def emit_tracer(program: Program) -> str:
    """main(): reads inputs from one file, writes (step, bytes, values) of each step to another."""
    reads = "".join(
        f"        whole &= fread({function}(arena), {function.upper()}_BYTES, 1, inputs) == 1;\n"
        for function in input_functions(program)
    )
    run = (
        "struct snap_model_result result;\n        snap_model_run(arena, &result);"
        if program.body
        else "snap_model_run(arena);"
    )
    return f"""#include <stdio.h>
#include <string.h>

#include "snap_model.h"

void snap_model_trace(int32_t step, const void *values, int32_t bytes);

static _Alignas(8) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
static FILE *trace;

void snap_model_trace(int32_t step, const void *values, int32_t bytes)
{{
    fwrite(&step, sizeof step, 1, trace);
    fwrite(&bytes, sizeof bytes, 1, trace);
    fwrite(values, 1, (size_t)bytes, trace);
}}

int main(void)
{{
    FILE *inputs = fopen("{INPUTS}", "rb");
    trace = fopen("{TRACE}", "wb");
    if (!inputs || !trace) {{
        return 1;
    }}
    for (;;) {{
        int whole = 1;
        /* What a step reads before anybody wrote it shows. */
        memset(arena, 0xA5, sizeof arena);
{reads}        if (!whole) {{
            break;
        }}
        {run}
    }}
    return fclose(trace) != 0;
}}
"""


def pack_inputs(program: Program, inputs: dict[str, NDArray]) -> bytes:
    """Sample by sample, the inputs in their order; each [n, *shape]."""
    rows = [inputs[name].reshape(len(inputs[name]), -1) for name in program.graph.inputs]
    count = len(rows[0])
    return b"".join(row[i].tobytes() for i in range(count) for row in rows)


def read_trace(program: Program, content: bytes) -> dict[int, NDArray]:
    """{index of the step: values [n, ...]} of every step that is traced."""
    found: dict[int, list[NDArray]] = {}
    at = 0
    while at + _HEADER.itemsize <= len(content):
        step, size = np.frombuffer(content, _HEADER, 1, at)[0].item()
        at += _HEADER.itemsize
        found.setdefault(step, []).append(
            np.frombuffer(
                content, _dtype(program, step), size // _dtype(program, step).itemsize, at
            )
        )
        at += size
    return {step: np.stack(values) for step, values in found.items()}


def _dtype(program: Program, index: int) -> np.dtype:
    step = program.steps[index]
    if isinstance(step, LayerStep):
        return np.dtype(program.graph.tensors[step.layer.target].dtype)
    if isinstance(step, SumStep):
        return np.dtype("<i4")
    assert isinstance(step, HeadStep)
    return np.dtype("<u4")
