/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_residual.h"

#include "snapnn.h"
#include "snapuq_simd.h"

/* Adds the products of z with two rows, whose weights lie in turns: a word and two int16 are four
 * MACs. Returns the end of the words. */
static inline const uint32_t *dot2(const uint32_t *words, const int16_t *z, int32_t inputs,
                                   int32_t *sum_a, int32_t *sum_b)
{
    int32_t a = *sum_a, b = *sum_b;
    for (int32_t left = inputs / 2; left > 0; --left, z += 2, ++words) {
        uint32_t pair;
        memcpy(&pair, z, 4);
        a = snapuq_smlad(pair, snapuq_even(*words), a);
        b = snapuq_smlad(pair, snapuq_odd(*words), b);
    }
    if (inputs % 2) {
        a += *z * (int8_t)*words;
        b += *z * (int8_t)(*words >> 8);
        ++words;
    }
    *sum_a = a;
    *sum_b = b;
    return words;
}

static void project(const struct snapnn_head_s8 *head, const int16_t *x, int16_t *z)
{
    const uint32_t *words = head->projector;
    for (int32_t j = 0; j < head->rank; j += 2) {
        int32_t sum[2] = {0, 0};
        words = dot2(words, x, head->in_channels, &sum[0], &sum[1]);
        for (int32_t i = 0; i < 2 && j + i < head->rank; ++i) {
            const int32_t latent =
                snapuq_requantize(sum[i], head->latent.mantissa, head->latent.shift);
            z[j + i] = (int16_t)snapuq_clamp(latent, INT16_MIN, INT16_MAX);
        }
    }
}

void snapnn_residual_s8(const struct snapnn_head_s8 *head, const int32_t *sum_before,
                        const int32_t *sum_after, int32_t predicted, int16_t *scratch,
                        int32_t *u_q12, uint16_t *inverse_sigma_q9)
{
    int16_t *z = scratch;
    int32_t inputs = head->in_channels;

    snapuq_standardize_q10(&head->before, inputs, sum_before, z);
    if (head->rank) {
        project(head, z, z + inputs);
        z += inputs;
        inputs = head->rank;
    }

    const uint32_t *words = head->weights;
    const int8_t *class_mean =
        head->class_mean ? head->class_mean + predicted * head->channels : 0;
    int32_t i = 0;
    for (int32_t k = 0; k < head->components; ++k) {
        for (int32_t c = 0; c < head->channels; ++c, ++i) {
            int32_t mean = 0, xi = head->xi_bias[i];
            words = dot2(words, z, inputs, &mean, &xi);
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
