"""snap_golden.h: a few inputs with the answers of the integer reference, for the self-test.

Nothing that settings decide is among the answers, so that they hold with any.
"""

import numpy as np
from numpy.typing import NDArray

from snapcli.data import Dataset
from snapcli.emit.text import GENERATED, wrap
from snapcli.graph.graph import Tensor
from snapcli.monitor.monitor import Monitor


def emit_golden(monitor: Monitor, inputs: np.ndarray) -> str:
    """inputs [n, *input shape] int8."""
    expected = monitor.run(inputs)
    rows = "".join(
        f"    {{\n{wrap(str(int(v)) for v in image)}    }},\n"
        for image in inputs.reshape(len(inputs), -1)
    )
    answers = "".join(
        f"    {{{p}, {{{', '.join(f'{v}u' for v in e) or '0u'}}}, {{{', '.join(map(str, z))}}}}},\n"
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
    uint32_t surprisal_q16[{max(1, expected.surprisal_q16.shape[1])}];
    int8_t logits[SNAP_MODEL_CLASSES];
}} snap_golden_expected[SNAP_GOLDEN_COUNT] = {{
{answers}}};

#endif
"""


# Inputs of the self-test: at most so many, and so many bytes, but at least one.
_GOLDEN, _GOLDEN_BYTES = 8, 4096


def golden_count(tensor: Tensor) -> int:
    """Inputs of the self-test in a firmware; tensor: the model's input."""
    return int(np.clip(_GOLDEN_BYTES // tensor.size_bytes, 1, _GOLDEN))


def dev_inputs(tensor: Tensor, dataset: Dataset, count: int) -> NDArray[np.int8]:
    """From all over the dev data: int8 [count or fewer, *shape of the tensor]."""
    return tensor.quantize(dataset.front_end(dataset.dev.spread(count).x))
