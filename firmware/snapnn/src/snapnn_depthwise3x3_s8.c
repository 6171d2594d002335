#include "snapnn_columns.h"
#include "snapnn_quads.h"

/* Rows of the input wait in three slots of scratch, padded: windows then need no care at the
 * edges, and the output may lie over the input. */
struct slots {
    int8_t *first;
    int32_t columns; /* of a slot */
    int32_t bytes;
};

static void load_row(const struct snapnn_depthwise3x3_s8 *layer, const struct slots *slots,
                     const int8_t *input, int32_t y, int8_t *slot)
{
    if (y < 0 || y >= layer->in_h) {
        snapnn_fill(slot, layer->in_zero_point, slots->bytes);
        return;
    }
    const int32_t room = slots->columns - layer->pad_left;
    const int32_t inside = layer->in_w < room ? layer->in_w : room;
    const int8_t *from = input + y * layer->in_w * layer->channels;
    slot = snapnn_fill(slot, layer->in_zero_point, layer->pad_left * layer->channels);
    slot = snapnn_copy(slot, from, inside * layer->channels);
    snapnn_fill(slot, layer->in_zero_point, (room - inside) * layer->channels);
}

/* One row of the output, from the three rows of its windows. */
static void convolve(const struct snapnn_depthwise3x3_s8 *layer, const int8_t *rows[3],
                     int8_t *output)
{
    const int32_t channels = layer->channels, quads = channels / 4;
    const int32_t step = layer->stride_w * channels;
    for (int32_t left = layer->out_w; left > 0; --left, output += channels) {
        snapnn_quads(rows, channels, layer->words, quads, output);
        if (channels % 4) {
            const int32_t c = channels - 4;
            const int8_t *last[3] = {rows[0] + c, rows[1] + c, rows[2] + c};
            snapnn_quads(last, channels, layer->words + quads * SNAPNN_QUAD_WORDS, 1, output + c);
        }
        rows[0] += step;
        rows[1] += step;
        rows[2] += step;
    }
}

void snapnn_depthwise3x3_s8(const struct snapnn_depthwise3x3_s8 *layer, const int8_t *input,
                             int8_t *scratch, int8_t *output)
{
    const int32_t columns = (layer->out_w - 1) * layer->stride_w + 3;
    const struct slots slots = {scratch, columns, columns * layer->channels};
    int32_t next = -layer->pad_top; /* the next row of the input to load */
    for (int32_t oy = 0; oy < layer->out_h; ++oy) {
        const int32_t top = oy * layer->stride_h - layer->pad_top;
        const int8_t *rows[3];
        next = next < top ? top : next;
        for (int32_t y = top; y < top + 3; ++y) {
            int8_t *slot = slots.first + (y + layer->pad_top) % 3 * slots.bytes;
            if (y == next) {
                load_row(layer, &slots, input, y, slot);
                ++next;
            }
            rows[y - top] = slot;
        }
        convolve(layer, rows, output);
        output += layer->out_w * layer->channels;
    }
    const int32_t length = layer->out_h * layer->out_w * layer->channels;
    snapnn_limit(output - length, length, &layer->range);
}
