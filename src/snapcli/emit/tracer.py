"""A program that shows what every step of a model computes: the C side of `snap verify`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from snapcli.emit.header import input_functions
from snapcli.emit.program import Program
from snapcli.emit.steps import DistanceStep, LayerStep, MoveStep, SumStep

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

static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
static FILE *trace;

void snap_model_trace(int32_t step, const void *values, int32_t bytes)
{{
    fwrite(&step, sizeof step, 1, trace);
    fwrite(&bytes, sizeof bytes, 1, trace);
    fwrite(values, 1, (size_t)bytes, trace);
    fflush(trace); /* so that a crash shows what was done before it */
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
    """{index of the step: values [n, ...]} of every step; n counts whole records."""
    found: dict[int, list[NDArray]] = {}
    for step, values in _records(content):
        dtype, shape = _kind(program, step)
        found.setdefault(step, []).append(np.frombuffer(values, dtype).reshape(shape))
    return {step: np.stack(values) for step, values in found.items()}


def last_step(content: bytes) -> int | None:
    """Of a program that did not reach its end: the last step that it finished."""
    steps = [step for step, _ in _records(content)]
    return steps[-1] if steps else None


def _records(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER.itemsize <= len(content):
        step, size = np.frombuffer(content, _HEADER, 1, at)[0].item()
        at += _HEADER.itemsize
        if at + size > len(content):
            return  # the program ended in the middle of it
        yield step, content[at : at + size]
        at += size


def _kind(program: Program, index: int) -> tuple[np.dtype, tuple[int, ...]]:
    step = program.steps[index]
    if isinstance(step, LayerStep | MoveStep):
        tensor = program.graph.tensors[step.target]
        return np.dtype(tensor.dtype), tensor.shape
    if isinstance(step, SumStep):
        return np.dtype("<i4"), (step.length,)
    if isinstance(step, DistanceStep):
        return np.dtype("<u4"), (2,)
    return np.dtype("<u4"), ()
