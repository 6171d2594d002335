/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

int32_t snapuq_argmax_s8(const int8_t *logits, int32_t classes)
{
    int32_t best = 0;
    for (int32_t k = 1; k < classes; ++k) {
        if (logits[k] > logits[best]) {
            best = k;
        }
    }
    return best;
}
