/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

/* The product of two Q31 numbers. */
static inline int32_t high_mul(int32_t a, int32_t b)
{
    return snapuq_requantize_down(a, b, 0);
}

/* 1 / d, Q31, of d in [1, 2), Q31, by three steps of Newton's method. */
static int32_t reciprocal_q31(uint32_t denominator_q31)
{
    const int32_t half = (int32_t)(denominator_q31 >> 1);
    int32_t x_q29 = 1515870810 + high_mul(half, -1010580540); /* 48/17 - 32/17 * half */
    for (int32_t i = 0; i < 3; ++i) {
        x_q29 += high_mul(x_q29, (1 << 29) - high_mul(half, x_q29)) * 4;
    }
    return x_q29 < 1 << 30 ? x_q29 * 2 : INT32_MAX;
}

static void softmax(const int8_t *input, int32_t classes, const int32_t *exp_q31, int8_t *output)
{
    const int32_t max = input[snapuq_argmax_s8(input, classes)];
    uint32_t sum_q19 = 0;
    for (int32_t k = 0; k < classes; ++k) {
        sum_q19 += ((uint32_t)exp_q31[max - input[k]] + (1 << 11)) >> 12;
    }

    int32_t headroom = 0;
    while (!(sum_q19 >> 31)) {
        sum_q19 <<= 1;
        ++headroom;
    }
    const int32_t reciprocal = reciprocal_q31(sum_q19);
    /* With a sum of 512 or more, where TFLite gives up, every result is 0 or 1 step. */
    const int32_t shift = headroom > 4 ? headroom - 35 : -31;
    for (int32_t k = 0; k < classes; ++k) {
        const int32_t steps = snapuq_requantize_down(exp_q31[max - input[k]], reciprocal, shift);
        output[k] = snapuq_place(steps, INT8_MIN, INT8_MIN, INT8_MAX);
    }
}

void snapuq_softmax_s8(const struct snapuq_softmax_s8 *layer, const int8_t *input, int8_t *output)
{
    for (int32_t left = layer->positions; left > 0; --left) {
        softmax(input, layer->classes, layer->exp_q31, output);
        input += layer->classes;
        output += layer->classes;
    }
}
