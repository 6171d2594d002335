/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_rows.h"

/* Two taps, four channels each: (tap, tap) of every channel, times its two weights. */
static inline void two_taps(int32_t sum[4], uint32_t first, uint32_t second, const uint32_t *words)
{
    const uint32_t low = snapuq_low_halves(first, second);
    const uint32_t high = snapuq_high_halves(first, second);
    sum[0] = snapuq_smlad(snapuq_even(low), words[0], sum[0]);
    sum[1] = snapuq_smlad(snapuq_odd(low), words[1], sum[1]);
    sum[2] = snapuq_smlad(snapuq_even(high), words[2], sum[2]);
    sum[3] = snapuq_smlad(snapuq_odd(high), words[3], sum[3]);
}

/* Four channels of one position, `offset` bytes behind the rows of the window. Returns the end of
 * the words. */
static const uint32_t *convolve_quad(const struct snapnn_depthwise_s8 *layer,
                                     const int8_t *const *window, int32_t offset,
                                     const uint32_t *words, int8_t *output)
{
    const int32_t step = layer->dilation_w * layer->channels;
    int32_t sum[4];
    memcpy(sum, words, sizeof sum);
    words += 4;
    for (int32_t ky = 0; ky < layer->kernel_h; ++ky) {
        const int8_t *from = window[ky] + offset;
        int32_t left = layer->kernel_w;
        for (; left >= 2; left -= 2, from += 2 * step, words += 4) {
            two_taps(sum, snapuq_load4(from), snapuq_load4(from + step), words);
        }
        if (left) {
            two_taps(sum, snapuq_load4(from), 0, words);
            words += 4;
        }
    }
    for (int32_t i = 0; i < 4; ++i, words += 3) {
        struct snapnn_scale scale;
        memcpy(&scale, words, sizeof scale);
        output[i] = (int8_t)snapuq_saturate8(snapnn_scaled(sum[i], &scale));
    }
    return words;
}

void snapnn_depthwise_s8(const struct snapnn_depthwise_s8 *layer, const int8_t *input,
                         void *scratch, int8_t *output)
{
    const int32_t channels = layer->channels;
    struct snapnn_rows rows = snapnn_rows(layer, scratch);
    int32_t top = -layer->pad_top;
    for (int32_t oy = 0; oy < layer->out_h; ++oy, top += layer->stride_h) {
        const int8_t *window[SNAPNN_KERNEL_H_MAX];
        snapnn_load_rows(layer, &rows, input, top);
        for (int32_t ky = 0; ky < layer->kernel_h; ++ky) {
            window[ky] = snapnn_row_at(layer, &rows, top + ky * layer->dilation_h);
        }
        for (int32_t ox = 0; ox < layer->out_w; ++ox, output += channels) {
            const int32_t offset = ox * layer->stride_w * channels;
            const uint32_t *words = layer->words;
            int32_t c = 0;
            for (; c + 4 <= channels; c += 4) {
                words = convolve_quad(layer, window, offset + c, words, output + c);
            }
            if (c < channels) { /* the last four once more */
                c = channels - 4;
                convolve_quad(layer, window, offset + c, words, output + c);
            }
            snapnn_limit(output, channels, &layer->range);
        }
    }
}
