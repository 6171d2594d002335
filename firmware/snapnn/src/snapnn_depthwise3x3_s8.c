/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_quads.h"
#include "snapnn_rows.h"

/* One row of the output, from the three rows of its windows. */
static void convolve_row(const struct snapnn_depthwise_s8 *layer, const int8_t *rows[3],
                         int8_t *output)
{
    const int32_t channels = layer->channels, quads = channels / 4;
    const int32_t tap = layer->dilation_w * channels, step = layer->stride_w * channels;
    for (int32_t left = layer->out_w; left > 0; --left, output += channels) {
        snapnn_quads(rows, tap, layer->words, quads, output);
        if (channels % 4) {
            const int32_t c = channels - 4;
            const int8_t *last[3] = {rows[0] + c, rows[1] + c, rows[2] + c};
            snapnn_quads(last, tap, layer->words + quads * SNAPNN_QUAD_WORDS, 1, output + c);
        }
        rows[0] += step;
        rows[1] += step;
        rows[2] += step;
    }
}

void snapnn_depthwise3x3_s8(const struct snapnn_depthwise_s8 *layer, const int8_t *input,
                            void *scratch, int8_t *output)
{
    const int32_t length = layer->out_w * layer->channels;
    struct snapnn_rows rows = snapnn_rows(layer, scratch);
    int32_t top = -layer->pad_top;
    for (int32_t left = layer->out_h; left > 0; --left, top += layer->stride_h) {
        const int8_t *window[3];
        snapnn_load_rows(layer, &rows, input, top);
        for (int32_t i = 0; i < 3; ++i) {
            window[i] = snapnn_row_at(layer, &rows, top + i * layer->dilation_h);
        }
        convolve_row(layer, window, output);
        snapnn_limit(output, length, &layer->range);
        output += length;
    }
}
