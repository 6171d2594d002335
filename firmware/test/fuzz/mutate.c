/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Mutations that know frames: without a right CRC none of them gets past the parser. */
#include "fuzz_link.h"

#include "frame.h"
#include "snapuq.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

#define SETTINGS_CHECK 8
#define SETTINGS_BODY 16

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> 8 * i);
    }
}

/* Makes whole frames good, from the outside in. */
static void repair(uint8_t *data, size_t size, unsigned int seed)
{
    size_t i = FUZZ_HEAD_BYTES;
    while (i + APP_FRAME_BYTES(0) <= size) {
        uint8_t *frame = data + i;
        size_t length = frame[4] | (size_t)frame[5] << 8;
        if (frame[0] != 0xA5 || frame[1] != 0x5A) {
            i++;
            continue;
        }
        if (i + APP_FRAME_BYTES(length) > size) {
            if (seed & 4u) {
                i++;
                continue;
            }
            length = size - i - APP_FRAME_BYTES(0);
            frame[4] = (uint8_t)length;
            frame[5] = (uint8_t)(length >> 8);
        }
        uint8_t *payload = frame + APP_HEADER_BYTES;
        if (frame[2] == APP_SETTINGS && length >= SETTINGS_BODY && seed & 8u) {
            put_u32(payload + SETTINGS_CHECK,
                    snapuq_crc32(0, payload + SETTINGS_BODY, length - SETTINGS_BODY));
        }
        put_u32(payload + length, snapuq_crc32(0, frame + 2, APP_HEADER_BYTES - 2 + length));
        i += APP_FRAME_BYTES(length);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed & 3u) {
        repair(data, size, seed);
    }
    return size;
}
