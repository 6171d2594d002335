/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The instructions of the DSP extension that the kernels use, or C that does the same. Not part
 * of the contract.
 *
 * Words are loaded and stored at any address, which Cortex-M allows in normal memory; with
 * -mno-unaligned-access everything is plain C. A `pair` is two int16 in the halves of a word.
 * Right shifts of negative numbers are arithmetic here, and memory is little-endian: every
 * compiler for our targets has it so.
 */
#ifndef SNAPUQ_SIMD_H
#define SNAPUQ_SIMD_H

#include <string.h>

#include "snapuq.h"

#if defined(__GNUC__) && defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && \
    defined(__thumb2__)
#define SNAPUQ_DSP 1
/* A function that is assembly from its first instruction to its last, and finds its arguments
 * where the procedure call standard has them: nobody may put code in front of it (a canary, a
 * counter), or change how it is called. */
#define SNAPUQ_NAKED                                                              \
    __attribute__((naked, noinline, no_instrument_function)) SNAPUQ_NO_CANARY     \
        SNAPUQ_NO_PROFILE SNAPUQ_NO_IPA
#if __has_attribute(no_stack_protector)
#define SNAPUQ_NO_CANARY __attribute__((no_stack_protector))
#else
#define SNAPUQ_NO_CANARY
#endif
#if __has_attribute(no_profile_instrument_function)
#define SNAPUQ_NO_PROFILE __attribute__((no_profile_instrument_function))
#else
#define SNAPUQ_NO_PROFILE
#endif
#if __has_attribute(noipa)
#define SNAPUQ_NO_IPA __attribute__((noipa))
#else
#define SNAPUQ_NO_IPA
#endif
#else
#define SNAPUQ_DSP 0
#endif

#if defined(__GNUC__)
/* The compiler takes a loop with this in it as it stands. */
#define SNAPUQ_BARRIER() __asm__ volatile("" ::: "memory")
#else
#define SNAPUQ_BARRIER() ((void)0)
#endif

/* Four neighbouring bytes as a word, from any address. */
static inline uint32_t snapuq_load4(const int8_t *from)
{
    uint32_t word;
    memcpy(&word, from, 4);
    return word;
}

/* Fewer than four bytes as a word. */
static inline uint32_t snapuq_load_rest(const int8_t *from, int32_t count)
{
    uint32_t bytes = 0;
    for (int32_t i = 0; i < count; ++i) {
        bytes |= (uint32_t)(uint8_t)from[i] << 8 * i;
    }
    return bytes;
}

static inline void snapuq_store4(int8_t *to, uint32_t word)
{
    memcpy(to, &word, 4);
}

/* Bytes 0 and 2 as a pair. */
static inline uint32_t snapuq_even(uint32_t bytes)
{
#if SNAPUQ_DSP
    uint32_t pair;
    __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(bytes));
    return pair;
#else
    return (uint16_t)(int8_t)bytes | (uint32_t)(int8_t)(bytes >> 16) << 16;
#endif
}

/* Bytes 1 and 3 as a pair. */
static inline uint32_t snapuq_odd(uint32_t bytes)
{
#if SNAPUQ_DSP
    uint32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(bytes));
    return pair;
#else
    return snapuq_even(bytes >> 8);
#endif
}

/* sums + the even (odd) bytes, in halves that wrap. */
static inline uint32_t snapuq_add_even(uint32_t sums, uint32_t bytes)
{
#if SNAPUQ_DSP
    __asm__("sxtab16 %0, %0, %1" : "+r"(sums) : "r"(bytes));
    return sums;
#else
    return (uint16_t)(sums + (uint32_t)(int8_t)bytes) |
           ((sums >> 16) + (uint32_t)(int8_t)(bytes >> 16)) << 16;
#endif
}

static inline uint32_t snapuq_add_odd(uint32_t sums, uint32_t bytes)
{
#if SNAPUQ_DSP
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(sums) : "r"(bytes));
    return sums;
#else
    return snapuq_add_even(sums, bytes >> 8);
#endif
}

/* The lower (upper) halves of two words, the first one's in the lower half. */
static inline uint32_t snapuq_low_halves(uint32_t first, uint32_t second)
{
#if SNAPUQ_DSP
    uint32_t halves;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(halves) : "r"(first), "r"(second));
    return halves;
#else
    return (first & 0xFFFF) | second << 16;
#endif
}

