/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

/* sum[i] += the taps of channels o + i that read input channels c + i, i < count (1 or 4). */
static inline void accumulate(const struct snapuq_conv_s8 *layer,
                              const struct snapuq_window *window, const int8_t *input, int32_t c,
                              int32_t o, int32_t count, int32_t *sum)
{
    const int32_t step = layer->dilation_w * layer->in_c;
    const int32_t zero_point = layer->in_zero_point;

    for (int32_t ky = window->y.first; ky < window->y.end; ++ky) {
        const int32_t y = window->top + ky * layer->dilation_h;
        const int32_t x = window->left + window->x.first * layer->dilation_w;
        const int8_t *from = input + (y * layer->in_w + x) * layer->in_c + c;
        const int8_t *weights =
            layer->weights + (ky * layer->kernel_w + window->x.first) * layer->out_c + o;
        for (int32_t left = window->x.end - window->x.first; left > 0; --left) {
            sum[0] += (from[0] - zero_point) * weights[0];
            if (count == 4) {
                sum[1] += (from[1] - zero_point) * weights[1];
                sum[2] += (from[2] - zero_point) * weights[2];
                sum[3] += (from[3] - zero_point) * weights[3];
            }
            from += step;
            weights += layer->out_c;
        }
    }
}

static void convolve(const struct snapuq_conv_s8 *layer, const struct snapuq_window *window,
                     const int8_t *input, int8_t *output)
{
    const struct snapuq_output_s8 *out = &layer->out;
    const int32_t multiplier = layer->out_c / layer->in_c;
    int32_t c = 0, o = 0;

    if (multiplier == 1) {
        for (; o + 4 <= layer->out_c; c += 4, o += 4) {
            int32_t sum[4] = {out->bias[o], out->bias[o + 1], out->bias[o + 2], out->bias[o + 3]};
            accumulate(layer, window, input, c, o, 4, sum);
            for (int32_t i = 0; i < 4; ++i) {
                output[o + i] = snapuq_output(out, o + i, sum[i]);
            }
        }
    }
    for (; c < layer->in_c; ++c) {
        for (int32_t m = 0; m < multiplier; ++m, ++o) {
            int32_t sum = out->bias[o];
            accumulate(layer, window, input, c, o, 1, &sum);
            output[o] = snapuq_output(out, o, sum);
        }
    }
}

void snapuq_depthwise_conv_s8(const struct snapuq_conv_s8 *layer, const int8_t *input,
                              int8_t *output)
{
    struct snapuq_window window;
    for (int32_t oy = 0; oy < layer->out_h; ++oy) {
        window.top = oy * layer->stride_h - layer->pad_top;
        window.y = snapuq_clip(window.top, layer->in_h, layer->kernel_h, layer->dilation_h);
        for (int32_t ox = 0; ox < layer->out_w; ++ox) {
            window.left = ox * layer->stride_w - layer->pad_left;
            window.x = snapuq_clip(window.left, layer->in_w, layer->kernel_w, layer->dilation_w);
            convolve(layer, &window, input, output);
            output += layer->out_c;
        }
    }
}
