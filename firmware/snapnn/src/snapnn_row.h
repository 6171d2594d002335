/* One position of a matrix product: what a tile of four leaves over, and fully connected layers.
 * Not part of the contract. */
#ifndef SNAPNN_ROW_H
#define SNAPNN_ROW_H

#include "snapnn_scale.h"

/* The int8 of a channel from its accumulator, before the fused activation. */
typedef int32_t snapnn_finish(int32_t accumulator, const struct snapnn_scale *scale, int32_t extra);

/* Adds four inputs to both channels of `blocks` (1 or 2) blocks, which start at words. */
static inline void snapnn_accumulate(uint32_t bytes, const uint32_t *words, int32_t stride,
                                     int32_t blocks, int32_t sum[4])
{
    const uint32_t even = snapuq_even(bytes), odd = snapuq_odd(bytes);
    for (int32_t i = 0; i < blocks; ++i, words += stride) {
        sum[2 * i] = snapuq_smlad(even, snapuq_even(words[0]), sum[2 * i]);
        sum[2 * i + 1] = snapuq_smlad(even, snapuq_odd(words[0]), sum[2 * i + 1]);
        sum[2 * i] = snapuq_smlad(odd, snapuq_even(words[1]), sum[2 * i]);
        sum[2 * i + 1] = snapuq_smlad(odd, snapuq_odd(words[1]), sum[2 * i + 1]);
    }
}

static inline void snapnn_blocks(const int8_t *input, int32_t inputs, const uint32_t *words,
                                 int32_t stride, int32_t blocks, int32_t channels,
                                 snapnn_finish *finish, int32_t extra, int8_t *output)
{
    int32_t sum[4] = {0};
    for (int32_t i = 0; i < blocks; ++i) {
        sum[2 * i] = (int32_t)words[i * stride];
        sum[2 * i + 1] = (int32_t)words[i * stride + 1];
    }
    words += 2;
    for (; inputs >= 4; inputs -= 4, input += 4, words += 2) {
        snapnn_accumulate(snapuq_load4(input), words, stride, blocks, sum);
    }
    if (inputs > 0) {
        snapnn_accumulate(snapuq_load_rest(input, inputs), words, stride, blocks, sum);
        words += 2;
    }
    for (int32_t i = 0; i < channels; ++i) {
        struct snapnn_scale scale;
        memcpy(&scale, words + i / 2 * stride + i % 2 * 3, sizeof scale);
        output[i] = (int8_t)finish(sum[i], &scale, extra);
    }
}

/* input [inputs], output [matrix->channels]; extra is handed to finish. */
static inline void snapnn_row(const struct snapnn_matrix *matrix, const int8_t *input,
                              int32_t inputs, snapnn_finish *finish, int32_t extra, int8_t *output)
{
    const int32_t stride = SNAPNN_BLOCK_WORDS(matrix->groups);
    const uint32_t *words = matrix->words;
    int32_t left = matrix->channels;
    for (; left > 2; left -= 4, words += 2 * stride, output += 4) {
        snapnn_blocks(input, inputs, words, stride, 2, left < 4 ? left : 4, finish, extra, output);
    }
    if (left > 0) {
        snapnn_blocks(input, inputs, words, stride, 1, left, finish, extra, output);
    }
}

/* The same for a convolution, whose scale holds all that there is to finish. */
void snapnn_row_conv(const struct snapnn_matrix *matrix, const int8_t *input, int32_t inputs,
                     int8_t *output);

#endif
