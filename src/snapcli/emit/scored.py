"""A network with the end of a method as C, and a program that runs and counts it."""

import numpy as np
from numpy.typing import NDArray

from snapcli.emit.ends import End, Scored
from snapcli.emit.header import input_functions, output_functions
from snapcli.emit.program import Program
from snapcli.emit.steps import END_SCRATCH

INPUTS, COUNTS = "inputs.bin", "counts.bin"
ENTRY = "snap_scored_run"
_HEADER = f"""#ifndef SNAP_SCORED_H
#define SNAP_SCORED_H

#include <stdint.h>

struct snap_scored {{
    int32_t predicted;
    int32_t score_q16;
}};

void {ENTRY}(void *arena, struct snap_scored *scored);

#endif
"""
# Of the emulated board's stack, which is larger than that of any target.
_PAINTED_BYTES = 64 * 1024


def emit_scored(program: Program, end: End) -> dict[str, str]:
    """{name: text}; program: of the graph that the end reads."""
    access = dict(zip(program.outputs, output_functions(program), strict=True))
    pointers = [
        f"    const int8_t *const {name} = {access[program.graph.outputs[name]]}(arena);"
        for name in end.reads
    ]
    if end.scratch_bytes:
        offset = program.full.offsets[END_SCRATCH]
        pointers.append(f"    void *const scratch = (uint8_t *)arena + {offset};")
    statements = (f"    {line}" for line in end.statements)
    return _files(end.definitions, ["    snap_model_run(arena);", *pointers, *statements])


def emit_scored_monitor() -> dict[str, str]:
    """For a program with a monitor: its answer and U."""
    return _files(
        "",
        [
            "    struct snap_model_result result;",
            "    snap_model_run(arena, &result);",
            "    scored->predicted = result.predicted;",
            "    scored->score_q16 = (int32_t)result.uncertainty_q16;",
        ],
    )


def _files(definitions: str, lines: list[str]) -> dict[str, str]:
    body = "\n".join(lines)
    source = f"""#include "snap_scored.h"

#include "snap_model.h"
#include "snapuq.h"

{definitions}
void {ENTRY}(void *arena, struct snap_scored *scored)
{{
{body}
}}
"""
    return {"snap_scored.h": _HEADER, "snap_scored.c": source}


def emit_counter(program: Program) -> str:
    """main(): runs the inputs of one file; for each it writes instructions, bytes of stack, the
    answer and the score to another."""
    (function,) = input_functions(program)
    return f"""#include <stdio.h>

#include "port.h"
#include "snap_model.h"
#include "snap_scored.h"

#define PAINT 0x5AA5C33Cu
#define PAINTED_WORDS {_PAINTED_BYTES // 4}

static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
static struct snap_scored scored;

/* All that the run touches of the stack lies below that of this function. */
static __attribute__((noinline)) void counted(uint32_t *count, uint32_t *stack_bytes)
{{
    volatile uint32_t *top;
    __asm volatile("mov %0, sp" : "=r"(top));
    volatile uint32_t *word = top - PAINTED_WORDS;
    for (volatile uint32_t *p = word; p < top; ++p) {{
        *p = PAINT;
    }}
    port_counter_align();
    const uint32_t start = port_counter();
    {ENTRY}(arena, &scored);
    *count = (port_counter() - start) * port_board.counter_step;
    while (word < top && *word == PAINT) {{
        ++word;
    }}
    *stack_bytes = (uint32_t)(top - word) * sizeof *word;
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
        uint32_t counts[2];
        counted(&counts[0], &counts[1]);
        if (fwrite(counts, sizeof counts, 1, written) != 1 ||
            fwrite(&scored, sizeof scored, 1, written) != 1) {{
            return 1;
        }}
    }}
    return fclose(written);
}}
"""


def read_counted(content: bytes) -> tuple[NDArray[np.int32], NDArray[np.int32], Scored]:
    """Instructions [n], bytes of stack [n], answers and scores."""
    rows = np.frombuffer(content, "<i4").reshape(-1, 4)
    return rows[:, 0], rows[:, 1], (rows[:, 2], rows[:, 3])
