"""THE integer semantics: what the firmware computes, in numpy, bit for bit (SPEC 1).

Every function takes a batch along the first axis; module names pair with the C files
of firmware/snapuq/src.
"""

from snapcli.fixedpoint.confidence import (
    Confidence,
    argmax_s8,
    confidence_of,
    doubt_q16,
    error_logit_q16,
)
from snapcli.fixedpoint.conv import ConvS8, conv_s8, conv_window, depthwise_conv_s8
from snapcli.fixedpoint.fully_connected import FullyConnectedS8, fully_connected_s8
from snapcli.fixedpoint.ln import ln_q16, log2_q15_table
from snapcli.fixedpoint.maps import (
    MapGated,
    MapIsotonic,
    MapLogistic,
    map_gated_q16,
    map_isotonic_q16,
    map_logistic_q16,
)
from snapcli.fixedpoint.mean import MeanS8, mean_multiplier, mean_s8
from snapcli.fixedpoint.output import (
    OutputS8,
    activation_range,
    output_multipliers,
    output_s8,
)
from snapcli.fixedpoint.pool_sum import pool_sum_s8
from snapcli.fixedpoint.requantize import (
    Multiplier,
    quantize_multiplier,
    quantize_multipliers,
    quantize_multipliers_shared,
    requantize,
    requantize_once,
)
from snapcli.fixedpoint.score import quantize_weights_q16, score_q16
from snapcli.fixedpoint.sigmoid import sigmoid_q16, sigmoid_tail_q16_table
from snapcli.fixedpoint.surprisal import (
    GaussianHeadS8,
    Standardize,
    inverse_sigma_q9_table,
    surprisal_s8,
)

__all__ = [
    "Confidence",
    "ConvS8",
    "FullyConnectedS8",
    "GaussianHeadS8",
    "MapGated",
    "MapIsotonic",
    "MapLogistic",
    "MeanS8",
    "Multiplier",
    "OutputS8",
    "Standardize",
    "activation_range",
    "argmax_s8",
    "confidence_of",
    "conv_s8",
    "conv_window",
    "depthwise_conv_s8",
    "doubt_q16",
    "error_logit_q16",
    "fully_connected_s8",
    "inverse_sigma_q9_table",
    "ln_q16",
    "log2_q15_table",
    "map_gated_q16",
    "map_isotonic_q16",
    "map_logistic_q16",
    "mean_multiplier",
    "mean_s8",
    "output_multipliers",
    "output_s8",
    "pool_sum_s8",
    "quantize_multiplier",
    "quantize_multipliers",
    "quantize_multipliers_shared",
    "quantize_weights_q16",
    "requantize",
    "requantize_once",
    "score_q16",
    "sigmoid_q16",
    "sigmoid_tail_q16_table",
    "surprisal_s8",
]
