/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Arithmetic the kernels share, inlined into each of them. Not part of the contract.
 *
 * Right shifts of negative numbers are arithmetic here: C11 leaves that to the
 * implementation, and every compiler for our targets defines it so.
 */
#ifndef SNAPUQ_ARITH_H
#define SNAPUQ_ARITH_H

#include "snapuq.h"

static inline int32_t snapuq_clamp(int32_t value, int32_t min, int32_t max)
{
    return value < min ? min : value > max ? max : value;
}

static inline int64_t snapuq_clamp64(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static inline int64_t snapuq_mul_q16(int64_t a, int64_t b)
{
    return (a * b + (1 << 15)) >> 16;
}

/* snapuq_requantize() for a shift that is not positive. */
static inline int32_t snapuq_requantize_down(int32_t value, int32_t mantissa, int32_t shift)
{
    /* gemmlowp's sign-dependent nudge and truncation amount to rounding half up. */
    const int32_t high = (int32_t)(((int64_t)value * mantissa + (1 << 30)) >> 31);
    if (shift >= 0) {
        return high;
    }
    /* Half away from zero: half up, of one less if negative. The last bit is halved apart, because
     * adding half at once could overflow. */
    return (((high + (high >> 31)) >> (-shift - 1)) + 1) >> 1;
}

/* snapuq_requantize() without the call. */
static inline int32_t snapuq_requantize_inline(int32_t value, int32_t mantissa, int32_t shift)
{
    if (shift > 0) {
        value = value < INT32_MIN >> shift   ? INT32_MIN
                : value > INT32_MAX >> shift ? INT32_MAX
                                             : value * (1 << shift);
    }
    return snapuq_requantize_down(value, mantissa, shift);
}

/* floor(sqrt(value)), bit by bit; value < 2^62. */
static inline uint32_t snapuq_square_root(uint64_t value)
{
    uint64_t root = 0, bit = UINT64_C(1) << 60;
    while (bit > value) {
        bit >>= 2;
    }
    for (; bit; bit >>= 2) {
        if (value >= root + bit) {
            value -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)root;
}

/* A pooled sum in standard deviations, but for the offset. Called, not inlined, like all
 * requantization in the monitor: it happens once per channel, and the copies of it would be most
 * of a head's code. */
static inline int64_t snapuq_standardized(const struct snapuq_standardize *parameters,
                                          int32_t channel, int32_t sum)
{
    return snapuq_requantize(sum, parameters->mantissa[channel], parameters->shift);
}

/* total / count, saturated to INT32_MAX; count < 2^16. By hand in 32 bits, because the
 * compiler's 64-bit division alone takes half as much flash as all of a head's code. */
static inline uint32_t snapuq_mean_q16(uint64_t total, uint32_t count)
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

/* clamp(scaled + zero_point, min, max), safe for every scaled. */
static inline int8_t snapuq_place(int32_t scaled, int32_t zero_point, int32_t min, int32_t max)
{
    return (int8_t)(snapuq_clamp(scaled, min - zero_point, max - zero_point) + zero_point);
}

/* The int8 output of a channel from its accumulator, bias included. */
typedef int8_t snapuq_finish(const struct snapuq_output_s8 *out, int32_t channel,
                             int32_t accumulator);

static inline int8_t snapuq_output(const struct snapuq_output_s8 *out, int32_t channel,
                                   int32_t accumulator)
{
    const int32_t scaled =
        snapuq_requantize_inline(accumulator, out->mantissa[channel], out->shift[channel]);
    return snapuq_place(scaled, out->zero_point, out->min, out->max);
}

/* sum += sum_i (x[i] - zero_point) * weights[i] */
static inline void snapuq_dot(const int8_t *x, const int8_t *weights, int32_t length,
                              int32_t zero_point, int32_t *sum)
{
    int32_t total = *sum;
    for (const int8_t *end = x + length; x != end; ++x) {
        total += (*x - zero_point) * *weights++;
    }
    *sum = total;
}

/* The same for four rows of weights, `row` apart: one load and one subtraction
 * of an activation serve four products. */
static inline void snapuq_dot4(const int8_t *x, const int8_t *weights, int32_t row, int32_t length,
                               int32_t zero_point, int32_t sum[4])
{
    const int8_t *w0 = weights, *w1 = w0 + row, *w2 = w1 + row, *w3 = w2 + row;
    int32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    for (const int8_t *end = x + length; x != end; ++x) {
        const int32_t activation = *x - zero_point;
        s0 += activation * *w0++;
        s1 += activation * *w1++;
        s2 += activation * *w2++;
        s3 += activation * *w3++;
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/* One row of a matrix product: a fully connected layer, or a position of a 1x1 convolution. */
static inline void snapuq_dense(const int8_t *input, int32_t inputs, int32_t zero_point,
                                const int8_t *weights, const struct snapuq_output_s8 *out,
                                int32_t outputs, snapuq_finish *finish, int8_t *output)
{
    int32_t o = 0;
    for (; o + 4 <= outputs; o += 4, weights += 4 * inputs) {
        int32_t sum[4] = {out->bias[o], out->bias[o + 1], out->bias[o + 2], out->bias[o + 3]};
        snapuq_dot4(input, weights, inputs, inputs, zero_point, sum);
        for (int32_t i = 0; i < 4; ++i) {
            output[o + i] = finish(out, o + i, sum[i]);
        }
    }
    for (; o < outputs; ++o, weights += inputs) {
        int32_t sum = out->bias[o];
        snapuq_dot(input, weights, inputs, zero_point, &sum);
        output[o] = finish(out, o, sum);
    }
}

/* An operand of a sum or difference, scaled to twice the larger scale of the two. */
static inline int32_t snapuq_operand(int32_t value, int32_t zero_point,
                                     struct snapuq_multiplier multiplier)
{
    return snapuq_requantize_down((value - zero_point) * (1 << 20), multiplier.mantissa,
                                  multiplier.shift);
}

/* The index after i in an operand that starts again at its end. */
static inline int32_t snapuq_next(int32_t i, int32_t length)
{
    return i + 1 == length ? 0 : i + 1;
}

/* The taps [first, end) of a kernel at `start` that lie inside an axis of `size`
 * elements: clipping once replaces a test per tap. */
struct snapuq_taps {
    int32_t first, end;
};

static inline struct snapuq_taps snapuq_clip(int32_t start, int32_t size, int32_t kernel,
                                             int32_t dilation)
{
    struct snapuq_taps taps = {0, (size - start + dilation - 1) / dilation};
    if (start < 0) {
        taps.first = (-start + dilation - 1) / dilation;
    }
    if (taps.end > kernel) {
        taps.end = kernel;
    }
    return taps;
}

/* Where one output position looks: its kernel's taps, and tap (0, 0) in the input. */
struct snapuq_window {
    struct snapuq_taps y, x;
    int32_t top, left;
};

/* The part of a pooling window that lies inside the input. */
struct snapuq_patch {
    const int8_t *first; /* its first position */
    int32_t rows, columns;
    int32_t skip; /* bytes from the end of a row to the start of the next */
};

static inline struct snapuq_patch snapuq_patch(const struct snapuq_pool_s8 *layer,
                                               const int8_t *input, int32_t oy, int32_t ox)
{
    const int32_t top = oy * layer->stride_h - layer->pad_top;
    const int32_t left = ox * layer->stride_w - layer->pad_left;
    const struct snapuq_taps y = snapuq_clip(top, layer->in_h, layer->kernel_h, 1);
    const struct snapuq_taps x = snapuq_clip(left, layer->in_w, layer->kernel_w, 1);
    const int32_t start = (top + y.first) * layer->in_w + left + x.first;
    return (struct snapuq_patch){
        .first = input + start * layer->channels,
        .rows = y.end - y.first,
        .columns = x.end - x.first,
        .skip = (layer->in_w - (x.end - x.first)) * layer->channels,
    };
}

#endif
