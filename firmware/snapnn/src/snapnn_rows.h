/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Rows of the input in scratch, padded: windows then need no care at the edges, and the output
 * may lie over the input. Not part of the contract. */
#ifndef SNAPNN_ROWS_H
#define SNAPNN_ROWS_H

#include "snapnn_columns.h"

/* Row y of the input, which may lie outside, waits in slot (y + pad_top) % count. */
struct snapnn_rows {
    int8_t *slots;
    int32_t count;   /* rows that a window reaches over */
    int32_t columns; /* that the windows of a row of the output reach over */
    int32_t next;    /* the first row that was not loaded yet */
};

static inline struct snapnn_rows snapnn_rows(const struct snapnn_depthwise_s8 *layer,
                                             int8_t *scratch)
{
    return (struct snapnn_rows){
        .slots = scratch,
        .count = (layer->kernel_h - 1) * layer->dilation_h + 1,
        .columns = (layer->out_w - 1) * layer->stride_w +
                   (layer->kernel_w - 1) * layer->dilation_w + 1,
        .next = -layer->pad_top,
    };
}

static inline int8_t *snapnn_row_at(const struct snapnn_depthwise_s8 *layer,
                                    const struct snapnn_rows *rows, int32_t y)
{
    const int32_t slot = (y + layer->pad_top) % rows->count;
    return rows->slots + slot * rows->columns * layer->channels;
}

static inline void snapnn_load_row(const struct snapnn_depthwise_s8 *layer, const int8_t *input,
                                   int32_t y, int32_t columns, int8_t *slot)
{
    const int32_t channels = layer->channels, zero = layer->in_zero_point;
    if (y < 0 || y >= layer->in_h) {
        snapnn_fill(slot, zero, columns * channels);
        return;
    }
    const int32_t room = columns - layer->pad_left;
    const int32_t inside = layer->in_w < room ? layer->in_w : room;
    slot = snapnn_fill(slot, zero, layer->pad_left * channels);
    slot = snapnn_copy(slot, input + y * layer->in_w * channels, inside * channels);
    snapnn_fill(slot, zero, (room - inside) * channels);
}

/* Makes sure of all rows of the windows that start at row `top`. */
static inline void snapnn_load_rows(const struct snapnn_depthwise_s8 *layer,
                                    struct snapnn_rows *rows, const int8_t *input, int32_t top)
{
    rows->next = rows->next < top ? top : rows->next;
    for (; rows->next < top + rows->count; ++rows->next) {
        int8_t *slot = snapnn_row_at(layer, rows, rows->next);
        snapnn_load_row(layer, input, rows->next, rows->columns, slot);
    }
}

#endif
