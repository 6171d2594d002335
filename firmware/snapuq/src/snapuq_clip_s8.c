/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

void snapuq_clip_s8(const struct snapuq_clip_s8 *layer, const int8_t *input, int8_t *output)
{
    for (int32_t left = layer->length; left > 0; --left) {
        const int8_t value = *input++;
        *output++ = value < layer->limit ? value : (int8_t)layer->limit;
    }
}
