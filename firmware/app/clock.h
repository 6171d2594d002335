/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Time since boot, from a counter that wraps. */
#ifndef APP_CLOCK_H
#define APP_CLOCK_H

#include <stdint.h>

void app_clock_init(void);

/* Counts of port_counter() since boot. Right if called at least once in each of its wraps. */
uint64_t app_clock(void);

uint64_t app_clock_us(void);

#endif
