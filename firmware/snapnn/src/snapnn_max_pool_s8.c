/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"
#include "snapuq_simd.h"

#include "snapnn.h"

void snapnn_max_pool_s8(const struct snapuq_pool_s8 *layer, const int8_t *input, int8_t *output)
{
    const int32_t channels = layer->channels;
    for (int32_t oy = 0; oy < layer->out_h; ++oy) {
        for (int32_t ox = 0; ox < layer->out_w; ++ox) {
            const struct snapuq_patch patch = snapuq_patch(layer, input, oy, ox);
            int32_t count = 4;
            for (int32_t c = 0; c < channels; c += count) {
                count = c + 4 <= channels ? 4 : 1;
                const int8_t *from = patch.first + c;
                uint32_t max = UINT32_C(0x01010101) * (uint8_t)layer->min;
                for (int32_t y = patch.rows; y > 0; --y, from += patch.skip) {
                    for (int32_t x = patch.columns; x > 0; --x, from += channels) {
                        const uint32_t bytes =
                            count == 4 ? snapuq_load4(from) : (uint32_t)(uint8_t)*from;
                        max = snapuq_max8(max, bytes);
                    }
                }
                for (int32_t i = 0; i < count; ++i, max >>= 8) {
                    *output++ = (int8_t)max < layer->max ? (int8_t)max : (int8_t)layer->max;
                }
            }
        }
    }
}
