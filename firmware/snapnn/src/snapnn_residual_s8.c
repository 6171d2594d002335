/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_residual.h"

#include "snapnn_monitor.h"
#include "snapnn_scale.h"

static void project(const struct snapnn_head_s8 *head, const int16_t *x, int16_t *z)
{
    const int32_t inputs = snapnn_fours(head->in_channels);
    const uint32_t *words = head->projector;
    for (int32_t j = 0; j < head->rank; j += 4) {
        int32_t sum[4];
        words = snapnn_dot_rows(words, x, inputs, sum);
        for (int32_t i = 0; i < 4; ++i) {
            z[j + i] = snapuq_saturate16(
                snapuq_requantize(sum[i], head->latent.mantissa, head->latent.shift));
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
    const int32_t channels = head->channels;
    const int8_t *class_mean = head->class_mean ? head->class_mean + predicted * channels : 0;
    const uint32_t *words = head->words;
    int32_t sum[4];
    for (int32_t k = 0; k < head->components; ++k) {
        for (int32_t c = 0; c < channels; ++c, words += 3) {
            if (c % 2 == 0) {
                words = snapnn_dot_rows(words, z, inputs, sum);
            }
            const int32_t *both = sum + 2 * (c % 2);
            int32_t mean_q16 = snapnn_rescaled(both[0], head->mean.twice, head->mean.rounding,
                                               &head->mean.shift);
            if (class_mean) {
                mean_q16 += snapuq_requantize(class_mean[c], head->class_scale.mantissa,
                                              head->class_scale.shift);
            }
            const int32_t xi =
                snapuq_saturate8(snapnn_scaled(both[1] + (int32_t)words[0], &head->xi));
            const int32_t inverse_q9 = head->inverse_sigma_q9[xi + 128];
            const int32_t actual_q16 =
                snapnn_rescaled(sum_after[c], words[1], (int32_t)words[2], &head->after);
            const int32_t residual_q16 =
                snapuq_clamp(snapuq_subtract_saturated(actual_q16, mean_q16),
                             -SNAPUQ_RESIDUAL_LIMIT_Q16, SNAPUQ_RESIDUAL_LIMIT_Q16);
            /* The product, rounded, over 2^13. */
            *u_q12++ = snapuq_high_product(residual_q16 * (1 << 7), inverse_q9 << 12);
            if (inverse_sigma_q9) {
                *inverse_sigma_q9++ = (uint16_t)inverse_q9;
            }
        }
        words += channels % 2 * 3;
    }
}
