/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Tile: 4 output channels x 1 position, 4 inputs at a time.
 * Registers: inputs r0, their end r1, weights of two blocks r2 r3, 4 accumulators r4-r7, two pairs
 * of inputs r8 r9, two words of weights r10 r11, a pair of them r12: 13.
 * Inner loop: 23 instructions for 16 MACs.
 */
#include "snapnn_dot4.h"

#include "snapuq_simd.h"

#if SNAPUQ_DSP

/* Assembly takes the arguments where they are. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Four inputs, two channels: one word of weights for the even inputs, one for the odd ones. */
#define BLOCK(words, a, b)              \
    "ldrd r10, r11, [" words "], #8 \n" \
    "sxtb16 r12, r10              \n"   \
    "sxtb16 r10, r10, ror #8      \n"   \
    "smlad " a ", r8, r12, " a "  \n"   \
    "smlad " b ", r8, r10, " b "  \n"   \
    "sxtb16 r12, r11              \n"   \
    "sxtb16 r11, r11, ror #8      \n"   \
    "smlad " a ", r9, r12, " a "  \n"   \
    "smlad " b ", r9, r11, " b "  \n"

/* On the stack: 36 sum (the fifth argument). */
SNAPUQ_NAKED void snapnn_dot4(const int8_t *input, int32_t groups, const uint32_t *words,
                              int32_t stride, int32_t sum[4])
{
    __asm__(
        "push {r4-r11, lr}            \n"
        "add r1, r0, r1, lsl #2       \n"
        "add r3, r2, r3, lsl #2       \n"
        "ldr lr, [sp, #36]            \n"
        "ldm lr, {r4-r7}              \n"
        "snapnn_dot4_loop:            \n"
        "ldr r8, [r0], #4             \n"
        "sxtb16 r9, r8, ror #8        \n"
        "sxtb16 r8, r8                \n"
        BLOCK("r2", "r4", "r5")
        BLOCK("r3", "r6", "r7")
        "cmp r0, r1                   \n"
        "bne snapnn_dot4_loop         \n"
        "snapnn_dot4_loop_end:        \n"
        "stm lr, {r4-r7}              \n"
        "pop {r4-r11, pc}             \n");
}

#else

void snapnn_dot4(const int8_t *input, int32_t groups, const uint32_t *words, int32_t stride,
                 int32_t sum[4])
{
    for (; groups > 0; --groups, input += 4, words += 2) {
        const uint32_t bytes = snapuq_load4(input);
        for (int32_t i = 0; i < 4; ++i) {
            const uint32_t *own = words + i / 2 * stride;
            const uint32_t even = i % 2 ? snapuq_odd(own[0]) : snapuq_even(own[0]);
            const uint32_t odd = i % 2 ? snapuq_odd(own[1]) : snapuq_even(own[1]);
            sum[i] = snapuq_smlad(snapuq_even(bytes), even, sum[i]);
            sum[i] = snapuq_smlad(snapuq_odd(bytes), odd, sum[i]);
        }
    }
}

#endif
