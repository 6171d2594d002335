/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* One position of a 3x3 depthwise convolution. Not part of the contract. */
#ifndef SNAPNN_QUADS_H
#define SNAPNN_QUADS_H

#include "snapnn.h"

/* rows: the window's first tap in each of its rows; a tap is `step` bytes from the next. Computes
 * 4 * quads neighbouring channels. */
void snapnn_quads(const int8_t *const rows[3], int32_t step, const uint32_t *words, int32_t quads,
                  int8_t *output);

#endif
