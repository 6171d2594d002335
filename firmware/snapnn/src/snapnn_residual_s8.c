/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_residual.h"

#include "snapnn_monitor.h"

static inline int32_t rescaled(int32_t value, const struct snapnn_rescale *scale)
{
    return snapnn_rescaled(value, scale->twice, scale->rounding, &scale->shift);
}

static void project(const struct snapnn_head_s8 *head, const int16_t *x, int16_t *z)
{
    const int32_t inputs = snapnn_fours(head->in_channels);
    const uint32_t *words = head->projector;
    for (int32_t j = 0; j < head->rank; j += 4) {
        int32_t sum[4];
        words = snapnn_dot_rows(words, x, inputs, sum);
        for (int32_t i = 0; i < 4; ++i) {
            z[j + i] = snapuq_saturate16(rescaled(sum[i], &head->latent));
        }
    }
}

void snapnn_residual_s8(const struct snapnn_head_s8 *head, const int32_t *sum_before,
                        const int32_t *sum_after, int32_t predicted, int16_t *scratch,
                        int32_t *u_q12, uint16_t *inverse_sigma_q9)
{
    int16_t *z = scratch, *x = z + snapnn_fours(head->rank);
    snapnn_standardized(&head->before, head->in_channels, sum_before, x);
    if (head->rank) {
        project(head, x, z);
    }

    const int32_t inputs = snapnn_fours(head->rank ? head->rank : head->in_channels);
    const int32_t channels = head->channels, rows = head->components * channels;
    const int8_t *class_mean = head->class_mean ? head->class_mean + predicted * channels : 0;
    const uint32_t *words = head->weights;
    for (int32_t i = 0, c = 0; i < rows;) {
        int32_t sum[4];
        words = snapnn_dot_rows(words, z, inputs, sum);
        for (int32_t k = 0; k < 4 && i < rows; k += 2, ++i) {
            int32_t mean_q16 = rescaled(sum[k], &head->mean);
            if (class_mean) {
                mean_q16 += snapuq_requantize(class_mean[c], head->class_scale.mantissa,
                                              head->class_scale.shift);
            }
            const int32_t xi =
                snapuq_saturate8(rescaled(sum[k + 1] + head->xi_bias[i], &head->xi));
            const int32_t inverse_q9 = head->inverse_sigma_q9[xi + 128];
            const int32_t actual_q16 = snapnn_rescaled(sum_after[c], head->after.twice[c],
                                                       head->after.rounding[i],
                                                       &head->after.shift);
            const int32_t residual_q16 =
                snapuq_clamp(snapuq_subtract_saturated(actual_q16, mean_q16),
                             -SNAPUQ_RESIDUAL_LIMIT_Q16, SNAPUQ_RESIDUAL_LIMIT_Q16);
            /* The product, rounded, over 2^13. */
            u_q12[i] = snapuq_high_product(residual_q16 * (1 << 7), inverse_q9 << 12);
            if (inverse_sigma_q9) {
                inverse_sigma_q9[i] = (uint16_t)inverse_q9;
            }
            c = snapuq_next(c, channels);
        }
    }
}
