/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_probe.h"

void snapuq_mark(const struct snapuq_probe *probe, int32_t step)
{
    if (probe) {
        probe->mark(probe->context, step);
    }
}
