"""snap_golden.h: a few inputs with the answers of the integer reference, for the self-test."""

import numpy as np

from snapcli.emit.text import GENERATED, wrap
from snapcli.graph.monitor import Monitor


def emit_golden(monitor: Monitor, inputs: np.ndarray) -> str:
    """inputs [n, *input shape] int8."""
    expected = monitor.run(inputs)
    rows = "".join(
        f"    {{\n{wrap(str(int(v)) for v in image)}    }},\n"
        for image in inputs.reshape(len(inputs), -1)
    )
    answers = "".join(
        f"    {{{p}, {s}u, {u}u}},\n"
        for p, s, u in zip(
            expected.predicted, expected.score_q16, expected.uncertainty_q16, strict=True
        )
    )
    return f"""{GENERATED}#ifndef SNAP_GOLDEN_H
#define SNAP_GOLDEN_H

#include "snap_model.h"

#define SNAP_GOLDEN_COUNT {len(inputs)}

static const int8_t snap_golden_input[SNAP_GOLDEN_COUNT][SNAP_MODEL_INPUT_BYTES] = {{
{rows}}};

static const struct {{
    int32_t predicted;
    uint32_t score_q16, uncertainty_q16;
}} snap_golden_expected[SNAP_GOLDEN_COUNT] = {{
{answers}}};

#endif
"""
