/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapnn_monitor.h"

/* The products of x and y, pairs of int16, summed up. */
static inline int64_t products(const uint32_t *x, const uint32_t *y, int32_t pairs)
{
    int64_t sum = 0;
    for (const uint32_t *end = x + pairs; x != end;) {
        uint32_t x0, x1, y0, y1;
        snapuq_load_two(&x, &x0, &x1);
        snapuq_load_two(&y, &y0, &y1);
        sum = snapuq_smlald(x0, y0, sum);
        sum = snapuq_smlald(x1, y1, sum);
    }
    return sum;
}

struct snapuq_distances snapnn_mahalanobis_s8(const struct snapnn_mahalanobis_s8 *head,
                                              const int32_t *sum, int32_t answer,
                                              int16_t *scratch)
{
    const int32_t inputs = snapnn_fours(head->channels), pairs = snapnn_fours(head->rank) / 2;
    int16_t *z = scratch, *x = z + 2 * pairs;
    snapnn_standardized(&head->input, head->channels, sum, x);

    const uint32_t *words = head->whitening;
    for (int32_t j = 0; j < 2 * pairs; j += 4) {
        int32_t total[4];
        words = snapnn_dot_rows(words, x, inputs, total);
        for (int32_t i = 0; i < 4; ++i, words += 2) {
            z[j + i] = snapuq_saturate16(
                snapnn_rescaled(total[i], words[0], (int32_t)words[1], &head->latent));
        }
    }

    /* |z - c|^2 = |z|^2 + |c|^2 - 2 z c: exact, and z - c does not fit into int16. */
    const uint32_t *both = (const uint32_t *)(const void *)z, *centre = head->centres;
    const int64_t own = products(both, both, pairs);
    struct snapuq_distances found = {0, INT32_MAX};
    for (int32_t k = 0; k < head->classes; ++k, centre += pairs + 2) {
        const uint64_t square = (uint64_t)centre[pairs + 1] << 32 | centre[pairs];
        const int64_t between = products(both, centre, pairs);
        const uint64_t distance_q16 = ((uint64_t)own + square - 2 * (uint64_t)between) >> 4;
        const uint32_t away_q16 =
            distance_q16 > INT32_MAX ? INT32_MAX : (uint32_t)distance_q16;
        if (k == answer) {
            found.own_q16 = away_q16;
        } else if (away_q16 < found.next_q16) {
            found.next_q16 = away_q16;
        }
    }
    return found;
}
