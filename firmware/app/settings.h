/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Which settings are in use: the image's own, or the newer of two in flash (SPEC.md, 3.6). */
#ifndef APP_SETTINGS_H
#define APP_SETTINGS_H

#include <stdint.h>

#include "frame.h"

struct snap_model_settings;

/* Chooses; again after each change. */
void app_settings_init(void);

/* Those in use; none in a build without heads. */
const struct snap_model_settings *app_settings(void);

/* Checks of those in use and of the image's own; 0 without heads. */
uint32_t app_settings_check(void);
uint32_t app_settings_own_check(void);

/* Puts a block into flash and use. It is aligned as the struct is, and up to 16 bytes behind it
 * are overwritten. */
enum app_error app_settings_replace(uint8_t *block, uint32_t count);

#endif
