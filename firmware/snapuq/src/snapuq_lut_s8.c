/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

void snapuq_lut_s8(const struct snapuq_lut_s8 *layer, const int8_t *input, int8_t *output)
{
    const int8_t *middle = layer->table + 128;
    for (int32_t left = layer->length; left > 0; --left) {
        *output++ = middle[*input++];
    }
}
