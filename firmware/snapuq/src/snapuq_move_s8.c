/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "snapuq.h"

/* Four bytes at a time: the memmove of small C libraries takes one. */
int8_t *snapuq_move_s8(const int8_t *input, int32_t length, int8_t *output)
{
    uint32_t word;
    int32_t i = 0;
    if (output < input) {
        for (; i + 4 <= length; i += 4) {
            memcpy(&word, input + i, 4);
            memcpy(output + i, &word, 4);
        }
        for (; i < length; ++i) {
            output[i] = input[i];
        }
        return output;
    }
    for (i = length; i >= 4; i -= 4) {
        memcpy(&word, input + i - 4, 4);
        memcpy(output + i - 4, &word, 4);
    }
    for (; i > 0; --i) {
        output[i - 1] = input[i - 1];
    }
    return output;
}
