/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* One position of a matrix product: what a tile of four leaves over, and fully connected layers.
 * Not part of the contract. */
#ifndef SNAPNN_ROW_H
#define SNAPNN_ROW_H

#include "snapnn.h"

/* The int8 of a channel from its accumulator, before the fused activation. */
typedef int32_t snapnn_finish(int32_t accumulator, const struct snapnn_scale *scale, int32_t extra);

/* input [inputs], output [matrix->channels]; extra is handed to finish. */
void snapnn_row(const struct snapnn_matrix *matrix, const int8_t *input, int32_t inputs,
                snapnn_finish *finish, int32_t extra, int8_t *output);

/* The same for a convolution, whose scale holds all that there is to finish. */
void snapnn_row_conv(const struct snapnn_matrix *matrix, const int8_t *input, int32_t inputs,
                     int8_t *output);

#endif
