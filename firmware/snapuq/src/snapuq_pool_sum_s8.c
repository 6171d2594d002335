#include "snapuq_arith.h"

/* Positions after which 32 bits still hold the sum of 24-bit numbers. */
#define BLOCK_POSITIONS 256

#define EVEN_BYTES UINT32_C(0x00FF00FF)
#define BIAS_128 UINT32_C(0x80808080)

/* Four neighbouring bytes as a word; compilers make it one load. */
static inline uint32_t load4(const int8_t *from)
{
    return (uint32_t)(uint8_t)from[0] | (uint32_t)(uint8_t)from[1] << 8 |
           (uint32_t)(uint8_t)from[2] << 16 | (uint32_t)(uint8_t)from[3] << 24;
}

/* Four channels at a time, two in the 16-bit lanes of each of two registers:
 * two instructions per activation on a Cortex-M4, in portable C. */
static void sum4(const int8_t *input, int32_t positions, int32_t channels, int32_t sum[4])
{
    while (positions > 0) {
        const int32_t block = positions < BLOCK_POSITIONS ? positions : BLOCK_POSITIONS;
        uint32_t even = 0, odd = 0;
        for (int32_t left = block; left > 0; --left, input += channels) {
            const uint32_t biased = load4(input) ^ BIAS_128; /* int8 + 128 in each byte */
            even += biased & EVEN_BYTES;
            odd += biased >> 8;
        }
        odd -= (even >> 16) << 8; /* the one even byte that the shift let through */
        sum[0] += (int32_t)(even & 0xFFFF);
        sum[1] += (int32_t)(odd & 0xFFFF);
        sum[2] += (int32_t)(even >> 16);
        sum[3] += (int32_t)(odd >> 16);
        positions -= block;
    }
}

void snapuq_pool_sum_s8(const int8_t *input, int32_t positions, int32_t channels,
                        int32_t zero_point, int32_t *sum)
{
    int32_t c = 0;
    for (; c + 4 <= channels; c += 4) {
        for (int32_t i = 0; i < 4; ++i) {
            sum[c + i] = -(zero_point + 128) * positions;
        }
        sum4(input + c, positions, channels, sum + c);
    }
    for (; c < channels; ++c) {
        const int8_t *from = input + c;
        int32_t total = -zero_point * positions;
        for (int32_t left = positions; left > 0; --left, from += channels) {
            total += *from;
        }
        sum[c] = total;
    }
}
