/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

/* ln of the sum of exp(value[k]), all in Q16. */
static int64_t log_sum_exp_q16(const int64_t *value_q16, int32_t count, const uint16_t *log2_q15)
{
    int64_t top = value_q16[0];
    for (int32_t k = 1; k < count; ++k) {
        top = value_q16[k] > top ? value_q16[k] : top;
    }
    uint32_t total_q16 = 0;
    for (int32_t k = 0; k < count; ++k) {
        total_q16 += snapuq_exp_q16((uint64_t)(top - value_q16[k]));
    }
    return top + snapuq_ln_q16(total_q16, log2_q15) - snapuq_ln_q16(1 << 16, log2_q15);
}

uint32_t snapuq_energy_mixture_q16(const struct snapuq_energy_mixture *energy,
                                   const int32_t *u_q12, const uint16_t *inverse_sigma_q9,
                                   int32_t channels, const int16_t *latent)
{
    int64_t height_q16[SNAPUQ_COMPONENTS_MAX], reached_q16[SNAPUQ_COMPONENTS_MAX];
    const int8_t *weights = energy->weights;

    for (int32_t k = 0; k < energy->components; ++k) {
        int32_t logit = energy->bias[k];
        for (int32_t j = 0; j < energy->inputs; ++j) {
            logit += *weights++ * latent[j];
        }
        height_q16[k] =
            snapuq_requantize_inline(logit, energy->logit.mantissa, energy->logit.shift);
        uint64_t total_q24 = 0;
        for (int32_t i = 0; i < channels; ++i, ++u_q12) {
            /* -1/2 ln sigma^2; the unit of 1 / sigma is common to all components. */
            height_q16[k] += snapuq_ln_q16(*inverse_sigma_q9++, energy->log2_q15);
            total_q24 += (uint64_t)((int64_t)*u_q12 * *u_q12);
        }
        reached_q16[k] = height_q16[k] - (int64_t)(total_q24 >> 9);
    }

    const int64_t below_q16 =
        log_sum_exp_q16(height_q16, energy->components, energy->log2_q15) -
        log_sum_exp_q16(reached_q16, energy->components, energy->log2_q15);
    return snapuq_mean_q16(below_q16 > 0 ? 2 * (uint64_t)below_q16 : 0, (uint32_t)channels);
}
