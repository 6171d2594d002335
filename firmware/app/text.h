/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Lines of text and their words (SPEC.md, 3.7). Knows neither boards nor models. */
#ifndef APP_TEXT_H
#define APP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#define APP_LINE_MAX 80

struct app_text {
    char line[APP_LINE_MAX + 1]; /* may be read after an event; ends in a zero */
    uint8_t count;
    bool overlong, damaged;
};

enum app_text_event {
    APP_TEXT_NONE,
    APP_TEXT_LINE,
    APP_TEXT_OVERLONG,
    APP_TEXT_DAMAGED
};

/* Takes one byte. */
enum app_text_event app_text_feed(struct app_text *text, uint8_t byte);

/* Forgets a half line. */
void app_text_drop(struct app_text *text);

/* The next word of a line, cut off in place, and *rest moves behind it; empty if none is left. */
char *app_text_word(char **rest);

/* Whether the word is a decimal number of at most `most`, and which. */
bool app_text_number(const char *word, uint32_t most, uint32_t *number);

/* Value of a hexadecimal digit, -1 if it is none. */
int app_text_hex(char digit);

#endif
