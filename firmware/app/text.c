/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "text.h"

enum app_text_event app_text_feed(struct app_text *text, uint8_t byte)
{
    if (byte == '\r' || byte == '\n') {
        return APP_TEXT_NONE;
    }
    if (byte == '%') {
        const enum app_text_event event = text->damaged    ? APP_TEXT_DAMAGED
                                          : text->overlong ? APP_TEXT_OVERLONG
                                                           : APP_TEXT_LINE;
        text->line[text->count] = '\0';
        app_text_drop(text);
        return event;
    }
    if (byte < ' ' || byte > '~') {
        /* In front of a line it is noise, within it the line is not what was sent. */
        text->damaged |= text->count > 0;
        return APP_TEXT_NONE;
    }
    if (text->count < APP_LINE_MAX) {
        text->line[text->count++] = (char)byte;
    } else {
        text->overlong = true;
    }
    return APP_TEXT_NONE;
}

void app_text_drop(struct app_text *text)
{
    text->count = 0;
    text->overlong = text->damaged = false;
}

char *app_text_word(char **rest)
{
    char *word = *rest;
    while (*word == ' ') {
        word++;
    }
    char *end = word;
    while (*end && *end != ' ') {
        end++;
    }
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

bool app_text_number(const char *word, uint32_t most, uint32_t *number)
{
    uint64_t value = 0;
    if (!*word) {
        return false;
    }
    for (; *word; word++) {
        if (*word < '0' || *word > '9') {
            return false;
        }
        value = 10 * value + (uint64_t)(*word - '0');
        if (value > most) {
            return false;
        }
    }
    *number = (uint32_t)value;
    return true;
}

int app_text_hex(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    if (digit >= 'A' && digit <= 'F') {
        return digit - 'A' + 10;
    }
    return -1;
}
