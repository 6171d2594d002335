"""A program that counts the instructions of every step of a model on an emulated target."""

import numpy as np

from snapcli.emit.header import input_functions
from snapcli.emit.program import Program

INPUTS, COUNTS = "inputs.bin", "counts.bin"


def emit_profiler(program: Program) -> str:
    """main(): runs the inputs of one file, writes the sum of counts of each step to another.

    One more number, the last, is what comes behind the last step: class, score, map.
    """
    assert program.body is not None
    (function,) = input_functions(program)
    return f"""#include <stdio.h>

#include "port.h"
#include "snap_model.h"

#define STEPS {len(program.steps)}

void snap_model_trace(int32_t step, const void *values, int32_t bytes);

static _Alignas(8) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
static uint64_t counts[STEPS + 1];
static uint64_t last;

void snap_model_trace(int32_t step, const void *values, int32_t bytes)
{{
    (void)values, (void)bytes;
    counts[step] += port_counter_read() - last;
    last = port_counter_read();
}}

int main(void)
{{
    FILE *inputs = fopen("{INPUTS}", "rb");
    FILE *written = fopen("{COUNTS}", "wb");
    if (!inputs || !written) {{
        return 1;
    }}
    while (fread({function}(arena), {function.upper()}_BYTES, 1, inputs) == 1) {{
        struct snap_model_result result;
        port_counter_start();
        last = port_counter_read();
        snap_model_run(arena, &result);
        counts[STEPS] += port_counter_read() - last;
    }}
    return fwrite(counts, sizeof counts, 1, written) != 1 || fclose(written);
}}
"""


def read_counts(content: bytes, inputs: int) -> list[int]:
    """Instructions per inference of each step, and behind the last one."""
    return [round(count / inputs) for count in np.frombuffer(content, "<u8")]
