/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

void snapuq_evidence_start(struct snapuq_evidence *evidence, struct snapuq_kept *kept,
                           uint32_t capacity)
{
    *evidence = (struct snapuq_evidence){kept, capacity, 0, 0};
}

int32_t snapuq_evidence_offer(struct snapuq_evidence *evidence, const struct snapuq_kept *offered)
{
    const uint32_t place = evidence->free;
    uint32_t at = evidence->count, next = at + 1;
    if (at == evidence->capacity) {
        at = 0;
        for (uint32_t i = 1; i < evidence->count; i++) {
            if (evidence->kept[i].value_q16 < evidence->kept[at].value_q16) {
                at = i;
            }
        }
        if (at == evidence->count || offered->value_q16 <= evidence->kept[at].value_q16) {
            return 0;
        }
        next = evidence->kept[at].place;
    } else {
        evidence->count++;
    }
    evidence->kept[at] = *offered;
    evidence->kept[at].place = place;
    evidence->free = next;
    return 1;
}
