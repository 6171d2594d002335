/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Where time goes: a model that is built to be measured tells a probe when each step has ended. */
#ifndef SNAPUQ_PROBE_H
#define SNAPUQ_PROBE_H

#include <stdint.h>

/* Steps count from 0; which one does what stands in export.json. */
struct snapuq_probe {
    void (*mark)(void *context, int32_t step);
    void *context;
};

/* A call, because inlined once for each step it would double the code of a small model.
 * probe may be 0. */
void snapuq_mark(const struct snapuq_probe *probe, int32_t step);

#endif
