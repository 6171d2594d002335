/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

void snapuq_concatenation_s8(const struct snapuq_concatenation_s8 *layer,
                             const int8_t *const *inputs, int8_t *output)
{
    for (int32_t k = 0; k < layer->inputs; ++k) {
        snapuq_copy_s8(&layer->copies[k], inputs[k], output);
    }
}
