"""snap_luts.c: the tables that this model's monitor reads, and no others."""

import numpy as np

from snapcli.emit.names import LOG2, table_name
from snapcli.emit.program import Program
from snapcli.emit.text import GENERATED, array
from snapcli.fixedpoint import log2_q15_table, sigmoid_tail_q16_table
from snapcli.monitor.monitor import Monitor

TAIL = "snap_model_tail_q16"


def shared_tables() -> dict[str, np.ndarray]:
    """Those of the two maps: the one of F reads them in every monitor."""
    return {TAIL: sigmoid_tail_q16_table(), LOG2: log2_q15_table()}


def tables(program: Program, monitor: Monitor) -> dict[str, np.ndarray]:
    by_head = {
        table_name(program.pointers[tap.after]): head.residual.inverse_sigma_q9
        for tap, head in zip(monitor.body.taps, monitor.body.heads, strict=True)
    }
    return by_head | shared_tables()


def emit_luts(program: Program, monitor: Monitor) -> str:
    parts = [array(name, table, static=False) for name, table in tables(program, monitor).items()]
    return "\n".join([GENERATED, '#include "snap_parts.h"\n', *parts])
