/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Four positions of a matrix product. Not part of the contract. */
#ifndef SNAPNN_TILE_H
#define SNAPNN_TILE_H

#include "snapnn.h"

/* columns: the inputs of four positions p as pairs, [groups][2][4]: even bytes of each group of
 * four inputs for p = 0..3, then the odd ones. output: [4][channels]. */
void snapnn_tile(const uint32_t *columns, const uint32_t *words, int32_t groups, int32_t channels,
                 int8_t *output);

#endif
