/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_positions.h"

#include "snapnn_columns.h"
#include "snapnn_row.h"
#include "snapnn_tile.h"

/* Taps that follow each other in x, from (y, x): zero points where they lie outside. */
static int8_t *copy_taps(const struct snapnn_conv_s8 *layer, const int8_t *input, int32_t y,
                         int32_t x, int32_t taps, int8_t *to)
{
    const int32_t in_c = layer->in_c, zero = layer->in_zero_point;
    const int32_t end = x + taps;
    if (y < 0 || y >= layer->in_h || x >= layer->in_w || end <= 0) {
        return snapnn_fill(to, zero, taps * in_c);
    }
    const int32_t before = x < 0 ? -x : 0;
    const int32_t behind = end > layer->in_w ? end - layer->in_w : 0;
    const int8_t *from = input + (y * layer->in_w + x + before) * in_c;
    to = snapnn_fill(to, zero, before * in_c);
    to = snapnn_copy(to, from, (taps - before - behind) * in_c);
    return snapnn_fill(to, zero, behind * in_c);
}

/* The bytes of the window whose first tap is (y, x), in the order of the weights. */
static void copy_window(const struct snapnn_conv_s8 *layer, const int8_t *input, int32_t y,
                        int32_t x, int8_t *to)
{
    const int32_t taps = layer->dilation_w == 1 ? layer->kernel_w : 1;
    for (int32_t ky = 0; ky < layer->kernel_h; ++ky, y += layer->dilation_h) {
        for (int32_t kx = 0; kx < layer->kernel_w; kx += taps) {
            to = copy_taps(layer, input, y, x + kx * layer->dilation_w, taps, to);
        }
    }
}

/* Whether the window lies inside of the input, and so do the words that its rows are read in. */
static int is_inside(const struct snapnn_conv_s8 *layer, int32_t y, int32_t x, int32_t row_words)
{
    const int32_t last = y + (layer->kernel_h - 1) * layer->dilation_h;
    const int32_t end = (last * layer->in_w + x) * layer->in_c + 4 * row_words;
    return layer->dilation_w == 1 && y >= 0 && x >= 0 && last < layer->in_h &&
           x + layer->kernel_w <= layer->in_w && end <= layer->in_h * layer->in_w * layer->in_c;
}

/* The same as a column, by way of its bytes where its rows are no whole groups. */
static void spread_window(const struct snapnn_conv_s8 *layer, const int8_t *input, int32_t y,
                          int32_t x, int8_t *patch, uint32_t *column)
{
    const int32_t row = layer->kernel_w * layer->in_c, row_words = (row + 3) / 4;
    if (!is_inside(layer, y, x, row_words)) {
        copy_window(layer, input, y, x, patch);
        snapnn_spread(column, patch, layer->matrix.groups);
        return;
    }
    const int32_t step = layer->dilation_h * layer->in_w * layer->in_c;
    const int8_t *from = input + (y * layer->in_w + x) * layer->in_c;
    if (row % 4 == 0) {
        for (int32_t left = layer->kernel_h; left > 0; --left, from += step) {
            column = snapnn_spread(column, from, row_words);
        }
        return;
    }
    /* What a row's last word has too much, the next row covers, or meets weights of zero. */
    int8_t *to = patch;
    for (int32_t left = layer->kernel_h; left > 0; --left, from += step, to += row) {
        for (int32_t i = 0; i < 4 * row_words; i += 4) {
            snapuq_store4(to + i, snapuq_load4(from + i));
        }
    }
    snapnn_spread(column, patch, layer->matrix.groups);
}

int32_t snapnn_positions(const struct snapnn_conv_s8 *layer, const int8_t *input,
                         struct snapnn_place *place, int32_t left, void *scratch, int8_t *output)
{
    const struct snapnn_matrix *matrix = &layer->matrix;
    uint32_t *columns = scratch;
    int8_t *patch = (int8_t *)(columns + SNAPNN_GROUP_PAIRS * matrix->groups);
    const int32_t count = left < 4 ? 1 : 4;
    for (int32_t p = 0; p < count; ++p) {
        const int32_t y = place->y * layer->stride_h - layer->pad_top;
        const int32_t x = place->x * layer->stride_w - layer->pad_left;
        if (count == 4) {
            spread_window(layer, input, y, x, patch, columns + p);
        } else {
            copy_window(layer, input, y, x, patch);
        }
        if (++place->x == layer->out_w) {
            place->x = 0;
            ++place->y;
        }
    }
    if (count == 4) {
        snapnn_tile(columns, matrix->words, matrix->groups, matrix->channels, output);
    } else {
        snapnn_row_conv(matrix, patch, 4 * matrix->groups, output);
    }
    snapnn_limit(output, count * matrix->channels, &layer->range);
    return count;
}
