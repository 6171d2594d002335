/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

/* The link of firmware/app has one of its own: it is also built with models without a monitor,
 * whose folder carries no file that they do not call. */

uint32_t snapuq_crc32(uint32_t crc, const uint8_t *bytes, uint32_t count)
{
    /* The remainder of each value of four bits: a sixteenth of the usual table, half its speed. */
    static const uint32_t nibble[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    crc = ~crc;
    for (uint32_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ nibble[crc & 15u];
        crc = crc >> 4 ^ nibble[crc & 15u];
    }
    return ~crc;
}
