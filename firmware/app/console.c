/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "console.h"

#include "port.h"

static bool taken_back;
static uint8_t taken_back_byte;

bool app_read(uint8_t *byte)
{
    if (taken_back) {
        taken_back = false;
        *byte = taken_back_byte;
        return true;
    }
    return port_uart_poll(byte);
}

void app_unread(uint8_t byte)
{
    taken_back = true;
    taken_back_byte = byte;
}

static void put(uint8_t byte)
{
    port_uart_write(byte);
    port_watchdog_feed(); /* 32 KB may take longer than it waits */
}

void app_write(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put(bytes[i]);
    }
}

void app_say(const char *text)
{
    while (*text) {
        put((uint8_t)*text++);
    }
}

void app_say_number(uint64_t value)
{
    char digits[21];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    app_say(first);
}

void app_say_hex(uint32_t value, int digits)
{
    while (digits-- > 0) {
        put((uint8_t)"0123456789abcdef"[value >> 4 * digits & 15u]);
    }
}
