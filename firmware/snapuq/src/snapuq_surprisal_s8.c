#include "snapuq_arith.h"

#define RESIDUAL_LIMIT_Q16 (1 << 23)

static inline int64_t standardize(const struct snapuq_standardize *parameters, int32_t channel,
                                  int32_t sum)
{
    return (int64_t)snapuq_requantize_inline(sum, parameters->mantissa[channel],
                                             parameters->shift) +
           parameters->offset[channel];
}

static void project(const struct snapuq_gaussian_head_s8 *head, const int16_t *x, int16_t *z)
{
    const int8_t *weights = head->projector;
    for (int32_t j = 0; j < head->rank; ++j) {
        int32_t sum = 0;
        for (int32_t c = 0; c < head->in_channels; ++c) {
            sum += *weights++ * x[c];
        }
        sum = snapuq_requantize_inline(sum, head->latent.mantissa, head->latent.shift);
        z[j] = (int16_t)snapuq_clamp(sum, INT16_MIN, INT16_MAX);
    }
}

/* total / count, saturated to INT32_MAX; count < 2^16. By hand in 32 bits, because
 * the compiler's 64-bit division alone takes half as much flash as this whole file. */
static uint32_t mean_of(uint64_t total, uint32_t count)
{
    const uint32_t high = (uint32_t)(total >> 32), low = (uint32_t)total;
    if (high >= count) {
        return INT32_MAX;
    }
    const uint32_t middle = (high << 16) | (low >> 16);
    const uint32_t rest = ((middle % count) << 16) | (low & 65535);
    const uint32_t mean = ((middle / count) << 16) | (rest / count);
    return mean > INT32_MAX ? INT32_MAX : mean;
}

uint32_t snapuq_surprisal_s8(const struct snapuq_gaussian_head_s8 *head, const int32_t *sum_before,
                             const int32_t *sum_after, int16_t *scratch)
{
    int16_t *z = scratch;
    int32_t inputs = head->in_channels;

    for (int32_t c = 0; c < head->in_channels; ++c) {
        const int64_t x = standardize(&head->before, c, sum_before[c]);
        z[c] = (int16_t)snapuq_clamp64(x, INT16_MIN, INT16_MAX);
    }
    if (head->rank) {
        project(head, z, z + inputs);
        z += inputs;
        inputs = head->rank;
    }

    const int8_t *mean_weights = head->mean_weights;
    const int8_t *xi_weights = head->xi_weights;
    uint64_t total_q24 = 0;
    for (int32_t i = 0; i < head->channels; ++i) {
        int32_t mean = 0, xi = head->xi_bias[i];
        /* Both heads in one pass: they share the loads of z. */
        for (const int16_t *from = z, *end = z + inputs; from != end; ++from) {
            mean += *mean_weights++ * *from;
            xi += *xi_weights++ * *from;
        }
        mean = snapuq_requantize_inline(mean, head->mean.mantissa, head->mean.shift);
        xi = snapuq_requantize_inline(xi, head->xi.mantissa, head->xi.shift);
        xi = snapuq_place(xi, head->xi_zero_point, INT8_MIN, INT8_MAX);

        const int32_t residual_q16 =
            (int32_t)snapuq_clamp64(standardize(&head->after, i, sum_after[i]) - mean,
                                    -RESIDUAL_LIMIT_Q16, RESIDUAL_LIMIT_Q16);
        const int64_t product = (int64_t)residual_q16 * head->inverse_sigma_q9[xi + 128];
        const int32_t u_q12 = (int32_t)((product + (1 << 12)) >> 13);
        total_q24 += (uint64_t)((int64_t)u_q12 * u_q12);
    }

    return mean_of(total_q24 >> 8, (uint32_t)head->channels);
}
