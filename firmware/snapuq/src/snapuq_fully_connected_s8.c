/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

/* Rounds once, half away from zero: TFLite's reference kernel does so here, unlike
 * in its convolutions. */
static inline int8_t output_once(const struct snapuq_output_s8 *out, int32_t channel,
                                 int32_t accumulator)
{
    const int64_t product = (int64_t)accumulator * out->mantissa[channel];
    const int32_t right = 31 - out->shift[channel];
    const int64_t scaled = (product + (INT64_C(1) << (right - 1)) - (product < 0)) >> right;
    return snapuq_place((int32_t)snapuq_clamp64(scaled, INT32_MIN, INT32_MAX), out->zero_point,
                        out->min, out->max);
}

void snapuq_fully_connected_s8(const struct snapuq_fully_connected_s8 *layer, const int8_t *input,
                               int8_t *output)
{
    for (int32_t left = layer->rows; left > 0; --left) {
        snapuq_dense(input, layer->inputs, layer->in_zero_point, layer->weights, &layer->out,
                     layer->outputs, output_once, output);
        input += layer->inputs;
        output += layer->outputs;
    }
}
