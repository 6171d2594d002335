/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Tile: 4 channels of one position, all 9 taps; two taps a product, the ninth alone.
 * Registers: rows r0-r2, bytes from tap to tap r3, 4 accumulators r4-r7, weights r8, work r9-r12
 * and lr: all 14. Output and end of the loop wait on the stack.
 * Inner loop: 98 instructions for 36 MACs, requantization included.
 */
#include "snapnn_quads.h"

#include "snapnn_scale.h"

#if SNAPUQ_DSP

/* Assembly takes the arguments where they are. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* r9 and r10 hold four channels of a tap each: made into (tap, tap) of every channel. */
#define TWO_TAPS                        \
    "pkhbt r11, r9, r10, lsl #16  \n"   \
    "pkhtb r10, r10, r9, asr #16  \n"   \
    "ldrd r12, lr, [r8], #8       \n"   \
    "sxtb16 r9, r11               \n"   \
    "sxtb16 r11, r11, ror #8      \n"   \
    "smlad r4, r9, r12, r4        \n"   \
    "smlad r5, r11, lr, r5        \n"   \
    "ldrd r12, lr, [r8], #8       \n"   \
    "sxtb16 r9, r10               \n"   \
    "sxtb16 r10, r10, ror #8      \n"   \
    "smlad r6, r9, r12, r6        \n"   \
    "smlad r7, r10, lr, r7        \n"

#define QUAD_FINISH(accumulator)                                            \
    "ldm r8!, {r9, r10, r11}\n"                                        \
    "smmlar " accumulator ", " accumulator ", r9, " accumulator "\n"   \
    "add " accumulator ", " accumulator ", " accumulator ", asr #31\n" \
    "add " accumulator ", " accumulator ", r10\n"                      \
    "asr " accumulator ", " accumulator ", r11\n"                      \
    "ssat " accumulator ", #8, " accumulator "\n"

/* On the stack: 0 end of the third row, 40 output (the fifth argument). */
SNAPUQ_NAKED void snapnn_quads(const int8_t *const rows[3], int32_t step, const uint32_t *words,
                               int32_t quads, int8_t *output)
{
    __asm__(
        "push {r4-r11, lr}            \n"
        "sub sp, #4                   \n"
        "mov r8, r2                   \n"
        "ldr r9, [r0, #8]             \n"
        "add r9, r9, r3, lsl #2       \n"
        "str r9, [sp]                 \n"
        "mov r3, r1                   \n"
        "ldm r0, {r0, r1, r2}         \n"

        "snapnn_quads_loop:           \n"
        "ldm r8!, {r4-r7}             \n"
        "ldr r9, [r0, r3]             \n"
        "ldr r10, [r0, r3, lsl #1]    \n"
        TWO_TAPS
        "ldr r9, [r0], #4             \n"
        "ldr r10, [r1, r3]            \n"
        TWO_TAPS
        "ldr r9, [r1, r3, lsl #1]     \n"
        "ldr r10, [r1], #4            \n"
        TWO_TAPS
        "ldr r9, [r2, r3]             \n"
        "ldr r10, [r2, r3, lsl #1]    \n"
        TWO_TAPS
        "ldr r9, [r2], #4             \n"
        "ldrd r12, lr, [r8], #8       \n"
        "sxtb16 r10, r9, ror #8       \n"
        "sxtb16 r9, r9                \n"
        "smlabb r4, r9, r12, r4       \n"
        "smlatt r6, r9, r12, r6       \n"
        "smlabb r5, r10, lr, r5       \n"
        "smlatt r7, r10, lr, r7       \n"
        QUAD_FINISH("r4") QUAD_FINISH("r5") QUAD_FINISH("r6") QUAD_FINISH("r7")
        "bfi r4, r5, #8, #8           \n"
        "bfi r4, r6, #16, #8          \n"
        "bfi r4, r7, #24, #8          \n"
        "ldr r9, [sp, #40]            \n"
        "str r4, [r9], #4             \n"
        "str r9, [sp, #40]            \n"
        "ldr r10, [sp]                \n"
        "cmp r2, r10                  \n"
        "bne.w snapnn_quads_loop      \n"
        "snapnn_quads_loop_end:       \n"
        "add sp, #4                   \n"
        "pop {r4-r11, pc}             \n");
}

#else

/* {row, column} in the order of the words. */
static const uint8_t order[9][2] = {{0, 1}, {0, 2}, {0, 0}, {1, 1}, {1, 2},
                                    {1, 0}, {2, 1}, {2, 2}, {2, 0}};

void snapnn_quads(const int8_t *const rows[3], int32_t step, const uint32_t *words, int32_t quads,
                  int8_t *output)
{
    for (int32_t c = 0; c < 4 * quads; ++c) {
        const uint32_t *block = words + c / 4 * SNAPNN_QUAD_WORDS;
        const int32_t i = c % 4;
        int32_t sum = (int32_t)block[i];
        for (int32_t t = 0; t < 9; ++t) {
            const int32_t place = t < 8 ? 4 + t / 2 * 4 + i : 20 + i % 2;
            const int32_t upper = t < 8 ? t % 2 : i / 2;
            const int16_t weight = (int16_t)(block[place] >> 16 * upper);
            sum += rows[order[t][0]][order[t][1] * step + c] * weight;
        }
        struct snapnn_scale scale;
        memcpy(&scale, block + 22 + 3 * i, sizeof scale);
        output[c] = (int8_t)snapuq_saturate8(snapnn_scaled(sum, &scale));
    }
}

#endif
