/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

static int32_t count_above(const int8_t *input, int32_t length, int32_t limit)
{
    int32_t count = 0;
    for (int32_t i = 0; i < length; ++i) {
        count += input[i] > limit;
    }
    return count;
}

void snapuq_ash_s8(const struct snapuq_ash_s8 *layer, const int8_t *input, int8_t *output)
{
    /* The smallest value with fewer than `kept` elements above it: it is the last that is kept. */
    int32_t low = INT8_MIN, high = INT8_MAX;
    while (low < high) {
        const int32_t middle = (low + high) >> 1;
        if (count_above(input, layer->length, middle) < layer->kept) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    int32_t total = 0;
    for (int32_t i = 0; i < layer->length; ++i) {
        total += input[i] - layer->zero_point;
    }
    const int32_t rounded = (total > 0 ? total : 0) + layer->kept / 2;
    const int32_t shared = snapuq_clamp(rounded / layer->kept + layer->zero_point, INT8_MIN,
                                        INT8_MAX);
    int32_t ties = layer->kept - count_above(input, layer->length, low);
    for (int32_t i = 0; i < layer->length; ++i) {
        const int is_kept = input[i] > low || (input[i] == low && ties-- > 0);
        output[i] = (int8_t)(is_kept ? shared : layer->zero_point);
    }
}
