/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* One position of a convolution, for the kernels that differ in what they do with it. Not part
 * of the contract. */
#ifndef SNAPUQ_CONVOLVE_H
#define SNAPUQ_CONVOLVE_H

#include "snapuq_arith.h"

/* Adds `rows` (1 or 4) output channels at once; weights is the first row's kernel. */
static inline void snapuq_accumulate(const struct snapuq_conv_s8 *layer,
                                     const struct snapuq_window *window, const int8_t *input,
                                     const int8_t *weights, int32_t rows, int32_t *sum)
{
    const int32_t in_c = layer->in_c;
    const int32_t row = layer->kernel_h * layer->kernel_w * in_c;
    /* Neighbouring taps are neighbours in memory unless dilated: one long run then. */
    const int32_t run = layer->dilation_w == 1 ? window->x.end - window->x.first : 1;

    for (int32_t ky = window->y.first; ky < window->y.end; ++ky) {
        const int32_t y = window->top + ky * layer->dilation_h;
        for (int32_t kx = window->x.first; kx < window->x.end; kx += run) {
            const int32_t x = window->left + kx * layer->dilation_w;
            const int8_t *from = input + (y * layer->in_w + x) * in_c;
            const int8_t *kernel = weights + (ky * layer->kernel_w + kx) * in_c;
            if (rows == 4) {
                snapuq_dot4(from, kernel, row, run * in_c, layer->in_zero_point, sum);
            } else {
                snapuq_dot(from, kernel, run * in_c, layer->in_zero_point, sum);
            }
        }
    }
}

/* output: one position, out_c channels. */
static void snapuq_convolve(const struct snapuq_conv_s8 *layer, const struct snapuq_window *window,
                            const int8_t *input, int8_t *output)
{
    const struct snapuq_output_s8 *out = &layer->out;
    const int32_t row = layer->kernel_h * layer->kernel_w * layer->in_c;
    const int8_t *weights = layer->weights;
    int32_t o = 0;

    for (; o + 4 <= layer->out_c; o += 4, weights += 4 * row) {
        int32_t sum[4] = {out->bias[o], out->bias[o + 1], out->bias[o + 2], out->bias[o + 3]};
        snapuq_accumulate(layer, window, input, weights, 4, sum);
        for (int32_t i = 0; i < 4; ++i) {
            output[o + i] = snapuq_output(out, o + i, sum[i]);
        }
    }
    for (; o < layer->out_c; ++o, weights += row) {
        int32_t sum = out->bias[o];
        snapuq_accumulate(layer, window, input, weights, 1, &sum);
        output[o] = snapuq_output(out, o, sum);
    }
}

/* Where the output position (oy, ox) looks. */
static inline struct snapuq_window snapuq_window_at(const struct snapuq_conv_s8 *layer, int32_t oy,
                                                    int32_t ox)
{
    struct snapuq_window window = {
        .top = oy * layer->stride_h - layer->pad_top,
        .left = ox * layer->stride_w - layer->pad_left,
    };
    window.y = snapuq_clip(window.top, layer->in_h, layer->kernel_h, layer->dilation_h);
    window.x = snapuq_clip(window.left, layer->in_w, layer->kernel_w, layer->dilation_w);
    return window;
}

#endif
