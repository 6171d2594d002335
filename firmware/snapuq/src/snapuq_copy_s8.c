/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "snapuq.h"

/* The innermost axis. */
static void copy_run(const struct snapuq_copy_s8 *layer, const int8_t *from, int8_t *to)
{
    const int32_t count = layer->count[3];
    const int32_t in_step = layer->in_step[3], out_step = layer->out_step[3];
    if (in_step == 1 && out_step == 1) {
        memcpy(to, from, (size_t)count);
        return;
    }
    for (int32_t i = 0; i < count; ++i) {
        to[i * out_step] = from[i * in_step];
    }
}

void snapuq_copy_s8(const struct snapuq_copy_s8 *layer, const int8_t *input, int8_t *output)
{
    const int32_t *count = layer->count, *in_step = layer->in_step, *out_step = layer->out_step;
    for (int32_t i = 0; i < count[0]; ++i) {
        for (int32_t j = 0; j < count[1]; ++j) {
            for (int32_t k = 0; k < count[2]; ++k) {
                const int32_t from =
                    layer->in_start + i * in_step[0] + j * in_step[1] + k * in_step[2];
                const int32_t to =
                    layer->out_start + i * out_step[0] + j * out_step[1] + k * out_step[2];
                copy_run(layer, input + from, output + to);
            }
        }
    }
}
