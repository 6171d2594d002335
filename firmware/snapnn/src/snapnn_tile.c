/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Tile: 2 output channels x 4 positions, 4 inputs at a time.
 * Registers: 8 accumulators r4-r11, columns r0, weights r1, two pairs of weights r2 r3, two pairs
 * of inputs r12 lr: all 14. The end of the loop therefore waits on the stack.
 * Inner loop: 107 instructions for 128 MACs.
 */
#include "snapnn_tile.h"

#include "snapnn_scale.h"

#if SNAPUQ_DSP

/* Assembly takes the arguments where they are. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Two inputs: a word of weights becomes a pair for each channel, four pairs of inputs follow. */
#define HALF_GROUP                      \
    "ldr r2, [r1], #4             \n"   \
    "ldrd r12, lr, [r0], #8       \n"   \
    "sxtb16 r3, r2, ror #8        \n"   \
    "sxtb16 r2, r2                \n"   \
    "smlad r4, r12, r2, r4        \n"   \
    "smlad r8, r12, r3, r8        \n"   \
    "smlad r5, lr, r2, r5         \n"   \
    "smlad r9, lr, r3, r9         \n"   \
    "ldrd r12, lr, [r0], #8       \n"   \
    "smlad r6, r12, r2, r6        \n"   \
    "smlad r10, r12, r3, r10      \n"   \
    "smlad r7, lr, r2, r7         \n"   \
    "smlad r11, lr, r3, r11       \n"
#define GROUP HALF_GROUP HALF_GROUP
#define GROUP_BYTES "104"

/* multiplier r2, rounding r3, shift r12 */
#define TILE_FINISH(accumulator)                                          \
    "smmlar " accumulator ", " accumulator ", r2, " accumulator "\n" \
    "add " accumulator ", " accumulator ", " accumulator ", asr #31\n" \
    "add " accumulator ", " accumulator ", r3\n"                     \
    "asr " accumulator ", " accumulator ", r12\n"                    \
    "ssat " accumulator ", #8, " accumulator "\n"

/* On the stack: 0 columns, 4 their end, 8 where the first round enters the loop, 12 channels,
 * 16 channels left, 56 output (the fifth argument). */
SNAPUQ_NAKED void snapnn_tile(const uint32_t *columns, const uint32_t *words, int32_t groups,
                              int32_t channels, int8_t *output)
{
    __asm__(
        "push {r4-r11, lr}            \n"
        "sub sp, #20                  \n"
        "add r4, r0, r2, lsl #5       \n"
        "strd r0, r4, [sp]            \n"
        /* The loop takes four groups; the first round leaves out what is too much. */
        "rsb r2, r2, #0               \n"
        "and r2, r2, #3               \n"
        "mov r4, #" GROUP_BYTES "     \n"
        "adr r5, snapnn_tile_loop     \n"
        "mla r2, r2, r4, r5           \n"
        "orr r2, r2, #1               \n"
        "str r2, [sp, #8]             \n"
        "str r3, [sp, #12]            \n"
        "str r3, [sp, #16]            \n"

        "snapnn_tile_pair:            \n"
        "ldr r0, [sp]                 \n"
        "ldrd r4, r8, [r1], #8        \n"
        "mov r5, r4                   \n"
        "mov r6, r4                   \n"
        "mov r7, r4                   \n"
        "mov r9, r8                   \n"
        "mov r10, r8                  \n"
        "mov r11, r8                  \n"
        "ldr pc, [sp, #8]             \n"
        ".balign 4                    \n"
        "snapnn_tile_loop:            \n"
        GROUP GROUP GROUP GROUP
        "ldr r12, [sp, #4]            \n"
        "cmp r0, r12                  \n"
        "bne.w snapnn_tile_loop       \n"
        "snapnn_tile_loop_end:        \n"

        "ldm r1!, {r2, r3, r12}       \n"
        TILE_FINISH("r4") TILE_FINISH("r5") TILE_FINISH("r6") TILE_FINISH("r7")
        "ldm r1!, {r2, r3, r12}       \n"
        TILE_FINISH("r8") TILE_FINISH("r9") TILE_FINISH("r10") TILE_FINISH("r11")
        "ldrd r3, r2, [sp, #12]       \n"
        "ldr r0, [sp, #56]            \n"
        "add r12, r3, r3, lsl #1      \n"
        "subs r2, r2, #2              \n"
        "bmi snapnn_tile_single       \n"
        "str r2, [sp, #16]            \n"
        "bfi r4, r8, #8, #8           \n"
        "bfi r5, r9, #8, #8           \n"
        "bfi r6, r10, #8, #8          \n"
        "bfi r7, r11, #8, #8          \n"
        "strh r5, [r0, r3]            \n"
        "strh r6, [r0, r3, lsl #1]    \n"
        "strh r7, [r0, r12]           \n"
        "strh r4, [r0], #2            \n"
        "str r0, [sp, #56]            \n"
        "bne.w snapnn_tile_pair       \n"
        "b snapnn_tile_done           \n"

        "snapnn_tile_single:          \n"
        "strb r4, [r0]                \n"
        "strb r5, [r0, r3]            \n"
        "strb r6, [r0, r3, lsl #1]    \n"
        "strb r7, [r0, r12]           \n"
        "snapnn_tile_done:            \n"
        "add sp, #20                  \n"
        "pop {r4-r11, pc}             \n");
}

#else

void snapnn_tile(const uint32_t *columns, const uint32_t *words, int32_t groups, int32_t channels,
                 int8_t *output)
{
    for (int32_t c = 0; c < channels; c += 2, words += SNAPNN_BLOCK_WORDS(groups)) {
        int32_t sum[2][4];
        for (int32_t p = 0; p < 4; ++p) {
            sum[0][p] = (int32_t)words[0];
            sum[1][p] = (int32_t)words[1];
        }
        for (int32_t half = 0; half < 2 * groups; ++half) {
            const uint32_t weights = words[2 + half];
            for (int32_t p = 0; p < 4; ++p) {
                const uint32_t inputs = columns[4 * half + p];
                sum[0][p] = snapuq_smlad(inputs, snapuq_even(weights), sum[0][p]);
                sum[1][p] = snapuq_smlad(inputs, snapuq_odd(weights), sum[1][p]);
            }
        }
        for (int32_t i = 0; i < 2 && c + i < channels; ++i) {
            struct snapnn_scale scale;
            memcpy(&scale, words + 2 + 2 * groups + 3 * i, sizeof scale);
            for (int32_t p = 0; p < 4; ++p) {
                const int32_t value = snapuq_saturate8(snapnn_scaled(sum[i][p], &scale));
                output[p * channels + c + i] = (int8_t)value;
            }
        }
    }
}

#endif
