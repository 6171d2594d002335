/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* What a test generates for lowered.c. */
#ifndef LOWERED_H
#define LOWERED_H

#include <stdint.h>

struct lowered_case {
    void (*run)(const int8_t *input1, const int8_t *input2, int8_t *output, void *scratch);
    uint32_t samples;
    uint32_t input_bytes[2]; /* per sample; 0: no such input */
    uint32_t output_bytes;
    uint32_t scratch_bytes;
};

extern const struct lowered_case lowered_cases[];
extern const uint32_t lowered_count;

#endif
