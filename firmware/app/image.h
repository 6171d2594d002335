/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Whether the program in flash is the one that was linked. */
#ifndef APP_IMAGE_H
#define APP_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the whole image; its CRC-32 as it is now, 0 where nobody knows. */
uint32_t app_image_check(void);

/* What the last check found. */
bool app_image_damaged(void);

#endif
