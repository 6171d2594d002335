/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

/* Half away from zero; steps of less than 2^23, where a float still has a fraction. */
static int32_t nearest(float steps)
{
    const int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

void snapuq_quantize_f32_s8(const struct snapuq_quantize_f32_s8 *layer, const float *input,
                            int8_t *output)
{
    for (int32_t i = 0; i < layer->length; ++i) {
        float steps = input[i] / layer->scale;
        /* Only a number within this range may be converted; NaN is not above anything. */
        steps = steps > -256.0f ? steps : -256.0f;
        steps = steps < 256.0f ? steps : 256.0f;
        output[i] = snapuq_place(nearest(steps), layer->zero_point, INT8_MIN, INT8_MAX);
    }
}
