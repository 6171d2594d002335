/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

int32_t snapuq_requantize(int32_t value, int32_t mantissa, int32_t shift)
{
    return snapuq_requantize_inline(value, mantissa, shift);
}
