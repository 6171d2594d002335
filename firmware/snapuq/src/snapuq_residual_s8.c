/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_residual.h"

static void project(const struct snapuq_head_s8 *head, const int16_t *x, int16_t *z)
{
    const int8_t *weights = head->projector;
    for (int32_t j = 0; j < head->rank; ++j) {
        int32_t sum = 0;
        for (int32_t c = 0; c < head->in_channels; ++c) {
            sum += *weights++ * x[c];
        }
        sum = snapuq_requantize(sum, head->latent.mantissa, head->latent.shift);
        z[j] = (int16_t)snapuq_clamp(sum, INT16_MIN, INT16_MAX);
    }
}

void snapuq_residual_s8(const struct snapuq_head_s8 *head, const int32_t *sum_before,
                        const int32_t *sum_after, int32_t predicted, int16_t *scratch,
                        int32_t *u_q12, uint16_t *inverse_sigma_q9)
{
    int16_t *z = scratch, *x = z + head->rank;
    const int32_t inputs = head->rank ? head->rank : head->in_channels;

    snapuq_standardize_q10(&head->before, head->in_channels, sum_before, x);
    if (head->rank) {
        project(head, x, z);
    }

    const int8_t *mean_weights = head->mean_weights;
    const int8_t *xi_weights = head->xi_weights;
    const int8_t *class_mean =
        head->class_mean ? head->class_mean + predicted * head->channels : 0;
    int32_t i = 0;
    for (int32_t k = 0; k < head->components; ++k) {
        for (int32_t c = 0; c < head->channels; ++c, ++i) {
            int32_t mean = 0, xi = head->xi_bias[i];
            /* Both heads in one pass: they share the loads of z. */
            for (const int16_t *from = z, *end = z + inputs; from != end; ++from) {
                mean += *mean_weights++ * *from;
                xi += *xi_weights++ * *from;
            }
            mean = snapuq_requantize(mean, head->mean.mantissa, head->mean.shift);
            xi = snapuq_requantize(xi, head->xi.mantissa, head->xi.shift);
            xi = snapuq_place(xi, head->xi_zero_point, INT8_MIN, INT8_MAX);

            int64_t predicted_q16 = mean;
            if (class_mean) {
                predicted_q16 += snapuq_requantize(class_mean[c], head->class_scale.mantissa,
                                                   head->class_scale.shift);
            }
            const uint16_t inverse_q9 = head->inverse_sigma_q9[xi + 128];
            u_q12[i] = snapuq_residual_q12(&head->after, c, i, sum_after[c], predicted_q16,
                                           inverse_q9);
            if (inverse_sigma_q9) {
                inverse_sigma_q9[i] = inverse_q9;
            }
        }
    }
}
