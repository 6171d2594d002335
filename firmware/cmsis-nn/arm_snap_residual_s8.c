/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "arm_snap_residual_s8.h"

#include "arm_nnsupportfunctions.h"

#define RESIDUAL_LIMIT_Q16 (1 << 23)

/* arm_nn_requantize() with a left shift that saturates. */
__STATIC_FORCEINLINE int32_t requantize(int32_t val, const int32_t multiplier, const int32_t shift)
{
    if (shift > 0)
    {
        val = val < NN_Q31_MIN >> shift ? NN_Q31_MIN : val > NN_Q31_MAX >> shift ? NN_Q31_MAX : val * (1 << shift);
    }
    return arm_nn_requantize(val, multiplier, MIN(shift, 0));
}

/* Where element i of a vector stands: in the order in which read_and_pad_reordered()
 * unpacks four weights, so that SMLAD takes both as they come. */
__STATIC_FORCEINLINE int32_t place(const int32_t i, const int32_t length)
{
#if defined(ARM_MATH_DSP)
    if (i < (length & ~3))
    {
        return (i & ~3) | ((i & 1) << 1) | ((i >> 1) & 1);
    }
#else
    (void)length;
#endif
    return i;
}

/* place() undone, for those who read the latent in its own order. */
__STATIC_FORCEINLINE void restore_order(int16_t *z, const int32_t length)
{
#if defined(ARM_MATH_DSP)
    for (int32_t i = 0; i < (length & ~3); i += 4)
    {
        const int16_t second = z[i + 2];
        z[i + 2] = z[i + 1];
        z[i + 1] = second;
    }
#else
    (void)z;
    (void)length;
#endif
}

/* Adds the products of z with a row of each of two matrices, and moves both on to their
 * next rows. Two at once, because they share the loads of z. */
__STATIC_FORCEINLINE void dot_2(const int8_t **weights_0,
                                const int8_t **weights_1,
                                const int16_t *z,
                                const int32_t length,
                                int32_t *sum_0,
                                int32_t *sum_1)
{
    const int8_t *w_0 = *weights_0;
    const int8_t *w_1 = *weights_1;
    const int8_t *const end = w_0 + length;
    int32_t acc_0 = *sum_0;
    int32_t acc_1 = *sum_1;
#if defined(ARM_MATH_DSP)
    const int8_t *const blocks_end = w_0 + (length & ~3);
    while (w_0 != blocks_end)
    {
        int32_t even_0, odd_0, even_1, odd_1;
        const int32_t z_even = arm_nn_read_q15x2_ia(&z);
        const int32_t z_odd = arm_nn_read_q15x2_ia(&z);
        w_0 = read_and_pad_reordered(w_0, &even_0, &odd_0);
        w_1 = read_and_pad_reordered(w_1, &even_1, &odd_1);
        acc_0 = SMLAD(even_0, z_even, acc_0);
        acc_1 = SMLAD(even_1, z_even, acc_1);
        acc_0 = SMLAD(odd_0, z_odd, acc_0);
        acc_1 = SMLAD(odd_1, z_odd, acc_1);
    }
#endif
    while (w_0 != end)
    {
        acc_0 += *w_0++ * *z;
        acc_1 += *w_1++ * *z++;
    }
    *weights_0 = w_0;
    *weights_1 = w_1;
    *sum_0 = acc_0;
    *sum_1 = acc_1;
}

int32_t arm_snap_residual_s8_get_buffer_size(const arm_snap_residual_params *params)
{
    return (params->in_channels + params->rank) * (int32_t)sizeof(int16_t);
}

arm_cmsis_nn_status arm_snap_residual_s8(const cmsis_nn_context *ctx,
                                         const arm_snap_residual_params *params,
                                         const int32_t *sum_before,
                                         const int32_t *sum_after,
                                         const int32_t predicted,
                                         int32_t *u_q12,
                                         uint16_t *inverse_sigma_q9)
{
    int16_t *z = (int16_t *)ctx->buf;
    int32_t inputs = params->in_channels;

    if (z == NULL)
    {
        return ARM_CMSIS_NN_ARG_ERROR;
    }

    int16_t *x = z + params->rank;
    for (int32_t c = 0; c < inputs; c++)
    {
        const int64_t scaled =
            (int64_t)requantize(sum_before[c], params->before.multiplier[c], params->before.shift) +
            params->before.offset[c];
        x[place(c, inputs)] = (int16_t)CLAMP(scaled, NN_Q15_MAX, NN_Q15_MIN);
    }

    if (params->rank)
    {
        const int32_t rank = params->rank;
        /* Rows j and j + half; with an odd rank the middle one is computed by both. */
        const int32_t half = rank / 2;
        const int32_t pairs = rank - half;
        const int8_t *lower = params->projector;
        const int8_t *upper = params->projector + half * inputs;
        for (int32_t j = 0; j < pairs; j++)
        {
            int32_t sum[2] = {0, 0};
            dot_2(&lower, &upper, x, inputs, &sum[0], &sum[1]);
            for (int32_t k = 0; k < 2; k++)
            {
                const int32_t scaled = requantize(sum[k], params->latent.multiplier, params->latent.shift);
                z[place(j + k * half, rank)] = (int16_t)CLAMP(scaled, NN_Q15_MAX, NN_Q15_MIN);
            }
        }
        inputs = rank;
    }

    const int8_t *mean_weights = params->mean_weights;
    const int8_t *xi_weights = params->xi_weights;
    const int8_t *class_mean = params->class_mean ? params->class_mean + predicted * params->channels : NULL;
    int32_t row = 0;
    for (int32_t k = 0; k < params->components; k++)
    {
        for (int32_t c = 0; c < params->channels; c++, row++)
        {
            int32_t mean = 0;
            int32_t xi = params->xi_bias[row];
            dot_2(&mean_weights, &xi_weights, z, inputs, &mean, &xi);
            mean = requantize(mean, params->mean.multiplier, params->mean.shift);
            xi = requantize(xi, params->xi.multiplier, params->xi.shift);
            /* The offset comes after the limits, because adding it first could overflow. */
            xi = CLAMP(xi, NN_Q7_MAX - params->xi_offset, NN_Q7_MIN - params->xi_offset) + params->xi_offset;

            int64_t difference = (int64_t)requantize(sum_after[c], params->after.multiplier[c], params->after.shift) +
                params->after.offset[row] - mean;
            if (class_mean)
            {
                difference -= requantize(class_mean[c], params->class_scale.multiplier, params->class_scale.shift);
            }
            const int32_t residual_q16 = (int32_t)CLAMP(difference, RESIDUAL_LIMIT_Q16, -RESIDUAL_LIMIT_Q16);
            const uint16_t inverse_q9 = params->inverse_sigma_q9[xi + 128];
            u_q12[row] = (int32_t)(((int64_t)residual_q16 * inverse_q9 + (1 << 12)) >> 13);
            if (inverse_sigma_q9)
            {
                inverse_sigma_q9[row] = inverse_q9;
            }
        }
    }

    restore_order(z, inputs);
    return ARM_CMSIS_NN_SUCCESS;
}
