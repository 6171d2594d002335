"""A program that counts the instructions of every step of a model on an emulated target."""

import numpy as np

from snapcli.emit.header import input_functions
from snapcli.emit.program import Program

INPUTS, COUNTS = "inputs.bin", "counts.bin"


def emit_profiler(program: Program) -> str:
    """main(): runs the inputs of one file, writes the sum of counts of each step to another.

    The last two numbers are what comes behind the last step: class, then score and map.
    """
    assert program.body is not None  # only then there is a probe
    (function,) = input_functions(program)
    return f"""#include <stdio.h>

#include "port.h"
#include "snap_model.h"
#include "snapuq_probe.h"

static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
static uint64_t counts[SNAP_MODEL_STEPS];
static uint32_t last;

static void mark(void *context, int32_t step)
{{
    (void)context;
    counts[step] += (uint64_t)(port_counter() - last) * port_board.counter_step;
    last = port_counter();
}}

int main(void)
{{
    FILE *inputs = fopen("{INPUTS}", "rb");
    FILE *written = fopen("{COUNTS}", "wb");
    if (!inputs || !written) {{
        return 1;
    }}
    port_init();
    while (fread({function}(arena), {function.upper()}_BYTES, 1, inputs) == 1) {{
        struct snap_model_result result;
        port_counter_align();
        last = port_counter();
        snap_model_profile(arena, 0, &result, &(struct snapuq_probe){{mark, 0}});
    }}
    return fwrite(counts, sizeof counts, 1, written) != 1 || fclose(written);
}}
"""


def read_counts(content: bytes, inputs: int) -> list[int]:
    """Instructions per inference of each step, and behind the last one."""
    return [round(count / inputs) for count in np.frombuffer(content, "<u8")]
