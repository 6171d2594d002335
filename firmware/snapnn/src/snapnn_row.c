/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_row.h"

#include "snapnn_dot4.h"
#include "snapnn_scale.h"

/* Adds four inputs to both channels of a block. */
static inline void dot2(uint32_t bytes, const uint32_t *words, int32_t sum[2])
{
    const uint32_t even = snapuq_even(bytes), odd = snapuq_odd(bytes);
    sum[0] = snapuq_smlad(even, snapuq_even(words[0]), sum[0]);
    sum[1] = snapuq_smlad(even, snapuq_odd(words[0]), sum[1]);
    sum[0] = snapuq_smlad(odd, snapuq_even(words[1]), sum[0]);
    sum[1] = snapuq_smlad(odd, snapuq_odd(words[1]), sum[1]);
}

/* Up to four channels, in one or two blocks. */
static void few_channels(const int8_t *input, int32_t inputs, const uint32_t *words,
                         int32_t stride, int32_t channels, snapnn_finish *finish, int32_t extra,
                         int8_t *output)
{
    const int32_t blocks = channels > 2 ? 2 : 1, groups = inputs / 4, rest = inputs % 4;
    int32_t sum[4] = {0};
    for (int32_t i = 0; i < blocks; ++i) {
        memcpy(sum + 2 * i, words + i * stride, 8);
    }
    words += 2;
    if (blocks == 2 && groups > 0) {
        snapnn_dot4(input, groups, words, stride, sum);
    } else {
        for (int32_t i = 0; i < groups; ++i) {
            dot2(snapuq_load4(input + 4 * i), words + 2 * i, sum);
        }
    }
    words += 2 * groups;
    if (rest) {
        const uint32_t bytes = snapuq_load_rest(input + 4 * groups, rest);
        for (int32_t i = 0; i < blocks; ++i) {
            dot2(bytes, words + i * stride, sum + 2 * i);
        }
        words += 2;
    }
    for (int32_t i = 0; i < channels; ++i) {
        struct snapnn_scale scale;
        memcpy(&scale, words + i / 2 * stride + i % 2 * 3, sizeof scale);
        output[i] = (int8_t)finish(sum[i], &scale, extra);
    }
}

void snapnn_row(const struct snapnn_matrix *matrix, const int8_t *input, int32_t inputs,
                snapnn_finish *finish, int32_t extra, int8_t *output)
{
    const int32_t stride = SNAPNN_BLOCK_WORDS(matrix->groups);
    const uint32_t *words = matrix->words;
    for (int32_t left = matrix->channels; left > 0; left -= 4, words += 2 * stride, output += 4) {
        few_channels(input, inputs, words, stride, left < 4 ? left : 4, finish, extra, output);
    }
}
