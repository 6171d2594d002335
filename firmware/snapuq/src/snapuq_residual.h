/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* What residuals have in common, however the weights of a head lie. Not part of the contract. */
#ifndef SNAPUQ_RESIDUAL_H
#define SNAPUQ_RESIDUAL_H

#include "snapuq_arith.h"

#define SNAPUQ_RESIDUAL_LIMIT_Q16 (1 << 23)

/* x: the pooled sums before the block, standardized to Q10. */
static inline void snapuq_standardize_q10(const struct snapuq_standardize *before,
                                          int32_t channels, const int32_t *sum, int16_t *x)
{
    for (int32_t c = 0; c < channels; ++c) {
        const int64_t value = snapuq_standardized(before, c, sum[c]) + before->offset[c];
        x[c] = (int16_t)snapuq_clamp64(value, INT16_MIN, INT16_MAX);
    }
}

/* u of row i, which predicts channel c: mean is all that is predicted of it. */
static inline int32_t snapuq_residual_q12(const struct snapuq_standardize *after, int32_t c,
                                          int32_t i, int32_t sum, int64_t mean_q16,
                                          uint16_t inverse_q9)
{
    const int64_t difference = snapuq_standardized(after, c, sum) + after->offset[i] - mean_q16;
    const int32_t residual_q16 = (int32_t)snapuq_clamp64(difference, -SNAPUQ_RESIDUAL_LIMIT_Q16,
                                                         SNAPUQ_RESIDUAL_LIMIT_Q16);
    return (int32_t)(((int64_t)residual_q16 * inverse_q9 + (1 << 12)) >> 13);
}

#endif
