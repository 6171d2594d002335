"""THE integer semantics: what the firmware computes, in numpy, bit for bit (SPEC 1).

Every function takes a batch along the first axis; module names pair with the C files
of firmware/snapuq/src.
"""

from snapcli.fixedpoint.add import AddS8, add_multipliers, add_s8, sub_s8
from snapcli.fixedpoint.budget import (
    Budget,
    BudgetState,
    budget_of,
    budget_run,
    budget_start,
    budget_step,
)
from snapcli.fixedpoint.checks import (
    BIAS_LIMIT,
    CHANNELS_MAX,
    INPUTS_MAX,
    check_between,
    check_bias,
    check_multiplier,
    check_weights,
)
from snapcli.fixedpoint.confidence import (
    Confidence,
    argmax_s8,
    confidence_of,
    doubt_q16,
    error_logit_q16,
    free_energy_q16,
)
from snapcli.fixedpoint.conv import ConvS8, conv_s8, conv_window, depthwise_conv_s8
from snapcli.fixedpoint.conv_add import ConvAddS8, conv_add_s8
from snapcli.fixedpoint.copy import (
    ConcatenationS8,
    CopyS8,
    PadS8,
    broadcast_copy,
    concatenation_of,
    concatenation_s8,
    copy_s8,
    pad_of,
    pad_s8,
    slice_copy,
    transpose_copy,
)
from snapcli.fixedpoint.energy import Energy, check_components, mean_q16
from snapcli.fixedpoint.entropy import average_q16, entropy_q16
from snapcli.fixedpoint.exp import exp_q16
from snapcli.fixedpoint.fully_connected import FullyConnectedS8, fully_connected_s8
from snapcli.fixedpoint.hidden import Hidden, hidden_q16
from snapcli.fixedpoint.ln import ln_of_q16, ln_q16, log2_q15_table
from snapcli.fixedpoint.lut import (
    LutS8,
    Quantization,
    hard_swish_table,
    leaky_relu_table,
    logistic_table,
    lut_s8,
    relu_table,
    requantize_table,
    tanh_table,
)
from snapcli.fixedpoint.mahalanobis import MahalanobisS8, mahalanobis_s8
from snapcli.fixedpoint.maps import (
    MapClassGated,
    MapGated,
    MapIsotonic,
    MapLogistic,
    map_class_gated_q16,
    map_gated_q16,
    map_isotonic_q16,
    map_logistic_q16,
)
from snapcli.fixedpoint.mean import MeanS8, mean_multiplier, mean_s8
from snapcli.fixedpoint.mul import MulS8, mul_multiplier, mul_s8
from snapcli.fixedpoint.output import (
    OutputS8,
    activation_range,
    output_multipliers,
    output_s8,
)
from snapcli.fixedpoint.pool import PoolS8, average_pool_s8, max_pool_s8, reduce_max_pool
from snapcli.fixedpoint.pool_sum import pool_moments_s8, pool_sum_s8
from snapcli.fixedpoint.probability import probability_q16, probability_step_q24
from snapcli.fixedpoint.quantize import (
    DequantizeS8F32,
    QuantizeF32S8,
    dequantize_s8_f32,
    quantize_f32_s8,
)
from snapcli.fixedpoint.requantize import (
    Multiplier,
    quantize_multiplier,
    quantize_multipliers,
    quantize_multipliers_shared,
    requantize,
    requantize_once,
)
from snapcli.fixedpoint.residual import HeadS8, Residual, Standardize, exact_product, residual_s8
from snapcli.fixedpoint.resize_nearest import ResizeNearestS8, nearest_index, resize_nearest_s8
from snapcli.fixedpoint.score import quantize_weights_q16, score_q16
from snapcli.fixedpoint.shaping import AshS8, ClipS8, ash_s8, clip_s8
from snapcli.fixedpoint.sigma import inverse_sigma_q9_table
from snapcli.fixedpoint.sigmoid import sigmoid_q16, sigmoid_tail_q16_table
from snapcli.fixedpoint.softmax import SoftmaxS8, softmax_of, softmax_s8
from snapcli.fixedpoint.surprisal import DeviceHead, surprisal_q16

__all__ = [
    "BIAS_LIMIT",
    "CHANNELS_MAX",
    "INPUTS_MAX",
    "AddS8",
    "AshS8",
    "Budget",
    "BudgetState",
    "ClipS8",
    "ConcatenationS8",
    "Confidence",
    "ConvAddS8",
    "ConvS8",
    "CopyS8",
    "DequantizeS8F32",
    "DeviceHead",
    "Energy",
    "FullyConnectedS8",
    "HeadS8",
    "Hidden",
    "LutS8",
    "MahalanobisS8",
    "MapClassGated",
    "MapGated",
    "MapIsotonic",
    "MapLogistic",
    "MeanS8",
    "MulS8",
    "Multiplier",
    "OutputS8",
    "PadS8",
    "PoolS8",
    "Quantization",
    "QuantizeF32S8",
    "Residual",
    "ResizeNearestS8",
    "SoftmaxS8",
    "Standardize",
    "activation_range",
    "add_multipliers",
    "add_s8",
    "argmax_s8",
    "ash_s8",
    "average_pool_s8",
    "average_q16",
    "broadcast_copy",
    "budget_of",
    "budget_run",
    "budget_start",
    "budget_step",
    "check_between",
    "check_bias",
    "check_components",
    "check_multiplier",
    "check_weights",
    "clip_s8",
    "concatenation_of",
    "concatenation_s8",
    "confidence_of",
    "conv_add_s8",
    "conv_s8",
    "conv_window",
    "copy_s8",
    "depthwise_conv_s8",
    "dequantize_s8_f32",
    "doubt_q16",
    "entropy_q16",
    "error_logit_q16",
    "exact_product",
    "exp_q16",
    "free_energy_q16",
    "fully_connected_s8",
    "hard_swish_table",
    "hidden_q16",
    "inverse_sigma_q9_table",
    "leaky_relu_table",
    "ln_of_q16",
    "ln_q16",
    "log2_q15_table",
    "logistic_table",
    "lut_s8",
    "mahalanobis_s8",
    "map_class_gated_q16",
    "map_gated_q16",
    "map_isotonic_q16",
    "map_logistic_q16",
    "max_pool_s8",
    "mean_multiplier",
    "mean_q16",
    "mean_s8",
    "mul_multiplier",
    "mul_s8",
    "nearest_index",
    "output_multipliers",
    "output_s8",
    "pad_of",
    "pad_s8",
    "pool_moments_s8",
    "pool_sum_s8",
    "probability_q16",
    "probability_step_q24",
    "quantize_f32_s8",
    "quantize_multiplier",
    "quantize_multipliers",
    "quantize_multipliers_shared",
    "quantize_weights_q16",
    "reduce_max_pool",
    "relu_table",
    "requantize",
    "requantize_once",
    "requantize_table",
    "residual_s8",
    "resize_nearest_s8",
    "score_q16",
    "sigmoid_q16",
    "sigmoid_tail_q16_table",
    "slice_copy",
    "softmax_of",
    "softmax_s8",
    "sub_s8",
    "surprisal_q16",
    "tanh_table",
    "transpose_copy",
]
