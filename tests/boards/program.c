/* A program for the ports alone: one command byte, then what it takes.
 *   i input        runs the model: the result, count u32
 *   w page count bytes  replaces a page of the settings: 1 if that worked
 *   r page count   the first bytes of a page of the settings
 *   c              capacity of a page of the settings u32
 *   k word         the word that outlives a restart, and what comes there
 *   f              feeds the watchdog; nothing else does
 *   b rate         another rate from now on: 1; or 0, and nothing changes
 *   t              stack: used u32, reserved u32
 *   x              restarts
 * page is u8, count u16, rate and word u32; little-endian. */
#include <string.h>

#include "port.h"
#include "snap_model.h"

static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
static uint8_t block[2056]; /* more than the small part can keep */
static const char greeting[] = "ready\n";

static void write_bytes(const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        port_uart_write(((const uint8_t *)bytes)[i]);
    }
}

static void read_bytes(void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (!port_uart_poll((uint8_t *)bytes + i)) {
            port_idle();
        }
    }
}

void app_fault(const struct port_fault *fault)
{
    write_bytes("fault", 5);
    write_bytes(fault, sizeof *fault);
}

static void infer(void)
{
    struct snap_model_result result;
    memset(&result, 0, sizeof result);
    read_bytes(snap_model_input(arena), SNAP_MODEL_INPUT_BYTES);
    const uint32_t interrupts = port_irq_mask();
    port_counter_align();
    port_marker(true);
    const uint32_t start = port_counter();
    snap_model_run(arena, &result);
    const uint32_t count = port_counter() - start;
    port_marker(false);
    port_irq_restore(interrupts);
    write_bytes(&result, sizeof result);
    write_bytes(&count, sizeof count);
}

static void replace(uint8_t page, uint16_t count)
{
    read_bytes(block, count);
    const uint8_t done = port_settings_replace(page, block, count);
    write_bytes(&done, 1);
}

/* Whether a rate is known is told at the old one. */
static void set_baud(uint32_t baud)
{
    static uint32_t current = 115200;
    const uint8_t known = port_uart_set_baud(baud) && port_uart_set_baud(current);
    write_bytes(&known, 1);
    if (known) {
        port_uart_set_baud(baud);
        current = baud;
    }
}

int main(void)
{
    port_init();
    write_bytes(greeting, sizeof greeting - 1);
    for (;;) {
        uint8_t command, page;
        uint16_t count;
        uint32_t word;
        read_bytes(&command, 1);
        switch (command) {
        case 'i':
            infer();
            break;
        case 'w':
            read_bytes(&page, sizeof page);
            read_bytes(&count, sizeof count);
            replace(page, count);
            break;
        case 'r':
            read_bytes(&page, sizeof page);
            read_bytes(&count, sizeof count);
            write_bytes(port_settings(page).bytes, count);
            break;
        case 'c':
            word = port_settings(0).capacity;
            write_bytes(&word, sizeof word);
            break;
        case 'k':
            read_bytes(&word, sizeof word);
            write_bytes(port_kept(), sizeof word);
            *port_kept() = word;
            break;
        case 'f':
            port_watchdog_feed();
            break;
        case 'b':
            read_bytes(&word, sizeof word);
            set_baud(word);
            break;
        case 't':
            word = port_stack_used_bytes();
            write_bytes(&word, sizeof word);
            word = port_stack_reserved_bytes();
            write_bytes(&word, sizeof word);
            break;
        case 'x':
            port_restart();
        }
    }
}
