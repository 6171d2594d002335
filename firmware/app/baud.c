/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "baud.h"

#include "clock.h"
#include "port.h"

#define FIRST_BAUD 115200u
#define HOLDS_S 3u

static uint32_t rate;
static uint64_t confirmed;

void app_baud_init(void)
{
    rate = FIRST_BAUD;
    confirmed = 0;
}

bool app_baud_possible(uint32_t baud)
{
    /* The answer is still due at the old rate. */
    return port_uart_set_baud(baud) && port_uart_set_baud(rate);
}

void app_baud_change(uint32_t baud)
{
    if (port_uart_set_baud(baud)) {
        rate = baud;
    }
}

void app_baud_confirm(void)
{
    confirmed = app_clock();
}

void app_baud_check(void)
{
    if (rate != FIRST_BAUD && app_clock() - confirmed > (uint64_t)HOLDS_S * port_board.counter_hz) {
        app_baud_change(FIRST_BAUD);
    }
}
