/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The rate of the console (SPEC.md, 3.5): it can be raised, and falls back by itself. */
#ifndef APP_BAUD_H
#define APP_BAUD_H

#include <stdbool.h>
#include <stdint.h>

void app_baud_init(void);

/* Whether the board can run at this rate. */
bool app_baud_possible(uint32_t baud);

void app_baud_change(uint32_t baud);

/* A good frame has been answered. */
void app_baud_confirm(void);

/* Back to the first rate when the last good frame is too long ago. Not while one arrives. */
void app_baud_check(void);

#endif
