/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Requantization. Not part of the contract. */
#ifndef SNAPNN_SCALE_H
#define SNAPNN_SCALE_H

#include "snapnn.h"
#include "snapuq_simd.h"

/* As struct snapnn_scale says, not saturated. */
static inline int32_t snapnn_scaled(int32_t value, const struct snapnn_scale *scale)
{
    const int32_t high = snapuq_high(value, scale->multiplier);
    return (high + (high >> 31) + scale->rounding) >> scale->shift;
}

#endif
