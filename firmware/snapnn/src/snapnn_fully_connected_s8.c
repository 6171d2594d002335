/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_columns.h"
#include "snapnn_row.h"

/* Rounds once, half away from zero, unlike a convolution. */
static int32_t finish_once(int32_t accumulator, const struct snapnn_scale *scale,
                           int32_t zero_point)
{
    const int64_t product = (int64_t)accumulator * scale->multiplier;
    const int32_t right = scale->shift;
    const int64_t scaled =
        ((product + (INT64_C(1) << (right - 1)) - (product < 0)) >> right) + zero_point;
    return scaled < -128 ? -128 : scaled > 127 ? 127 : (int32_t)scaled;
}

void snapnn_fully_connected_s8(const struct snapnn_fully_connected_s8 *layer, const int8_t *input,
                               int8_t *output)
{
    const struct snapnn_matrix *matrix = &layer->matrix;
    for (int32_t left = layer->rows; left > 0; --left) {
        snapnn_row(matrix, input, layer->inputs, finish_once, layer->zero_point, output);
        snapnn_limit(output, matrix->channels, &layer->range);
        input += layer->inputs;
        output += matrix->channels;
    }
}
