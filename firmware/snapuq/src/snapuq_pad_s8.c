/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "snapuq.h"

void snapuq_pad_s8(const struct snapuq_pad_s8 *layer, const int8_t *input, int8_t *output)
{
    memset(output, layer->value, (size_t)layer->length);
    snapuq_copy_s8(&layer->copy, input, output);
}
