/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The positions of a convolution, a tile at a time. Not part of the contract. */
#ifndef SNAPNN_POSITIONS_H
#define SNAPNN_POSITIONS_H

#include "snapnn.h"

/* The next position: its row and column in the output. */
struct snapnn_place {
    int32_t y, x;
};

/* Computes the next 4 positions, or 1 where fewer than 4 are left; which of them is returned.
 * All of the input that they need is read before anything is written. */
int32_t snapnn_positions(const struct snapnn_conv_s8 *layer, const int8_t *input,
                         struct snapnn_place *place, int32_t left, void *scratch, int8_t *output);

#endif
