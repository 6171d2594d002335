#include "snapnn_positions.h"

#include "snapnn_columns.h"
#include "snapnn_row.h"
#include "snapnn_tile.h"

/* Taps of a window that follow each other in x: in front of the input, inside and behind it. */
struct span {
    int32_t before, inside, behind;
    const int8_t *from; /* the first tap inside */
};

static inline struct span span_at(const struct snapnn_conv_s8 *layer, const int8_t *input,
                                  int32_t y, int32_t x, int32_t taps)
{
    if (y < 0 || y >= layer->in_h || x >= layer->in_w || x + taps <= 0) {
        return (struct span){taps, 0, 0, input};
    }
    const int32_t before = x < 0 ? -x : 0;
    const int32_t behind = x + taps > layer->in_w ? x + taps - layer->in_w : 0;
    return (struct span){
        before,
        taps - before - behind,
        behind,
        input + (y * layer->in_w + x + before) * layer->in_c,
    };
}

/* The window at a place, in the order of the weights: as a column, for which channels must be a
 * multiple of four, or, without one, as bytes. Taps that are dilated in x are spans of their own. */
static void gather(const struct snapnn_conv_s8 *layer, const int8_t *input,
                   const struct snapnn_place *place, uint32_t *column, int8_t *patch)
{
    const int32_t taps = layer->dilation_w == 1 ? layer->kernel_w : 1;
    const int32_t in_c = layer->in_c, groups = in_c / 4;
    const int32_t zero = layer->in_zero_point;
    const uint32_t zeros = UINT32_C(0x00010001) * (uint16_t)zero;
    int32_t y = place->y * layer->stride_h - layer->pad_top;
    for (int32_t ky = 0; ky < layer->kernel_h; ++ky, y += layer->dilation_h) {
        int32_t x = place->x * layer->stride_w - layer->pad_left;
        for (int32_t kx = 0; kx < layer->kernel_w; kx += taps, x += layer->dilation_w) {
            const struct span span = span_at(layer, input, y, x, taps);
            if (column) {
                column = snapnn_spread_value(column, zeros, span.before * groups);
                column = snapnn_spread(column, span.from, span.inside * groups);
                column = snapnn_spread_value(column, zeros, span.behind * groups);
            } else {
                patch = snapnn_fill(patch, zero, span.before * in_c);
                patch = snapnn_copy(patch, span.from, span.inside * in_c);
                patch = snapnn_fill(patch, zero, span.behind * in_c);
            }
        }
    }
}

static void advance(const struct snapnn_conv_s8 *layer, struct snapnn_place *place)
{
    if (++place->x == layer->out_w) {
        place->x = 0;
        ++place->y;
    }
}

int32_t snapnn_positions(const struct snapnn_conv_s8 *layer, const int8_t *input,
                         struct snapnn_place *place, int32_t left, void *scratch, int8_t *output)
{
    const struct snapnn_matrix *matrix = &layer->matrix;
    uint32_t *columns = scratch;
    int8_t *patch = (int8_t *)(columns + SNAPNN_GROUP_PAIRS * matrix->groups);
    const int32_t count = left < 4 ? 1 : 4;
    if (count == 1) {
        gather(layer, input, place, 0, patch);
        advance(layer, place);
        snapnn_row_conv(matrix, patch, 4 * matrix->groups, output);
    } else {
        for (int32_t p = 0; p < 4; ++p, advance(layer, place)) {
            if (layer->in_c % 4 == 0) {
                gather(layer, input, place, columns + p, 0);
            } else {
                gather(layer, input, place, 0, patch);
                snapnn_spread(columns + p, patch, matrix->groups);
            }
        }
        snapnn_tile(columns, matrix->words, matrix->groups, matrix->channels, output);
    }
    snapnn_limit(output, count * matrix->channels, &layer->range);
    return count;
}
