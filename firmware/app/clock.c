/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "clock.h"

#include "port.h"

static uint64_t elapsed;
static uint32_t last;

void app_clock_init(void)
{
    elapsed = 0;
    last = port_counter();
}

uint64_t app_clock(void)
{
    const uint32_t now = port_counter();
    elapsed += (uint32_t)(now - last);
    last = now;
    return elapsed;
}

uint64_t app_clock_us(void)
{
    const uint64_t now = app_clock();
    const uint32_t hz = port_board.counter_hz;
    /* The whole seconds apart: the product of all of it would overflow after hours. */
    return now / hz * 1000000u + now % hz * 1000000u / hz;
}
