/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

/* Squared distance of z to a centre, Q20, as Q16. */
static uint32_t away_from(const int16_t *centre, const int16_t *z, int32_t rank)
{
    uint64_t total_q20 = 0;
    for (int32_t j = 0; j < rank; ++j) {
        const int32_t away = z[j] - centre[j];
        total_q20 += (uint64_t)((int64_t)away * away);
    }
    const uint64_t distance_q16 = total_q20 >> 4;
    return distance_q16 > INT32_MAX ? INT32_MAX : (uint32_t)distance_q16;
}

struct snapuq_distances snapuq_mahalanobis_s8(const struct snapuq_mahalanobis_s8 *head,
                                              const int32_t *sum, int32_t answer,
                                              int16_t *scratch)
{
    int16_t *x = scratch, *z = scratch + head->channels;

    for (int32_t c = 0; c < head->channels; ++c) {
        const int64_t scaled = snapuq_standardized(&head->input, c, sum[c]) + head->input.offset[c];
        x[c] = (int16_t)snapuq_clamp64(scaled, INT16_MIN, INT16_MAX);
    }

    const int8_t *weights = head->whitening;
    for (int32_t j = 0; j < head->rank; ++j) {
        int32_t total = 0;
        for (int32_t c = 0; c < head->channels; ++c) {
            total += *weights++ * x[c];
        }
        total =
            snapuq_requantize(total, head->mantissa[j], head->shift);
        z[j] = (int16_t)snapuq_clamp(total, INT16_MIN, INT16_MAX);
    }

    struct snapuq_distances found = {0, INT32_MAX};
    for (int32_t k = 0; k < head->classes; ++k) {
        const uint32_t away_q16 = away_from(head->centre + k * head->rank, z, head->rank);
        if (k == answer) {
            found.own_q16 = away_q16;
        } else if (away_q16 < found.next_q16) {
            found.next_q16 = away_q16;
        }
    }
    return found;
}
