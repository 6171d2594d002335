/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "image.h"

#include "frame.h"
#include "port.h"
#include "snapuq.h"

static bool damaged;

uint32_t app_image_check(void)
{
    const struct port_image image = port_image();
    const uint32_t crc = snapuq_crc32(0, image.bytes, image.count);
    damaged = image.count && crc != image.crc;
    return crc;
}

bool app_image_damaged(void)
{
    return damaged;
}
