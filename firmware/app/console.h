/* Words and numbers on the console. */
#ifndef APP_CONSOLE_H
#define APP_CONSOLE_H

#include <stddef.h>
#include <stdint.h>

void app_write(const uint8_t *bytes, size_t count);
void app_say(const char *text);
/* Decimal. */
void app_say_number(uint64_t value);
/* That many hexadecimal digits. */
void app_say_hex(uint32_t value, int digits);

#endif
