#include "console.h"

#include "port.h"

void app_write(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        port_uart_write(bytes[i]);
    }
}

void app_say(const char *text)
{
    while (*text) {
        port_uart_write((uint8_t)*text++);
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
        port_uart_write((uint8_t)"0123456789abcdef"[value >> 4 * digits & 15u]);
    }
}
