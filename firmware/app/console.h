/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Bytes from the console; words and numbers to it. */
#ifndef APP_CONSOLE_H
#define APP_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes one received byte; false when none is waiting. */
bool app_read(uint8_t *byte);
/* Gives one back, which is read again first. */
void app_unread(uint8_t byte);

void app_write(const uint8_t *bytes, size_t count);
void app_say(const char *text);
/* Decimal. */
void app_say_number(uint64_t value);
/* That many hexadecimal digits. */
void app_say_hex(uint32_t value, int digits);

#endif
