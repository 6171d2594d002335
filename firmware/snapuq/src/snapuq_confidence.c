/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

/* The largest logit besides the predicted one. */
static int32_t second_of(const struct snapuq_confidence *confidence, const int8_t *logits,
                         int32_t predicted)
{
    int32_t second = INT8_MIN;
    for (int32_t k = 0; k < confidence->classes; ++k) {
        if (k != predicted && logits[k] > second) {
            second = logits[k];
        }
    }
    return second;
}

/* Unnormalized probabilities of the classes that were not predicted, where a
 * logit of `top` counts one. */
static uint32_t others_q15(const struct snapuq_confidence *confidence, const int8_t *logits,
                           int32_t predicted, int32_t top)
{
    uint32_t sum = 0;
    for (int32_t k = 0; k < confidence->classes; ++k) {
        if (k != predicted) {
            sum += confidence->exp_q15[top - logits[k]];
        }
    }
    return sum;
}

int32_t snapuq_error_logit_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                               int32_t predicted, const uint16_t *log2_q15)
{
    /* Relative to the second class nothing underflows, however sure the classifier is. */
    const int32_t second = second_of(confidence, logits, predicted);
    const uint32_t others = others_q15(confidence, logits, predicted, second);
    return snapuq_ln_q16(others, log2_q15) - snapuq_ln_q16(UINT32_C(1) << 15, log2_q15) -
           (logits[predicted] - second) * confidence->step_q16;
}

int32_t snapuq_free_energy_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                               int32_t predicted, const uint16_t *log2_q15)
{
    const int32_t top = logits[predicted];
    const uint32_t total = (UINT32_C(1) << 15) + others_q15(confidence, logits, predicted, top);
    return snapuq_ln_q16(UINT32_C(1) << 15, log2_q15) - snapuq_ln_q16(total, log2_q15) -
           top * confidence->step_q16;
}

uint32_t snapuq_doubt_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                          int32_t predicted, uint32_t alpha_q16)
{
    const int32_t top = logits[predicted];
    const uint32_t second = confidence->exp_q15[top - second_of(confidence, logits, predicted)];
    const uint32_t total = (UINT32_C(1) << 15) + others_q15(confidence, logits, predicted, top);
    const uint64_t p1 = ((UINT32_C(1) << 31) + total / 2) / total;
    const uint64_t p2 = ((second << 16) + total / 2) / total;
    const uint64_t doubt_q32 = alpha_q16 * (65536 - p1) + (65536 - alpha_q16) * (65536 - p1 + p2);
    return (uint32_t)((doubt_q32 + (1 << 15)) >> 16);
}
