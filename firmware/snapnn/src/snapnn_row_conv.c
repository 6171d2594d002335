/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_row.h"

#include "snapnn_scale.h"

static int32_t finish(int32_t accumulator, const struct snapnn_scale *scale, int32_t extra)
{
    (void)extra;
    return snapuq_saturate8(snapnn_scaled(accumulator, scale));
}

void snapnn_row_conv(const struct snapnn_matrix *matrix, const int8_t *input, int32_t inputs,
                     int8_t *output)
{
    snapnn_row(matrix, input, inputs, finish, 0, output);
}
