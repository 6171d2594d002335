/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#ifndef SNAP_GOLDEN_H
#define SNAP_GOLDEN_H

#include "snap_model.h"

#ifndef TINY_MODEL_WRONG /* 1: the last vector expects a logit that does not come */
#define TINY_MODEL_WRONG 0
#endif

#define SNAP_GOLDEN_COUNT 3

static const int8_t snap_golden_input[SNAP_GOLDEN_COUNT][SNAP_MODEL_INPUT_BYTES] = {
    {1},
    {2, 3},
    {-1},
};

static const struct {
    int32_t predicted;
    uint32_t surprisal_q16[2];
    int8_t logits[SNAP_MODEL_CLASSES];
} snap_golden_expected[SNAP_GOLDEN_COUNT] = {
    {1, {16, 65520}, {0, 60, -20, -30, -40, -50, -60, -70, -80, -90}},
    {5, {80, 65456}, {0, -10, -20, -30, -40, 60, -60, -70, -80, -90}},
    {5, {4080, 61456}, {0, -10, -20, -30, -40, 60, -60, -70, -80, -90 + TINY_MODEL_WRONG}},
};

#endif
