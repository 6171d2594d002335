"""A program that counts the instructions of an alarm on an emulated target."""

from snapcli.emit.text import array
from snapcli.fixedpoint import Alarm, log2_q15_table

VALUES, COUNT = "values.bin", "count.bin"


def emit_alarm_counter(alarm: Alarm, state_bytes: int, frames: int) -> str:
    """main(): one stream of the frames of a file, without a baseline; it writes the instructions
    of them all to another."""
    edges, gains = (", ".join(map(str, row)) for row in (alarm.edge_q16, alarm.gain_q16))
    return f"""#include <stdio.h>

#include "port.h"
#include "snapuq.h"

_Static_assert(sizeof(struct snapuq_alarm_state) == {state_bytes}, "the size that is reported");

{array("log2_q15", log2_q15_table())}
static uint32_t values[{frames}];

int main(void)
{{
    const struct snapuq_alarm alarm = {{
        .detector = {alarm.detector}u,
        .edge_q16 = {{{edges}}},
        .gain_q16 = {{{gains}}},
        .threshold_q16 = {alarm.threshold_q16},
        .clear_q16 = {alarm.clear_q16},
        .start_q16 = {alarm.start_q16},
        .offset_q16 = {alarm.offset_q16},
        .limit_q16 = {alarm.limit_q16},
    }};
    struct snapuq_alarm_state state;
    FILE *given = fopen("{VALUES}", "rb");
    FILE *written = fopen("{COUNT}", "wb");
    if (!given || !written || fread(values, sizeof values, 1, given) != 1) {{
        return 1;
    }}
    port_init();
    snapuq_alarm_start(&alarm, &state);
    port_counter_align();
    const uint32_t start = port_counter();
    for (int i = 0; i < {frames}; i++) {{
        snapuq_alarm_step(&alarm, &state, values[i], values[i] & 65535u, log2_q15);
    }}
    const uint32_t count = (port_counter() - start) * port_board.counter_step;
    return fwrite(&count, sizeof count, 1, written) != 1 || fclose(written);
}}
"""
