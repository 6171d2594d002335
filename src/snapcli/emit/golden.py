"""snap_golden.h: a few inputs with the answers of the integer reference, for the self-test.

Nothing that settings decide is among the answers, so that they hold with any.
"""

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
        f"    {{{p}, {{{', '.join(f'{v}u' for v in e)}}}, {{{', '.join(map(str, z))}}}}},\n"
        for p, e, z in zip(expected.predicted, expected.surprisal_q16, expected.logits, strict=True)
    )
    return f"""{GENERATED}#ifndef SNAP_GOLDEN_H
#define SNAP_GOLDEN_H

#include "snap_model.h"

#define SNAP_GOLDEN_COUNT {len(inputs)}

static const int8_t snap_golden_input[SNAP_GOLDEN_COUNT][SNAP_MODEL_INPUT_BYTES] = {{
{rows}}};

static const struct {{
    int32_t predicted;
    uint32_t surprisal_q16[{expected.surprisal_q16.shape[1]}];
    int8_t logits[SNAP_MODEL_CLASSES];
}} snap_golden_expected[SNAP_GOLDEN_COUNT] = {{
{answers}}};

#endif
"""
