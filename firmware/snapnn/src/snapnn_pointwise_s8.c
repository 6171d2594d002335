/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_columns.h"
#include "snapnn_row.h"
#include "snapnn_tile.h"

/* A column from inputs that are no multiple of four. */
static void spread_rest(uint32_t *column, const int8_t *from, int32_t inputs)
{
    column = snapnn_spread(column, from, inputs / 4);
    if (inputs % 4) {
        snapnn_spread1(column, snapuq_load_rest(from + inputs / 4 * 4, inputs % 4));
    }
}

void snapnn_pointwise_s8(const struct snapnn_pointwise_s8 *layer, const int8_t *input,
                         void *scratch, int8_t *output)
{
    const struct snapnn_matrix *matrix = &layer->matrix;
    uint32_t *columns = scratch;
    int32_t left = layer->positions;
    for (; left >= 4; left -= 4, output += 4 * matrix->channels) {
        for (int32_t p = 0; p < 4; ++p, input += layer->in_c) {
            spread_rest(columns + p, input, layer->in_c);
        }
        snapnn_tile(columns, matrix->words, matrix->groups, matrix->channels, output);
        snapnn_limit(output, 4 * matrix->channels, &layer->range);
    }
    for (; left > 0; --left, input += layer->in_c, output += matrix->channels) {
        /* The output may lie over the input, and a row writes before it has read all. */
        snapnn_copy(scratch, input, layer->in_c);
        snapnn_row_conv(matrix, scratch, layer->in_c, output);
        snapnn_limit(output, matrix->channels, &layer->range);
    }
}
