/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Four channels of one position of a matrix product. Not part of the contract. */
#ifndef SNAPNN_DOT4_H
#define SNAPNN_DOT4_H

#include "snapnn.h"

/* sum[0..3] += the products of `groups` (at least 1) groups of inputs with the weights of two
 * blocks, the second one `stride` words behind the first. */
void snapnn_dot4(const int8_t *input, int32_t groups, const uint32_t *words, int32_t stride,
                 int32_t sum[4]);

#endif