static inline uint32_t snapuq_high_halves(uint32_t first, uint32_t second)
{
#if SNAPUQ_DSP
    uint32_t halves;
    __asm__("pkhtb %0, %2, %1, asr #16" : "=r"(halves) : "r"(first), "r"(second));
    return halves;
#else
    return first >> 16 | (second & UINT32_C(0xFFFF0000));
#endif
}

/* sum + the products of the lower and of the upper halves. */
static inline int32_t snapuq_smlad(uint32_t x, uint32_t y, int32_t sum)
{
#if SNAPUQ_DSP
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(y));
    return sum;
#else
    return sum + (int16_t)x * (int16_t)y + (int16_t)(x >> 16) * (int16_t)(y >> 16);
#endif
}

/* The same into 64 bits. */
static inline int64_t snapuq_smlald(uint32_t x, uint32_t y, int64_t sum)
{
#if SNAPUQ_DSP
    __asm__("smlald %Q0, %R0, %1, %2" : "+r"(sum) : "r"(x), "r"(y));
    return sum;
#else
    sum += (int16_t)x * (int16_t)y;
    return sum + (int16_t)(x >> 16) * (int16_t)(y >> 16);
#endif
}

/* The larger (smaller) one of each of four int8. */
static inline uint32_t snapuq_max8(uint32_t x, uint32_t y)
{
#if SNAPUQ_DSP
    uint32_t max;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(max) : "r"(x), "r"(y));
    return max;
#else
    uint32_t max = 0;
    for (int32_t i = 0; i < 32; i += 8) {
        max |= ((int8_t)(x >> i) > (int8_t)(y >> i) ? x : y) & UINT32_C(0xFF) << i;
    }
    return max;
#endif
}

static inline uint32_t snapuq_min8(uint32_t x, uint32_t y)
{
    return ~snapuq_max8(~x, ~y);
}

static inline int32_t snapuq_saturate8(int32_t value)
{
#if SNAPUQ_DSP
    __asm__("ssat %0, #8, %0" : "+r"(value));
    return value;
#else
    return value < -128 ? -128 : value > 127 ? 127 : value;
#endif
}

/* value, limited to int16. */
static inline int16_t snapuq_saturate16(int32_t value)
{
#if SNAPUQ_DSP
    __asm__("ssat %0, #16, %0" : "+r"(value));
    return (int16_t)value;
#else
    return (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
#endif
}

/* x - y, limited to int32. */
static inline int32_t snapuq_subtract_saturated(int32_t x, int32_t y)
{
#if SNAPUQ_DSP
    __asm__("qsub %0, %0, %1" : "+r"(x) : "r"(y));
    return x;
#else
    const int64_t difference = (int64_t)x - y;
    return difference < INT32_MIN   ? INT32_MIN
           : difference > INT32_MAX ? INT32_MAX
                                    : (int32_t)difference;
#endif
}

/* (x * y + 2^31) >> 32 */
static inline int32_t snapuq_high_product(int32_t x, int32_t y)
{
#if SNAPUQ_DSP
    int32_t high;
    __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(x), "r"(y));
    return high;
#else
    return (int32_t)(((int64_t)x * y + INT64_C(0x80000000)) >> 32);
#endif
}

/* Two words from an address that is a multiple of four, which moves on. */
static inline void snapuq_load_two(const uint32_t **from, uint32_t *first, uint32_t *second)
{
#if SNAPUQ_DSP
    __asm__("ldrd %0, %1, [%2], #8"
            : "=r"(*first), "=r"(*second), "+r"(*from)
            : "m"(*(const uint32_t(*)[2]) * from));
#else
    memcpy(first, *from, 4);
    memcpy(second, *from + 1, 4);
    *from += 2;
#endif
}

/* (value * twice + 2^31) >> 32, twice unsigned: of twice a mantissa, in two instructions. */
static inline int32_t snapuq_high_unsigned(int32_t value, uint32_t twice)
{
#if SNAPUQ_DSP
    /* The instruction sees 2^32 less where the sign is set. */
    const int32_t rest = value & (int32_t)twice >> 31;
    int32_t high;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(high) : "r"(value), "r"(twice), "r"(rest));
    return high;
#else
    return (int32_t)((value * (int64_t)twice + INT64_C(0x80000000)) >> 32);
#endif
}

/* (value * (2^32 + multiplier) + 2^31) >> 32: a rounding high product, in one instruction. */
static inline int32_t snapuq_high(int32_t value, int32_t multiplier)
{
#if SNAPUQ_DSP
    int32_t high;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(value), "r"(multiplier));
    return high;
#else
    return (int32_t)((value * (INT64_C(0x100000000) + multiplier) + INT64_C(0x80000000)) >> 32);
#endif
}

#endif
